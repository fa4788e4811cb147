"""Summaries: what an engine's job statistics vouch for (rule 27).

A summary is as good as the samples behind it. It observes from when its watch began, or from
as far back as samples were kept, and only if the engine kept its memory until it was read.
"""

from collections import defaultdict
from dataclasses import dataclass

from tallystick.core.interval import Interval, IntervalSet, union
from tallystick.evidence.bodies import JobStats
from tallystick.evidence.record import Record
from tallystick.timeline.attempt import Attempt
from tallystick.timeline.telemetry import NodeSeen, Telemetry, between
from tallystick.timeline.values import Reading, is_zero, read_value


@dataclass(frozen=True, slots=True)
class Summary:
    """One summary of one GPU: what it observes, what it shows to be lost, and its record."""

    digest: str
    observed: IntervalSet
    retention_lost: Interval | None
    blank: Interval | None
    is_reversed: bool


def summaries_of(attempt: Attempt, telemetry: Telemetry) -> dict[str, list[Summary]]:
    """Read the summaries of an attempt, by the UUID of the GPU that they are about."""
    nodes = {gpu.uuid: gpu.node for gpu in attempt.gpus}
    summaries: dict[str, list[Summary]] = defaultdict(list)
    for record in attempt.records.of("telemetry.job_stats"):
        stats = record.body
        if isinstance(stats, JobStats) and stats.gpu in nodes:
            node = telemetry.nodes.get(nodes[stats.gpu] or "", NodeSeen())
            summaries[stats.gpu].append(_summary(record, stats, attempt, node))
    return summaries


def _summary(record: Record, stats: JobStats, attempt: Attempt, node: NodeSeen) -> Summary:
    read_us = record.at_us or 0
    is_blank = _is_all_blank(stats)
    observed = () if is_blank else _observed(stats, read_us, node)
    lost_until_us = None if stats.keep_us is None else min(read_us - stats.keep_us, stats.end_us)
    return Summary(
        digest=record.digest,
        observed=_clip(observed, attempt),
        retention_lost=None if lost_until_us is None else Interval(stats.start_us, lost_until_us),
        blank=Interval(stats.start_us, stats.end_us) if is_blank else None,
        is_reversed=stats.end_us < stats.start_us,
    )


def _observed(stats: JobStats, read_us: int, node: NodeSeen) -> IntervalSet:
    parts = []
    for watch in node.watches_of(stats.gpu):
        keep_us = watch.body.keep_us if stats.keep_us is None else stats.keep_us
        if keep_us is None or watch.at_us > read_us:
            continue
        restarts = between(node.engine_starts, watch.at_us + 1, read_us)
        if any(start.body.engine == watch.body.engine for start in restarts):
            continue
        start_us = max(stats.start_us, read_us - keep_us, watch.at_us)
        parts.append((start_us, min(stats.end_us, read_us)))
    return union(parts)


def _clip(observed: IntervalSet, attempt: Attempt) -> IntervalSet:
    held = attempt.held
    if held is None:
        return ()
    return union((max(a, held.start_us), min(b, held.end_us)) for a, b in observed)


def _is_all_blank(stats: JobStats) -> bool:
    """Tell whether the summary is what an engine prints when nothing was sampled."""
    unmeasured = (
        read_value(stats.energy_mj, "energy_mj") is Reading.BLANK,
        read_value(stats.power_w, "power_w") is Reading.BLANK,
        *(
            is_zero(value) or read_value(value, name) is Reading.BLANK
            for name, value in (
                ("sm_util", stats.sm_util),
                ("mem_util", stats.mem_util),
                ("processes", stats.processes),
            )
        ),
    )
    return all(unmeasured)
