"""The catalogue of segments: which of them may tell something of an attempt on a GPU.

A segment lies in the reach of a window if its time, ends included, meets the window widened
by the reach on both sides: samples there can bracket an edge (rule 24).
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import accumulate
from typing import NamedTuple

from tallystick.core.interval import Interval
from tallystick.evidence.bodies import Samples, SegmentDropped
from tallystick.timeline.episodes import reach_of
from tallystick.timeline.seen import Seen, moment_us
from tallystick.timeline.segments import SeriesName, SeriesWindow, segment_sha256


class Look(NamedTuple):
    """A segment, and a window that it may tell something of."""

    segment: Seen[Samples]
    window: SeriesWindow


@dataclass(frozen=True, slots=True)
class SeriesSegments:
    """The segments of one series of a GPU, by start.

    ``until_us`` gives for each the latest end of it and all before.
    """

    segments: tuple[Seen[Samples], ...]
    until_us: tuple[int, ...]

    def meeting(self, from_us: int, to_us: int) -> Iterator[Seen[Samples]]:
        """Give the segments with time from one moment to another, both included."""
        for place in range(bisect_right(self.segments, to_us, key=moment_us) - 1, -1, -1):
            if self.until_us[place] < from_us:
                return
            if self.segments[place].body.to_us >= from_us:
                yield self.segments[place]


@dataclass(frozen=True, slots=True)
class Catalogue:
    """The segments that records name: those of each GPU, and all by their SHA-256.

    ``dropped`` are the records of what dropped segments said, in canonical order.
    """

    of_gpu: dict[str, dict[SeriesName, SeriesSegments]] = field(default_factory=dict)
    named: dict[str, tuple[Seen[Samples], ...]] = field(default_factory=dict)
    dropped: dict[str, tuple[Seen[SegmentDropped], ...]] = field(default_factory=dict)

    def looks(self, uuid: str, held: Interval, gap_factor: Fraction) -> Iterator[Look]:
        """Give every segment that may tell something of the time held on a GPU."""
        for (metric, cadence_us), series in self.of_gpu.get(uuid, {}).items():
            reach_us = reach_of(cadence_us, gap_factor)
            window = SeriesWindow(uuid, metric, cadence_us, *held, reach_us)
            for segment in series.meeting(held.start_us - reach_us, held.end_us + reach_us):
                yield Look(segment, window)


def catalogue(
    segments: Iterable[Seen[Samples]], dropped: Iterable[Seen[SegmentDropped]]
) -> Catalogue:
    """Index what records say of segments, given in canonical order."""
    of_gpu: dict[str, dict[SeriesName, list[Seen[Samples]]]] = defaultdict(dict)
    named: dict[str, list[Seen[Samples]]] = defaultdict(list)
    kept: dict[str, list[Seen[SegmentDropped]]] = defaultdict(list)
    for segment in segments:
        body = segment.body
        named[segment_sha256(body.segment)].append(segment)
        for uuid in dict.fromkeys(body.gpus):
            series = of_gpu[uuid].setdefault(SeriesName(body.metric, body.cadence_us), [])
            series.append(segment)
    for record in dropped:
        kept[segment_sha256(record.body.segment)].append(record)
    return Catalogue(
        of_gpu={
            uuid: {name: _ordered(found) for name, found in sorted(by_series.items())}
            for uuid, by_series in of_gpu.items()
        },
        named={name: tuple(found) for name, found in named.items()},
        dropped={name: tuple(found) for name, found in kept.items()},
    )


def _ordered(segments: list[Seen[Samples]]) -> SeriesSegments:
    ordered = tuple(sorted(segments, key=moment_us))
    until_us = accumulate((segment.body.to_us for segment in ordered), max)
    return SeriesSegments(ordered, tuple(until_us))
