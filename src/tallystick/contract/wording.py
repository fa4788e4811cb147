"""The words in which mistakes speak of TOML values and keys."""

import re
from collections.abc import Iterable
from datetime import date, datetime, time
from typing import Final

Path = tuple[str | int, ...]
"""Keys, and positions in lists from 0, that lead to a value."""

_BARE_KEY: Final = re.compile(r"[A-Za-z0-9_-]+")


def key_text(path: Path) -> str:
    """Write a path for people, counting from 1: ``rate[1].per_hour``."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part + 1}]"
        else:
            text += f"{'.' if text else ''}{part if _BARE_KEY.fullmatch(part) else quoted(part)}"
    return text


def quoted(text: str, limit: int = 60) -> str:
    """Quote a text, cut to ``limit`` characters."""
    return repr(text if len(text) <= limit else text[: limit - 3] + "...")


def one_of(words: Iterable[str]) -> str:
    """List words: ``gpu or node``."""
    *most, last = words
    return f"{', '.join(most)} or {last}" if most else last


def suggestion(word: str, known: Iterable[str]) -> str:
    """Suggest the known word that a misspelt one is nearest to, or nothing."""
    from difflib import get_close_matches  # noqa: PLC0415 (only mistakes need it)

    nearest = get_close_matches(word, list(known), n=1)
    return f", did you mean {nearest[0]!r}?" if nearest else ""


def describe(value: object) -> str:
    """Say what a TOML value is."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int) and abs(value) >= 10**20:
        return "an integer of more than 20 digits"
    if isinstance(value, int | float):
        return f"the number {value}"
    if isinstance(value, datetime):
        kind = "the local date-time" if value.tzinfo is None else "the date-time"
        return f"{kind} {value.isoformat()}"
    if isinstance(value, date):
        return f"the date {value.isoformat()}"
    if isinstance(value, time):
        return f"the time {value.isoformat()}"
    if isinstance(value, str):
        return quoted(value)
    return "a list" if isinstance(value, list) else "a table"
