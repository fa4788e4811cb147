"""Why a gap is there: one reason, the first that the evidence supports (rules 25 and 26)."""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tallystick.core.interval import Interval
from tallystick.timeline.summaries import Summary
from tallystick.timeline.telemetry import NodeSeen, between

REASONS = (
    "late_watch",
    "lost_tail",
    "engine_restart",
    "retention",
    "collector_down",
    "blank",
    "device_lost",
    "mig",
    "unsupported",
    "clock",
    "no_samples",
    "unexplained",
)


@dataclass(frozen=True, slots=True)
class GapEvidence:
    """What bears on the gaps of one GPU of one attempt.

    ``sampled_us`` holds every time at which a gap can begin with a valid sample.
    """

    held: Interval
    uuid: str
    node: NodeSeen
    is_mig: bool
    summaries: Sequence[Summary]
    blank_us: Sequence[int]
    sampled_us: frozenset[int]


_Support = Callable[[GapEvidence, Interval], "str | bool | None"]


def gap_reason(evidence: GapEvidence, gap: Interval) -> tuple[str, str | None]:
    """Give the reason of a gap and the digest of the record that says so, if one does."""
    for reason, supports in _IN_ORDER:
        support = supports(evidence, gap)
        if support:
            return reason, support if isinstance(support, str) else None
    return "unexplained", None


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
    for failure in between(evidence.node.failures, None, gap.end_us):
        from_us, to_us = failure.body.from_us, failure.body.to_us
        is_moment_inside = from_us == to_us and gap.start_us <= from_us < gap.end_us
        if is_moment_inside or _overlaps(gap, Interval(from_us, to_us)):
            return failure.digest
    return None


def _retention(evidence: GapEvidence, gap: Interval) -> str | None:
    for summary in evidence.summaries:
        if summary.retention_lost is not None and _overlaps(gap, summary.retention_lost):
            return summary.digest
    return None


def _blank(evidence: GapEvidence, gap: Interval) -> str | bool:
    index = bisect_left(evidence.blank_us, gap.start_us)
    if index < len(evidence.blank_us) and evidence.blank_us[index] < gap.end_us:
        return True
    for summary in evidence.summaries:
        if summary.blank is not None and _overlaps(gap, summary.blank):
            return summary.digest
    return False


def _clock(evidence: GapEvidence, gap: Interval) -> str | None:
    del gap
    return next((summary.digest for summary in evidence.summaries if summary.is_reversed), None)


def _late_watch(evidence: GapEvidence, gap: Interval) -> bool:
    watches = evidence.node.watches_of(evidence.uuid)
    is_watched = any(watch.at_us <= evidence.held.start_us for watch in watches)
    return not _was_seen(evidence, gap) and gap.end_us < evidence.held.end_us and not is_watched


def _lost_tail(evidence: GapEvidence, gap: Interval) -> bool:
    return _was_seen(evidence, gap) and gap.end_us == evidence.held.end_us


def _no_samples(evidence: GapEvidence, gap: Interval) -> bool:
    return not _was_seen(evidence, gap) and gap.end_us == evidence.held.end_us


def _was_seen(evidence: GapEvidence, gap: Interval) -> bool:
    """Tell whether anything of the GPU was seen before the gap."""
    return gap.start_us > evidence.held.start_us or gap.start_us in evidence.sampled_us


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
    ("late_watch", _late_watch),
    ("lost_tail", _lost_tail),
    ("no_samples", _no_samples),
)
