"""Money: exact fractions until the one rounding that the contract names.

Amounts are ``Fraction`` while they are computed and text when they are written. Rounding
of negative amounts follows rule 60: up is away from zero, down is toward zero, half_up is
half away from zero.
"""

import math
from collections.abc import Sequence
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
    return Fraction(per_hour.numerator * quantity_us, per_hour.denominator * HOUR_US)


def to_quanta(amount: Fraction, mode: RoundingMode) -> int:
    """Round a number to an integer."""
    return _divide(amount.numerator, amount.denominator, mode)


def round_money(amount: Fraction, rounding: Rounding) -> Fraction:
    """Round an amount once, to the places and in the way that the contract names."""
    scale = 10**rounding.digits
    return Fraction(_divide(amount.numerator * scale, amount.denominator, rounding.mode), scale)


def _divide(numerator: int, denominator: int, mode: RoundingMode) -> int:
    """Divide integers and round the quotient, symmetrically about zero (rule 60)."""
    whole, rest = divmod(abs(numerator), denominator)
    if mode == "up":
        whole += rest > 0
    elif mode == "half_up":
        whole += 2 * rest >= denominator
    elif mode == "half_even":
        whole += 2 * rest > denominator or (2 * rest == denominator and whole % 2)
    return -whole if numerator < 0 else whole


def add_money(amounts: Sequence[Fraction]) -> Fraction:
    """Add amounts exactly, over one common denominator."""
    common = math.lcm(*[amount.denominator for amount in amounts])
    scaled = [amount.numerator * (common // amount.denominator) for amount in amounts]
    return Fraction(sum(scaled), common)


def money_text(amount: Fraction, digits: int) -> str:
    """Write an amount that has at most ``digits`` places, with exactly that many."""
    quanta, rest = divmod(abs(amount.numerator) * 10**digits, amount.denominator)
    assert rest == 0, "amounts are rounded before they are written"
    sign = "-" if amount < 0 else ""
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
