"""Rating one run: a pure function of its timeline, the contract and the parties' decisions."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from tallystick.contract.terms import Contract
from tallystick.contract.versions import ContractVersions
from tallystick.core.finding import Finding
from tallystick.core.money import add_money, round_money
from tallystick.core.wording import quoted
from tallystick.evidence.bodies import Adjustment, Resolution
from tallystick.evidence.record import Record
from tallystick.rating.amounts import LineAmounts, line_amounts
from tallystick.rating.lines import RatedLine, attempt_lines
from tallystick.rating.pieces import AttemptPieces, Decision, cut_attempt
from tallystick.rating.seen_lanes import asked_for, seen_lanes
from tallystick.timeline.run import AttemptTimeline, RunTimeline


@dataclass(frozen=True, slots=True)
class PricedLine:
    """A line of an attempt with its money."""

    line: RatedLine
    amounts: LineAmounts


@dataclass(frozen=True, slots=True)
class AdjustmentLine:
    """An amount that the parties added or took away, rounded, beside usage."""

    amount: Fraction
    clause: str
    decision: str


@dataclass(frozen=True, slots=True)
class Usage:
    """Metered time and its disposition; the four parts add up to it."""

    metered_us: int
    net_billed_us: int
    excluded_us: int
    credited_us: int
    held_us: int


@dataclass(frozen=True, slots=True)
class Totals:
    """The receipt's totals, rounded; ``held_at_most`` None is unbounded."""

    charged: Fraction
    credits: Fraction
    adjustments: Fraction
    held_at_most: Fraction | None

    @property
    def net_at_least(self) -> Fraction:
        """What is owed if nothing held is charged."""
        return self.charged - self.credits + self.adjustments

    @property
    def net_at_most(self) -> Fraction | None:
        """What is owed if all that is held is charged."""
        return None if self.held_at_most is None else self.net_at_least + self.held_at_most


@dataclass(frozen=True, slots=True)
class RatedRun:
    """A run under a contract. ``terms`` is the version whose rounding the totals follow."""

    lines: tuple[PricedLine, ...]
    adjustments: tuple[AdjustmentLine, ...]
    usage: Usage
    totals: Totals
    terms: Contract
    versions: tuple[Contract, ...]
    findings: tuple[Finding, ...]


def rate_run(timeline: RunTimeline, contracts: ContractVersions) -> RatedRun:
    """Rate one run; the dispositions of its lines partition its metered usage."""
    resolutions = [
        (Decision(record.digest, record.body), timeline.attempt_key(record.body.attempt))
        for record in timeline.records.of("decision.resolution")
        if isinstance(record.body, Resolution)
    ]
    asked = asked_for(contracts)
    lines: list[PricedLine] = []
    used: set[str] = set()
    findings: list[Finding] = []
    versions: dict[int, Contract] = {}
    for each in timeline.attempts:
        named = [decision for decision, key in resolutions if key == each.attempt.key]
        cut = cut_attempt(each.attempt, seen_lanes(each, asked), contracts, named)
        used |= cut.used
        findings += _findings(each, cut)
        versions |= _versions(cut)
        lines += [
            PricedLine(line, line_amounts(line))
            for line in attempt_lines(each.attempt, cut, contracts)
        ]
    terms = versions[max(versions)] if versions else contracts.highest
    adjustments, mismatches = _adjustments(timeline.records.of("decision.adjustment"), terms)
    findings += mismatches
    findings += [
        _unused(decision, key) for decision, key in resolutions if decision.digest not in used
    ]
    return RatedRun(
        lines=tuple(lines),
        adjustments=adjustments,
        usage=_usage(lines),
        totals=_totals(lines, adjustments, terms),
        terms=terms,
        versions=tuple(
            sorted(versions.values(), key=lambda each: (each.effective_from_us, each.version))
        ),
        findings=tuple(findings),
    )


def _versions(cut: AttemptPieces) -> dict[int, Contract]:
    """Give the versions that judged a piece."""
    contracts = (piece.verdict.contract for cohort in cut.cohorts for piece in cohort.pieces)
    return {contract.version: contract for contract in contracts if contract is not None}


def _findings(timeline: AttemptTimeline, cut: AttemptPieces) -> list[Finding]:
    key = timeline.attempt.key
    findings = []
    if cut.lacks_contract:
        message = "no version of the contract is in force for some of its time"
        findings.append(Finding("no_contract", message, key))
    if cut.lacks_rate:
        gpu_type = quoted(timeline.attempt.gpu_type or "GPUs of no stated type")
        message = f"no rate is for {gpu_type} as {timeline.attempt.capacity}"
        findings.append(Finding("no_rate", message, key))
    return findings


def _unused(decision: Decision, attempt: str) -> Finding:
    message = (
        f"the resolution under clause {quoted(decision.body.clause)} found nothing held to decide"
    )
    return Finding("resolution_unused", message, attempt)


def _adjustments(
    records: Sequence[Record], terms: Contract
) -> tuple[tuple[AdjustmentLine, ...], list[Finding]]:
    """Round each adjustment (rule 62); one in another currency gives no line (rule 59)."""
    lines: list[AdjustmentLine] = []
    findings: list[Finding] = []
    for record in records:
        body = record.body
        if not isinstance(body, Adjustment):
            continue
        if body.currency != terms.currency:
            message = (
                f"an adjustment in {quoted(body.currency)} under a contract in {terms.currency}"
            )
            findings.append(Finding("currency_mismatch", message))
        else:
            amount = round_money(Fraction(body.amount), terms.rounding)
            lines.append(AdjustmentLine(amount, body.clause, record.digest))
    return tuple(lines), findings


def _usage(lines: Sequence[PricedLine]) -> Usage:
    """Add up the usage lines by disposition; a share is net billed."""
    sums = dict.fromkeys(("charge", "credit", "share", "hold", "exclude"), 0)
    for priced in lines:
        if priced.line.kind == "usage":
            sums[priced.line.verdict.effect.disposition] += priced.line.quantity_us
    return Usage(
        metered_us=sum(sums.values()),
        net_billed_us=sums["charge"] + sums["share"],
        excluded_us=sums["exclude"],
        credited_us=sums["credit"],
        held_us=sums["hold"],
    )


def _totals(
    lines: Sequence[PricedLine], adjustments: Sequence[AdjustmentLine], terms: Contract
) -> Totals:
    amounts = [priced.amounts for priced in lines]
    held = [
        priced.amounts.at_most
        for priced in lines
        if priced.line.verdict.effect.disposition == "hold"
    ]
    known = [at_most for at_most in held if at_most is not None]
    return Totals(
        charged=_sum((each.amount for each in amounts), terms),
        credits=_sum((each.credit for each in amounts), terms),
        adjustments=_sum((each.amount for each in adjustments), terms),
        held_at_most=_sum(known, terms) if len(known) == len(held) else None,
    )


def _sum(amounts: Iterable[Fraction | None], terms: Contract) -> Fraction:
    known = [amount for amount in amounts if amount is not None]
    return round_money(add_money(known), terms.rounding)
