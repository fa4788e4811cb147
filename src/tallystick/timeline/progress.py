"""The third lane: what the application did with the allocation (section 4, rules 33 to 38).

Events inside the attempt cut it into pieces; a piece is classed by the state that it lies in,
else by the step at its end. Work is *kept* or *discarded* by what later lives restored, never
by what this attempt believed.
"""

import itertools
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence

from tallystick.core.interval import IntervalSet
from tallystick.evidence.bodies import ProgressWaiting
from tallystick.evidence.record import Record
from tallystick.timeline.attempt import Attempt
from tallystick.timeline.lives import Life
from tallystick.timeline.saves import committed_cuts, first_after, saving_states
from tallystick.timeline.spans import Lane, Span, join_equal, overlay

_ALWAYS_CUTTING = (
    "progress.step",
    "progress.waiting",
    "progress.resumed",
    "checkpoint.restored",
)

_Events = Mapping[str, Sequence[Record]]
"""Records inside an attempt by kind, each sequence in canonical order and not empty."""


def progress_lane(attempt: Attempt, lives: Sequence[Life], suspended: IntervalSet) -> Lane:
    """Draw the lane of one attempt.

    Args:
        attempt: The attempt, whose events are read from its records.
        lives: The attempt's own lives, in order.
        suspended: Its suspended time, which is waiting whatever else happened (rule 33).
    """
    held = attempt.held
    if held is None:
        return ()
    events = _events_inside(attempt)
    if not events:
        return (Span(*held, "unknown"),)
    begun_us = _starting_until(events)
    begun, committed = events.get("checkpoint.begun", ()), events.get("checkpoint.committed", ())
    moments = {each.at_us or 0 for kind in _ALWAYS_CUTTING for each in events.get(kind, ())}
    cuts = sorted({begun_us, *moments, *committed_cuts(begun, committed)})
    states = [
        *saving_states(begun, committed, cuts, held.end_us),
        *_waits(events, cuts, held.end_us),
    ]
    edges = {*cuts, *(edge for state in states for edge in state[:2])}
    bounds = sorted({*held, *(at_us for at_us in edges if at_us >= begun_us)})
    labels = _labels(bounds, begun_us, states, _work_by_end(lives))
    lane = join_equal(zip(bounds, bounds[1:], labels, strict=False))
    return overlay(lane, suspended, "waiting:suspended") if suspended else lane


def _events_inside(attempt: Attempt) -> _Events:
    """Give the events inside the attempt, both ends included (rule 16)."""
    start_us, until_us = attempt.start_us, attempt.until_us
    events: dict[str, list[Record]] = {}
    for record in attempt.records.progress:
        if start_us <= (record.at_us or 0) <= until_us:
            events.setdefault(record.kind, []).append(record)
    return events


def _starting_until(events: _Events) -> int:
    """Find where ``starting`` ends (rule 34)."""
    first_us = {kind: records[0].at_us or 0 for kind, records in events.items()}
    restored_us = first_us.get("checkpoint.restored")
    if restored_us is not None and restored_us <= first_us.get("progress.step", restored_us):
        return restored_us
    return first_us.get("progress.started", min(first_us.values()))


def _labels(
    bounds: Sequence[int], begun_us: int, states: Sequence[Span], work: Mapping[int, str]
) -> list[str]:
    """Class each piece by its state, the last that covers it, else by the step at its end."""
    labels = [
        "starting" if start_us < begun_us else work.get(end_us, "unknown")
        for start_us, end_us in itertools.pairwise(bounds)
    ]
    for state in states:
        first = bisect_left(bounds, max(state.start_us, begun_us))
        for index in range(first, bisect_right(bounds, state.end_us) - 1):
            labels[index] = state.label
    return labels


def _waits(events: _Events, cuts: Sequence[int], end_us: int) -> list[Span]:
    """Give the waits: to the first resume, if no other wait comes between (rule 36)."""
    waiting = events.get("progress.waiting", ())
    if not waiting:
        return []
    marks = sorted((*waiting, *events.get("progress.resumed", ())), key=lambda each: each.order)
    states = []
    for mark, following in itertools.zip_longest(marks, marks[1:]):
        if not isinstance(mark.body, ProgressWaiting):
            continue
        at_us = mark.at_us or 0
        if following is not None and following.kind == "progress.resumed":
            until_us = following.at_us or 0
        else:
            until_us = first_after(at_us, cuts, end_us)
        states.append(Span(at_us, until_us, f"waiting:{mark.body.reason}"))
    return states


def _work_by_end(lives: Sequence[Life]) -> dict[int, str]:
    """Class the work that each report completes, by the time of the report."""
    work: dict[int, str] = {}
    for life in lives:
        previous = life.base_step
        for report in life.reports:
            work[report.at_us] = _work(life, report.step, previous)
            previous = report.step
    return work


def _work(life: Life, step: int, previous: int | None) -> str:
    """Class the work from ``previous`` to ``step`` by what later lives kept (section 4)."""
    if previous is None:
        return "unknown"
    lowest, highest = life.lowest_later_restore, life.highest_before
    if lowest is not None and previous >= lowest:
        return "discarded"
    is_kept = lowest is None or step <= lowest
    if step <= highest and is_kept:
        label = "replaying"
    elif previous >= highest and is_kept:
        label = "advancing"
    else:
        label = "mixed"
    return "mixed" if life.is_followed_blindly else label


def has_progress(attempt: Attempt) -> bool:
    """Tell whether any progress event names the attempt, whatever its time."""
    return bool(attempt.records.progress)
