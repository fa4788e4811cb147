"""An attempt: what its sources together say about its allocation (rules 11 to 18).

Where sources differ, the earliest statement counts and the difference is a finding. Nothing
is averaged and nothing is guessed: an attempt without an end stays open.
"""

from dataclasses import dataclass
from typing import NamedTuple

from tallystick.core.finding import Finding
from tallystick.core.interval import Interval
from tallystick.core.vocabulary import PROGRESS_KINDS
from tallystick.evidence.bodies import AllocationEnded, AllocationStarted
from tallystick.evidence.record import Record
from tallystick.timeline.grouping import AttemptRecords

_LIVE_KINDS = (
    "allocation.started",
    "allocation.suspended",
    "allocation.resumed",
    "allocation.notice",
    *PROGRESS_KINDS,
    "telemetry.job_stats",
)


class Gpu(NamedTuple):
    """A GPU of an attempt; without a UUID it is known by number only."""

    uuid: str | None
    node: str | None


@dataclass(frozen=True, slots=True)
class End:
    """How an attempt ended."""

    at_us: int
    ended_by: str
    exit_code: int | None
    signal: int | None

    @property
    def is_clean(self) -> bool:
        """Tell whether the program ended by itself and said so."""
        return self.exit_code == 0 and not self.signal


@dataclass(frozen=True, slots=True)
class Attempt:
    """One execution of a run and the allocation that it held."""

    key: str
    start_us: int
    end: End | None
    until_us: int
    held: Interval | None
    """The time that is metered; None if it has no length or ends before it starts."""
    gpus: tuple[Gpu, ...]
    nodes: tuple[str, ...]
    gpu_type: str | None
    capacity: str
    zone: str | None
    tier: str | None
    notice_us: int | None
    records: AttemptRecords
    findings: tuple[Finding, ...]

    @property
    def end_us(self) -> int | None:
        """When it ended, None while it is open."""
        return None if self.end is None else self.end.at_us

    @property
    def ended_by(self) -> str | None:
        """Whose act the end was, None while the attempt is open."""
        return None if self.end is None else self.end.ended_by

    @property
    def is_interrupted(self) -> bool:
        """Tell whether it ended otherwise than by completing (rule 39)."""
        return self.end is not None and self.end.ended_by != "completed"


def build_attempt(records: AttemptRecords) -> Attempt:
    """Put together one attempt from the records that name it; at least one states its start."""
    starts = [(r, r.body) for r in records.started if isinstance(r.body, AllocationStarted)]
    first, stated = starts[0]
    start_us = first.at_us or 0
    end, end_findings = _end(records)
    until_us = end.at_us if end is not None else _last_sign_us(records)
    bodies = [body for _, body in starts]
    gpus, gpu_findings = _gpus(records.key, bodies)
    findings = [*_start_findings(records.key, starts), *end_findings, *gpu_findings]
    if end is None:
        findings.append(Finding("open_attempt", "no record says when it ended", records.key))
    elif end.at_us < start_us:
        findings.append(Finding("reversed_interval", "it ends before it starts", records.key))
    return Attempt(
        key=records.key,
        start_us=start_us,
        end=end,
        until_us=until_us,
        held=Interval(start_us, until_us) if start_us < until_us else None,
        gpus=gpus,
        nodes=tuple(sorted({node for body in bodies for node in body.nodes})),
        gpu_type=stated.gpu_type,
        capacity=stated.capacity,
        zone=stated.zone,
        tier=stated.tier,
        notice_us=_notice_us(records, end),
        records=records,
        findings=tuple(findings),
    )


def _end(records: AttemptRecords) -> tuple[End | None, list[Finding]]:
    ends = [(r.at_us or 0, r.body) for r in records.of("allocation.ended")]
    said = [(at_us, body) for at_us, body in ends if isinstance(body, AllocationEnded)]
    if not said:
        return None, []
    at_us, earliest = said[0]
    known = [body.ended_by for _, body in said if body.ended_by != "unknown"]
    end = End(at_us, known[0] if known else "unknown", earliest.exit_code, earliest.signal)
    if len({at for at, _ in said}) > 1 or len(set(known)) > 1:
        message = "sources differ about when it ended, or by whom"
        return end, [Finding("end_disagreement", message, records.key)]
    return end, []


def _last_sign_us(records: AttemptRecords) -> int:
    """Give the latest time of a record that shows the allocation alive (rule 14)."""
    return max(record.at_us or 0 for record in records.of(*_LIVE_KINDS))


def _start_findings(key: str, starts: list[tuple[Record, AllocationStarted]]) -> list[Finding]:
    said = {
        (record.at_us, body.gpu_type, body.capacity, body.zone, body.tier)
        for record, body in starts
    }
    if len(said) == 1:
        return []
    message = "sources differ about its start, GPU type, capacity, zone or tier"
    return [Finding("start_disagreement", message, key)]


def _gpus(key: str, bodies: list[AllocationStarted]) -> tuple[tuple[Gpu, ...], list[Finding]]:
    """Unite the GPUs that are named and fill up to the number that is stated (rules 11, 13)."""
    named: dict[str, Gpu] = {}
    for body in bodies:
        for gpu in body.gpus or ():
            named.setdefault(gpu.uuid, Gpu(gpu.uuid, gpu.node))
    counts = [body.gpu_count for body in bodies if body.gpu_count is not None]
    surplus = max(counts, default=0) - len(named)
    gpus = tuple(named[uuid] for uuid in sorted(named)) + (Gpu(None, None),) * max(0, surplus)
    if counts and surplus != 0 and any(body.gpus is not None for body in bodies):
        message = f"sources count {max(counts)} GPUs and name {len(named)}"
        return gpus, [Finding("gpu_count_mismatch", message, key)]
    return gpus, []


def _notice_us(records: AttemptRecords, end: End | None) -> int | None:
    """Give the time between the earliest notice and the end (rule 18)."""
    if end is None:
        return None
    given = [r.at_us for r in records.of("allocation.notice") if r.at_us is not None]
    timely = [at_us for at_us in given if at_us <= end.at_us]
    return end.at_us - min(timely) if timely else None
