"""Hugging Face Trainer: a callback that reports its optimiser steps, saves and restores.

The library has no hook where a save begins, and none at all for the save that SIGTERM asks for
(``enable_jit_checkpoint``). So the callback stands around the trainer's own save, from the
moment training begins. It commits when the folder is whole: with several ranks, or while the
library's own marker lies in it, that is at a later hook. A push to the Hub is no commit.
"""

from __future__ import annotations

import functools
import inspect
import os
from typing import TYPE_CHECKING, Any, NamedTuple

from transformers import TrainerCallback

from tallystick.emit.checkpoint.huggingface import MARKER, STATE
from tallystick.emit.checkpoint.manifest import WRITING
from tallystick.emit.frameworks.guard import guarded
from tallystick.emit.progress.attach import attach

if TYPE_CHECKING:
    from tallystick.emit.progress.run import Run
    from tallystick.emit.progress.save import Save


class ReportProgress(TrainerCallback):  # type: ignore[misc]  # It has no types where it is absent.
    """Reports a training: ``Trainer(callbacks=[ReportProgress()])``."""

    def __init__(self, run: Run | None = None, *, digest: bool = True) -> None:
        """Report on a run.

        Args:
            run: Who reports; None attaches to the run of this process.
            digest: Whether checkpoints are read again in the background, for a manifest.
        """
        self.run = attach() if run is None else run
        self._digest = digest
        self._trainer: Any = None
        self._pending: _Pending | None = None

    def on_train_begin(self, args: Any, state: Any, control: Any, **rest: Any) -> None:
        """Report what training goes on from, and stand around the saves that follow."""
        del args, control, rest
        with guarded(self.run):
            if state.is_hyper_param_search:  # The steps of trials are no run's.
                return
            trainer, folder = _training(self)
            if folder is None:
                self.run.restored(None)
            else:
                self.run.restored(_name(folder), state.global_step)
            if state.is_world_process_zero and self._trainer is not trainer:
                self._trainer = trainer
                self._stand_around(trainer)

    def on_step_begin(self, args: Any, state: Any, control: Any, **rest: Any) -> None:
        """Commit what became whole: SIGTERM saves in this hook and the following ones."""
        del args, state, control, rest
        self._settle()

    def on_pre_optimizer_step(self, args: Any, state: Any, control: Any, **rest: Any) -> None:
        """Commit what became whole."""
        del args, state, control, rest
        self._settle()

    def on_step_end(self, args: Any, state: Any, control: Any, **rest: Any) -> None:
        """Report an optimiser step: several batches, if gradients are accumulated."""
        del args, control, rest
        self._settle()
        with guarded(self.run):
            if not state.is_hyper_param_search:
                self.run.step(state.global_step)

    def on_epoch_end(self, args: Any, state: Any, control: Any, **rest: Any) -> None:
        """Commit what became whole."""
        del args, state, control, rest
        self._settle()

    def on_train_end(self, args: Any, state: Any, control: Any, **rest: Any) -> None:
        """Commit the last save, or report why it is none: nothing will complete it any more."""
        del args, state, control, rest
        self._settle(is_last=True)

    def _stand_around(self, trainer: Any) -> None:
        """Have the trainer's save begin and end with a report."""
        inner = trainer._save_checkpoint  # noqa: SLF001 (the library has no hook here)

        @functools.wraps(inner)
        def save(*arguments: Any, **options: Any) -> Any:
            self._begin(trainer)
            try:
                with WRITING:  # It deletes the folder that was changed the longest ago.
                    result = inner(*arguments, **options)
            except BaseException as error:
                self._fail(error)
                raise
            self._returned()
            return result

        trainer._save_checkpoint = save  # noqa: SLF001 (as above)

    def _begin(self, trainer: Any) -> None:
        self._settle(is_last=True)
        with guarded(self.run):
            step, arguments = trainer.state.global_step, trainer.args
            self.run.step(step)  # SIGTERM's save may come before the end of its step is told.
            folder = os.path.join(arguments.output_dir, f"checkpoint-{step}")  # noqa: PTH118
            save = self.run.checkpoint(step, [folder], name=_name(folder), digest=self._digest)
            save.begin()
            self._pending = _Pending(save, folder, _files(arguments))

    def _fail(self, error: BaseException) -> None:
        pending, self._pending = self._pending, None
        if pending is not None:
            pending.save.fail(f"{type(error).__name__}: {error}")

    def _returned(self) -> None:
        """Look at a save that has come back here; other ranks may still be at it."""
        with guarded(self.run):
            pending = self._pending
            if pending is not None:
                is_alone = len(pending.files) == 1
                self._settle(is_last=is_alone and not _is_there(pending.folder, MARKER))

    def _settle(self, *, is_last: bool = False) -> None:
        """Commit the save that is under way if it is whole; else give it up if it is the last."""
        with guarded(self.run):
            pending = self._pending
            if pending is None:
                return
            lack = _lack(pending)
            if lack is None:
                pending.save.commit()
            elif is_last:
                pending.save.fail(lack)
            else:
                return
            self._pending = None


class _Pending(NamedTuple):
    """A save that is not over, and the files that show that every rank has written."""

    save: Save
    folder: str
    files: tuple[str, ...]


def _training(callback: TrainerCallback) -> tuple[Any, str | None]:
    """Find the trainer that calls, and the folder that it resumed from.

    A callback is never told who calls it. The folder is the one that is really resumed from,
    also where the library was left to choose it.

    Raises:
        LookupError: nobody who calls is a trainer with this callback.
    """
    frame = inspect.currentframe()
    while frame is not None:
        told = frame.f_locals
        if "resume_from_checkpoint" in told:
            handler = getattr(told.get("self"), "callback_handler", None)
            if callback in getattr(handler, "callbacks", ()):
                return told["self"], told["resume_from_checkpoint"]
        frame = frame.f_back
    raise LookupError("the trainer was not found: neither its saves nor its restore are seen")


def _files(arguments: Any) -> tuple[str, ...]:
    """Name the files that each rank writes last, if all write into this folder."""
    ranks = arguments.world_size
    if ranks == 1 or arguments.save_only_model or arguments.save_on_each_node:
        return (STATE,)
    return (STATE, *(f"rng_state_{rank}.pth" for rank in range(ranks)))


def _lack(pending: _Pending) -> str | None:
    """Say why a folder is not whole; None if nothing speaks against it."""
    if _is_there(pending.folder, MARKER):
        return f"{MARKER} is still there"
    lacking = [file for file in pending.files if not _is_there(pending.folder, file)]
    return f"{lacking[0]} is not there" if lacking else None


def _is_there(folder: str, file: str) -> bool:
    return os.path.exists(os.path.join(folder, file))  # noqa: PTH110, PTH118


def _name(folder: str) -> str:
    """Name a checkpoint as its folder is named."""
    return os.path.basename(os.path.normpath(os.fspath(folder)))  # noqa: PTH119
