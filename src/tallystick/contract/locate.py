"""On which line each key of a TOML text stands, which the TOML parser does not tell.

The text of ``key_lines`` is known to be valid TOML: the parser has read it. What is left to do
is to follow headers, keys and brackets; everything else is skipped as it stands.
"""

import re
import tomllib
from collections.abc import Iterator
from typing import Final, NamedTuple

from tallystick.contract.wording import Path

_TOKEN: Final = re.compile(
    r'''(?P<text>"""(?:\\[\s\S]|[^\\])*?""""{0,2}'''
    r"""|'''[\s\S]*?''''{0,2}"""
    r"""|"(?:\\.|[^"\\\n])*"|'[^'\n]*')"""
    r"""|(?P<skip>\#[^\n]*|[ \t\r]+)"""
    r"""|(?P<mark>[\[\]{}=,.\n])"""
    r"""|(?P<bare>[^\s\[\]{}=,.\#"']+)"""
)

_ENDS: Final = frozenset({",", "\n", "]", "}"})
_MARKS: Final = _ENDS | {"[", "{", "="}


class _Token(NamedTuple):
    text: str
    line: int


class _Open(NamedTuple):
    """A list or an inline table that has begun and not ended."""

    path: Path
    position: int | None
    """Place of the next item in a list, None in an inline table."""


def key_lines(text: str) -> dict[Path, int]:
    """Give the line of every key, table, and list item of a valid TOML text."""
    return _Locator(text).locate()


def dots_in_keys(text: str) -> int:
    """Give the most dots that follow each other with nothing but names between them."""
    most = dots = 0
    for token in _tokens(text):
        if token.text == ".":
            dots += 1
            most = max(most, dots)
        elif token.text in _MARKS:
            dots = 0
    return most


def line_of(path: Path, lines: dict[Path, int]) -> int | None:
    """Give the line of a path, else of the innermost thing around it that has one."""
    while path and path not in lines:
        path = path[:-1]
    return lines.get(path)


class _Locator:
    """One walk over the tokens of a text."""

    def __init__(self, text: str) -> None:
        self._tokens = list(_tokens(text))
        self._next = 0
        self._lines: dict[Path, int] = {}
        self._lengths: dict[Path, int] = {}
        """How many tables each array of tables has so far."""

    def locate(self) -> dict[Path, int]:
        table: Path = ()
        while self._next < len(self._tokens):
            token = self._tokens[self._next]
            if token.text == "\n":
                self._next += 1
            elif token.text == "[":
                table = self._header(token.line)
            else:
                self._value(self._key(table))
        return self._lines

    def _header(self, line: int) -> Path:
        """Read ``[a.b]`` or ``[[a.b]]`` and give the path that it opens."""
        brackets = 2 if self._tokens[self._next + 1].text == "[" else 1
        self._next += brackets
        *parents, last = self._parts()
        self._next += brackets
        path: Path = ()
        for parent in parents:
            path = self._current((*path, parent))
            self._lines.setdefault(path, line)
        path = (*path, last)
        if brackets == 1:
            self._lines[path] = line
            return path
        self._lines.setdefault(path, line)
        position = self._lengths.get(path, 0)
        self._lengths[path] = position + 1
        self._lines[*path, position] = line
        return (*path, position)

    def _current(self, path: Path) -> Path:
        """Go into the last table if the path names an array of tables."""
        length = self._lengths.get(path)
        return path if length is None else (*path, length - 1)

    def _key(self, table: Path) -> Path:
        """Read a key up to its equals sign and give its path."""
        line = self._tokens[self._next].line
        path = table
        for part in self._parts():
            path = (*path, part)
            self._lines.setdefault(path, line)
        self._next += 1
        return path

    def _parts(self) -> list[str]:
        """Read the parts of a dotted key, up to what is no part of it."""
        parts = [self._part()]
        while self._tokens[self._next].text == ".":
            self._next += 1
            parts.append(self._part())
        return parts

    def _part(self) -> str:
        text = self._tokens[self._next].text
        self._next += 1
        if text.startswith("'"):
            return text[1:-1]
        if text.startswith('"'):
            return str(tomllib.loads(f"key = {text}")["key"])
        return text

    def _value(self, path: Path) -> None:
        """Read a value to its end, with everything inside it."""
        opened: list[_Open] = []
        self._enter(path, opened)
        while opened:
            inside, position = opened[-1]
            token = self._tokens[self._next]
            if token.text in {"]", "}"}:
                self._next += 1
                opened.pop()
            elif token.text in {",", "\n"}:
                self._next += 1
            elif position is None:
                self._enter(self._key(inside), opened)
            else:
                opened[-1] = _Open(inside, position + 1)
                self._lines[*inside, position] = token.line
                self._enter((*inside, position), opened)

    def _enter(self, path: Path, opened: list[_Open]) -> None:
        """Go into a list or an inline table, or past anything else."""
        text = self._tokens[self._next].text
        if text in {"[", "{"}:
            self._next += 1
            opened.append(_Open(path, 0 if text == "[" else None))
            return
        while self._next < len(self._tokens) and self._tokens[self._next].text not in _ENDS:
            self._next += 1


def _tokens(text: str) -> Iterator[_Token]:
    line = 1
    for match in _TOKEN.finditer(text):
        token = match.group()
        if match.lastgroup != "skip":
            yield _Token(token, line)
        line += token.count("\n")
