"""Exact arithmetic: sums are those of fractions, and a sum that would round raises."""

from decimal import Decimal, Inexact
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallystick.ledger.errors import BadPostedAmountError
from tallystick.ledger.exact import (
    DIGITS_MAX,
    add,
    amount_text,
    check_postable,
    in_units,
    negative,
    subtract,
    total,
)
from tests.ledger.samples import LONG, amounts


@given(amounts(), amounts())
def test_sums_and_differences_are_those_of_fractions(left: Decimal, right: Decimal) -> None:
    """No digit is lost, however far apart the two are."""
    assert Fraction(add(left, right)) == Fraction(left) + Fraction(right)
    assert Fraction(subtract(left, right)) == Fraction(left) - Fraction(right)


@given(st.lists(amounts(), max_size=20))
def test_a_total_is_that_of_fractions(parts: list[Decimal]) -> None:
    """Nor is one lost over many."""
    assert Fraction(total(parts)) == sum(map(Fraction, parts))


def test_the_default_context_would_have_rounded() -> None:
    """The sample is long enough to tell our arithmetic from the usual one."""
    assert Decimal("24691357802469135780246913578024690.02") != LONG + LONG
    assert add(LONG, LONG) == Decimal("24691357802469135780246913578024690.02")
    assert negative(LONG) != -LONG
    assert amount_text(negative(LONG)) == "-12345678901234567890123456789012345.01"


def test_a_sum_that_would_round_raises() -> None:
    """There is no result rather than a wrong one."""
    with pytest.raises(Inexact):
        add(Decimal("1E+999"), Decimal("1E-999"))


@pytest.mark.parametrize(
    ("amount", "text"),
    [("0.0000001", "0.0000001"), ("1E+2", "100"), ("-0.50", "-0.50"), ("0E-2", "0.00")],
)
def test_amounts_are_written_with_the_places_that_they_have(amount: str, text: str) -> None:
    """There is never an exponent."""
    assert amount_text(Decimal(amount)) == text


def test_zero_has_no_sign() -> None:
    """The opposite of zero is written like zero."""
    assert [amount_text(negative(Decimal(zero))) for zero in ("0.00", "-0.00")] == ["0.00"] * 2


@pytest.mark.parametrize(
    ("units", "places", "text"), [(-50, 2, "-0.50"), (7, 0, "7"), (10**40, 3, "1" + "0" * 37)]
)
def test_an_amount_in_units_of_its_last_place(units: int, places: int, text: str) -> None:
    """Units become an amount without rounding."""
    assert in_units(units, places) == Decimal(text)


@pytest.mark.parametrize("digits", ["9" * 100, "0." + "9" * 100, "-" + "9" * 100 + ".1"])
def test_a_hundred_digits_on_either_side_can_be_posted(digits: str) -> None:
    """The limit itself is inside."""
    assert check_postable(Decimal(digits)) == Decimal(digits)


@pytest.mark.parametrize(
    "digits", ["NaN", "sNaN", "Infinity", "-Infinity", "1E+100", "1E-101", "9" * 101, "0E+101"]
)
def test_what_has_more_digits_or_no_end_cannot_be_posted(digits: str) -> None:
    """An amount is finite and of a length that other programs read."""
    with pytest.raises(BadPostedAmountError) as refused:
        check_postable(Decimal(digits))

    assert refused.value.code == "bad_posted_amount"
    assert f"at most {DIGITS_MAX} digits on either side of the point, got" in str(refused.value)
