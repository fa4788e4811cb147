"""Entries: what balances can be built, and nothing else."""

import pickle
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallystick.core.errors import TallystickError, UnknownCurrencyError
from tallystick.ledger.entry import Entry, EntryId
from tallystick.ledger.errors import (
    BadEntryIdError,
    BadPostedAmountError,
    EmptyEntryError,
    UnbalancedEntryError,
)
from tests.ledger.samples import EARNED, LONG, OWED, RECEIPT, amounts, make_entry, post


def test_an_entry_is_named_by_receipt_and_line() -> None:
    """The name is what it follows from."""
    entry = make_entry(line="superseded 5")

    assert entry.id == EntryId(RECEIPT, "superseded 5")
    assert str(entry.id) == f"{RECEIPT} line superseded 5"


@given(st.lists(amounts(), min_size=1, max_size=5))
def test_postings_that_sum_to_zero_make_an_entry(parts: list[Decimal]) -> None:
    """Any number of postings balances with their opposites."""
    postings = [post(OWED, part) for part in parts]
    postings += [post(EARNED, part.copy_negate()) for part in reversed(parts)]

    assert make_entry(*postings).postings == tuple(postings)


@given(amounts().filter(bool), amounts().filter(bool))
def test_no_other_postings_make_an_entry(owed: Decimal, off: Decimal) -> None:
    """The residual is told exactly."""
    postings = [post(OWED, owed), post(EARNED, owed.copy_negate()), post(OWED, off)]

    with pytest.raises(UnbalancedEntryError) as refused:
        make_entry(*postings)

    assert refused.value.args == (f"{RECEIPT} line 3", off, "USD")


def test_an_unbalanced_entry_is_told_in_one_line() -> None:
    """The message names the entry, what was expected and what was found."""
    with pytest.raises(UnbalancedEntryError) as refused:
        make_entry(post(OWED, "2.10"), post(EARNED, "-2.09"))

    assert refused.value.code == "entry_must_balance"
    assert str(refused.value) == (
        f"entry {RECEIPT} line 3: postings must sum to zero, got 0.01 USD"
    )


def test_a_cent_beyond_the_digits_of_the_default_context_counts() -> None:
    """An imbalance does not hide behind a large amount."""
    with pytest.raises(UnbalancedEntryError):
        make_entry(
            post(OWED, LONG), post(EARNED, LONG.copy_negate() + Decimal("0.00")), post(OWED, "0.01")
        )


def test_each_currency_balances_by_itself() -> None:
    """One currency does not make up for another."""
    with pytest.raises(UnbalancedEntryError) as refused:
        make_entry(post(OWED, "1", "USD"), post(EARNED, "-1", "EUR"))

    assert refused.value.args[1:] == (Decimal(1), "USD")


def test_an_entry_has_postings() -> None:
    """What moves nothing is no entry."""
    with pytest.raises(EmptyEntryError) as refused:
        Entry(RECEIPT, "3", "run-7", "Acme", 1, 0, "nothing", ())

    assert refused.value.code == "entry_must_not_be_empty"
    assert str(refused.value) == f"entry {RECEIPT} line 3: expected postings, got none"


@pytest.mark.parametrize(
    "members",
    [
        {"line": ""},
        {"line": "0"},
        {"line": "03"},
        {"line": "3\n"},
        {"line": "superseded"},
        {"line": "superseded 0"},
        {"line": "4 superseded"},
        {"receipt": "1" * 64},
        {"receipt": "sha256:" + "A" * 64},
        {"receipt": RECEIPT + "\n"},
    ],
)
def test_an_id_has_one_form(members: dict[str, Any]) -> None:
    """An entry cannot be posted again under another spelling of its name."""
    with pytest.raises(BadEntryIdError) as refused:
        make_entry(**members)

    assert refused.value.code == "bad_entry_id"
    assert "expected an entry named by sha256:HEX and a line like 3 or" in str(refused.value)


@pytest.mark.parametrize("currency", ["", "usd", "US", "USD ", "U;D"])
def test_a_currency_has_three_letters(currency: str) -> None:
    """It can stand in a journal as it is."""
    with pytest.raises(UnknownCurrencyError):
        post(OWED, "1", currency)


def test_an_amount_must_be_finite() -> None:
    """Nobody owes infinity."""
    with pytest.raises(BadPostedAmountError):
        post(OWED, "Infinity")


@pytest.mark.parametrize(
    "error",
    [
        UnbalancedEntryError("x", Decimal("0.01"), "USD"),
        BadPostedAmountError(Decimal("NaN"), 100),
        BadEntryIdError("x", "y"),
    ],
)
def test_errors_cross_a_process_boundary_whole(error: TallystickError) -> None:
    """The sentence is the same on the other side."""
    assert str(pickle.loads(pickle.dumps(error))) == str(error)  # noqa: S301 (our own)


def test_an_entry_crosses_a_process_boundary_whole() -> None:
    """An entry is a plain value."""
    assert pickle.loads(pickle.dumps(make_entry())) == make_entry()  # noqa: S301 (our own)
