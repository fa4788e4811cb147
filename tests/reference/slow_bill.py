"""A receipt's lines and totals, the slow and literal way: rules 53, 56 and 59 to 63."""

from dataclasses import dataclass
from fractions import Fraction

from tests.reference.slow_admission import Record
from tests.reference.slow_attempts import Run
from tests.reference.slow_bodies import Json
from tests.reference.slow_contract import Disposition, Version
from tests.reference.slow_coverage import GpuCoverage
from tests.reference.slow_lanes import Piece
from tests.reference.slow_money import EXTRA_PLACES, fraction_text, money, round_to, seconds
from tests.reference.slow_rating import PRECEDENCE, Line, rate_attempt


@dataclass(slots=True)
class Bill:
    """The lines of a run, as printed, and its totals."""

    lines: list[Json]
    totals: Json
    usage: Json
    versions: list[Version]
    findings: list[tuple[str, str | None]]


def bill(
    run: Run,
    lanes: dict[str, tuple[list[Piece], list[Piece], list[GpuCoverage]]],
    versions: list[Version],
) -> Bill:
    """Rate a run: rules 50 to 63 and 65."""
    resolutions = [one for one in run.records if one.kind == "decision.resolution"]
    lines: list[Line] = []
    used: set[str] = set()
    for attempt in run.attempts:
        own, changed = rate_attempt(attempt, lanes[attempt.key], versions, resolutions)
        lines += own
        used |= changed
    findings: list[tuple[str, str | None]] = [
        ("resolution_unused", one.attempt)
        for one in resolutions
        if one.name + "\n" + one.id not in used
    ]
    rated = {
        one.like.version.version: one.like.version
        for one in lines
        if one.kind == "usage" and one.like.version is not None
    }
    terms = rated[max(rated)] if rated else versions[-1]  # Rule 62.
    tally = Tally()
    printed = [print_line(line, terms, tally) for line in lines]
    for one in run.records:
        if one.kind != "decision.adjustment":
            continue
        if one.body["currency"] != terms.currency:
            findings.append(("currency_mismatch", None))  # Rule 59.
        else:
            printed.append(print_adjustment(one, terms, tally))
    return Bill(
        lines=[{"line": number, **line} for number, line in enumerate(printed, start=1)],
        totals=print_totals(tally, terms),
        usage=print_usage(lines, terms),
        versions=sorted(rated.values(), key=lambda one: (one.effective_from, one.version)),
        findings=findings,
    )


@dataclass(slots=True)
class Tally:
    """What the printed lines add up to, each as its contract version carries it."""

    charged: Fraction = Fraction(0)
    credits: Fraction = Fraction(0)
    adjustments: Fraction = Fraction(0)
    held: Fraction | None = Fraction(0)


def print_line(line: Line, fallback: Version, tally: Tally) -> Json:
    """Rules 53, 61 and 63: one usage or granularity line, added to the tally."""
    like = line.like
    terms = like.version or fallback
    per_receipt = terms.per == "receipt"
    places = terms.digits + (EXTRA_PLACES if per_receipt else 0)

    def carried(exact: Fraction) -> Fraction:
        return exact if per_receipt else round_to(exact, terms.digits, terms.mode)

    def printed(exact: Fraction) -> str:
        return money(exact, places, "half_even" if per_receipt else terms.mode)

    result: Json = {
        "kind": line.kind,
        "attempt": line.attempt,
        "contract": None if like.version is None else like.version.name,
        "rate_clause": None if like.rate is None else like.rate.clause,
        "rule_clause": like.clause,
        "disposition": like.outcome.word,
        "quantity": seconds(line.quantity),
        "per_hour": None if like.rate is None else like.rate.per_hour,
        "amount": None,
        "pieces": list(line.pieces),
        "evidence": [],
    }
    if like.outcome.share is not None:
        result["share"] = fraction_text(like.outcome.share)
    exact: Fraction | None = line.value
    if like.outcome.word == "hold":
        result["at_least"] = printed(min(Fraction(0), exact or Fraction(0)))
        result["at_most"] = None if exact is None else printed(max(Fraction(0), exact))
        if exact is None or tally.held is None:
            tally.held = None
        else:
            tally.held += carried(max(Fraction(0), exact))
    else:
        exact = charged_part(like.outcome, exact)
        result["amount"] = printed(exact)
        tally.charged += carried(exact)
    if like.outcome.word == "credit" and like.outcome.share is not None:
        back = exact * like.outcome.share if exact is not None else Fraction(0)
        result["credit"] = printed(back)
        tally.credits += carried(back)
    if per_receipt:
        result["amount_exact"] = None if exact is None else fraction_text(exact)
    return result


def charged_part(outcome: Disposition, value: Fraction | None) -> Fraction:
    """F6: `exclude` is 0, `share` its share; `charge` and `credit` the whole."""
    if outcome.word == "exclude" or value is None:
        return Fraction(0)
    if outcome.word == "share" and outcome.share is not None:
        return value * outcome.share
    return value


def print_adjustment(record: Record, terms: Version, tally: Tally) -> Json:
    """Rules 59 and 62: an adjustment is its own line, rounded like the totals."""
    exact = round_to(Fraction(record.body["amount"]), terms.digits, terms.mode)
    tally.adjustments += exact
    return {
        "kind": "adjustment",
        "attempt": None,
        "contract": None,
        "rate_clause": None,
        "rule_clause": record.body["clause"],
        "disposition": None,
        "quantity": None,
        "per_hour": None,
        "amount": money(exact, terms.digits, terms.mode),
        "pieces": [],
        "evidence": [],
    }


def print_totals(tally: Tally, terms: Version) -> Json:
    """Rules 62 and 63: the totals are rounded, and net is arithmetic on them."""
    charged, credits_, adjustments = (
        round_to(part, terms.digits, terms.mode)
        for part in (tally.charged, tally.credits, tally.adjustments)
    )
    held = None if tally.held is None else round_to(tally.held, terms.digits, terms.mode)
    least = charged - credits_ + adjustments

    def text(value: Fraction) -> str:
        return money(value, terms.digits, terms.mode)

    at_most = None if held is None else text(least + held)
    return {
        "currency": terms.currency,
        "charged": text(charged),
        "credits": text(credits_),
        "adjustments": text(adjustments),
        "held_at_most": None if held is None else text(held),
        "net": text(least)
        if at_most == text(least)
        else {"at_least": text(least), "at_most": at_most},
    }


def print_usage(lines: list[Line], terms: Version) -> Json:
    """F7 and rule 56: the usage lines by disposition."""

    def total(*words: str) -> str:
        return seconds(
            sum(
                line.quantity
                for line in lines
                if line.kind == "usage" and line.like.outcome.word in words
            )
        )

    return {
        "metered": total(*PRECEDENCE),
        "net_billed": total("charge", "share"),
        "excluded": total("exclude"),
        "credited": total("credit"),
        "held": total("hold"),
        "unit": f"{terms.unit}_seconds",
    }
