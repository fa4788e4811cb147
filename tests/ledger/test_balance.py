"""Balances: exact, by account and currency, and zero in all at every prefix."""

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given

from tallystick.ledger.balance import Balance, TrialBalance, balances, check_ledger, trial_balance
from tallystick.ledger.chart import Account
from tallystick.ledger.entry import Entry
from tallystick.ledger.errors import RepeatedEntryError, UnbalancedLedgerError
from tests.ledger.samples import EARNED, LONG, OWED, ledgers, make_entry, post

OTHER = Account("receivable", "Ajax")


def tampered(entry: Entry) -> Entry:
    """Take away the second side of an entry, as no constructor allows."""
    object.__setattr__(entry, "postings", entry.postings[:1])
    return entry


@given(ledgers())
def test_balances_are_exact(entries: tuple[Entry, ...]) -> None:
    """Each is the sum of its postings as fractions, and what is zero is left out."""
    expected: dict[tuple[Account, str], Fraction] = {}
    for posting in (posting for entry in entries for posting in entry.postings):
        place = (posting.account, posting.currency)
        expected[place] = expected.get(place, Fraction(0)) + Fraction(posting.amount)

    found = {(each.account, each.currency): Fraction(each.amount) for each in balances(entries)}

    assert found == {place: amount for place, amount in expected.items() if amount}


@given(ledgers())
def test_every_prefix_balances(entries: tuple[Entry, ...]) -> None:
    """Whatever is posted, the two sides are equal after each entry."""
    for length in range(len(entries) + 1):
        sides = trial_balance(balances(entries[:length]))

        assert [each.debits for each in sides] == [each.credits for each in sides]
    assert check_ledger(entries) == balances(entries)


def test_balances_stand_in_order_of_their_accounts() -> None:
    """Account text first, then currency; a customer's amounts are not mixed with another's."""
    entries = [
        make_entry(post(OWED, "3"), post(EARNED, "-3"), line="1"),
        make_entry(post(OTHER, LONG), post(OWED, LONG.copy_negate()), line="2"),
        make_entry(post(OWED, "1", "EUR"), post(EARNED, "-1", "EUR"), line="3"),
        make_entry(post(OWED, LONG), post(OTHER, LONG.copy_negate()), line="4"),
    ]

    assert balances(entries) == (
        Balance(OWED, "EUR", Decimal(1)),
        Balance(OWED, "USD", Decimal(3)),
        Balance(EARNED, "EUR", Decimal(-1)),
        Balance(EARNED, "USD", Decimal(-3)),
    )
    assert trial_balance(balances(entries)) == (
        TrialBalance("EUR", Decimal(1), Decimal(1)),
        TrialBalance("USD", Decimal(3), Decimal(3)),
    )


def test_a_ledger_without_entries_holds() -> None:
    """Nothing was posted, so nobody owes anything."""
    assert check_ledger([]) == ()
    assert trial_balance([]) == ()


def test_a_ledger_that_lost_a_posting_does_not_hold() -> None:
    """The check does not rely on how entries are built, and says where it ends to hold."""
    entries = [make_entry(line="1"), tampered(make_entry(line="2")), make_entry(line="3")]

    with pytest.raises(UnbalancedLedgerError) as refused:
        check_ledger(entries)

    assert (refused.value.code, refused.value.exit_status) == ("ledger_must_balance", 1)
    assert str(refused.value) == "entries 1 to 2: must sum to zero, got 2.10 USD"


def test_a_ledger_holds_an_entry_once() -> None:
    """A second entry of the same id is not added up, it is refused."""
    with pytest.raises(RepeatedEntryError) as refused:
        check_ledger([make_entry(), make_entry(line="4"), make_entry()])

    assert (refused.value.code, refused.value.exit_status) == ("entry_repeated", 1)
    assert str(refused.value) == (f"entry {make_entry().id}: expected once, got again at place 3")
