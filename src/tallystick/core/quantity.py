"""Quantities of time as decimal strings: integer microseconds inside, seconds outside.

A quantity is exact, bounded, or unknown. Exact is a plain value, bounded is
``{"at_least": low, "at_most": high}``, and an unknown bound is ``None``: never 0.
"""

import re
from typing import Any

from tallystick.core.instant import SECOND_US

DECIMAL_NUMBER = re.compile(r"([+-]?)([0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE]([+-]?[0-9]+))?")
"""A plain decimal number as sources write it: sign, digits, exponent."""


def seconds_text(quantity_us: int) -> str:
    """Write microseconds as decimal seconds with exactly six fractional digits."""
    second, micro = divmod(abs(quantity_us), SECOND_US)
    return f"{'-' if quantity_us < 0 else ''}{second}.{micro:06}"


def bounded(at_least: Any, at_most: Any) -> Any:
    """Give a plain value if both bounds are equal, otherwise the pair."""
    if at_least == at_most:
        return at_least
    return {"at_least": at_least, "at_most": at_most}
