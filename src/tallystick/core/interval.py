"""Half-open time intervals and their algebra.

Every interval is ``[start_us, end_us)``: the start is inside, the end is not, so adjacent
intervals meet without gap or overlap. Times are integer UTC microseconds since the Unix
epoch. A *set* is a tuple of intervals in order, none of which meets the next. Nothing here
reads a clock.
"""

from collections.abc import Iterable
from itertools import pairwise
from typing import NamedTuple

from tallystick.core.errors import EmptyIntervalError


class Interval(NamedTuple):
    """A span of time; the functions of this module never give an empty one."""

    start_us: int
    end_us: int

    @property
    def duration_us(self) -> int:
        """Length in microseconds."""
        return self.end_us - self.start_us


IntervalSet = tuple[Interval, ...]


def interval(start_us: int, end_us: int) -> Interval:
    """Make an interval.

    Raises:
        EmptyIntervalError: it would end at or before its start.
    """
    if start_us >= end_us:
        raise EmptyIntervalError(start_us, end_us)
    return Interval(start_us, end_us)


def union(intervals: Iterable[tuple[int, int]], *, bridge_us: int = 0) -> IntervalSet:
    """Join intervals that meet, or that lie at most ``bridge_us`` apart, into a set.

    Empty and reversed pairs contribute nothing.
    """
    pairs = [pair for pair in intervals if pair[0] < pair[1]]
    if len(pairs) == 1:
        return (Interval(*pairs[0]),)
    merged: list[tuple[int, int]] = []
    for start_us, end_us in sorted(pairs):
        if merged and start_us - merged[-1][1] <= bridge_us:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end_us))
        else:
            merged.append((start_us, end_us))
    return tuple(Interval(*pair) for pair in merged)


def complement(within: tuple[int, int], holes: IntervalSet) -> IntervalSet:
    """Give what of ``within`` no interval of the set ``holes`` covers."""
    left: list[Interval] = []
    cursor_us, end_us = within
    for hole_start_us, hole_end_us in holes:
        if hole_start_us >= end_us:
            break
        if hole_start_us > cursor_us:
            left.append(Interval(cursor_us, hole_start_us))
        cursor_us = max(cursor_us, hole_end_us)
    if cursor_us < end_us:
        left.append(Interval(cursor_us, end_us))
    return tuple(left)


def cut(within: tuple[int, int], at_us: Iterable[int]) -> IntervalSet:
    """Split an interval at every moment that lies inside it."""
    start_us, end_us = within
    bounds = sorted({start_us, end_us, *(at for at in at_us if start_us < at < end_us)})
    return tuple(Interval(*pair) for pair in pairwise(bounds))


def total_us(intervals: Iterable[tuple[int, int]]) -> int:
    """Add up the lengths."""
    return sum(end_us - start_us for start_us, end_us in intervals)
