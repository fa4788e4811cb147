"""Times as ``ctime`` prints them: the host's local time, in English, without a zone."""

import re
from datetime import datetime, tzinfo
from decimal import Decimal
from itertools import product

from tallystick.collectors.local_time import moments_s
from tallystick.core.instant import SECOND_US

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_CTIME = re.compile(
    r"[A-Z][a-z]{2}\s+([A-Z][a-z]{2})\s+([0-9]{1,2})\s+"
    r"((?:[01][0-9]|2[0-3]):[0-9]{2}:[0-9]{2})\s+([0-9]{4})"
)
_SIGNIFICANT = Decimal("0.00001")  # Durations are printed with six significant digits.


def instants_us(text: str, zone: tzinfo) -> tuple[int, ...]:
    """Give the moments at which the host's clock showed ``text``; none if it is no time."""
    match = _CTIME.fullmatch(text)
    if match is None or match[1] not in _MONTHS:
        return ()
    month, day, clock, year = match.groups()
    try:
        shown = datetime.fromisoformat(
            f"{year}-{_MONTHS.index(month) + 1:02}-{day.zfill(2)}T{clock}"
        )
    except ValueError:
        return ()
    return tuple(moment_s * SECOND_US for moment_s in moments_s(shown, zone))


def pairs_that_last(
    starts_us: tuple[int, ...], ends_us: tuple[int, ...], duration_s: Decimal | None
) -> tuple[tuple[int, int], ...]:
    """Give the readings of start and end; their distance decides if there are several."""
    pairs = tuple(product(starts_us, ends_us))
    if len(pairs) <= 1 or duration_s is None:
        return pairs
    duration_us = duration_s * SECOND_US
    slack_us = 2 * SECOND_US + duration_us * _SIGNIFICANT  # Both ends are cut to seconds.
    return tuple((start, end) for start, end in pairs if abs(end - start - duration_us) <= slack_us)
