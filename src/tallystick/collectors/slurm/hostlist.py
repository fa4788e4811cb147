"""Host lists: ``g[1-2,7],login1`` is four hosts.

Commas separate names only outside brackets; numbers keep the width of the lower bound; a
name may have several brackets, and text after them.
"""

import re
from collections.abc import Iterator
from itertools import product
from math import prod
from typing import NamedTuple

from tallystick.collectors.slurm.errors import BadRowError

HOSTS_MAX = 65536

_NO_HOSTS = frozenset({"", "none assigned", "none", "(null)", "(unknown)", "unknown", "n/a"})
_TOKEN = re.compile(r"\[[^\[\]]*\]|[^\[\],\n]+|.", re.DOTALL)
# A backslash or U+FFFD is left where bytes were no text.
_NAME = re.compile(r"(?:\[[^\[\]]*\]|[^\[\]\s\\\ufffd])+")
_PART = re.compile(r"\[([^\[\]]*)\]|([^\[\]]+)")
_SPAN = re.compile(r"([0-9]{1,18})(?:-([0-9]{1,18}))?")


def expand_hosts(text: str) -> tuple[str, ...]:
    """Name the hosts of a list, each once, in the order of the list.

    Raises:
        BadRowError: the list is malformed, or has more than ``HOSTS_MAX`` hosts.
    """
    if text.strip().lower() in _NO_HOSTS:
        return ()
    hosts: dict[str, None] = {}
    left = HOSTS_MAX
    for name in _names(text.strip()):
        parts = _parts(name)
        left -= prod(part.hosts for part in parts)
        if left < 0:  # Counted before it is spelt out: n[0-999999999] is a short text.
            raise BadRowError("host list", f"at most {HOSTS_MAX} hosts", text)
        hosts.update(("".join(texts), None) for texts in product(*(part.texts for part in parts)))
    return tuple(hosts)


def _names(text: str) -> list[str]:
    """Split at the commas outside brackets; a bracket that is not closed stays in its name."""
    names = [""]
    for token in _TOKEN.findall(text):
        if token in {",", "\n"}:
            names.append("")
        else:
            names[-1] += token
    return names


class _Span(NamedTuple):
    """Numbers from low to high, written with at least ``width`` digits."""

    low: int
    high: int
    width: int

    @property
    def texts(self) -> Iterator[str]:
        return (f"{number:0{self.width}}" for number in range(self.low, self.high + 1))


class _Part(NamedTuple):
    """A stretch of a name: fixed text, or the spans of one bracket."""

    text: str
    spans: tuple[_Span, ...] = ()

    @property
    def hosts(self) -> int:
        return sum(span.high - span.low + 1 for span in self.spans) or 1

    @property
    def texts(self) -> tuple[str, ...]:
        return tuple(text for span in self.spans for text in span.texts) or (self.text,)


def _parts(name: str) -> tuple[_Part, ...]:
    if not _NAME.fullmatch(name) or not name.isprintable():
        raise BadRowError("host list", "names with closed brackets between commas", name)
    return tuple(
        _Part(fixed) if fixed else _Part("", tuple(map(_span, spans.split(","))))
        for spans, fixed in _PART.findall(name)
    )


def _span(text: str) -> _Span:
    match = _SPAN.fullmatch(text)
    if match is None:
        raise BadRowError("host list", "numbers and ranges in brackets", text)
    low, high = int(match[1]), int(match[2] or match[1])
    if high < low:
        raise BadRowError("host list", "a range that rises", text)
    return _Span(low, high, len(match[1]))
