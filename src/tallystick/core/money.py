"""Money: exact fractions until the one rounding that the contract names.

Amounts are ``Fraction`` while they are computed and text when they are written. Rounding
of negative amounts follows rule 60: up is away from zero, down is toward zero, half_up is
half away from zero.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Literal

from tallystick.core.errors import UnknownCurrencyError
from tallystick.core.instant import HOUR_US

RoundingMode = Literal["half_even", "half_up", "up", "down"]


@dataclass(frozen=True, slots=True)
class Rounding:
    """How many decimal places an amount keeps, and which way it is rounded."""

    digits: int
    mode: RoundingMode


def price(quantity_us: int, per_hour: Fraction) -> Fraction:
    """Price a quantity of GPU (or node) time at an hourly rate, exactly."""
    return per_hour * quantity_us / HOUR_US


def to_quanta(amount: Fraction, mode: RoundingMode) -> int:
    """Round a number to an integer."""
    if mode == "half_even":
        return round(amount)  # Fraction rounds half to even.
    magnitude = abs(amount)
    whole, rest = divmod(magnitude.numerator, magnitude.denominator)
    if mode == "up":
        whole += rest > 0
    elif mode == "half_up":
        whole += 2 * rest >= magnitude.denominator
    return -whole if amount < 0 else whole


def round_money(amount: Fraction, rounding: Rounding) -> Fraction:
    """Round an amount once, to the places and in the way that the contract names."""
    scale = 10**rounding.digits
    return Fraction(to_quanta(amount * scale, rounding.mode), scale)


def money_text(amount: Fraction, digits: int) -> str:
    """Write an amount that has at most ``digits`` places, with exactly that many."""
    scaled = amount * 10**digits
    assert scaled.denominator == 1, "amounts are rounded before they are written"
    sign, quanta = ("-" if scaled < 0 else ""), abs(scaled.numerator)
    if digits == 0:
        return f"{sign}{quanta}"
    whole, part = divmod(quanta, 10**digits)
    return f"{sign}{whole}.{part:0{digits}}"


def fraction_text(amount: Fraction) -> str:
    """Write an exact amount as ``p/q`` in lowest terms."""
    return f"{amount.numerator}/{amount.denominator}"


@cache
def minor_unit_digits(currency: str) -> int:
    """Give the decimal places of a currency's ISO 4217 minor unit.

    Raises:
        UnknownCurrencyError: no such currency, or it has no minor unit (XAU, XXX).
    """
    from iso4217 import Currency  # noqa: PLC0415 (21 ms that a contract with digits does not need)

    try:
        digits = Currency(currency).exponent
    except ValueError as error:
        raise UnknownCurrencyError(currency) from error
    if digits is None:
        raise UnknownCurrencyError(currency)
    return int(digits)
