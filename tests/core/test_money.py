"""Money: exact until rounded once, the way the contract says (rules 60 and 63)."""

import decimal
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallystick.core.errors import UnknownCurrencyError
from tallystick.core.instant import HOUR_US
from tallystick.core.money import (
    Rounding,
    RoundingMode,
    fraction_text,
    minor_unit_digits,
    money_text,
    price,
    round_money,
    to_quanta,
)

MODES: dict[RoundingMode, str] = {
    "half_even": decimal.ROUND_HALF_EVEN,
    "half_up": decimal.ROUND_HALF_UP,
    "up": decimal.ROUND_UP,
    "down": decimal.ROUND_DOWN,
}
modes = st.sampled_from(list(MODES))
# Thousandths of 1/8 meet halves and whole numbers often.
amounts = st.integers(-40_000, 40_000).map(lambda eighths: Decimal(eighths) / 8000)


@given(amounts, modes, st.integers(0, 4))
def test_rounding_agrees_with_the_decimal_module(
    amount: Decimal, mode: RoundingMode, digits: int
) -> None:
    """Every mode does to either sign what the standard library's mode of that name does."""
    expected = amount.quantize(Decimal(1).scaleb(-digits), rounding=MODES[mode])

    rounded = round_money(Fraction(amount), Rounding(digits, mode))

    assert rounded == Fraction(expected)


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("half_even", [-2, -2, 0, 0, 0, 2, 2]),
        ("half_up", [-3, -2, -1, 0, 1, 2, 3]),
        ("up", [-3, -2, -1, 0, 1, 2, 3]),
        ("down", [-2, -1, 0, 0, 0, 1, 2]),
    ],
)
def test_a_negative_amount_rounds_as_its_mirror_image(
    mode: RoundingMode, expected: list[int]
) -> None:
    """Up is away from zero, down toward it, half_up half away from it (rule 60)."""
    halves = [Fraction(n, 2) for n in (-5, -3, -1, 0, 1, 3, 5)]

    assert [to_quanta(half, mode) for half in halves] == expected


@given(st.fractions(), modes)
def test_rounding_moves_by_less_than_one(amount: Fraction, mode: RoundingMode) -> None:
    """A rounded number is a neighbour, and a whole one stays."""
    rounded = to_quanta(amount, mode)

    assert abs(rounded - amount) < 1
    assert to_quanta(Fraction(rounded), mode) == rounded


@given(st.integers(-(10**15), 10**15), st.fractions(0, 10**4))
def test_a_price_is_exact(quantity_us: int, per_hour: Fraction) -> None:
    """An hour costs the hourly price, and nothing is rounded on the way."""
    assert price(quantity_us, per_hour) * HOUR_US == per_hour * quantity_us


@pytest.mark.parametrize(
    ("amount", "digits", "text"),
    [
        (Fraction(0), 2, "0.00"),
        (Fraction(5, 2), 2, "2.50"),
        (Fraction(-1, 100), 2, "-0.01"),
        (Fraction(-7), 0, "-7"),
        (Fraction(7), 0, "7"),
        (Fraction(1, 1000), 3, "0.001"),
        (Fraction(12345678901234567890), 2, "12345678901234567890.00"),
    ],
)
def test_money_has_exactly_its_digits(amount: Fraction, digits: int, text: str) -> None:
    """Amounts are written with all their places, and without a sign if they are nothing."""
    assert money_text(amount, digits) == text


def test_an_amount_is_rounded_before_it_is_written() -> None:
    """Writing never rounds."""
    with pytest.raises(AssertionError):
        money_text(Fraction(1, 3), 2)


@given(st.integers(-(10**6), 10**6), st.integers(0, 6))
def test_written_money_reads_back(quanta: int, digits: int) -> None:
    """The text is the decimal number."""
    amount = Fraction(quanta, 10**digits)

    assert Fraction(money_text(amount, digits)) == amount


def test_an_exact_amount_is_a_fraction_in_lowest_terms() -> None:
    """A whole number is over one."""
    texts = [fraction_text(each) for each in (Fraction(2, 6), Fraction(-3), Fraction(0))]

    assert texts == ["1/3", "-3/1", "0/1"]


@pytest.mark.parametrize(("currency", "digits"), [("USD", 2), ("JPY", 0), ("KWD", 3)])
def test_a_currency_has_the_places_of_its_minor_unit(currency: str, digits: int) -> None:
    """ISO 4217 says how small the coins are."""
    assert minor_unit_digits(currency) == digits


@pytest.mark.parametrize("currency", ["XAU", "QQQ", "usd", ""])
def test_a_currency_without_a_minor_unit_is_refused(currency: str) -> None:
    """Gold has none, and a code that nobody assigned has nothing."""
    with pytest.raises(UnknownCurrencyError) as caught:
        minor_unit_digits(currency)

    assert caught.value.code == "unknown_currency"
