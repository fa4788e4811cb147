"""Entries: what moves between accounts, and from which line of which receipt that follows.

An entry cannot be built unbalanced: in each currency its postings sum to zero. It is named
by the digest of a receipt's payload and a line: ``3`` is a line of that receipt,
``superseded 5`` a line of the receipt that it supersedes and that has no counterpart any
more. Amounts are exact decimals, debits positive.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Final, NamedTuple

from tallystick.core.errors import UnknownCurrencyError
from tallystick.ledger.chart import Account
from tallystick.ledger.errors import BadEntryIdError, EmptyEntryError, UnbalancedEntryError
from tallystick.ledger.exact import ZERO, add, check_postable

_RECEIPT: Final = re.compile(r"sha256:[0-9a-f]{64}")
_LINE: Final = re.compile(r"(superseded )?[1-9][0-9]{0,15}")
_CURRENCY: Final = re.compile(r"[A-Z]{3}")


class EntryId(NamedTuple):
    """What an entry follows from; a ledger has at most one entry for each."""

    receipt: str
    line: str

    def __str__(self) -> str:
        return f"{self.receipt} line {self.line}"


@dataclass(frozen=True, slots=True)
class Posting:
    """An amount on one account: a debit if positive, a credit if negative.

    Raises:
        BadPostedAmountError: the amount is not finite or has too many digits.
        UnknownCurrencyError: the currency has not the form of an ISO 4217 code.
    """

    account: Account
    amount: Decimal
    currency: str

    def __post_init__(self) -> None:
        check_postable(self.amount)
        if _CURRENCY.fullmatch(self.currency) is None:
            raise UnknownCurrencyError(self.currency)


@dataclass(frozen=True, slots=True)
class Entry:
    """Postings that sum to zero, and why they were made.

    Args:
        receipt: The digest of the payload of the receipt that it follows from.
        line: Which line of it, or of the receipt that it supersedes.
        run: The run that the receipt is about.
        customer: Who owes what is posted.
        revision: That of the receipt.
        recorded_us: When the entry was made.
        sentence: Why, for people.
        postings: At least one.

    Raises:
        BadEntryIdError: receipt or line have another form.
        EmptyEntryError: there are no postings.
        UnbalancedEntryError: the postings do not sum to zero.
    """

    receipt: str
    line: str
    run: str
    customer: str
    revision: int
    recorded_us: int
    sentence: str
    postings: tuple[Posting, ...]

    def __post_init__(self) -> None:
        if _RECEIPT.fullmatch(self.receipt) is None or _LINE.fullmatch(self.line) is None:
            raise BadEntryIdError(self.receipt, self.line)
        if not self.postings:
            raise EmptyEntryError(str(self.id))
        for currency, residual in residuals(self.postings).items():
            if residual:
                raise UnbalancedEntryError(str(self.id), residual, currency)

    @property
    def id(self) -> EntryId:
        """The name of the entry."""
        return EntryId(self.receipt, self.line)


def residuals(postings: Iterable[Posting]) -> dict[str, Decimal]:
    """Add postings up by currency: zero each, if they balance."""
    sums: dict[str, Decimal] = {}
    for posting in postings:
        sums[posting.currency] = add(sums.get(posting.currency, ZERO), posting.amount)
    return sums
