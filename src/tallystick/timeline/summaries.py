"""Summaries: what an engine's job statistics vouch for (rule 27).

A summary is as good as the samples behind it. It observes from when its watch began, or from
as far back as samples were kept, and only if the engine kept its memory until it was read.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from tallystick.core.interval import Interval
from tallystick.evidence.bodies import JobStats
from tallystick.evidence.record import Record
from tallystick.timeline.seen import between
from tallystick.timeline.telemetry import NodeSeen
from tallystick.timeline.values import Reading, is_zero, read_value


class Summary(NamedTuple):
    """What one summary of a GPU says, and whether it is the pattern of nothing sampled."""

    start_us: int
    end_us: int
    read_us: int
    keep_us: int | None
    is_blank: bool

    @property
    def is_reversed(self) -> bool:
        """Tell whether it ends before it starts, which no clock that runs does."""
        return self.end_us < self.start_us

    @property
    def blank(self) -> Interval | None:
        """The time in which nothing was sampled."""
        return Interval(self.start_us, self.end_us) if self.is_blank else None

    @property
    def retention_lost(self) -> Interval | None:
        """The time whose samples were no longer kept when it was read, as it states itself."""
        if self.keep_us is None:
            return None
        return Interval(self.start_us, min(self.read_us - self.keep_us, self.end_us))


def summaries_of(records: Iterable[Record]) -> tuple[Summary, ...]:
    """Read the job statistics of one GPU."""
    return tuple(
        Summary(stats.start_us, stats.end_us, record.at_us or 0, stats.keep_us, is_all_blank(stats))
        for record in records
        if isinstance(stats := record.body, JobStats)
    )


def observed_by(summary: Summary, uuid: str, node: NodeSeen, held: Interval) -> Interval | None:
    """Give the part of an attempt that a summary observes, None if it vouches for nothing.

    Each watch that vouches gives a part up to the same end, so the earliest of them counts.
    """
    starts_us = _vouched_from_us(summary, uuid, node)
    # With a retention of its own, the earliest watch is the first.
    earliest_us = (
        next(starts_us, None) if summary.keep_us is not None else min(starts_us, default=None)
    )
    if summary.is_blank or earliest_us is None:
        return None
    start_us = max(summary.start_us, earliest_us, held.start_us)
    end_us = min(summary.end_us, summary.read_us, held.end_us)
    return Interval(start_us, end_us) if start_us < end_us else None


def _vouched_from_us(summary: Summary, uuid: str, node: NodeSeen) -> Iterator[int]:
    """Give since when each covering watch vouches, in order of the watches.

    A watch vouches if its engine kept its memory from then until the moment of reading.
    """
    restarted_us = {
        start.body.engine: start.at_us
        for start in between(node.engine_starts, None, summary.read_us)
    }
    for watch_us, _, watch in between(node.watches, None, summary.read_us):
        keep_us = watch.keep_us if summary.keep_us is None else summary.keep_us
        if keep_us is None or (watch.gpus is not None and uuid not in watch.gpus):
            continue
        if watch_us >= restarted_us.get(watch.engine, watch_us):
            yield max(watch_us, summary.read_us - keep_us)


def is_all_blank(stats: JobStats) -> bool:
    """Tell whether the summary is what an engine prints when nothing was sampled."""
    if read_value(stats.energy_mj, "energy_mj") is not Reading.BLANK:
        return False
    if read_value(stats.power_w, "power_w") is not Reading.BLANK:
        return False
    counted = (
        ("sm_util", stats.sm_util),
        ("mem_util", stats.mem_util),
        ("processes", stats.processes),
    )
    return all(
        is_zero(value) or read_value(value, name) is Reading.BLANK for name, value in counted
    )
