"""Times as Slurm prints them: epoch seconds, or local times mostly without an offset.

Every meaning of a local time is kept until a whole row decides which one holds (r7).
"""

import re
from collections.abc import Iterable
from datetime import datetime
from itertools import product
from typing import NamedTuple
from zoneinfo import ZoneInfo

from tallystick.collectors.local_time import epoch_s, moments_s
from tallystick.collectors.slurm.errors import BadRowError
from tallystick.emit.slurm.call import NO_TIMES

EPOCH_MAX_S = 253402300799  # The last second of the year 9999.

_ABSENT = frozenset({"", "unknown", "none", "n/a", "(null)"})
_EPOCH = re.compile(r"[0-9]{1,12}")
_LOCAL = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})[T ]((?:[01][0-9]|2[0-3]):[0-9]{2}:[0-9]{2})"
    r"(Z|[+-][0-9]{2}:?[0-9]{2})?"
)
_DURATION = re.compile(r"(?:([0-9]{1,9})-)?([0-9]{1,9}):([0-5]?[0-9]):([0-5]?[0-9])(?:\.[0-9]+)?")
_SECONDS = re.compile(r"[0-9]{1,15}")

Meanings = tuple[int, ...]


class Settled(NamedTuple):
    """The times of a row; start and end are None if absent, or if they stay ambiguous."""

    submit_s: int
    start_s: int | None
    end_s: int | None
    ambiguous: bool


def read_time(subject: str, text: str, zone: ZoneInfo) -> Meanings:
    """Give every epoch second that a text may mean; none if it says that there is no time.

    Raises:
        BadRowError: the text is no time, or one that the zone's clock never showed.
    """
    stripped = text.strip()
    if stripped.lower() in _ABSENT:
        return ()
    if _EPOCH.fullmatch(stripped):
        return _known(subject, stripped, [int(stripped)])
    match = _LOCAL.fullmatch(stripped)
    if match is None:
        raise BadRowError(subject, "a time", text)
    day, clock, offset = match.groups()
    try:
        moment = datetime.fromisoformat(f"{day}T{clock}{offset or ''}")
    except ValueError as error:
        raise BadRowError(subject, "a time", text) from error
    meanings = moments_s(moment, zone) if moment.tzinfo is None else (epoch_s(moment),)
    if not meanings:
        raise BadRowError(subject, f"a time that exists in {zone.key}", text)
    return _known(subject, text, meanings)


def read_epoch(subject: str, number: int | None) -> int | None:
    """Give a moment that is already in epoch seconds; None for the numbers that mean none.

    Raises:
        BadRowError: the number is no moment of the calendar.
    """
    if number is None:
        return None
    return next(iter(_known(subject, str(number), [number])), None)


def _known(subject: str, text: str, epochs: Iterable[int]) -> Meanings:
    known = tuple(epoch for epoch in epochs if epoch not in NO_TIMES)
    if any(not 0 < epoch <= EPOCH_MAX_S for epoch in known):
        raise BadRowError(subject, "a time from 1970 to 9999", text)
    return known


def read_duration(text: str) -> int | None:
    """Give the seconds of ``[days-]hours:minutes:seconds`` or of a plain number."""
    if _SECONDS.fullmatch(text.strip()):
        return int(text)
    match = _DURATION.fullmatch(text.strip())
    if match is None:
        return None
    days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
    return ((days * 24 + hours) * 60 + minutes) * 60 + seconds


def settle(submit: Meanings, start: Meanings, end: Meanings, span_s: int | None) -> Settled:
    """Take the one meaning of a row's times that fits together (r7).

    Submit is not after start, start not after end, and end − start is ``span_s`` where that
    is known. A row whose times have one meaning each is taken at its word.

    Raises:
        BadRowError: the submit time, which the attempt key needs, is absent or ambiguous.
    """
    if not submit:
        raise BadRowError("Submit", "a time", "none")
    choices = [
        (submit_s, start_s, end_s)
        for submit_s, start_s, end_s in product(submit, start or (None,), end or (None,))
        if max(len(submit), len(start), len(end)) == 1 or _fits(submit_s, start_s, end_s, span_s)
    ]
    if len(choices) == 1:
        return Settled(*choices[0], ambiguous=False)
    submits = {submit_s for submit_s, _, _ in choices} or set(submit)
    if len(submits) > 1:
        raise BadRowError("Submit", "a time that is not repeated", " or ".join(map(str, submit)))
    return Settled(submits.pop(), None, None, ambiguous=True)


def _fits(submit_s: int, start_s: int | None, end_s: int | None, span_s: int | None) -> bool:
    stated = [moment for moment in (submit_s, start_s, end_s) if moment is not None]
    if stated != sorted(stated):
        return False
    if start_s is None or end_s is None or span_s is None:
        return True
    return end_s - start_s == span_s
