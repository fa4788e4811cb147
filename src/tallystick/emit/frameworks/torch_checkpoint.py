"""One file by ``torch.save``, whole or not there, with reports.

``torch.save`` writes into the file that it is given: a job that dies meanwhile has destroyed the
checkpoint of before, and after a power cut a file may be there without its bytes.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from tallystick.emit.frameworks.naming import name_of
from tallystick.emit.spool import sync_folder

if TYPE_CHECKING:
    from tallystick.emit.progress.run import Run


def save(
    run: Run,
    state: Any,
    path: os.PathLike[str] | str,
    *,
    step: int,
    name: str | None = None,
    **options: Any,
) -> None:
    """Save a state, and report it as a checkpoint when it is on disk under its name.

    Args:
        run: Who reports.
        state: What is saved.
        path: Where; what lies there stays until the new file is whole.
        step: Steps that are complete in it.
        name: What the checkpoint is called, if not as its file.
        options: Further arguments of ``torch.save``.
    """
    place = Path(path)
    with run.checkpoint(step, [place], name=name or name_of(place, step)):
        draft = place.with_name(f".{place.name}.tmp")
        try:
            with draft.open("wb") as stream:
                torch.save(state, stream, **options)
                stream.flush()
                os.fsync(stream.fileno())
            draft.replace(place)
        except BaseException:
            with suppress(OSError):
                draft.unlink()
            raise
        sync_folder(place.parent)
