"""How a receipt's values read in text: times, durations, bounds, quantities.

Nothing is rounded here: trailing zeros may go, digits may not. What is unknown says so in a
word, and a bound says "at least" or "at most".
"""

from collections.abc import Callable
from typing import Any

from tallystick.core.instant import DAY_US, SECOND_US, format_instant
from tallystick.receipt.figures import seconds_us
from tallystick.receipt.reader import Attempt, CountRange, MoneyRange, SecondsRange

UNKNOWN = "unknown"


def plural(count: int, noun: str) -> str:
    """Write a number of things: ``1 GPU``, ``8 GPUs``."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def seconds_wording(text: str) -> str:
    """Write decimal seconds without zeros that say nothing."""
    return text.rstrip("0").rstrip(".")


def clock(at_us: int, day_of_us: int | None = None) -> str:
    """Write a UTC time, without the date if it is that of ``day_of_us``."""
    date, _, time = format_instant(at_us).removesuffix("Z").partition("T")
    time = time.removesuffix(".000000")
    same_day = day_of_us is not None and at_us // DAY_US == day_of_us // DAY_US
    return time if same_day else f"{date} {time}"


def span(start_us: int, end_us: int, day_of_us: int | None = None) -> str:
    """Write an interval, with the second date only if it is another one."""
    return f"{clock(start_us, day_of_us)} to {clock(end_us, start_us)}"


def duration(length_us: int) -> str:
    """Write a duration as hours, minutes and seconds."""
    second, micro = divmod(abs(length_us), SECOND_US)
    minute, second = divmod(second, 60)
    hour, minute = divmod(minute, 60)
    part = f".{micro:06}" if micro else ""
    return f"{'-' if length_us < 0 else ''}{hour}:{minute:02}:{second:02}{part}"


def duration_of(text: str | None, absent: str) -> str:
    """Write decimal seconds as a duration."""
    return absent if text is None else duration(seconds_us(text))


def bounds(
    value: str | int | CountRange | MoneyRange | SecondsRange | None,
    write: Callable[[Any], str] = str,
) -> str:
    """Write a value that may be bounded or unknown."""
    if value is None:
        return UNKNOWN
    if isinstance(value, str | int):
        return write(value)
    if value.at_least is None and value.at_most is None:
        return UNKNOWN
    least = UNKNOWN if value.at_least is None else write(value.at_least)
    most = UNKNOWN if value.at_most is None else write(value.at_most)
    return f"at least {least}, at most {most}"


def hardware(attempt: Attempt) -> str:
    """Write what an attempt held: ``8 x H100, spot``."""
    kind = attempt.gpu_type or "GPU of unknown type"
    return f"{attempt.gpus} x {kind}, capacity {attempt.capacity or UNKNOWN}"
