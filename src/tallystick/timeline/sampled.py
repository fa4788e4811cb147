"""What all samples of a GPU say of an attempt: inline points and segments as one (rule 22).

The points of a series may stand in any number of records and segments. Each part gives the
episodes of its own, and those of the whole follow from them; so do the blanks, since a valid
sample at the time of a blank is either inside what is observed or an end of an episode.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import NamedTuple

from tallystick.core.interval import Interval
from tallystick.timeline.episodes import Episode, episodes_of, joined, observed_of, reach_of
from tallystick.timeline.segments import Found, SeriesName, SeriesWindow
from tallystick.timeline.telemetry import GpuSamples, Telemetry


class Told(NamedTuple):
    """What one segment says of a window, and the digests of the records that stand for it."""

    window: SeriesWindow
    found: Found
    digests: tuple[str, ...]


class Sampled(NamedTuple):
    """What the samples of a GPU say of the time that an attempt held it.

    ``sampled_us`` are the times of valid samples at which a gap can begin or end, in order;
    ``blank_us`` those at which something was blank or impossible and nothing valid.
    """

    observed: tuple[Interval, ...]
    sampled_us: tuple[int, ...]
    blank_us: Sequence[int]
    has_impossible: bool
    digests: tuple[str, ...]


def told_by_segments(
    telemetry: Telemetry, uuid: str, held: Interval, gap_factor: Fraction
) -> tuple[Told, ...]:
    """Give all that segments were found to say of the time held on a GPU."""
    if telemetry.scanned is None:
        return ()
    answers = telemetry.scanned.answers
    told = []
    for segment, window in telemetry.catalogue.looks(uuid, held, gap_factor):
        answer = answers.get(segment.digest)
        if answer is not None and (found := answer.found.get(window)) is not None:
            told.append(Told(window, found, (segment.digest, *answer.kept_by)))
    return tuple(told)


def sampled(
    samples: GpuSamples, told: Sequence[Told], held: Interval, gap_factor: Fraction
) -> Sampled:
    """Put together what inline points and segments say."""
    chains = _inline(samples, held, gap_factor)
    if told:
        chains = _with_told(chains, told)
    observed: list[Interval] = []
    sampled_us: set[int] = set()
    for _, reach_us, episodes in chains:
        observed += observed_of(episodes, *held, reach_us)
        sampled_us.update(at_us for episode in episodes for at_us in episode)
    impossible_us = samples.impossible_us
    return Sampled(
        observed=tuple(observed),
        sampled_us=tuple(sorted(sampled_us)),
        blank_us=_blank_us(samples.blank_us, told, held, sampled_us),
        has_impossible=any(held.start_us <= at < held.end_us for at in impossible_us)
        or any(each.found.has_impossible for each in told),
        digests=(*samples.digests, *(digest for each in told for digest in each.digests)),
    )


class _Chain(NamedTuple):
    """The episodes of one series, and the reach within which its samples form them."""

    series: SeriesName
    reach_us: int
    episodes: Sequence[Episode]


def _inline(samples: GpuSamples, held: Interval, gap_factor: Fraction) -> list[_Chain]:
    chains = []
    for series in samples.series:
        reach_us = reach_of(series.name.cadence_us, gap_factor)
        episodes = episodes_of(series.times_us, *held, reach_us)
        chains.append(_Chain(series.name, reach_us, episodes))
    return chains


def _with_told(chains: Iterable[_Chain], told: Iterable[Told]) -> list[_Chain]:
    """Join the episodes of inline points with those of segments, series by series."""
    parts: dict[tuple[SeriesName, int], list[Episode]] = defaultdict(list)
    for series, reach_us, episodes in chains:
        parts[series, reach_us] += episodes
    for window, found, _ in told:
        parts[window.series, window.reach_us] += found.episodes
    return [
        _Chain(series, reach_us, joined(episodes, reach_us))
        for (series, reach_us), episodes in parts.items()
    ]


def _blank_us(
    inline_us: Sequence[int], told: Sequence[Told], held: Interval, sampled_us: set[int]
) -> Sequence[int]:
    """Give the blanks of all parts at which none of them has a valid sample."""
    if not told:
        return inline_us
    first, end = (bisect_left(inline_us, at_us) for at_us in held)
    blank_us = {at_us for each in told for at_us in each.found.blank_us}
    return sorted(blank_us.union(inline_us[first:end]) - sampled_us)
