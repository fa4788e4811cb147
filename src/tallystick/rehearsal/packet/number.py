"""Numbers of a packet: exact, bounded, or unknown with the reason, each with its evidence."""

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from tallystick.core.quantity import seconds_text
from tallystick.rehearsal.packet.evidence import Seen, digests

Json = dict[str, Any]


def known(value: Any, records: Iterable[Seen] = ()) -> Json:
    """State a value: plain, or ``{"at_least", "at_most"}``."""
    return {"value": value, "evidence": digests(records)}


def unknown(why: str, records: Iterable[Seen] = ()) -> Json:
    """State that there is no value, and why."""
    return {"value": None, "unknown": why, "evidence": digests(records)}


def from_receipt(value: Any, why: str, records: Iterable[Seen] = ()) -> Json:
    """Take a value over from a receipt, with the records that it rests on; null is unknown."""
    return unknown(why, records) if value is None else known(value, records)


def between(earlier: Seen | None, later: Seen | None, why: str) -> Json:
    """State the seconds between two records; no number if they are in the wrong order."""
    if earlier is None or later is None:
        return unknown(why, [each for each in (earlier, later) if each is not None])
    length_us = later.moment_us - earlier.moment_us
    if length_us < 0:
        said = f"{later.kind} is {seconds_text(-length_us)} s before {earlier.kind}"
        return unknown(f"{said}: two clocks differ", (earlier, later))
    return known(seconds_text(length_us), (earlier, later))


def difference(ours: Any, theirs: Any) -> Any:
    """Subtract decimal strings or ranges of them, exactly; None if a bound is unknown."""
    if ours is None or theirs is None:
        return None
    (ours_least, ours_most), (theirs_least, theirs_most) = _range(ours), _range(theirs)
    least, most = _minus(ours_least, theirs_most), _minus(ours_most, theirs_least)
    if least == most:
        return least
    return {"at_least": least, "at_most": most}


def _range(value: Any) -> tuple[str | None, str | None]:
    if isinstance(value, dict):
        return value["at_least"], value["at_most"]
    return str(value), str(value)


def _minus(left: str | None, right: str | None) -> str | None:
    """Subtract one decimal from another, to the places of the longer one."""
    if left is None or right is None:
        return None
    places = max(_places(left), _places(right))
    units = (Fraction(left) - Fraction(right)) * 10**places
    digits = str(abs(units.numerator)).rjust(places + 1, "0")
    sign = "-" if units < 0 else ""
    return f"{sign}{digits[:-places]}.{digits[-places:]}" if places else f"{sign}{digits}"


def _places(text: str) -> int:
    return len(text.partition(".")[2])
