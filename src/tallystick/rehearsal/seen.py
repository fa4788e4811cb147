"""Where a job is, from what it reported: the one thing that faults wait for.

Pure: records in, answers out. Nothing is inferred from time or from a job's silence.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from tallystick.rehearsal.plan import Fault


@dataclass(slots=True)
class Seen:
    """What the reports of one attempt say so far."""

    is_started: bool = False
    is_restored: bool = False
    step: int | None = None
    """Last completed step, that of the restored checkpoint at first."""
    saving: int | None = None
    """Step of the save that has begun and not ended."""
    saved: int | None = None
    """Highest step of a checkpoint that was committed in this attempt."""

    def add(self, records: Iterable[dict[str, Any]]) -> None:
        """Take further records in."""
        for record in records:
            self._add(record["kind"], record["body"])

    def _add(self, kind: str, body: dict[str, Any]) -> None:
        step = body.get("step")
        if kind == "progress.started":
            self.is_started = True
        elif not isinstance(step, int):
            return
        elif kind == "progress.step":
            self.step = step
        elif kind == "checkpoint.restored":
            self.is_restored, self.step = True, step
        elif kind == "checkpoint.begun":
            self.saving = step
        elif kind in {"checkpoint.committed", "checkpoint.abandoned"}:
            self.saving = None
            if kind == "checkpoint.committed":
                self.saved = max(step, self.saved or 0)


def is_reached(fault: Fault, seen: Seen, *, elapsed_us: int, is_saved: bool) -> bool:
    """Tell whether a job is where a fault is to come.

    Args:
        fault: The fault.
        seen: Where the attempt is.
        elapsed_us: How long it has run.
        is_saved: Whether any attempt of the run committed a checkpoint.
    """
    match fault.when:
        case "step":
            return seen.step is not None and seen.step >= (fault.step or 0)
        case "saving":
            return seen.saving is not None and fault.step in {None, seen.saving}
        case "before_first_save":
            is_past = seen.step is not None and seen.step >= (fault.step or 1)
            return is_past and not is_saved and seen.saved is None
        case "restoring":
            return seen.is_started and not seen.is_restored
        case "time":
            return elapsed_us >= (fault.after_us or 0)
