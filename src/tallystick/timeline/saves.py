"""Saves of an attempt: which of their events cut its progress lane, and how long they last.

Only saves that block training stand in the lane (rule 36); those in the background leave the
steps beside them as they are.
"""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence

from tallystick.evidence.bodies import CheckpointBegun, CheckpointCommitted
from tallystick.evidence.record import Record
from tallystick.timeline.spans import Span

_Place = tuple[str, int]
"""A checkpoint's name and step."""


def is_blocking(record: Record) -> bool:
    """Tell whether a begun or committed event says of itself that its save blocks."""
    body = record.body
    return isinstance(body, CheckpointBegun | CheckpointCommitted) and body.blocking


def committed_cuts(begun: Sequence[Record], committed: Sequence[Record]) -> Iterator[int]:
    """Give the moments at which a blocking save begins or is committed, both in canonical order.

    A commit goes by the latest begun event of its checkpoint and step that is not later, and by
    itself if there is none.
    """
    starts: dict[_Place, list[tuple[int, bool]]] = defaultdict(list)
    for record in begun:
        body = record.body
        if isinstance(body, CheckpointBegun):
            starts[body.checkpoint, body.step].append((record.at_us or 0, body.blocking))
    yield from (at_us for saves in starts.values() for at_us, blocks in saves if blocks)
    for record in committed:
        body, at_us = record.body, record.at_us or 0
        if isinstance(body, CheckpointCommitted):
            saves = starts.get((body.checkpoint, body.step), ())
            place = bisect_right(saves, (at_us, True))
            if saves[place - 1][1] if place else body.blocking:
                yield at_us


def saving_states(
    begun: Sequence[Record], committed: Sequence[Record], next_cut: Callable[[int], int]
) -> Iterator[Span]:
    """Give the blocking saves: each to the first commit of its checkpoint and step.

    Without one it lasts to the next cut, or the end, which ``next_cut`` gives.
    """
    commits: dict[_Place, list[int]] = defaultdict(list)
    for record in committed:
        if isinstance(record.body, CheckpointCommitted):
            commits[record.body.checkpoint, record.body.step].append(record.at_us or 0)
    for record in begun:
        body, at_us = record.body, record.at_us or 0
        if isinstance(body, CheckpointBegun) and body.blocking:
            times = commits[body.checkpoint, body.step]
            index = bisect_left(times, at_us)
            until_us = times[index] if index < len(times) else next_cut(at_us)
            yield Span(at_us, until_us, "saving")


def first_after(at_us: int, times: Sequence[int], end_us: int) -> int:
    """Give the first of some ordered times that is later, else the end."""
    index = bisect_right(times, at_us)
    return times[index] if index < len(times) else end_us
