"""Summaries: what an engine's job statistics vouch for (rule 27).

A summary is as good as the samples behind it. It observes from when its watch began, or from
as far back as samples were kept, and only if the engine kept its memory until it was read.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from tallystick.core.interval import Interval
from tallystick.evidence.bodies import JobStats, TelemetryWatch
from tallystick.evidence.record import Record
from tallystick.timeline.telemetry import NodeSeen, Seen, between
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


def observed_by(summary: Summary, uuid: str, node: NodeSeen, held: Interval) -> list[Interval]:
    """Give the parts of an attempt that a summary observes; they may overlap or be empty."""
    if summary.is_blank:
        return []
    parts = []
    for watch_us, _, watch in _vouching_watches(node, summary.read_us):
        keep_us = watch.keep_us if summary.keep_us is None else summary.keep_us
        if keep_us is None or (watch.gpus is not None and uuid not in watch.gpus):
            continue
        start_us = max(summary.start_us, summary.read_us - keep_us, watch_us, held.start_us)
        parts.append(Interval(start_us, min(summary.end_us, summary.read_us, held.end_us)))
    return parts


def _vouching_watches(node: NodeSeen, read_us: int) -> Sequence[Seen[TelemetryWatch]]:
    """Give the watches whose engine kept its memory from then until the moment of reading."""
    watches = between(node.watches, None, read_us)
    if not node.engine_starts:
        return watches
    return [
        watch
        for watch in watches
        if not any(
            start.body.engine == watch.body.engine
            for start in between(node.engine_starts, watch.at_us + 1, read_us)
        )
    ]


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
