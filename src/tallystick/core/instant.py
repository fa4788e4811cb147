"""Instants: integer microseconds UTC since the Unix epoch, and their one text form.

The text form is RFC 3339 in UTC with exactly six fractional digits and ``Z`` (rule 5). No
leap second, no 24:00, no lower case: such a moment does not exist in the calendar used here.
"""

import re
from collections.abc import Sequence
from datetime import UTC, date, datetime
from functools import lru_cache

from tallystick.core.errors import BadInstantError

SECOND_US = 1_000_000
MINUTE_US = 60 * SECOND_US
HOUR_US = 60 * MINUTE_US
DAY_US = 24 * HOUR_US

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_EPOCH_ORDINAL = date(1970, 1, 1).toordinal()
_DAY = (
    r"(?!0000)(?:[0-9]{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])"
    r"|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)|02-(?:0[1-9]|1[0-9]|2[0-8]))"
    r"|(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)-02-29)"
)
_TEXT = rf"{_DAY}T(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]\.[0-9]{{6}}Z"
_IS_INSTANT = re.compile(_TEXT).fullmatch
_ARE_INSTANTS = re.compile(rf"(?:{_TEXT}\n)*").fullmatch
_LINE_LENGTH = len("2026-01-01T00:00:00.000000Z\n")
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
    if _IS_INSTANT(text) is None:
        raise BadInstantError(text)
    since = datetime.fromisoformat(text) - _EPOCH
    return since.days * DAY_US + since.seconds * SECOND_US + since.microseconds


def are_instants(texts: Sequence[str]) -> bool:
    """Tell whether texts, of which there is one at least, are all times; reads none of them."""
    lines = "\n".join(texts) + "\n"
    return len(lines) == len(texts) * _LINE_LENGTH and _ARE_INSTANTS(lines) is not None


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
