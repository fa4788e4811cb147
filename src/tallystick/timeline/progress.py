"""The third lane: what the application did with the allocation (section 4, rules 33 to 38).

Events inside the attempt cut it into pieces; a piece is classed by the state that it lies in,
else by the step at its end. Work is *kept* or *discarded* by what later lives restored, never
by what this attempt believed.
"""

import itertools
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from tallystick.core.interval import IntervalSet
from tallystick.evidence.bodies import (
    Body,
    CheckpointBegun,
    CheckpointCommitted,
    ProgressWaiting,
)
from tallystick.timeline.attempt import Attempt
from tallystick.timeline.lives import Life
from tallystick.timeline.spans import Lane, Span, join_equal, overlay

EVENT_KINDS = (
    "progress.started",
    "progress.step",
    "progress.waiting",
    "progress.resumed",
    "checkpoint.begun",
    "checkpoint.committed",
    "checkpoint.restored",
)

_SaveKey = tuple[str, int]


class _Event(NamedTuple):
    at_us: int
    kind: str
    body: Body


class _State(NamedTuple):
    """A stretch in which the application waits or saves."""

    start_us: int
    end_us: int
    label: str


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
    events = _events(attempt)
    if not events:
        return (Span(*held, "unknown"),)
    begun_us = _starting_until(events)
    saves = _Saves.of(events)
    cuts = sorted({begun_us, *(event.at_us for event in events if _cuts(event, saves))})
    states = [*_saving(events, saves, cuts, held.end_us), *_waits(events, cuts, held.end_us)]
    edges = {*cuts, *(edge for state in states for edge in (state.start_us, state.end_us))}
    bounds = sorted({*held, *(at_us for at_us in edges if at_us >= begun_us)})
    labels = _labels(bounds, begun_us, states, _work_by_end(lives))
    spans = map(Span, bounds, bounds[1:], labels)
    lane = join_equal(spans)
    return overlay(lane, suspended, "waiting:suspended") if suspended else lane


def _labels(
    bounds: Sequence[int], begun_us: int, states: Sequence[_State], work: Mapping[int, str]
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


@dataclass(frozen=True, slots=True)
class _Saves:
    """When each checkpoint was begun (and whether that blocked) and committed."""

    begun: Mapping[_SaveKey, Sequence[tuple[int, bool]]]
    committed: Mapping[_SaveKey, Sequence[int]]

    @classmethod
    def of(cls, events: Sequence[_Event]) -> "_Saves":
        begun: dict[_SaveKey, list[tuple[int, bool]]] = defaultdict(list)
        committed: dict[_SaveKey, list[int]] = defaultdict(list)
        for event in events:
            body = event.body
            if isinstance(body, CheckpointBegun):
                begun[body.checkpoint, body.step].append((event.at_us, body.blocking))
            elif isinstance(body, CheckpointCommitted):
                committed[body.checkpoint, body.step].append(event.at_us)
        return cls(begun, committed)


def _events(attempt: Attempt) -> list[_Event]:
    """Give the events inside the attempt, both ends included, in canonical order (rule 16)."""
    return [
        _Event(record.at_us, record.kind, record.body)
        for record in attempt.records.of(*EVENT_KINDS)
        if record.at_us is not None
        and attempt.start_us <= record.at_us <= attempt.until_us
        and isinstance(record.body, Body)
    ]


def _starting_until(events: Sequence[_Event]) -> int:
    """Find where ``starting`` ends (rule 34)."""
    first_us: dict[str, int] = {}
    for event in events:
        first_us.setdefault(event.kind, event.at_us)
    restored_us = first_us.get("checkpoint.restored")
    if restored_us is not None and restored_us <= first_us.get("progress.step", restored_us):
        return restored_us
    return first_us.get("progress.started", events[0].at_us)


def _cuts(event: _Event, saves: _Saves) -> bool:
    """Tell whether an event cuts the lane (rule 36)."""
    body = event.body
    if isinstance(body, CheckpointBegun):
        return body.blocking
    if isinstance(body, CheckpointCommitted):
        begun = saves.begun.get((body.checkpoint, body.step), ())
        blocking = [blocks for at_us, blocks in begun if at_us <= event.at_us]
        return blocking[-1] if blocking else body.blocking
    return event.kind != "progress.started"


def _waits(events: Sequence[_Event], cuts: Sequence[int], end_us: int) -> list[_State]:
    """Give the waits: to the first resume, if no other wait comes between (rule 36)."""
    marks = [event for event in events if event.kind in {"progress.waiting", "progress.resumed"}]
    states = []
    for event, following in itertools.zip_longest(marks, marks[1:]):
        if not isinstance(event.body, ProgressWaiting):
            continue
        if following is not None and following.kind == "progress.resumed":
            until_us = following.at_us
        else:
            until_us = _first_after(event.at_us, cuts, end_us)
        states.append(_State(event.at_us, until_us, f"waiting:{event.body.reason}"))
    return states


def _saving(
    events: Sequence[_Event], saves: _Saves, cuts: Sequence[int], end_us: int
) -> list[_State]:
    """Give the blocking saves: to the first commit of the same checkpoint and step (rule 36)."""
    states = []
    for event in events:
        body = event.body
        if isinstance(body, CheckpointBegun) and body.blocking:
            commits = saves.committed.get((body.checkpoint, body.step), ())
            index = bisect_left(commits, event.at_us)
            until_us = (
                commits[index] if index < len(commits) else _first_after(event.at_us, cuts, end_us)
            )
            states.append(_State(event.at_us, until_us, "saving"))
    return states


def _first_after(at_us: int, times: Sequence[int], end_us: int) -> int:
    """Give the first of some ordered times that is later, else the end."""
    index = bisect_right(times, at_us)
    return times[index] if index < len(times) else end_us


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
    return any(attempt.records.by_kind.get(kind) for kind in EVENT_KINDS)
