"""Instants: integer microseconds UTC since the Unix epoch, and their one text form.

The text form is RFC 3339 in UTC with exactly six fractional digits and ``Z`` (rule 5). No
leap second, no 24:00, no lower case: such a moment does not exist in the calendar used here.
"""

import re
from datetime import UTC, date, datetime
from functools import lru_cache

from tallystick.core.errors import BadInstantError

SECOND_US = 1_000_000
MINUTE_US = 60 * SECOND_US
HOUR_US = 60 * MINUTE_US
DAY_US = 24 * HOUR_US

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_EPOCH_ORDINAL = date(1970, 1, 1).toordinal()
_TEXT = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}T(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]\.[0-9]{6}Z"
)
_RFC3339 = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2}[Tt][0-9]{2}:[0-9]{2}:[0-9]{2})(?:\.([0-9]{1,6}))?"
    r"(?:[Zz]|([+-])([01][0-9]|2[0-3]):([0-5][0-9]))"
)


@lru_cache(maxsize=4096)
def parse_instant(text: str) -> int:
    """Read the one text form of a time.

    Raises:
        BadInstantError: the text has another form, or the day does not exist.
    """
    if _TEXT.fullmatch(text) is None:
        raise BadInstantError(text)
    try:
        since = datetime.fromisoformat(text) - _EPOCH
    except ValueError as error:  # The form is right, so the day is not in the calendar.
        raise BadInstantError(text) from error
    return since.days * DAY_US + since.seconds * SECOND_US + since.microseconds


def parse_rfc3339(text: str) -> int:
    """Read a time that a person or another program wrote: up to six fractional digits, any offset.

    Raises:
        BadInstantError: the text is no RFC 3339 time, or the moment does not exist.
    """
    match = _RFC3339.fullmatch(text)
    if match is None:
        raise BadInstantError(text)
    local, fraction, sign, hour, minute = match.groups()
    try:
        local_us = parse_instant(f"{local.upper()}.{(fraction or '').ljust(6, '0')}Z")
        at_us = local_us - int(f"{sign or '+'}1") * _offset_us(hour, minute)
        format_instant(at_us)  # An offset may lead beyond the calendar's first or last year.
    except (BadInstantError, ValueError, OverflowError) as error:
        raise BadInstantError(text) from error
    return at_us


def _offset_us(hour: str | None, minute: str | None) -> int:
    return int(hour or 0) * HOUR_US + int(minute or 0) * MINUTE_US


@lru_cache(maxsize=65_536)
def format_instant(at_us: int) -> str:
    """Write a time in its one text form."""
    day, rest_us = divmod(at_us, DAY_US)
    second, micro = divmod(rest_us, SECOND_US)
    minute, second = divmod(second, 60)
    hour, minute = divmod(minute, 60)
    return f"{_day_text(day)}T{hour:02}:{minute:02}:{second:02}.{micro:06}Z"


@lru_cache(maxsize=4096)
def _day_text(day: int) -> str:
    return date.fromordinal(day + _EPOCH_ORDINAL).isoformat()
