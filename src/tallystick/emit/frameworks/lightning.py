"""PyTorch Lightning: a callback that reports steps, saves and restores.

Lightning's own save hooks fire while the state is collected, before a byte is written. So the
callback stands around the trainer's save, which returns after all ranks have written, and
around the part that writes where that is done in the background. Nothing can be resumed from a
save of weights alone, nor from the tuner's, so those are no checkpoints.
"""

from __future__ import annotations

import os
from contextlib import nullcontext, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Callable

try:
    from lightning.pytorch.callbacks import Callback
except ImportError:  # The same library under its other name.
    from pytorch_lightning.callbacks import Callback

from tallystick.emit.checkpoint.names import beside
from tallystick.emit.frameworks.guard import guarded
from tallystick.emit.frameworks.naming import local, name_of
from tallystick.emit.progress.attach import attach
from tallystick.emit.progress.run import Run

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AbstractContextManager

_TUNER = (".lr_find_", ".scale_batch_size_")


class ReportProgress(Callback):  # type: ignore[misc]  # It has no types where it is absent.
    """Reports a fit: ``Trainer(callbacks=[ReportProgress()])``."""

    def __init__(self, run: Run | None = None, *, digest: bool = True) -> None:
        """Report on a run.

        Args:
            run: Who reports; None attaches to the run of this process.
            digest: Whether checkpoints are read again in the background, for a manifest.
        """
        self._run = run
        self._digest = digest
        self._loaded: str | None = None

    @property
    def run(self) -> Run:
        """Give who reports."""
        if self._run is None:
            self._run = attach()
        return self._run

    def __getstate__(self) -> Mapping[str, Any]:
        """Leave out who reports: a process that this is sent to is another writer."""
        return {**self.__dict__, "_run": None}

    def setup(self, trainer: Any, pl_module: Any, stage: str) -> None:
        """Stand around the saves of a trainer."""
        del pl_module
        if stage != "fit":
            return
        if not getattr(trainer, "is_global_zero", True):
            # Lightning starts further ranks without what else tells a process its rank.
            self._run = Run(None, None)
        with guarded(self.run):
            self._loaded = None
            _stand_around(trainer, "save_checkpoint", partial(self._save, trainer))
            _stand_around(trainer.strategy, "remove_checkpoint", self._remove)
            writer = _background_writer(trainer)
            if writer is not None:
                _stand_around(writer, "save_checkpoint", self._write)

    def on_load_checkpoint(self, trainer: Any, pl_module: Any, checkpoint: Any) -> None:
        """Keep what is loaded: the tuner loads something of its own before training starts."""
        del pl_module, checkpoint
        with guarded(self.run):
            if not _is_tuners(trainer.ckpt_path):
                self._loaded = trainer.ckpt_path

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        """Report what the fit goes on from; one more fit of the same trainer just goes on."""
        del pl_module
        with guarded(self.run):
            step = trainer.global_step
            if self._loaded:
                self.run.restored(name_of(self._loaded, step), step)
            elif step == 0:
                self.run.restored(None)

    def on_train_batch_end(
        self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """Report the optimiser steps; a batch that only adds to a gradient is none."""
        del pl_module, outputs, batch, batch_idx
        with guarded(self.run):
            self.run.step(trainer.global_step)

    def _save(
        self,
        trainer: Any,
        inner: Callable[..., Any],
        filepath: Any,
        weights_only: Any = None,
        *arguments: Any,
        **options: Any,
    ) -> Any:
        """Save, and wait for other ranks."""
        with self._around_save(trainer, filepath, is_whole=not weights_only):
            return inner(filepath, weights_only, *arguments, **options)

    def _around_save(
        self, trainer: Any, path: Any, *, is_whole: bool
    ) -> AbstractContextManager[Any]:
        with guarded(self.run):
            if _is_tuners(path) or not is_whole:
                return self.run.waiting("checkpoint_storage")
            step = trainer.global_step
            self.run.step(step)  # A save on the way out may come before the end of its batch.
            if _background_writer(trainer) is None:
                return self._checkpoint(step, path, is_blocking=True)
        return nullcontext()

    def _write(
        self,
        inner: Callable[..., Any],
        checkpoint: Any,
        path: Any,
        *arguments: Any,
        **options: Any,
    ) -> Any:
        """Write, in the background."""
        with self._around_write(checkpoint, path):
            return inner(checkpoint, path, *arguments, **options)

    def _around_write(self, checkpoint: Any, path: Any) -> AbstractContextManager[Any]:
        with guarded(self.run):
            if not _is_tuners(path) and "optimizer_states" in checkpoint:
                return self._checkpoint(checkpoint["global_step"], path, is_blocking=False)
        return nullcontext()

    def _checkpoint(
        self, step: Any, path: Any, *, is_blocking: bool
    ) -> AbstractContextManager[Any]:
        return self.run.checkpoint(
            step,
            local(path),
            name=name_of(path, step),
            blocking=is_blocking,
            digest=self._digest,
        )

    def _remove(self, inner: Callable[..., Any], filepath: Any) -> Any:
        """Remove the manifest of a file together with the file."""
        result = inner(filepath)
        with guarded(self.run), suppress(FileNotFoundError):
            for path in local(filepath):
                os.unlink(beside(path))  # noqa: PTH108
        return result


class _Around:
    """A method of one object, with something of ours around it."""

    def __init__(self, inner: Callable[..., Any], around: Callable[..., Any]) -> None:
        self.inner = inner
        self._around = around

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        return self._around(self.inner, *arguments, **options)


def _stand_around(owner: Any, method: str, around: Callable[..., Any]) -> None:
    """Put something around a method of one object, in the place of what we put there before."""
    inner = getattr(owner, method)
    while isinstance(inner, _Around):
        inner = inner.inner
    setattr(owner, method, _Around(inner, around))


def _background_writer(trainer: Any) -> Any:
    """Find the part that writes if saves are only queued; None if they are not."""
    writer: Any = getattr(trainer.strategy, "checkpoint_io", None)
    is_queued = False
    while getattr(writer, "checkpoint_io", None) is not None:
        # By its name: it is the same class in both packages of the library.
        is_queued |= any(kind.__name__ == "AsyncCheckpointIO" for kind in type(writer).__mro__)
        writer = writer.checkpoint_io
    return writer if is_queued else None


def _is_tuners(path: Any) -> bool:
    """Tell whether a file is the tuner's, which it removes at once."""
    return os.path.basename(str(path)).startswith(_TUNER)  # noqa: PTH119
