"""Printing and rounding, the slow and literal way: F (preamble) and rules 60, 61 and 63."""

from datetime import timedelta
from fractions import Fraction

from tests.reference.slow_bodies import EPOCH

EXTRA_PLACES = 6  # Rule 61.


def round_to(value: Fraction, digits: int, mode: str) -> Fraction:
    """Rule 60: up is away from zero, down toward it, half_up half away from zero."""
    scaled = abs(value) * 10**digits
    whole, rest = divmod(scaled, 1)
    half = Fraction(1, 2)
    if mode == "up":
        away = rest > 0
    elif mode == "down":
        away = False
    elif mode == "half_up":
        away = rest >= half
    else:  # half_even
        away = rest > half or (rest == half and whole % 2 == 1)
    result = Fraction(whole + away, 10**digits)
    return -result if value < 0 else result


def money(value: Fraction, digits: int, mode: str) -> str:
    """Rule 63: always exactly `digits` places, and zero has no sign."""
    rounded = round_to(value, digits, mode)
    units = abs(rounded) * 10**digits
    text = str(units.numerator).rjust(digits + 1, "0")
    sign = "-" if rounded < 0 else ""
    return f"{sign}{text[:-digits]}.{text[-digits:]}" if digits else f"{sign}{text}"


def seconds(us: int) -> str:
    """Print a quantity: decimal seconds with six digits."""
    return money(Fraction(us, 1_000_000), 6, "half_even")


def time_text(us: int) -> str:
    """Print a moment: RFC 3339, UTC, six fractional digits, Z."""
    moment = EPOCH + timedelta(microseconds=us)
    return f"{moment.year:04d}-{moment:%m-%dT%H:%M:%S.%f}Z"


def fraction_text(value: Fraction) -> str:
    """Rules 48 and 61: p/q in lowest terms."""
    return f"{value.numerator}/{value.denominator}"
