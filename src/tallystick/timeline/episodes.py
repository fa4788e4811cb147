"""Episodes: the part of a series' sample times that decides what it observed.

Within a window ``[S, E)`` of reach ``G`` (gap factor times cadence, rounded down), take the
distinct times of a series' valid samples in ``[S - G, E + G]``. An *episode* ``(first, last)``
is a longest chain of them in which neighbours lie at most ``G`` apart; a lonely sample is an
episode of no length. Between the episodes nothing was seen, so episodes say all that rules 24
to 26 ask, and those of two parts of a series give those of the whole, whatever the parts.

This is the plain form, for the few points of a series that stands inside the evidence.
``episode_arrays`` does the same for millions of samples.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from fractions import Fraction

from tallystick.core.interval import Interval, IntervalSet

Episode = tuple[int, int]

# Longer than the calendar, so that a reach cut to it still reaches every sample there can be.
REACH_MAX_US = 1 << 59


def reach_of(cadence_us: int, gap_factor: Fraction) -> int:
    """Give the longest distance of two samples that still observe what lies between."""
    reach_us = cadence_us * gap_factor.numerator // gap_factor.denominator
    return max(0, min(reach_us, REACH_MAX_US))


def episodes_of(
    times: Sequence[int], start_us: int, end_us: int, reach_us: int
) -> tuple[Episode, ...]:
    """Find the episodes of a series in a window.

    Args:
        times: Times of its valid samples, in order.
        start_us: Start of the window.
        end_us: End of the window.
        reach_us: How far apart neighbours of one episode may lie.
    """
    low = bisect_left(times, start_us - reach_us)
    high = bisect_right(times, end_us + reach_us)
    if low == high:
        return ()
    found: list[Episode] = []
    first_us = last_us = times[low]
    for at_us in times[low + 1 : high]:
        if at_us - last_us > reach_us:
            found.append((first_us, last_us))
            first_us = at_us
        last_us = at_us
    found.append((first_us, last_us))
    return tuple(found)


def joined(episodes: Iterable[Episode], reach_us: int) -> tuple[Episode, ...]:
    """Join the episodes of parts of a series, in one window, into those of the whole."""
    found: list[Episode] = []
    for first_us, last_us in sorted(episodes):
        if found and first_us - found[-1][1] <= reach_us:
            found[-1] = (found[-1][0], max(found[-1][1], last_us))
        else:
            found.append((first_us, last_us))
    return tuple(found)


def observed_of(
    episodes: Sequence[Episode], start_us: int, end_us: int, reach_us: int
) -> IntervalSet:
    """Give what the episodes of a series observe of their window, edge rules included."""
    inside = [pair for pair in episodes if pair[1] >= start_us and pair[0] < end_us]
    # An episode that spans an edge counts up to it; one that begins or ends within reach of
    # the edge observes the way there. Both are the same comparison.
    spans = [(max(first_us, start_us), min(last_us, end_us)) for first_us, last_us in inside]
    if spans and spans[0][0] - start_us <= reach_us:
        spans[0] = (start_us, spans[0][1])
    if spans and end_us - spans[-1][1] <= reach_us:
        spans[-1] = (spans[-1][0], end_us)
    return tuple(Interval(*span) for span in spans if span[0] < span[1])
