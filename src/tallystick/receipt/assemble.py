"""From admitted evidence to receipts: the whole kernel as one pure function.

``receipts_of(evidence, contracts)`` groups the evidence and rates every run. A fleet instead
groups once and calls ``receipt_of`` for each run: the same function, so results agree.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from tallystick.contract.versions import ContractVersions
from tallystick.core.finding import Finding, InputFinding
from tallystick.core.wording import quoted
from tallystick.evidence.admission import Evidence, SequenceGap
from tallystick.evidence.bodies import AttemptSame, Points
from tallystick.evidence.record import Record
from tallystick.rating.rate import rate_run
from tallystick.receipt.predicate import predicate
from tallystick.timeline.grouping import Grouping, RunRecords, group_records
from tallystick.timeline.run import RunTimeline, run_timeline
from tallystick.timeline.telemetry import Telemetry, index_telemetry

_DEFAULT_GAP_FACTOR = Fraction(5, 2)


@dataclass(frozen=True, slots=True)
class Receipts:
    """Predicates in order of run id, and findings about what belongs to no receipt."""

    predicates: tuple[dict[str, Any], ...]
    findings: tuple[InputFinding, ...]


@dataclass(frozen=True, slots=True)
class Case:
    """All that receipts are made from: grouped evidence and the contract versions."""

    grouping: Grouping
    telemetry: Telemetry
    contracts: ContractVersions
    gaps: tuple[tuple[SequenceGap, tuple[Record, ...]], ...]


def prepare(evidence: Evidence, contracts: ContractVersions) -> Case:
    """Group admitted evidence once, for any number of runs."""
    grouping = group_records(evidence.records)
    gaps = tuple(
        (gap, tuple(each for each in evidence.records if each.producer == gap.producer))
        for gap in evidence.sequence_gaps
    )
    return Case(grouping, index_telemetry(grouping.devices), contracts, gaps)


def receipts_of(
    evidence: Evidence, contracts: ContractVersions, run: str | None = None
) -> Receipts:
    """Make the receipt of every run that the evidence declares, or of one."""
    case = prepare(evidence, contracts)
    wanted = [each for each in case.grouping.runs if run is None or each.run == run]
    return Receipts(
        predicates=tuple(receipt_of(each, case) for each in wanted),
        findings=(*evidence.findings, *case.grouping.findings),
    )


def receipt_of(run: RunRecords, case: Case) -> dict[str, Any]:
    """Make one run's receipt."""
    timeline = run_timeline(
        run,
        case.telemetry,
        case.grouping.aliases,
        lambda at_us: _gap_factor(case.contracts, at_us),
    )
    rated = rate_run(timeline, case.contracts)
    return predicate(timeline, rated, _sequence_findings(timeline, case.gaps))


def _gap_factor(contracts: ContractVersions, at_us: int) -> Fraction:
    contract = contracts.in_force(at_us)
    return _DEFAULT_GAP_FACTOR if contract is None else contract.gap_factor


def _sequence_findings(
    timeline: RunTimeline, gaps: Iterable[tuple[SequenceGap, tuple[Record, ...]]]
) -> list[Finding]:
    """Tell a run what its producers must have said and never delivered (rule 10)."""
    return [
        Finding(
            "sequence_gap",
            f"{quoted(gap.producer)} numbered its records {gap.lowest} to {gap.highest},"
            f" and {gap.missing} of them never came",
        )
        for gap, records in gaps
        if any(_concerns(record, timeline) for record in records)
    ]


def _concerns(record: Record, timeline: RunTimeline) -> bool:
    """Tell whether a record names the run, one of its attempts, or the samples of its GPUs."""
    body = record.body
    if isinstance(body, Points):
        return any(gpu.uuid == body.gpu for each in timeline.attempts for gpu in each.attempt.gpus)
    keys = {each.key for each in timeline.records.attempts}
    names = [getattr(body, "attempt", None)]
    if isinstance(body, AttemptSame):
        names.append(body.same_as)
    if any(name is not None and timeline.attempt_key(name) in keys for name in names):
        return True
    return getattr(body, "run", None) == timeline.records.run
