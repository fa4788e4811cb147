"""One line of a receipt as JSON: its terms, intervals, money and the evidence that decided it."""

from bisect import bisect_left, bisect_right
from typing import Any

from tallystick.contract.terms import Contract
from tallystick.core.instant import format_instant
from tallystick.core.money import Rounding, fraction_text, money_text, round_money
from tallystick.core.quantity import seconds_text
from tallystick.rating.amounts import LineAmounts
from tallystick.rating.lines import RatedLine
from tallystick.rating.rate import AdjustmentLine, PricedLine
from tallystick.timeline.run import AttemptTimeline

_READING_DIGITS = 6
_EVIDENCE_KINDS = {
    "allocation": ("allocation.suspended", "allocation.resumed", "allocation.notice"),
    "notice": ("allocation.notice",),
}


def line_json(priced: PricedLine, timeline: AttemptTimeline, terms: Contract) -> dict[str, Any]:
    """Write a usage or granularity line, without its number.

    Args:
        priced: The line and its money.
        timeline: The attempt that it belongs to.
        terms: The version whose money form an amount under no contract takes.
    """
    line, verdict = priced.line, priced.line.verdict
    value: dict[str, Any] = {
        "kind": line.kind,
        "attempt": line.attempt,
        "contract": None if verdict.contract is None else verdict.contract.name,
        "rate_clause": None if verdict.rate is None else verdict.rate.clause,
        "rule_clause": verdict.clause,
        "disposition": verdict.effect.disposition,
    }
    if verdict.effect.share is not None:
        value["share"] = verdict.effect.share.text
    value["quantity"] = seconds_text(line.quantity_us)
    value["per_hour"] = None if verdict.rate is None else verdict.rate.per_hour_text
    value |= _money(priced.amounts, verdict.contract or terms)
    value["pieces"] = [
        {
            "start": format_instant(piece.start_us),
            "end": format_instant(piece.end_us),
            "gpus": None if piece.gpus is None else list(piece.gpus),
        }
        for piece in line.pieces
    ]
    value["evidence"] = _evidence(line, timeline)
    return value


def adjustment_json(line: AdjustmentLine, terms: Contract) -> dict[str, Any]:
    """Write an adjustment line, without its number (rule 59)."""
    return {
        "kind": "adjustment",
        "attempt": None,
        "contract": None,
        "rate_clause": None,
        "rule_clause": line.clause,
        "disposition": None,
        "quantity": None,
        "per_hour": None,
        "amount": money_text(line.amount, terms.rounding.digits),
        "pieces": [],
        "evidence": [line.decision],
    }


def _money(amounts: LineAmounts, contract: Contract) -> dict[str, Any]:
    """Write the money columns; amounts that are not rounded carry their fraction (rule 61)."""
    rounding = contract.rounding
    is_exact = contract.rounding_per == "receipt"
    if is_exact:
        rounding = Rounding(rounding.digits + _READING_DIGITS, "half_even")

    def text(value: Any) -> str | None:
        if value is None:
            return None
        # Without exact amounts the value has been rounded by its line already.
        return money_text(round_money(value, rounding) if is_exact else value, rounding.digits)

    columns: dict[str, Any] = {"amount": text(amounts.amount)}
    if amounts.credit is not None:
        columns["credit"] = text(amounts.credit)
    if amounts.at_least is not None:
        columns |= {"at_least": text(amounts.at_least), "at_most": text(amounts.at_most)}
    if is_exact:
        columns["amount_exact"] = None if amounts.exact is None else fraction_text(amounts.exact)
    return columns


def _evidence(line: RatedLine, timeline: AttemptTimeline) -> list[str]:
    """Name the records that decided a line.

    Start and end always do. Lanes do if a rule up to the deciding one looked at them:
    telemetry of the line's GPUs, progress events that bound or lie in its intervals.
    """
    records = timeline.attempt.records
    looked_at = line.verdict.looked_at
    digests = {each.digest for each in (*records.started, *records.of("allocation.ended"))}
    digests |= line.decisions
    for lookout, kinds in _EVIDENCE_KINDS.items():
        if lookout in looked_at:
            digests |= {each.digest for each in records.of(*kinds)}
    if "telemetry" in looked_at:
        digests |= {digest for m in line.members for digest in timeline.coverage[m].digests}
    if "progress" in looked_at:
        digests |= _progress_evidence(line, timeline)
    return sorted(digests)


def _progress_evidence(line: RatedLine, timeline: AttemptTimeline) -> set[str]:
    """Name the progress events that bound or lie in a line's intervals."""
    events = timeline.attempt.records.progress
    times = [event.at_us or 0 for event in events]
    return {
        event.digest
        for piece in line.pieces
        for event in events[bisect_left(times, piece.start_us) : bisect_right(times, piece.end_us)]
    }
