"""The first lane: was the allocation held, suspended, or under notice (rules 30 to 33)?"""

from dataclasses import dataclass

from tallystick.core.interval import Interval, IntervalSet, union
from tallystick.timeline.attempt import Attempt
from tallystick.timeline.spans import Lane, Span, overlay


@dataclass(frozen=True, slots=True)
class AllocationLane:
    """The lane, the suspended time behind it, and whether a resume had no pause before it."""

    lane: Lane
    suspended: IntervalSet
    has_unpaired_resume: bool


def allocation_lane(attempt: Attempt) -> AllocationLane:
    """Draw the lane: suspended goes before notice, notice before held."""
    suspended, unpaired = _suspended(attempt)
    held = attempt.held
    if held is None:
        return AllocationLane((), (), unpaired)
    lane: Lane = (Span(*held, "held"),)
    notices = [at_us for at_us in _times(attempt, "allocation.notice") if at_us >= held.start_us]
    if notices:
        lane = overlay(lane, [(min(notices), held.end_us)], "notice")
    return AllocationLane(overlay(lane, suspended, "suspended"), suspended, unpaired)


def _suspended(attempt: Attempt) -> tuple[IntervalSet, bool]:
    """Pair suspensions with resumes; at one moment suspended comes first (rule 31)."""
    events = [(at_us, 0) for at_us in _times(attempt, "allocation.suspended")]
    events += [(at_us, 1) for at_us in _times(attempt, "allocation.resumed")]
    stretches: list[Interval] = []
    since_us: int | None = None
    unpaired = False
    for at_us, is_resume in sorted(events):
        if not is_resume:
            since_us = at_us if since_us is None else since_us
        elif since_us is None:
            unpaired = True
        else:
            stretches.append(Interval(since_us, at_us))
            since_us = None
    if since_us is not None:
        stretches.append(Interval(since_us, attempt.until_us))
    return union(stretches), unpaired


def _times(attempt: Attempt, kind: str) -> list[int]:
    """Give the times of events inside the attempt, both ends included (rule 16)."""
    times = [record.at_us for record in attempt.records.of(kind) if record.at_us is not None]
    return [at_us for at_us in times if attempt.start_us <= at_us <= attempt.until_us]
