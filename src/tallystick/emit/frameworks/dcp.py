"""``torch.distributed.checkpoint`` with reports: the same calls, with the run before them.

All ranks call these as they call the library; the run of rank 0 reports. The library returns
after every rank's shards and then the metadata are written, so that is the commit. What goes
wrong with reports changes neither what is saved nor what the library returns or raises.
"""

from __future__ import annotations

import dataclasses
import os
from concurrent.futures import CancelledError, Future
from typing import TYPE_CHECKING, Any, Callable, Union

import torch.distributed.checkpoint as library

from tallystick.emit.frameworks.guard import guarded
from tallystick.emit.frameworks.naming import local, name_of

if TYPE_CHECKING:
    from tallystick.emit.progress.run import Run
    from tallystick.emit.progress.save import Save

METADATA = ".metadata"
Path = Union[str, "os.PathLike[str]"]
Step = Union[int, Callable[[Any], int]]


def save(
    run: Run,
    state_dict: dict[str, Any],
    *,
    step: int,
    checkpoint_id: Path,
    name: str | None = None,
    **options: Any,
) -> Any:
    """Save as ``torch.distributed.checkpoint.save`` does.

    Args:
        run: Who reports.
        state_dict: What is saved.
        step: Steps that are complete in it.
        checkpoint_id: The folder.
        name: What the checkpoint is called, if not as its folder.
        options: Further arguments of the library.
    """
    paths, named = local(checkpoint_id), name or name_of(checkpoint_id, step)
    with run.checkpoint(step, paths, name=named) as saving:
        result = library.save(state_dict, checkpoint_id=checkpoint_id, **options)
        _commit(saving, paths, options)
    return result


def async_save(
    run: Run,
    state_dict: dict[str, Any],
    *,
    step: int,
    checkpoint_id: Path,
    name: str | None = None,
    **options: Any,
) -> Any:
    """Save as ``torch.distributed.checkpoint.async_save`` does; committed when it is uploaded.

    The future of the upload is done after the commit is told, so that a job which waits for it
    and then exits leaves no save untold.

    Args:
        run: Who reports.
        state_dict: What is saved.
        step: Steps that are complete in it.
        checkpoint_id: The folder.
        name: What the checkpoint is called, if not as its folder.
        options: Further arguments of the library.
    """
    paths, named = local(checkpoint_id), name or name_of(checkpoint_id, step)
    saving = run.checkpoint(step, paths, name=named, blocking=False)
    saving.begin()
    try:
        response = library.async_save(state_dict, checkpoint_id=checkpoint_id, **options)
    except BaseException as error:
        saving.fail(f"{type(error).__name__}: {error}")
        raise

    uploaded: Future[Any] = Future()
    uploaded.set_running_or_notify_cancel()  # As the library's own, it cannot be cancelled.
    staged = hasattr(response, "upload_completion")
    inner = response.upload_completion if staged else response
    inner.add_done_callback(lambda future: _end(saving, paths, options, future, uploaded))
    return dataclasses.replace(response, upload_completion=uploaded) if staged else uploaded


def load(
    run: Run,
    state_dict: dict[str, Any],
    *,
    step: Step,
    checkpoint_id: Path,
    name: str | None = None,
    **options: Any,
) -> None:
    """Load as ``torch.distributed.checkpoint.load`` does, and report what was restored.

    Args:
        run: Who reports.
        state_dict: What is loaded into.
        step: Steps that are complete in it, or what finds them in the state that was loaded.
        checkpoint_id: The folder.
        name: What the checkpoint is called, if not as its folder.
        options: Further arguments of the library.
    """
    library.load(state_dict, checkpoint_id=checkpoint_id, **options)
    with guarded(run):
        done = step(state_dict) if callable(step) else step
        run.restored(name or name_of(checkpoint_id, done), done)


def _end(
    saving: Save,
    paths: list[str],
    options: dict[str, Any],
    future: Future[Any],
    uploaded: Future[Any],
) -> None:
    """Report how a save ended, and only then tell those who wait for it."""
    error: BaseException | None
    try:
        error = future.exception()
    except CancelledError as cancelled:
        error = cancelled
    try:
        if error is None:
            _commit(saving, paths, options)
        else:
            saving.fail(f"{type(error).__name__}: {error}")
    finally:
        if error is None:
            uploaded.set_result(future.result())
        else:
            uploaded.set_exception(error)


def _commit(saving: Save, paths: list[str], options: dict[str, Any]) -> None:
    """Commit a save that has come back, unless the library's own sign of the end is not there.

    Without collectives each rank has metadata of its own, and nobody knows of the others.
    """
    is_its_own = options.get("storage_writer") is None
    if is_its_own and paths and not os.path.exists(os.path.join(paths[0], METADATA)):  # noqa: PTH110, PTH118
        saving.fail(f"{METADATA} is not there: whether every rank has written is not known")
    else:
        saving.commit()
