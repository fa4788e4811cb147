"""What runs where the GPUs are: node hooks, the spool, the way home, and the word of the job.

This folder is copied to nodes alone, as one file, and runs on any Python from 3.9 on with its
standard library. It imports nothing of the rest, and nothing here may ever fail a job: what
cannot be seen is left out and said to be unknown, what cannot be kept is noted as lost.

A training loop needs three lines::

    from tallystick import emit

    run = emit.attach()
    run.step(step)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tallystick.emit.progress.attach import attach
    from tallystick.emit.progress.run import Run
    from tallystick.emit.progress.save import Save

__all__ = ["Run", "Save", "attach"]


def __getattr__(name: str) -> Any:
    """Load the part for training jobs when one asks for it: hooks start without it."""
    from importlib import import_module  # noqa: PLC0415 (start-up)

    places = {"attach": "attach", "Run": "run", "Save": "save"}
    if name not in places:
        raise AttributeError(name)
    return getattr(import_module(f"tallystick.emit.progress.{places[name]}"), name)
