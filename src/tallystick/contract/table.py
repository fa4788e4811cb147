"""Reading one TOML table key by key, noting every mistake and going on.

Each method gives the value of a key in the type that the terms need. Where the key is
missing or wrong it notes a mistake and gives a stand-in, so that one pass over a contract
finds all mistakes. Whoever reads must look at the notes before using what was read.
"""

import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from typing import Any, Final, NamedTuple, TypeVar

from tallystick.contract.wording import Path, describe, one_of
from tallystick.core.canonical import INTEGER_MAX
from tallystick.core.instant import DAY_US, SECOND_US

_Item = TypeVar("_Item", str, int)
_Word = TypeVar("_Word", bound=str)

_DECIMAL: Final = re.compile(r"[0-9]{1,18}(\.[0-9]{1,18})?")
_RATIO: Final = re.compile(r"([0-9]{1,18})/([0-9]{1,18})")
_DECIMAL_EXPECTED: Final = 'a decimal string like "2.25", of up to 18 digits on each side'
_FACTOR_EXPECTED: Final = 'a string above 0 like "5/2" or "2.5"'
_INSTANT_EXPECTED: Final = "a date-time with offset like 2026-01-01T00:00:00Z, without quotes"
_LIMIT_EXPECTED: Final = "whole seconds, zero or more"


class Note(NamedTuple):
    """A mistake before it is known on which line it stands."""

    path: Path
    message: str


class Table:
    """One table of a contract, or an empty one where the contract has none."""

    __slots__ = ("_notes", "_path", "_values")

    def __init__(self, values: dict[str, Any], path: Path, notes: list[Note]) -> None:
        self._values = values
        self._path = path
        self._notes = notes

    def __contains__(self, key: str) -> bool:
        return key in self._values

    def note(self, key: str, message: str) -> None:
        """Note a mistake about a key."""
        self._notes.append(Note((*self._path, key), message))

    def others(self, known: Iterable[str]) -> tuple[str, ...]:
        """Give the keys that are not among the known ones."""
        return tuple(key for key in self._values if key not in set(known))

    def table(self, key: str) -> "Table":
        """Read a table, empty if there is none."""
        values = self._take(key, dict, "a table", needed=False)
        return Table(values or {}, (*self._path, key), self._notes)

    def tables(self, key: str) -> tuple["Table", ...]:
        """Read an array of tables, none if there is none."""
        values = self._take(key, list, f"tables that each begin with [[{key}]]", needed=False)
        found = []
        for position, item in enumerate(values or ()):
            path = (*self._path, key, position)
            if isinstance(item, dict):
                found.append(Table(item, path, self._notes))
            else:
                self._notes.append(Note(path, f"expected a table, got {describe(item)}"))
        return tuple(found)

    def text(self, key: str) -> str:
        """Read a text that must be there."""
        return self._text(key, needed=True) or ""

    def optional_text(self, key: str) -> str | None:
        """Read a text that may be absent."""
        return self._text(key, needed=False)

    def matching_text(self, key: str, pattern: re.Pattern[str], expected: str) -> str | None:
        """Read a text of a certain form that may be absent."""
        value: str | None = self._take(key, str, expected, needed=False)
        if value is not None and pattern.fullmatch(value) is None:
            self._refuse(key, expected, value)
            return None
        return value

    def word(self, key: str, words: tuple[_Word, ...], default: _Word) -> _Word:
        """Read one word out of a few."""
        value = self._take(key, str, one_of(words), needed=False)
        if value is None:
            return default
        if value not in words:
            self._refuse(key, one_of(words), value)
            return default
        return words[words.index(value)]

    def integer(self, key: str, *, least: int) -> int:
        """Read an integer that must be there."""
        value = self._integer(key, least, INTEGER_MAX, needed=True)
        return least if value is None else value

    def optional_integer(
        self, key: str, default: int, *, least: int, most: int = INTEGER_MAX
    ) -> int:
        """Read an integer that may be absent."""
        value = self._integer(key, least, most, needed=False)
        return default if value is None else value

    def decimal_text(self, key: str) -> str:
        """Read a number of zero or more that must be there, as it is written."""
        value = self._take(key, str, _DECIMAL_EXPECTED, needed=True)
        if value is None:
            return "0"
        if _DECIMAL.fullmatch(value) is None:
            self._refuse(key, _DECIMAL_EXPECTED, value)
            return "0"
        return str(value)

    def factor(self, key: str, default: Fraction) -> Fraction:
        """Read a number above zero, a ratio or a decimal, that may be absent."""
        value = self._take(key, str, _FACTOR_EXPECTED, needed=False)
        if value is None:
            return default
        factor = read_ratio(value)
        if factor is None and _DECIMAL.fullmatch(value) is not None:
            factor = Fraction(value)
        if not factor:  # Neither form, or zero.
            self._refuse(key, _FACTOR_EXPECTED, value)
            return default
        return factor

    def instant_us(self, key: str, *, needed: bool) -> int | None:
        """Read a moment, None if it is absent or wrong."""
        value = self._take(key, datetime, _INSTANT_EXPECTED, needed=needed)
        if value is None:
            return None
        if value.tzinfo is None:
            self._refuse(key, _INSTANT_EXPECTED, value)
            return None
        at_us = _whole_us(value - _EPOCH)
        if not _FIRST_US <= at_us <= _LAST_US:
            self._refuse(key, "a moment of the years 1 to 9999 in UTC", value)
            return None
        return at_us

    def words(self, key: str) -> tuple[str, ...] | None:
        """Read one text or a list of texts that may be absent."""
        return self._any_of(key, str, "a text or a list of texts")

    def limit_us(self, key: str) -> int | None:
        """Read seconds that may be absent; of a list, the largest.

        What is below any of several limits is below the largest, and nothing is below
        none of them: an empty list is a limit of 0.
        """
        limits_s = self._any_of(key, int, _LIMIT_EXPECTED)
        if limits_s is None:
            return None
        for limit_s in limits_s:
            if not 0 <= limit_s <= INTEGER_MAX:
                self._refuse(key, _LIMIT_EXPECTED, limit_s)
                return None
        return max(limits_s, default=0) * SECOND_US

    def _take(self, key: str, kind: type, expected: str, *, needed: bool) -> Any:
        value = self._values.get(key)
        if value is None:
            if needed:
                self.note(key, f"missing, expected {expected}")
            return None
        if type(value) is not kind:  # In Python a boolean is an integer; in TOML it is not.
            self._refuse(key, expected, value)
            return None
        return value

    def _text(self, key: str, *, needed: bool) -> str | None:
        value: str | None = self._take(key, str, "a text", needed=needed)
        if value is not None and not value.strip():
            self._refuse(key, "a text that is not empty", value)
            return None
        return value

    def _integer(self, key: str, least: int, most: int, *, needed: bool) -> int | None:
        expected = f"an integer from {least} to {'2^53-1' if most == INTEGER_MAX else most}"
        value: int | None = self._take(key, int, expected, needed=needed)
        if value is not None and not least <= value <= most:
            self._refuse(key, expected, value)
            return None
        return value

    def _any_of(self, key: str, kind: type[_Item], expected: str) -> tuple[_Item, ...] | None:
        value = self._values.get(key)
        if value is None:
            return None
        items = value if isinstance(value, list) else [value]
        for item in items:
            if type(item) is not kind:
                self._refuse(key, expected, item)
                return None
        return tuple(items)

    def _refuse(self, key: str, expected: str, found: object) -> None:
        self.note(key, f"expected {expected}, got {describe(found)}")


def read_ratio(text: str) -> Fraction | None:
    """Read ``n/d`` with n ≥ 0 and d > 0; None if it is something else."""
    ratio = _RATIO.fullmatch(text)
    if ratio is None or int(ratio[2]) == 0:
        return None
    return Fraction(int(ratio[1]), int(ratio[2]))


def _whole_us(duration: timedelta) -> int:
    return duration.days * DAY_US + duration.seconds * SECOND_US + duration.microseconds


_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST_US: Final = _whole_us(datetime.min.replace(tzinfo=UTC) - _EPOCH)
_LAST_US: Final = _whole_us(datetime.max.replace(tzinfo=UTC) - _EPOCH)
