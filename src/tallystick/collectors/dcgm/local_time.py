"""Times as ``ctime`` prints them: the host's local time, in English, without a zone."""

import re
from datetime import UTC, datetime, timedelta, tzinfo
from decimal import Decimal
from itertools import product

from tallystick.core.instant import SECOND_US

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_CTIME = re.compile(
    r"[A-Z][a-z]{2}\s+([A-Z][a-z]{2})\s+([0-9]{1,2})\s+"
    r"([0-9]{1,2}):([0-9]{2}):([0-9]{2})\s+([0-9]{4})"
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_SIGNIFICANT = Decimal("0.00001")  # Durations are printed with six significant digits.


def instants_us(text: str, zone: tzinfo) -> tuple[int, ...]:
    """Give the moments at which the host's clock showed ``text``.

    Two in the hour that is repeated in autumn, none in the one that is skipped in spring,
    none if the text is no time.
    """
    match = _CTIME.fullmatch(text)
    if match is None or match[1] not in _MONTHS:
        return ()
    month = _MONTHS.index(match[1]) + 1
    day, hour, minute, second, year = map(int, match.groups()[1:])
    try:
        shown = datetime(year, month, day, hour, minute, second, tzinfo=zone)
        moments = {shown.replace(fold=fold).astimezone(UTC) for fold in (0, 1)}
        real = [at for at in moments if _wall(at.astimezone(zone)) == _wall(shown)]
    except (ValueError, OverflowError):
        return ()
    return tuple(sorted((at - _EPOCH) // _MICROSECOND for at in real))


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


def _wall(at: datetime) -> datetime:
    return at.replace(tzinfo=None, fold=0)
