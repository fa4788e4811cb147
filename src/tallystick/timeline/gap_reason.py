"""Why a gap is there: one reason, the first that the evidence supports (rules 25 and 26)."""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import NamedTuple

from tallystick.core.interval import Interval
from tallystick.timeline.seen import between
from tallystick.timeline.summaries import Summary
from tallystick.timeline.telemetry import NodeSeen


class GapEvidence(NamedTuple):
    """What bears on the gaps of one GPU of one attempt."""

    held: Interval
    uuid: str
    node: NodeSeen
    is_mig: bool
    summaries: Sequence[Summary]
    blank_us: Sequence[int]


_Support = Callable[[GapEvidence, Interval], "str | bool | None"]


def gap_reason(evidence: GapEvidence, gap: Interval, *, was_seen: bool) -> tuple[str, str | None]:
    """Give the reason of a gap and the digest of the node's record that says so, if one does.

    Samples and summaries of the GPU are evidence of its coverage anyway and not named here.

    Args:
        evidence: What bears on the gaps of the GPU.
        gap: The gap.
        was_seen: Whether anything of the GPU was seen before it, or as it began.
    """
    for reason, supports in _IN_ORDER:
        support = supports(evidence, gap)
        if support:
            return reason, support if isinstance(support, str) else None
    return _by_place(evidence, gap, was_seen=was_seen), None


def _by_place(evidence: GapEvidence, gap: Interval, *, was_seen: bool) -> str:
    """Give the reason that only the gap's place in the attempt supports."""
    if gap.end_us == evidence.held.end_us:
        return "lost_tail" if was_seen else "no_samples"
    watches = evidence.node.watches_of(evidence.uuid)
    is_watched = any(watch.at_us <= evidence.held.start_us for watch in watches)
    return "unexplained" if was_seen or is_watched else "late_watch"


def _mig(evidence: GapEvidence, gap: Interval) -> bool:
    del gap
    return evidence.is_mig


def _engine_restart(evidence: GapEvidence, gap: Interval) -> str | None:
    """Find an engine start in the gap that is a restart: a first start is none."""
    for start in between(evidence.node.engine_starts, gap.start_us, gap.end_us):
        is_restart = gap.start_us > evidence.held.start_us
        if is_restart or evidence.node.was_running_before(start.body.engine, start.at_us):
            return start.digest
    return None


def _device_lost(evidence: GapEvidence, gap: Interval) -> str | None:
    for look in between(evidence.node.inventories, gap.start_us, gap.end_us):
        if all(device.uuid != evidence.uuid for device in look.body.devices):
            return look.digest
    return None


def _collector_down(evidence: GapEvidence, gap: Interval) -> str | None:
    for failure, latest_us in evidence.node.failures_until(gap.end_us):
        if latest_us < gap.start_us:
            return None  # All that are left ended before the gap.
        from_us, to_us = failure.body.from_us, failure.body.to_us
        is_moment_inside = from_us == to_us and gap.start_us <= from_us < gap.end_us
        if is_moment_inside or _overlaps(gap, Interval(from_us, to_us)):
            return failure.digest
    return None


def _retention(evidence: GapEvidence, gap: Interval) -> bool:
    return any(
        summary.retention_lost is not None and _overlaps(gap, summary.retention_lost)
        for summary in evidence.summaries
    )


def _blank(evidence: GapEvidence, gap: Interval) -> bool:
    index = bisect_left(evidence.blank_us, gap.start_us)
    if index < len(evidence.blank_us) and evidence.blank_us[index] < gap.end_us:
        return True
    return any(
        summary.blank is not None and _overlaps(gap, summary.blank)
        for summary in evidence.summaries
    )


def _clock(evidence: GapEvidence, gap: Interval) -> bool:
    del gap
    return any(summary.is_reversed for summary in evidence.summaries)


def _overlaps(gap: Interval, other: Interval) -> bool:
    return max(gap.start_us, other.start_us) < min(gap.end_us, other.end_us)


_IN_ORDER: tuple[tuple[str, _Support], ...] = (
    ("mig", _mig),
    ("engine_restart", _engine_restart),
    ("device_lost", _device_lost),
    ("collector_down", _collector_down),
    ("retention", _retention),
    ("blank", _blank),
    ("clock", _clock),
)
