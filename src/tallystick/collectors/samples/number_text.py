"""JSON whose numbers stay text, and the two things read from such text: values and times."""

import json
import re
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Any

from tallystick.core.instant import DAY_US, SECOND_US

SECONDS = SECOND_US
MILLISECONDS = SECOND_US // 1000
EARLIEST_US = -719_162 * DAY_US  # 0001-01-01, the first day that has a text form.
LATEST_US = 2_932_897 * DAY_US - 1  # The last microsecond of the year 9999.

_NAN = re.compile(r"[+-]?nan", re.IGNORECASE)
_TIME_CHARACTERS_MAX = 40  # Far more than any real time, far less than what is slow to read.
_TIME_EXPONENT_MAX = 20


class NumberText(str):
    """A number of a JSON text, digit by digit as it stood there."""

    __slots__ = ()


class BadSampleError(Exception):
    """A value or a time that no sample can have; says what was expected."""


def read_json(text: str) -> Any:
    """Read JSON with every number, NaN and Infinity included, as ``NumberText``.

    Raises:
        ValueError: it is not JSON.
        RecursionError: it nests beyond what the parser takes.
    """
    return json.loads(text, parse_float=NumberText, parse_int=NumberText, parse_constant=NumberText)


def value_text(value: object) -> str | None:
    """Give a value as the text of its source, None where it is a blank (null or NaN).

    Raises:
        BadSampleError: it is no text and no number.
    """
    if value is None:
        return None
    if not isinstance(value, str) or not value.isascii() or not value.strip():
        raise BadSampleError("a number, a text or null")
    return None if _NAN.fullmatch(value) else str(value)


def instant_us(time: object, unit_us: int) -> int:
    """Read a time since the epoch exactly, in units of ``unit_us`` microseconds.

    Raises:
        BadSampleError: it is no number, no whole microsecond, or outside the calendar.
    """
    if not isinstance(time, NumberText) or len(time) > _TIME_CHARACTERS_MAX:
        raise BadSampleError("a time as a number")
    at_us = int(time) * unit_us if time.isdecimal() else _exact_us(time, unit_us)
    if not EARLIEST_US <= at_us <= LATEST_US:
        raise BadSampleError("a time within the years 1 to 9999")
    return at_us


def _exact_us(time: str, unit_us: int) -> int:
    try:
        number = Decimal(time)
    except InvalidOperation as error:
        raise BadSampleError("a time as a number") from error
    if not number.is_finite() or abs(number.adjusted()) > _TIME_EXPONENT_MAX:
        raise BadSampleError("a time within the years 1 to 9999")
    at_us = Fraction(number) * unit_us
    if at_us.denominator != 1:
        raise BadSampleError("a time in whole microseconds")
    return at_us.numerator
