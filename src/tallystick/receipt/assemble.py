"""From admitted evidence to receipts: the whole kernel as one pure function.

``receipts_of(evidence, contracts)`` groups the evidence and rates every run. A fleet instead
groups once and calls ``receipt_of`` for each run: the same function, so results agree.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

from tallystick.contract.versions import ContractVersions
from tallystick.core.finding import Finding, InputFinding
from tallystick.core.wording import quoted
from tallystick.evidence.admission import Evidence, SequenceGap
from tallystick.evidence.bodies import Points
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


class Named(NamedTuple):
    """What the records of a producer name: attempts, runs, and GPUs that it sampled."""

    attempts: set[str]
    runs: set[str]
    gpus: set[str]


@dataclass(frozen=True, slots=True)
class Case:
    """All that receipts are made from: grouped evidence and the contract versions."""

    grouping: Grouping
    telemetry: Telemetry
    contracts: ContractVersions
    gaps: tuple[tuple[SequenceGap, Named], ...]


def prepare(evidence: Evidence, contracts: ContractVersions) -> Case:
    """Group admitted evidence once, for any number of runs."""
    grouping = group_records(evidence.records)
    named = _named_by_producer(evidence, grouping.aliases)
    gaps = tuple((gap, named[gap.producer]) for gap in evidence.sequence_gaps)
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


def _named_by_producer(evidence: Evidence, aliases: Mapping[str, str]) -> dict[str, Named]:
    """Collect what the records of each producer with a gap name."""
    named = {gap.producer: Named(set(), set(), set()) for gap in evidence.sequence_gaps}
    for record in evidence.records:
        if record.producer not in named:
            continue
        body, names = record.body, named[record.producer]
        if isinstance(body, Points):
            names.gpus.add(body.gpu)
        for attempt in (getattr(body, "attempt", None), getattr(body, "same_as", None)):
            if attempt is not None:
                names.attempts.add(aliases.get(attempt, attempt))
        run = getattr(body, "run", None)
        if run is not None:
            names.runs.add(run)
    return named


def _sequence_findings(
    timeline: RunTimeline, gaps: Iterable[tuple[SequenceGap, Named]]
) -> list[Finding]:
    """Tell a run what its producers must have said and never delivered (rule 10)."""
    return [
        Finding(
            "sequence_gap",
            f"{quoted(gap.producer)} numbered its records {gap.lowest} to {gap.highest},"
            f" and {gap.missing} of them never came",
        )
        for gap, named in gaps
        if _concerns(named, timeline)
    ]


def _concerns(named: Named, timeline: RunTimeline) -> bool:
    """Tell whether a producer names the run, one of its attempts, or samples of its GPUs."""
    return (
        timeline.records.run in named.runs
        or any(each.key in named.attempts for each in timeline.records.attempts)
        or any(gpu.uuid in named.gpus for each in timeline.attempts for gpu in each.attempt.gpus)
    )
