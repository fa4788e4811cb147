"""Summaries: what an engine's job statistics vouch for (rule 27).

A summary is as good as the samples behind it. It observes from when its watch began, or from
as far back as samples were kept, and only if the engine kept its memory until it was read.
"""

from collections import defaultdict
from typing import NamedTuple

from tallystick.core.interval import Interval
from tallystick.evidence.bodies import JobStats, TelemetryWatch
from tallystick.evidence.record import Record
from tallystick.timeline.attempt import Attempt
from tallystick.timeline.telemetry import NOTHING_SEEN, NodeSeen, Seen, Telemetry, between
from tallystick.timeline.values import Reading, is_zero, read_value


class Summary(NamedTuple):
    """One summary of one GPU: what it observes, what it shows to be lost, and its record.

    ``observed`` lies within the attempt; its parts may overlap.
    """

    digest: str
    observed: tuple[Interval, ...]
    retention_lost: Interval | None
    blank: Interval | None
    is_reversed: bool


def summaries_of(attempt: Attempt, telemetry: Telemetry) -> dict[str, list[Summary]]:
    """Read the summaries of an attempt, by the UUID of the GPU that they are about."""
    nodes = {gpu.uuid: gpu.node or "" for gpu in attempt.gpus}
    vouching: dict[tuple[str, int], list[Seen[TelemetryWatch]]] = {}
    summaries: dict[str, list[Summary]] = defaultdict(list)
    for record in attempt.records.of("telemetry.job_stats"):
        stats, read_us = record.body, record.at_us or 0
        if isinstance(stats, JobStats) and stats.gpu in nodes:
            node = nodes[stats.gpu]
            if (node, read_us) not in vouching:
                seen = telemetry.nodes.get(node, NOTHING_SEEN)
                vouching[node, read_us] = _vouching_watches(seen, read_us)
            summary = _summary(record, stats, attempt.held, vouching[node, read_us])
            summaries[stats.gpu].append(summary)
    return summaries


def _vouching_watches(node: NodeSeen, read_us: int) -> list[Seen[TelemetryWatch]]:
    """Give the watches whose engine kept its memory from then until the moment of reading."""
    return [
        watch
        for watch in between(node.watches, None, read_us)
        if not any(
            start.body.engine == watch.body.engine
            for start in between(node.engine_starts, watch.at_us + 1, read_us)
        )
    ]


def _summary(
    record: Record, stats: JobStats, held: Interval | None, watches: list[Seen[TelemetryWatch]]
) -> Summary:
    is_blank = _is_all_blank(stats)
    read_us = record.at_us or 0
    start_us, end_us, keep_us = stats.start_us, stats.end_us, stats.keep_us
    lost_until_us = None if keep_us is None else min(read_us - keep_us, end_us)
    return Summary(
        record.digest,
        () if is_blank or held is None else _observed(stats, read_us, held, watches),
        None if lost_until_us is None else Interval(start_us, lost_until_us),
        Interval(start_us, end_us) if is_blank else None,
        end_us < start_us,
    )


def _observed(
    stats: JobStats, read_us: int, held: Interval, watches: list[Seen[TelemetryWatch]]
) -> tuple[Interval, ...]:
    parts = []
    for watch_us, _, watch in watches:
        keep_us = watch.keep_us if stats.keep_us is None else stats.keep_us
        if keep_us is None or (watch.gpus is not None and stats.gpu not in watch.gpus):
            continue
        start_us = max(stats.start_us, read_us - keep_us, watch_us, held.start_us)
        parts.append(Interval(start_us, min(stats.end_us, read_us, held.end_us)))
    return tuple(parts)


def _is_all_blank(stats: JobStats) -> bool:
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
