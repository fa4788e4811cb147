"""Keeping what goes wrong in our hooks out of training: it is said once, and training goes on."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tallystick.emit.progress.run import Run

_UNEXPECTED = (AttributeError, LookupError, TypeError)


@contextmanager
def guarded(run: Run) -> Iterator[None]:
    """Make an error of ours a problem of the run; let through what is the job's own.

    A framework that is otherwise than expected shows in its own frames, so that error is told by
    its class: nobody's signal handler stops a job with one of these.
    """
    try:
        yield
    except _UNEXPECTED as error:
        run.note(error)
    except Exception as error:  # noqa: BLE001 (never into training)
        run._note(error)  # noqa: SLF001 (there is one place that tells them apart)
