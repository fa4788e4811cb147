"""The third lane: what the application did with the allocation (section 4, rules 33 to 38).

Events inside the attempt cut it into pieces; a piece is classed by the state that it lies in,
else by the step at its end. Work is *kept* or *discarded* by what later lives restored, never
by what this attempt believed.
"""

import itertools
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import NamedTuple

from tallystick.core.canonical import INTEGER_MAX
from tallystick.core.interval import IntervalSet
from tallystick.core.vocabulary import PROGRESS_KINDS
from tallystick.evidence.bodies import ProgressWaiting
from tallystick.evidence.record import Record
from tallystick.timeline.attempt import Attempt
from tallystick.timeline.lives import Life
from tallystick.timeline.saves import committed_cuts, first_after, is_blocking, saving_states
from tallystick.timeline.spans import Lane, Span, join_equal, overlay

_CUTTING = ("progress.waiting", "progress.resumed", "checkpoint.restored")
"""Kinds that always cut, beside the steps."""

_BEYOND_ALL_STEPS = INTEGER_MAX + 1

_Events = Mapping[str, Sequence[Record]]
"""Records inside an attempt by kind, each sequence in canonical order and not empty."""


class _Work(NamedTuple):
    """The moments of reports, in order, and the class of the work that each completes."""

    times_us: Sequence[int]
    labels: Sequence[str]


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
    work = _work_inside(lives, attempt)
    begun, committed = events.get("checkpoint.begun", ()), events.get("checkpoint.committed", ())
    if not any(map(is_blocking, (*begun, *committed))):
        begun = committed = ()  # The many saves of a background writer cut nothing.
    moments = [each.at_us or 0 for kind in _CUTTING for each in events.get(kind, ())]
    cuts = _in_order([begun_us, *moments, *committed_cuts(begun, committed)])

    def next_cut(at_us: int) -> int:
        return min(first_after(at_us, times, held.end_us) for times in (cuts, work.times_us))

    states = [*saving_states(begun, committed, next_cut), *_waits(events, next_cut)]
    edges = [edge for state in states for edge in state[:2]]
    later = [at_us for at_us in (*cuts, *edges, held.end_us) if at_us >= begun_us]
    bounds = _in_order([held.start_us, *later])
    named = zip(bounds, bounds[1:], _states(bounds, begun_us, states), strict=False)
    pieces = (
        _worked(start_us, end_us, work) if state is None else ((start_us, end_us, state),)
        for start_us, end_us, state in named
    )
    lane = join_equal(itertools.chain.from_iterable(pieces))
    return overlay(lane, suspended, "waiting:suspended") if suspended else lane


def _in_order(times_us: Iterable[int]) -> list[int]:
    return sorted(set(times_us))


def _events_inside(attempt: Attempt) -> _Events:
    """Give the events inside the attempt, both ends included (rule 16)."""
    events: dict[str, list[Record]] = {}
    at_us = attrgetter("at_us")
    for kind in PROGRESS_KINDS:
        records = attempt.records.of(kind)
        first = bisect_left(records, attempt.start_us, key=at_us)
        inside = records[first : bisect_right(records, attempt.until_us, key=at_us)]
        if inside:
            events[kind] = inside
    return events


def _starting_until(events: _Events) -> int:
    """Find where ``starting`` ends (rule 34)."""
    first_us = {kind: records[0].at_us or 0 for kind, records in events.items()}
    restored_us = first_us.get("checkpoint.restored")
    if restored_us is not None and restored_us <= first_us.get("progress.step", restored_us):
        return restored_us
    return first_us.get("progress.started", min(first_us.values()))


def _states(bounds: Sequence[int], begun_us: int, states: Sequence[Span]) -> list[str | None]:
    """Name the state of each stretch between bounds, the last that covers it; None is work."""
    named: list[str | None] = [None] * (len(bounds) - 1)
    if bounds[0] < begun_us:
        named[0] = "starting"
    for state in states:
        first = bisect_left(bounds, max(state.start_us, begun_us))
        for index in range(first, bisect_right(bounds, state.end_us) - 1):
            named[index] = state.label
    return named


def _worked(start_us: int, end_us: int, work: _Work) -> Iterator[tuple[int, int, str]]:
    """Cut a stretch at its reports, each of which says what the piece before it was."""
    place, end = bisect_right(work.times_us, start_us), bisect_right(work.times_us, end_us)
    for label, alike in itertools.groupby(work.labels[place:end]):
        place += len(tuple(alike))
        until_us = work.times_us[place - 1]
        yield start_us, until_us, label
        start_us = until_us
    yield start_us, end_us, "unknown"


def _waits(events: _Events, next_cut: Callable[[int], int]) -> list[Span]:
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
            until_us = next_cut(at_us)
        states.append(Span(at_us, until_us, f"waiting:{mark.body.reason}"))
    return states


def _work_inside(lives: Sequence[Life], attempt: Attempt) -> _Work:
    """Class the work that each report inside the attempt completes."""
    times_us = list(itertools.chain.from_iterable(life.reports.times_us for life in lives))
    labels = list(itertools.chain.from_iterable(map(_work, lives)))
    first, end = bisect_left(times_us, attempt.start_us), bisect_right(times_us, attempt.until_us)
    return _Work(times_us[first:end], labels[first:end])


def _work(life: Life) -> list[str]:
    """Class the work up to each report by what later lives kept (section 4)."""
    steps = life.reports.steps
    again, going = "replaying", "advancing"
    if life.is_followed_blindly:
        again = going = "mixed"
    lowest, highest = life.lowest_later_restore, life.highest_before
    if lowest is None:
        lowest = _BEYOND_ALL_STEPS
    base = () if life.base_step is None else (life.base_step,)
    labels = [
        "discarded"
        if previous >= lowest
        else "mixed"
        if step > lowest
        else again
        if step <= highest
        else going
        if previous >= highest
        else "mixed"
        for previous, step in itertools.pairwise((*base, *steps))
    ]
    return labels if base or not steps else ["unknown", *labels]


def has_progress(attempt: Attempt) -> bool:
    """Tell whether any progress event names the attempt, whatever its time."""
    return not attempt.records.by_kind.keys().isdisjoint(PROGRESS_KINDS)
