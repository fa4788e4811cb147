"""The blocks of a page that carry quantities and money: usage, lines, totals."""

from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import groupby
from typing import Final

from tallystick.receipt.columns import Column, pad, table
from tallystick.receipt.reader import Line, MoneyRange, Receipt
from tallystick.receipt.wording import UNKNOWN, seconds_wording

_LINE_COLUMNS: Final = (
    Column("line", 5, "right"),
    Column("outcome", 11),
    Column("rate", 8),
    Column("rule", 8),
    Column("quantity", 13, "right"),
    Column("per hour", 9, "right"),
    Column("amount", 15, "right"),
)
_OUTCOMES: Final = {
    "charge": "charged",
    "credit": "charged",
    "share": "charged",
    "hold": "held",
    "exclude": "excluded",
}


def usage_rows(receipt: Receipt) -> Iterator[str]:
    """Write metered usage and the parts that it divides into."""
    usage = receipt.usage
    parts = (
        ("metered", usage.metered),
        ("net billed", usage.net_billed),
        ("credited", usage.credited),
        ("excluded", usage.excluded),
        ("held", usage.held),
    )
    for label, seconds in parts:
        yield f"  {label:<12} {pad(seconds, 24, 'right')}"


def line_rows(receipt: Receipt, numbers: Mapping[str, str]) -> Iterator[str]:
    """Write the lines under the attempt and contract version that they belong to."""
    rows: list[tuple[str, ...]] = []
    heads: list[tuple[int, str]] = []
    for (attempt, contract), lines in groupby(
        receipt.lines, key=lambda line: (line.attempt, line.contract)
    ):
        if attempt is not None:
            heads.append((len(rows), f"  attempt {numbers[attempt]}, {contract or 'no contract'}"))
        for line in lines:
            rows.extend(_cells(line))
    if not rows:
        return
    head, *body = table(_LINE_COLUMNS, rows)
    yield head
    for index, row in enumerate(body):
        yield from (text for place, text in heads if place == index)
        yield row


def total_rows(receipt: Receipt) -> Iterator[str]:
    """Write the totals; what is not settled stands as a bound."""
    totals = receipt.totals
    net = totals.net if isinstance(totals.net, MoneyRange) else MoneyRange(totals.net, totals.net)
    settled = net.at_least == net.at_most
    rows = [
        ("charged", "", totals.charged),
        ("credits", "", _negated(totals.credits)),
        ("adjustments", "", totals.adjustments),
        ("held", "" if settled else "at most", totals.held_at_most or UNKNOWN),
        ("net", "" if settled else "at least", net.at_least or UNKNOWN),
    ]
    if not settled:
        rows.append(("", "at most", net.at_most or UNKNOWN))
    for label, bound, amount in rows:
        yield f"  {label:<12} {bound:>8} {pad(amount, 24, 'right')}"


def _cells(line: Line) -> Iterator[tuple[str, ...]]:
    outcome = "adjusted" if line.disposition is None else _OUTCOMES[line.disposition]
    if line.disposition == "share":
        outcome = f"{line.share} due"
    yield (
        str(line.line),
        outcome,
        line.rate_clause or "-",
        line.rule_clause or "-",
        "-" if line.quantity is None else seconds_wording(line.quantity),
        line.per_hour or ("-" if line.disposition is None else UNKNOWN),
        _amount(line),
    )
    if line.kind == "granularity":
        yield _note("rounding of time")
    if line.at_least is not None and Fraction(line.at_least) != 0:
        yield _note("or less", f"at least {line.at_least}")
    if line.credit is not None:
        yield _note(f"{line.share} back", _negated(line.credit))


def _note(text: str, amount: str = "") -> tuple[str, ...]:
    return ("", text, "", "", "", "", amount)


def _amount(line: Line) -> str:
    if line.disposition == "hold":
        return f"at most {line.at_most or UNKNOWN}"
    return line.amount or UNKNOWN


def _negated(amount: str) -> str:
    if Fraction(amount) == 0:
        return amount
    return amount.removeprefix("-") if amount.startswith("-") else f"-{amount}"
