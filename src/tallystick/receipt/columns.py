"""Text in columns of a terminal: every row fits, whatever a name contains.

Names come from other people. Control, format and other invisible characters are written as
escapes, so that a name cannot move the cursor or reverse the text; wide characters count
for two columns. What does not fit is cut in the middle, where an id says least, and the cut
is marked with three dots.
"""

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Literal

PAGE_COLUMNS = 80

_CUT = "..."
_INVISIBLE = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Mc", "Me", "Mn", "Zl", "Zp", "Zs"})


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table: its head, its side, and how wide it may grow."""

    head: str
    columns_max: int
    side: Literal["left", "right"] = "left"


def visible(text: str, *, ascii_only: bool) -> str:
    """Write a text so that each character is seen and takes one or two columns.

    Two texts never look alike after this: the backslash of the escapes is doubled.
    """
    return "".join(_visible(character, ascii_only=ascii_only) for character in text)


def visible_json(value: Any, *, ascii_only: bool) -> Any:
    """Write every text of a JSON value so that it is seen; keys are plain already."""
    if isinstance(value, str):
        return visible(value, ascii_only=ascii_only)
    if isinstance(value, dict):
        return {key: visible_json(item, ascii_only=ascii_only) for key, item in value.items()}
    if isinstance(value, list):
        return [visible_json(item, ascii_only=ascii_only) for item in value]
    return value


def width(text: str) -> int:
    """Count the columns that a visible text takes."""
    return len(text) + sum(unicodedata.east_asian_width(each) in "WF" for each in text)


def fit(text: str, columns: int) -> str:
    """Cut a visible text in the middle until it fits."""
    if width(text) <= columns:
        return text
    if columns <= len(_CUT):
        return _CUT[:columns]
    room = columns - len(_CUT)
    head = _take(text, (room + 1) // 2)
    tail = _take(text[::-1], room - width(head))[::-1]
    return f"{head}{_CUT}{tail}"


def pad(text: str, columns: int, side: str = "left") -> str:
    """Fit a visible text and fill it up with spaces."""
    fitted = fit(text, columns)
    space = " " * (columns - width(fitted))
    return space + fitted if side == "right" else fitted + space


def wrap(words: Iterable[str], columns: int) -> list[str]:
    """Set visible words into rows; a word that is too long is cut in the middle."""
    rows: list[str] = []
    row = ""
    for word in words:
        longer = f"{row} {word}" if row else fit(word, columns)
        if row and width(longer) > columns:
            rows.append(row)
            longer = fit(word, columns)
        row = longer
    return [*rows, row] if row else rows


def labelled(
    label: str, words: str | Iterable[str], *, indent: int = 2, label_columns: int = 12
) -> list[str]:
    """Write a label and, beside it, words that may need several rows; a text is its words."""
    start = indent + label_columns + 1
    given = words.split() if isinstance(words, str) else words
    rows = wrap(given, PAGE_COLUMNS - start) or [""]
    first = f"{' ' * indent}{pad(label, label_columns)} {rows[0]}".rstrip()
    return [first, *(" " * start + row for row in rows[1:])]


def table(
    columns: Sequence[Column], rows: Iterable[Sequence[str]], *, indent: int = 2
) -> list[str]:
    """Write rows of visible texts under their heads; columns are as wide as they need to be."""
    lines = [[column.head for column in columns], *rows]
    widths = [
        min(column.columns_max, max(width(line[index]) for line in lines))
        for index, column in enumerate(columns)
    ]
    return [" " * indent + "  ".join(_cells(line, widths, columns)).rstrip() for line in lines]


def _cells(line: Sequence[str], widths: Sequence[int], columns: Sequence[Column]) -> Iterator[str]:
    for cell, columns_max, column in zip(line, widths, columns, strict=True):
        yield pad(cell, columns_max, column.side)


def _take(text: str, columns: int) -> str:
    ends = accumulate(map(width, text))
    return text[: sum(end <= columns for end in ends)]


def _visible(character: str, *, ascii_only: bool) -> str:
    if character == "\\":
        return "\\\\"
    if character.isascii():
        plain = character.isprintable()
    else:
        plain = not ascii_only and unicodedata.category(character) not in _INVISIBLE
    return character if plain else f"\\u{{{ord(character):x}}}"
