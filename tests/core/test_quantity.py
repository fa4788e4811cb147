"""Quantities as text: seconds with six digits, and bounds."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallystick.core.quantity import bounded, seconds_text


@pytest.mark.parametrize(
    ("quantity_us", "text"),
    [
        (0, "0.000000"),
        (1, "0.000001"),
        (-1, "-0.000001"),
        (28_800_000_000, "28800.000000"),
        (-60_500_000, "-60.500000"),
    ],
)
def test_seconds_have_six_digits(quantity_us: int, text: str) -> None:
    """Microseconds are written whole, with the sign before them."""
    assert seconds_text(quantity_us) == text


@given(st.integers())
def test_seconds_read_back(quantity_us: int) -> None:
    """The text is the exact number of seconds."""
    context = Decimal(seconds_text(quantity_us)).as_tuple()

    digits = int("".join(map(str, context.digits)))
    assert (-digits if context.sign else digits) == quantity_us
    assert context.exponent == -6


def test_equal_bounds_are_a_plain_value() -> None:
    """What is exact is written without bounds."""
    assert bounded("1.00", "1.00") == "1.00"


def test_an_unknown_bound_is_null() -> None:
    """Nothing stands in for what is not known."""
    assert bounded(0, None) == {"at_least": 0, "at_most": None}
