"""From admitted evidence to receipts: the whole kernel as one pure function.

``receipts_of(evidence, contracts)`` groups the evidence and rates every run. A fleet instead
groups once and calls ``receipt_of`` for each run: the same function, so results agree.

Samples in segments are no part of the evidence. Where a store can give them, ``asked_of``
says what has to be asked of which segment, and the answers (``Scanned``) go in beside the
rest. Without them segments are findings and no samples (rule 20).
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, NamedTuple

from tallystick.contract.versions import ContractVersions
from tallystick.core.finding import Finding, InputFinding
from tallystick.core.wording import quoted
from tallystick.evidence.admission import Evidence, SequenceGap
from tallystick.evidence.bodies import Points
from tallystick.rating.rate import rate_run
from tallystick.receipt.predicate import predicate
from tallystick.timeline.asked import Asked, asked_of_segments
from tallystick.timeline.grouping import Grouping, RunRecords, group_records
from tallystick.timeline.run import RunTimeline, run_timeline
from tallystick.timeline.segments import Scanned
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
    """All that receipts are made from: grouped evidence and the contract versions.

    ``findings`` are those that belong to no receipt.
    """

    grouping: Grouping
    telemetry: Telemetry
    contracts: ContractVersions
    gaps: tuple[tuple[SequenceGap, Named], ...]
    findings: tuple[InputFinding, ...]

    def runs(self, run: str | None = None) -> tuple[RunRecords, ...]:
        """Give every run that the evidence declares, or the one that is named."""
        return tuple(each for each in self.grouping.runs if run is None or each.run == run)


def prepare(
    evidence: Evidence, contracts: ContractVersions, scanned: Scanned | None = None
) -> Case:
    """Group admitted evidence once, for any number of runs."""
    grouping = group_records(evidence.records)
    named = _named_by_producer(evidence, grouping.aliases)
    gaps = tuple((gap, named[gap.producer]) for gap in evidence.sequence_gaps)
    telemetry = index_telemetry(grouping.devices)
    telemetry.scanned = scanned
    findings = (*evidence.findings, *grouping.findings)
    return Case(grouping, telemetry, contracts, gaps, findings)


def with_scanned(case: Case, scanned: Scanned) -> Case:
    """Put the answers of segments into a case that was prepared to ask them."""
    return replace(case, telemetry=replace(case.telemetry, scanned=scanned))


def asked_of(case: Case, run: str | None = None) -> tuple[Asked, ...]:
    """Say what has to be asked of segments for the receipts of all runs, or of one."""
    return asked_of_segments(case.runs(run), case.telemetry.catalogue, _gap_factors(case))


def receipts_of(
    evidence: Evidence,
    contracts: ContractVersions,
    run: str | None = None,
    scanned: Scanned | None = None,
) -> Receipts:
    """Make the receipt of every run that the evidence declares, or of one."""
    return receipts_in(prepare(evidence, contracts, scanned), run)


def receipts_in(case: Case, run: str | None = None) -> Receipts:
    """Make the receipt of every run of a case, or of one."""
    return Receipts(tuple(receipt_of(each, case) for each in case.runs(run)), case.findings)


def receipt_of(run: RunRecords, case: Case, scanned: Scanned | None = None) -> dict[str, Any]:
    """Make one run's receipt, with other answers of segments than those of the case if given."""
    if scanned is not None:
        case = with_scanned(case, scanned)
    timeline = run_timeline(run, case.telemetry, case.grouping.aliases, _gap_factors(case))
    rated = rate_run(timeline, case.contracts)
    return predicate(timeline, rated, _sequence_findings(timeline, case.gaps))


def _gap_factors(case: Case) -> Callable[[int], Fraction]:
    """Give the gap factor in force at each moment (rule 23)."""

    def gap_factor_at(at_us: int) -> Fraction:
        contract = case.contracts.in_force(at_us)
        return _DEFAULT_GAP_FACTOR if contract is None else contract.gap_factor

    return gap_factor_at


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
