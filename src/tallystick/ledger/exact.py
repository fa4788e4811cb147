"""Decimal arithmetic that cannot round.

The default context of ``decimal`` rounds each sum at 28 digits, and even a unary minus, and
says nothing. Everything that adds amounts does it here: a sum that would need rounding
raises. An amount has at most ``DIGITS_MAX`` digits on either side of its point, so that the
room of a sum cannot be used up and other programs can read each amount.
"""

from collections.abc import Iterable
from decimal import Context, Decimal, Inexact, InvalidOperation
from typing import Final

from tallystick.ledger.errors import BadPostedAmountError

DIGITS_MAX: Final = 100
ZERO: Final = Decimal(0)

_CONTEXT: Final = Context(prec=10 * DIGITS_MAX, traps=[Inexact, InvalidOperation])


def check_postable(amount: Decimal) -> Decimal:
    """Give an amount back if it can be posted.

    Raises:
        BadPostedAmountError: it is not finite or has too many digits.
    """
    _, digits, exponent = amount.as_tuple()
    if not isinstance(exponent, int):  # A letter stands for what is not finite.
        raise BadPostedAmountError(amount, DIGITS_MAX)
    if exponent < -DIGITS_MAX or exponent + len(digits) > DIGITS_MAX:
        raise BadPostedAmountError(amount, DIGITS_MAX)
    return amount


def add(left: Decimal, right: Decimal) -> Decimal:
    """Add two amounts."""
    return _CONTEXT.add(left, right)


def subtract(left: Decimal, right: Decimal) -> Decimal:
    """Take one amount from another."""
    return _CONTEXT.subtract(left, right)


def total(amounts: Iterable[Decimal]) -> Decimal:
    """Add amounts up; those of nothing are zero."""
    result = ZERO
    for amount in amounts:
        result = _CONTEXT.add(result, amount)
    return result


def negative(amount: Decimal) -> Decimal:
    """Turn the sign of an amount; zero has none."""
    return amount.copy_negate() if amount else amount.copy_abs()


def in_units(units: int, places: int) -> Decimal:
    """Give the amount that is so many units of its last decimal place.

    Raises:
        BadPostedAmountError: it has too many digits.
    """
    return check_postable(Decimal(f"{units}E-{places}"))


def amount_text(amount: Decimal) -> str:
    """Write an amount with the places that it has, never with an exponent."""
    return format(amount, "f")
