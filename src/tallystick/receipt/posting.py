"""From a receipt to entries of the ledger, and from a revision to what it changes.

What a line moves, debit against credit:

- charge, credit and share lines, with their granularity: receivable against revenue, and what
  a credit line gives back: credit against receivable;
- hold lines: held against deferred, the most that they may cost. A hold without a price moves
  nothing, which is a finding and not a zero; a negative least bound is not posted, as ``net``
  does not count it either;
- adjustments: receivable against adjustment, with their sign; excluded lines nothing.

Lines add up to the receipt's totals in every unit. Where a total was rounded as one sum, its
lines are exact fractions: each is posted at the unit below it, and the units that are then
missing from the stated total go one each to the lines with the largest fractions, the
earlier first. So each line is posted within one unit of what it says, a line that has its
amount exactly is posted with it, and how the contract rounds need not be known. Of holds
whose total is open for want of a price, those that have one are rounded up together.

A revision posts differences. Lines are matched by what they are about; a line of the
superseded receipt without counterpart is taken back by an entry of its own.
"""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Final, Literal, NamedTuple

from tallystick.core.finding import Finding
from tallystick.ledger.chart import Account, AccountName
from tallystick.ledger.entry import Entry, Posting
from tallystick.ledger.errors import SupersededMismatchError
from tallystick.ledger.exact import ZERO, in_units, negative, subtract
from tallystick.receipt.figures import check_figures
from tallystick.receipt.reader import Line, Receipt, Totals

_Move = Literal["charged", "credited", "held", "adjusted"]
_SIDES: Final[dict[_Move, tuple[AccountName, AccountName]]] = {
    "charged": ("receivable", "revenue"),
    "credited": ("credit", "receivable"),
    "held": ("held", "deferred"),
    "adjusted": ("receivable", "adjustment"),
}


class Posted(NamedTuple):
    """A receipt in the ledger: what was posted, under which digest and for whom."""

    receipt: Receipt
    payload_digest: str
    customer: str


class _Place(NamedTuple):
    """What a move is between: two accounts of a customer, in a currency."""

    customer: str
    currency: str
    move: _Move


class _MovedLine(NamedTuple):
    line: Line
    amounts: dict[_Place, Decimal]


def entries_of(
    receipt: Receipt,
    payload_digest: str,
    *,
    customer: str,
    recorded_us: int,
    previous: Posted | None,
) -> tuple[tuple[Entry, ...], tuple[Finding, ...]]:
    """Make the entries with which a receipt joins the ledger, and tell what has no price.

    Args:
        receipt: What is posted.
        payload_digest: The digest of its payload, which names the entries.
        customer: Who owes; receipts do not say it, contracts do.
        recorded_us: When the entries are made.
        previous: What the receipt supersedes, as it was posted; None for a first revision.

    Raises:
        SupersededMismatchError: the receipt supersedes another than ``previous``.
        WrongFigureError: the figures of a receipt do not follow from each other.
        MalformedPredicateError: a line of a receipt lacks what its kind needs.
        BadCustomerError: the customer's name cannot be that of an account.
        BadPostedAmountError: an amount has more digits than can be posted.
    """
    _check_follows(receipt, previous)
    before = {} if previous is None else _moved_lines(previous.receipt, previous.customer)
    after = _moved_lines(receipt, customer)
    entries = [
        Entry(
            receipt=payload_digest,
            line=name,
            run=receipt.run.id,
            customer=customer,
            revision=receipt.revision,
            recorded_us=recorded_us,
            sentence=_sentence(old, new, receipt.revision),
            postings=postings,
        )
        for name, old, new in _matched(before, after)
        if (postings := tuple(_postings(old, new)))
    ]
    return tuple(entries), tuple(_unpriced(receipt))


def _check_follows(receipt: Receipt, previous: Posted | None) -> None:
    """Check that a receipt takes the place of what was posted, and of nothing else."""
    follows: tuple[str, int, str] | None = None
    if previous is not None:
        follows = (previous.payload_digest, previous.receipt.revision, previous.receipt.run.id)
    digest, revision, run = follows or ("none", 0, receipt.run.id)
    for field, expected, found in (
        ("digest", receipt.supersedes or "none", digest),
        ("revision", str(receipt.revision - 1), str(revision)),
        ("run", receipt.run.id, run),
    ):
        if expected != found:
            raise SupersededMismatchError(field, expected, found)


def _moved_lines(receipt: Receipt, customer: str) -> dict[tuple[object, ...], _MovedLine]:
    """Give the lines of a receipt, by what they are about, with what each moves."""
    check_figures(receipt)
    seen: Counter[tuple[object, ...]] = Counter()
    lines: dict[tuple[object, ...], _MovedLine] = {}
    for line, amounts in zip(receipt.lines, _moved_amounts(receipt, customer), strict=True):
        about = _about(line)
        seen[about] += 1
        lines[*about, seen[about]] = _MovedLine(line, amounts)
    return lines


def _about(line: Line) -> tuple[object, ...]:
    """Tell lines apart by what they are about, as ``diff`` does; adjustments by their amount."""
    if line.kind == "adjustment":
        return (line.kind, line.rule_clause, line.amount)
    terms = (line.contract, line.rate_clause, line.disposition, line.share, line.rule_clause)
    return (line.kind, line.attempt, *terms)


def _moved_amounts(receipt: Receipt, customer: str) -> list[dict[_Place, Decimal]]:
    """Give what each line moves; together the lines move the totals."""
    moved: list[dict[_Place, Decimal]] = [{} for _ in receipt.lines]
    exact: dict[_Move, dict[int, Fraction]] = {move: {} for move in _SIDES}
    for index, line in enumerate(receipt.lines):
        for move, amount in _exact_amounts(line):
            exact[move][index] = amount
    for move, stated in _totals(receipt.totals):
        places = len((stated or receipt.totals.charged).partition(".")[2])
        parts = [amount * 10**places for amount in exact[move].values()]
        total = math.ceil(sum(parts)) if stated is None else int(stated.replace(".", ""))
        place = _Place(customer, receipt.totals.currency, move)
        for index, units in zip(exact[move], _apportion(parts, total), strict=True):
            moved[index][place] = in_units(units, places)
    return moved


def _exact_amounts(line: Line) -> Iterator[tuple[_Move, Fraction]]:
    """Give what a line moves, before any rounding of totals."""
    stated = line.at_most if line.disposition == "hold" else line.amount
    if line.amount_exact is not None:
        stated = line.amount_exact
    if stated is None or line.disposition == "exclude":
        return
    amount = Fraction(stated)
    if line.disposition is None:
        yield "adjusted", amount
    elif line.disposition == "hold":
        yield "held", max(Fraction(0), amount)
    else:
        yield "charged", amount
    if line.credit is not None and line.share is not None:
        is_exact = line.amount_exact is not None
        yield "credited", amount * Fraction(line.share) if is_exact else Fraction(line.credit)


def _totals(totals: Totals) -> tuple[tuple[_Move, str | None], ...]:
    return (
        ("charged", totals.charged),
        ("credited", totals.credits),
        ("held", totals.held_at_most),
        ("adjusted", totals.adjustments),
    )


def _apportion(parts: Sequence[Fraction], total: int) -> list[int]:
    """Round parts to integers that add up to a total: down, then up by largest fraction."""
    shares = [math.floor(part) for part in parts]
    uneven = [index for index, part in enumerate(parts) if part != shares[index]]
    uneven.sort(key=lambda index: shares[index] - parts[index])
    missing = total - sum(shares)
    assert 0 <= missing <= len(uneven), "a checked total is less than a unit from its lines"
    for index in uneven[:missing]:
        shares[index] += 1
    return shares


def _matched(
    before: dict[tuple[object, ...], _MovedLine], after: dict[tuple[object, ...], _MovedLine]
) -> Iterator[tuple[str, _MovedLine | None, _MovedLine | None]]:
    """Lay the lines of two revisions side by side, each pair with its name in the ledger."""
    for about, new in after.items():
        yield str(new.line.line), before.get(about), new
    for about, old in before.items():
        if about not in after:
            yield f"superseded {old.line.line}", old, None


def _postings(old: _MovedLine | None, new: _MovedLine | None) -> Iterator[Posting]:
    """Post what a line moves beyond what its counterpart moved; nothing if it is the same."""
    was = {} if old is None else old.amounts
    now = {} if new is None else new.amounts
    for place in dict.fromkeys([*was, *now]):
        amount = subtract(now.get(place, ZERO), was.get(place, ZERO))
        if amount:
            debit, credit = _SIDES[place.move]
            yield Posting(Account(debit, place.customer), amount, place.currency)
            yield Posting(Account(credit, place.customer), negative(amount), place.currency)


def _sentence(old: _MovedLine | None, new: _MovedLine | None, revision: int) -> str:
    if new is None:
        assert old is not None, "one side of a match is there"
        return f"takes back line {old.line.line} of revision {revision - 1}: {_words(old.line)}"
    if old is None:
        return _words(new.line)
    return f"difference to line {old.line.line} of revision {revision - 1}: {_words(new.line)}"


def _words(line: Line) -> str:
    """Say what a line is about."""
    if line.kind == "adjustment":
        return f"adjustment under clause {line.rule_clause or 'none'}"
    outcome = f"{line.disposition} {line.share}" if line.share else f"{line.disposition}"
    return (
        f"{outcome}, {line.kind} of attempt {line.attempt} under {line.contract or 'no contract'},"
        f" rate {line.rate_clause or 'none'}, rule {line.rule_clause or 'none'}"
    )


def _unpriced(receipt: Receipt) -> Iterator[Finding]:
    """Name the held lines that nobody put a price on."""
    for line in receipt.lines:
        if line.disposition == "hold" and line.at_most is None:
            message = f"line {line.line} is held without a price, so nothing is posted for it"
            yield Finding("held_without_price", message, line.attempt)
