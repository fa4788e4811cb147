"""Options of ``tallystick collect``: times, durations, zones, keys, pairs.

Each function reads the text of one option; a text that it cannot read is misuse.
"""

import re
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import click

from tallystick.core.errors import BadInstantError
from tallystick.core.instant import SECOND_US, parse_rfc3339
from tallystick.evidence.fields import BadFieldError, key

_SECONDS = re.compile(r"([0-9]{1,10})(?:\.([0-9]{1,6}))?")


def read_instant(text: str) -> int:
    """Read a time with a zone, as microseconds."""
    try:
        return parse_rfc3339(text)
    except BadInstantError as error:
        message = f"expected a time like 2026-01-01T00:00:00Z, got {text!r}"
        raise click.BadParameter(message) from error


def read_seconds(text: str) -> int:
    """Read a duration above zero in decimal seconds, as microseconds, exactly."""
    match = _SECONDS.fullmatch(text)
    duration_us = 0
    if match is not None:
        duration_us = int(match[1]) * SECOND_US + int((match[2] or "").ljust(6, "0"))
    if duration_us == 0:
        message = f"expected seconds above 0 with up to six places, got {text!r}"
        raise click.BadParameter(message)
    return duration_us


def read_zone(text: str) -> ZoneInfo:
    """Look up a time zone by its IANA name."""
    try:
        return ZoneInfo(text)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        message = f"expected a time zone like Europe/Berlin, got {text!r}"
        raise click.BadParameter(message) from error


def read_key(text: str) -> str:
    """Check an attempt key or the name of a node: 1 to 200 bytes, printable."""
    try:
        return key(text)
    except BadFieldError as error:
        raise click.BadParameter(f"expected {error}") from error


def read_pair(text: str) -> tuple[str, str]:
    """Split ``NAME=WORD``."""
    name, _, word = text.partition("=")
    if not (name and word):
        raise click.BadParameter(f"expected NAME=WORD, got {text!r}")
    return name, word


def is_pair(text: str) -> bool:
    """Tell a ``NAME=WORD`` from the name of an input."""
    return "=" in text
