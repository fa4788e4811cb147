"""Times as ``ctime`` prints them, of a program that was run in UTC."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_CTIME = re.compile(
    r"[A-Z][a-z]{2} +([A-Z][a-z]{2}) +([0-9]{1,2}) ([0-9]{2}):([0-9]{2}):([0-9]{2}) ([0-9]{4})"
)


def utc_us(text: str) -> int | None:
    """Read a time; None if it is none, such as ``Still Running``."""
    match = _CTIME.fullmatch(text.strip())
    if match is None or match[1] not in _MONTHS:
        return None
    month = _MONTHS.index(match[1]) + 1
    day, hour, minute, second, year = map(int, match.groups()[1:])
    try:
        shown = datetime(year, month, day, hour, minute, second, tzinfo=timezone.utc)
    except ValueError:
        return None
    return (shown - _EPOCH) // timedelta(microseconds=1)
