"""The lines of a journal: what one writer says, in the order in which it says it.

The first line names the writer; each other line is one record that has not been spelled out
yet, since a step has to cost microseconds::

    {"attempt":…,"boot":…,"first":0,"journal":"tallystick.progress/1","producer":…,…}
    s 1767225600000000 86400000000 1200 1
    e 1767225600500000 86400500000 checkpoint.begun {"checkpoint":"step-1200","step":1200}
    d 3

``s`` is a step: wall clock and monotonic clock in microseconds, steps completed, stride of the
reports. ``e`` is any other event, with the rest of its body. Records are numbered by their place
in the journal, so a writer that is stopped between two of them leaves no hole; ``d`` says that
so many before the next could not be kept, which leaves one.
"""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

from tallystick.emit.record import INTEGER_MAX, Numbered, canonical_bytes, draft_record

SCHEMA = "tallystick.progress/1"
LINE_BYTES_MAX = 1 << 16
_WITHOUT_MOMENT = frozenset({"attempt.linked"})
_STEP = re.compile(rb"s ([0-9]{1,16}) ([0-9]{1,16}) ([0-9]{1,16}) ([0-9]{1,16})")
_EVENT = re.compile(rb"e ([0-9]{1,16}) ([0-9]{1,16}) ([a-z_.]{1,64}) (\{.*\})")
_DROPPED = re.compile(rb"d ([0-9]{1,12})")


class Header(NamedTuple):
    """Who writes a journal, and of which attempt.

    ``boot`` names the writer's own numbering, which goes on from ``first``. Ranks other than 0
    speak beside the run: their records have kinds of their own, so nothing is counted twice.
    """

    attempt: str
    producer: str
    boot: str
    writer: str
    rank: int = 0
    first: int = 0

    def line(self) -> bytes:
        """Give the first line of the journal."""
        return canonical_bytes({"journal": SCHEMA, **self._asdict()}) + b"\n"


def event_line(wall_us: int, monotonic_us: int, kind: str, body: Any) -> bytes:
    """Write one event that is no step; ``body`` is what the header does not say."""
    clocks = b"e %d %d " % (wall_us, monotonic_us)
    return clocks + kind.encode("ascii") + b" " + canonical_bytes(body) + b"\n"


def dropped_line(count: int) -> bytes:
    """Say that so many records before the next one are missing."""
    return b"d %d\n" % count


def read_header(line: bytes) -> Header | None:
    """Read the first line of a journal; None if it is none."""
    try:
        stated = json.loads(line)
        if stated.pop("journal") != SCHEMA:
            return None
        header = Header(**stated)
        texts = (header.attempt, header.producer, header.boot, header.writer)
        "".join(texts).encode()
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    numbers = (header.rank, header.first)
    is_whole = all(type(each) is int and 0 <= each <= INTEGER_MAX for each in numbers)
    return header if is_whole else None


class Spelled(NamedTuple):
    """What a line comes to: a record, a loss that it states, or nothing that can be read."""

    next_number: int
    record: dict[str, Any] | None = None
    is_bad: bool = False


def spell(header: Header, number: int, line: bytes) -> Spelled:
    """Read a line whose record, if it is one, has this number."""
    dropped = _DROPPED.fullmatch(line)
    if dropped is not None:
        return Spelled(number + int(dropped[1]))
    record = read_line(header, number, line)
    return Spelled(number + 1, record, is_bad=record is None)


def read_line(header: Header, number: int, line: bytes) -> dict[str, Any] | None:
    """Make the evidence record that a line stands for; None if it stands for none."""
    step = _STEP.fullmatch(line)
    if step is not None:
        *clocks, done, every = map(int, step.groups())
        return _record(header, number, clocks, "progress.step", {"step": done, "every": every})
    event = _EVENT.fullmatch(line)
    if event is None:
        return None
    try:
        body = json.loads(event[4])
    except (ValueError, RecursionError):
        return None
    return _record(header, number, list(map(int, event.groups()[:2])), event[3].decode(), body)


def _record(
    header: Header, number: int, clocks: list[int], kind: str, body: dict[str, Any]
) -> dict[str, Any] | None:
    wall_us, monotonic_us = clocks
    if max(wall_us, monotonic_us, number) > INTEGER_MAX:
        return None
    whole = {**body, "attempt": header.attempt, "writer": header.writer}
    whole["monotonic_us"] = monotonic_us
    if header.rank:
        kind = f"rank.{kind}"
        whole["rank"] = header.rank
    try:
        return draft_record(
            kind,
            whole,
            producer=Numbered(header.producer, header.boot, number),
            at_us=None if kind in _WITHOUT_MOMENT else wall_us,
            observed_us=wall_us,
        )
    except (OverflowError, UnicodeEncodeError):  # Years past 9999; text that is no text.
        return None
