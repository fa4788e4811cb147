"""Receipts to post: with any lines, each rounded as its contract version says."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Final, NamedTuple

from hypothesis import strategies as st

from tallystick.core.instant import HOUR_US, format_instant
from tallystick.core.money import Rounding, RoundingMode, fraction_text, money_text, round_money
from tallystick.core.quantity import seconds_text
from tallystick.receipt.reader import Receipt, read_receipt
from tests.receipt.samples import make_predicate

MODES: Final[tuple[RoundingMode, ...]] = ("half_even", "half_up", "up", "down")


class Terms(NamedTuple):
    """The rounding of one contract version."""

    rounding: Rounding
    per_receipt: bool


class Story(NamedTuple):
    """One revision: its lines as (kind, outcome, share, quantity, rate, version, clause)."""

    lines: tuple[tuple[str, str, str | None, int, str | None, int, str], ...]
    adjustments: tuple[tuple[str, str], ...]
    customer: str


@st.composite
def terms(draw: st.DrawFn) -> Terms:
    """Draw how a version rounds."""
    rounding = Rounding(draw(st.integers(0, 4)), draw(st.sampled_from(MODES)))
    return Terms(rounding, draw(st.booleans()))


@st.composite
def stories(draw: st.DrawFn) -> Story:
    """Draw the lines of a revision, of few kinds, so that those of two revisions meet."""
    lines = []
    for _ in range(draw(st.integers(0, 7))):
        kind = draw(st.sampled_from(("usage", "usage", "granularity")))
        outcome = draw(st.sampled_from(("charge", "credit", "share", "hold", "exclude")))
        share = draw(st.sampled_from(("1/3", "1/1"))) if outcome in {"credit", "share"} else None
        least = 0 if kind == "usage" else -(10**10)
        rates = ["2.49", "0.01", "3.333333", "1.00"]
        rate = draw(st.sampled_from([*rates, None] if outcome in {"hold", "exclude"} else rates))
        quantity_us = draw(st.sampled_from((0, 1, HOUR_US)) | st.integers(least, 10**10))
        version, clause = draw(st.integers(0, 1)), draw(st.sampled_from(("4.2", "5.1")))
        lines.append((kind, outcome, share, quantity_us, rate, version, clause))
    adjusted = st.tuples(st.sampled_from(("9.8", "9.9")), st.sampled_from(("-0.505", "1.25", "0")))
    adjustments = draw(st.lists(adjusted, max_size=3))
    customer = draw(st.sampled_from(("Acme", "Acme", "Ajax")))
    return Story(tuple(lines), tuple(adjustments), customer)


def receipt_of(story: Story, versions: Sequence[Terms]) -> Receipt:
    """Write the receipt that has these lines, with totals rounded by the last version."""
    lines: list[dict[str, Any]] = []
    sums: dict[str, Fraction | None] = dict.fromkeys(("charged", "credits", "held"), Fraction(0))
    usage_us = dict.fromkeys(("charge", "credit", "share", "hold", "exclude"), 0)
    for kind, outcome, share, quantity_us, rate, version, clause in story.lines:
        columns, parts = price_line(outcome, share, quantity_us, rate, versions[version])
        lines.append(
            {
                "kind": kind,
                "attempt": "a",
                "contract": f"c@{version}",
                "rate_clause": rate,
                "rule_clause": clause,
                "disposition": outcome,
                "per_hour": rate,
                "quantity": seconds_text(quantity_us),
                "pieces": [],
                "evidence": [],
                **({"share": share} if share else {}),
                **columns,
            }
        )
        for name, part in parts.items():
            known = sums[name]
            sums[name] = None if part is None or known is None else known + part
        usage_us[outcome] += quantity_us if kind == "usage" else 0
    rounding = versions[-1].rounding
    adjusted = [(clause, round_money(Fraction(x), rounding)) for clause, x in story.adjustments]
    lines += [
        {
            **dict.fromkeys(("attempt", "contract", "rate_clause", "disposition", "quantity")),
            "kind": "adjustment",
            "rule_clause": clause,
            "per_hour": None,
            "pieces": [],
            "amount": money_text(amount, rounding.digits),
            "evidence": [],
        }
        for clause, amount in adjusted
    ]
    sums["adjustments"] = sum((amount for _, amount in adjusted), Fraction(0))
    return read_receipt(
        make_predicate()
        | usage_blocks(usage_us)
        | {
            "lines": [{"line": number} | line for number, line in enumerate(lines, start=1)],
            "totals": totals_of(sums, rounding),
        }
    )


def price_line(
    outcome: str, share: str | None, quantity_us: int, rate: str | None, under: Terms
) -> tuple[dict[str, Any], dict[str, Fraction | None]]:
    """Give the money columns of a line, and what it adds to the totals."""
    if outcome == "exclude":
        return {"amount": "0.00"}, {}
    if rate is None:
        return {"amount": None, "at_least": "0.00", "at_most": None}, {"held": None}
    part = Fraction(share or 1)
    exact = Fraction(rate) * quantity_us / HOUR_US * (part if outcome == "share" else 1)
    printed = Rounding(under.rounding.digits + 6, "half_even") if under.per_receipt else under[0]
    amount, credit = round_money(exact, printed), round_money(exact * part, printed)
    columns: dict[str, Any] = {"amount": money_text(amount, printed.digits)}
    if under.per_receipt:
        columns["amount_exact"] = fraction_text(exact)
    added, back = (exact, exact * part) if under.per_receipt else (amount, credit)
    if outcome == "hold":
        columns |= {
            "amount": None,
            "at_least": money_text(min(amount, Fraction(0)), printed.digits),
            "at_most": money_text(max(amount, Fraction(0)), printed.digits),
        }
        return columns, {"held": max(added, Fraction(0))}
    if outcome == "credit":
        return columns | {"credit": money_text(credit, printed.digits)}, {
            "charged": added,
            "credits": back,
        }
    return columns, {"charged": added}


def usage_blocks(usage_us: dict[str, int]) -> dict[str, Any]:
    """Write what else a receipt says about the time of its one attempt."""
    metered_us = sum(usage_us.values())
    first = make_predicate()["attempts"][0]
    progress = make_predicate()["progress"] | {"interruptions": [], "last_valid_checkpoint": None}
    spent = dict.fromkeys(progress["gpu_seconds"], seconds_text(0))
    return {
        "attempts": [
            first
            | {"attempt": "a", "gpus": 1, "gpu_uuids": []}
            | {"start": format_instant(0), "end": format_instant(metered_us)}
        ],
        "coverage": [],
        "timeline": [],
        "progress": progress | {"gpu_seconds": spent | {"unknown": seconds_text(metered_us)}},
        "usage": {
            "metered": seconds_text(metered_us),
            "net_billed": seconds_text(usage_us["charge"] + usage_us["share"]),
            "excluded": seconds_text(usage_us["exclude"]),
            "credited": seconds_text(usage_us["credit"]),
            "held": seconds_text(usage_us["hold"]),
            "unit": "gpu_seconds",
        },
    }


def totals_of(sums: dict[str, Fraction | None], rounding: Rounding) -> dict[str, Any]:
    """Round the sums once, and write them."""
    rounded = {
        name: None if each is None else round_money(each, rounding) for name, each in sums.items()
    }
    text = {
        name: None if each is None else money_text(each, rounding.digits)
        for name, each in rounded.items()
    }
    charged, credits_, adjustments, held = (
        rounded[name] for name in ("charged", "credits", "adjustments", "held")
    )
    least = (charged or 0) - (credits_ or 0) + (adjustments or 0)
    return {
        "currency": "USD",
        **{name: text[name] for name in ("charged", "credits", "adjustments")},
        "held_at_most": text["held"],
        "net": {
            "at_least": money_text(Fraction(least), rounding.digits),
            "at_most": None if held is None else money_text(least + held, rounding.digits),
        },
    }


def versions() -> st.SearchStrategy[list[Terms]]:
    """Draw two versions of a contract."""
    return st.lists(terms(), min_size=2, max_size=2)
