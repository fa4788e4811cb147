"""Whether a value is a measurement: blank, impossible, or usable (rule 21).

Sentinels are thresholds and not equalities, since exporters scale and convert them. Nothing
is clamped: an impossible value is kept as it came, is not used, and is a finding.
"""

from decimal import Decimal
from enum import Enum
from functools import lru_cache

from tallystick.core.quantity import DECIMAL_NUMBER

# The lowest blank of 64-bit floats, and that of 32-bit integers.
BLANK_FROM = 140_737_488_355_328
NARROW_BLANK_FROM = 2_147_483_632

# Metrics that count in 64 bits and so may honestly pass the 32-bit sentinel.
_WIDE_COUNTERS = ("energy", "bytes", "violation")
_EXPONENT_DIGITS_MAX = 6


class Reading(Enum):
    """What a value is worth."""

    USABLE = "usable"
    BLANK = "blank"
    IMPOSSIBLE = "impossible"


def read_value(value: str | int | None, metric: str) -> Reading:
    """Judge one value of a metric by its text, never by a float."""
    return Reading.BLANK if value is None else _read_text(str(value), metric)


@lru_cache(maxsize=65_536)
def _read_text(text: str, metric: str) -> Reading:
    number = _decimal(text)
    if number is None or number >= blank_from(metric):
        return Reading.BLANK
    highest = possible_max(metric)
    if number < 0 or (highest is not None and number > highest):
        return Reading.IMPOSSIBLE
    return Reading.USABLE


def blank_from(metric: str) -> int:
    """Give the lowest value that means "no value" for a metric."""
    name = metric.lower()
    is_wide = any(part in name for part in _WIDE_COUNTERS)
    return BLANK_FROM if is_wide else NARROW_BLANK_FROM


def possible_max(metric: str) -> int | None:
    """Give the highest value that a metric can have, None if its name sets no limit."""
    name = metric.lower()
    if "active" in name:
        return 1
    return 100 if "util" in name else None


def is_zero(value: str | int | None) -> bool:
    """Tell whether a value is stated and is zero."""
    return value is not None and _decimal(str(value)) == 0


def _decimal(text: str) -> Decimal | None:
    """Read a plain decimal number; of an absurd exponent only the sign is kept."""
    match = DECIMAL_NUMBER.fullmatch(text)
    if match is None:
        return None
    sign, digits, exponent = match.groups()
    if exponent is None or len(exponent) <= _EXPONENT_DIGITS_MAX:
        return Decimal(text)
    if not digits.strip("0."):
        return Decimal(0)
    return Decimal(f"{sign}1e{'-' if exponent.startswith('-') else ''}{10**_EXPONENT_DIGITS_MAX}")
