"""What the rows of one GPU say, as values of a record: unknown is None (r27, r28, r29)."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import TYPE_CHECKING, Union

from tallystick.emit.record import INTEGER_MAX

if TYPE_CHECKING:
    from collections.abc import Mapping

Value = Union[int, str, None]

BLANK = 2**47  # DCGM's own test for blanks is "at least", and this is the smallest of them.
_BLANK_ROUNDED = 140_737 * 10**9  # The same in six significant digits, as doubles are printed.

_NUMBER = re.compile(r"[+-]?[0-9]{1,40}(?:\.[0-9]{1,40})?(?:[eE][+-]?[0-9]{1,3})?")
_AVERAGE = re.compile(r"(?:^|,)\s*Avg:\s*([^,]*)")


def read_values(rows: Mapping[str, str]) -> dict[str, Value]:
    """Give the five values of a record.

    DCGM prints zeros where it sampled nothing: without energy and power, and with clocks
    at 0, no zero of the block was measured. Energy 0 beside power is the difference of one
    sample to itself.
    """
    energy_j = known(rows.get("Energy Consumed (Joules)"))
    power_text = average(rows.get("Power Usage (Watts)"))
    power_w = known(power_text)
    sm_clock_mhz = known(average(rows.get("SM Clock (MHz)")))
    if energy_j is None and power_w is None and sm_clock_mhz == 0:
        return dict.fromkeys(("energy_mj", "power_w", "sm_util", "mem_util", "processes"))
    if energy_j == 0 and power_w:
        energy_j = None
    return {
        "energy_mj": None if energy_j is None else _value(energy_j.scaleb(3)),
        "power_w": None if power_w is None else power_text,
        "sm_util": _value(known(average(rows.get("SM Utilization (%)")))),
        "mem_util": _value(known(average(rows.get("Memory Utilization (%)")))),
        "processes": _value(known(rows.get("No. of Processes"))),
    }


def known(text: str | None) -> Decimal | None:
    """Read a number that was measured: not a word, not cut short, not negative, not a blank."""
    if text is None or not _NUMBER.fullmatch(text):
        return None
    number = Decimal(text)
    blank = _BLANK_ROUNDED if "e" in text.lower() else BLANK
    return number if 0 <= number < blank else None


def average(cell: str | None) -> str | None:
    """Find the text of ``Avg`` in ``Avg: 91, Max: 100, Min: 0``."""
    match = _AVERAGE.search(cell or "")
    return match[1].strip() if match else None


def _value(number: Decimal | None) -> Value:
    """Give an integer, and a decimal string where a print has a fraction."""
    if number is None:
        return None
    if number != number.to_integral_value():
        return format(number, "f")
    return int(number) if number <= INTEGER_MAX else None  # Beyond it no record is admitted.
