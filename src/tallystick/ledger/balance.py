"""Balances: what stands on each account, and that the whole is zero. Exact, never rounded."""

from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import NamedTuple

from tallystick.ledger.chart import Account
from tallystick.ledger.entry import Entry, EntryId, residuals
from tallystick.ledger.errors import RepeatedEntryError, UnbalancedLedgerError
from tallystick.ledger.exact import ZERO, add, negative, total


class Balance(NamedTuple):
    """What stands on an account in one currency: a debit if positive."""

    account: Account
    currency: str
    amount: Decimal


class TrialBalance(NamedTuple):
    """The sum of the debit balances and that of the credit balances, both positive."""

    currency: str
    debits: Decimal
    credits: Decimal


def balances(entries: Iterable[Entry]) -> tuple[Balance, ...]:
    """Add entries up by account and currency, in order of the account's text, without zeros."""
    sums: dict[tuple[Account, str], Decimal] = {}
    for entry in entries:
        for posting in entry.postings:
            place = (posting.account, posting.currency)
            sums[place] = add(sums.get(place, ZERO), posting.amount)
    found = [
        Balance(account, currency, amount) for (account, currency), amount in sums.items() if amount
    ]
    return tuple(sorted(found, key=lambda each: (each.account.text, each.currency)))


def trial_balance(standing: Iterable[Balance]) -> tuple[TrialBalance, ...]:
    """Add balances up by currency and side; the sides are equal if the ledger is whole."""
    sides: dict[str, tuple[list[Decimal], list[Decimal]]] = {}
    for balance in standing:
        debits, credits_ = sides.setdefault(balance.currency, ([], []))
        (debits if balance.amount > 0 else credits_).append(balance.amount)
    return tuple(
        TrialBalance(currency, total(debits), negative(total(credits_)))
        for currency, (debits, credits_) in sorted(sides.items())
    )


def check_ledger(entries: Iterable[Entry]) -> tuple[Balance, ...]:
    """Check a ledger from its first entry to its last, and give its balances.

    After each entry all accounts together are zero in every currency, and no id comes twice.

    Raises:
        UnbalancedLedgerError: the entries up to one of them do not sum to zero.
        RepeatedEntryError: an id stands on two entries.
    """
    return balances(_checked(entries))


def _checked(entries: Iterable[Entry]) -> Iterator[Entry]:
    """Give entries one by one, each only after all up to it were found to hold."""
    seen: set[EntryId] = set()
    running: dict[str, Decimal] = {}
    for position, entry in enumerate(entries, start=1):
        if entry.id in seen:
            raise RepeatedEntryError(str(entry.id), position)
        seen.add(entry.id)
        for currency, residual in residuals(entry.postings).items():
            running[currency] = add(running.get(currency, ZERO), residual)
            if running[currency]:
                raise UnbalancedLedgerError(position, running[currency], currency)
        yield entry
