"""Bringing the records of a spool home: read, send, and remove what the log has.

A file goes only after the log has answered for it. So a shipper that is killed, or a server
that dies after it answered, costs one more delivery, which the log answers with ``exists``.
What the log will not take is set aside, and what was dropped on the node becomes a record.
"""

from __future__ import annotations

import json
import os
import re
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Callable, NamedTuple

from tallystick.emit.journals import BadJournalError, Entry, Place
from tallystick.emit.part import BadFileError, Part
from tallystick.emit.record import (
    INTEGER_MAX,
    Numbered,
    canonical_bytes,
    draft_record,
    format_instant,
)
from tallystick.emit.slurm.held import held_file, read_held
from tallystick.emit.spool import clock_us

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence
    from pathlib import Path

    from tallystick.emit.notes import Notes
    from tallystick.emit.post import Answer

BATCH_LINES_MAX = 1000
BATCH_BYTES_MAX = 4 << 20
TOLD = frozenset({"accepted", "exists"})
DENIED = "producer_not_allowed"
"""The code of a record that is well but may not be sent with this token: it waits on."""

Send = Callable[["Sequence[bytes]"], "Sequence[Answer]"]
_TASK_KEY = re.compile(r"slurm:[^\s:]+:([0-9]+)@([^\s:]+):[0-9]+")


class Item(NamedTuple):
    """A line to send, and what it stands for: a file, a line of a journal, or notes of losses.

    With ``trouble`` the line says what is wrong with the file or the journal.
    """

    line: bytes
    part: Part
    name: str | None = None
    trouble: str | None = None
    notes: Notes | None = None
    entry: Entry | None = None


@dataclass
class Shipped:
    """What became of what waited; ``problems`` name parts that could not be read."""

    counts: dict[str, int] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    @property
    def total(self) -> int:
        """How many records were answered."""
        return sum(self.counts.values())


class Shipper:
    """Reads all parts of a spool that it may read, and sends what waits.

    Args:
        spool: The spool.
        node: Name of this machine, for what the shipper itself has to say.
        trusted: User ids, besides root and the caller's, that may write for any producer.
    """

    def __init__(self, spool: Path, node: str, trusted: Collection[int]) -> None:
        self.lines_max = BATCH_LINES_MAX
        self._spool = spool
        self._producer = Numbered(f"spool/{node}")
        self._trusted = frozenset({0, os.geteuid(), *trusted})

    def ship(self, send: Send, on_batch: Callable[[Shipped], None] = lambda _: None) -> Shipped:
        """Send all that waits now, batch by batch.

        Args:
            send: Delivers some lines and gives an answer for each; raises if it cannot.
            on_batch: Told of every batch that was answered.

        Raises:
            OSError: the spool cannot be read or changed.
            NotSentError: the token does not allow some records; all others were sent.
            Exception: whatever ``send`` raises; everything not answered stays.
        """
        shipped = Shipped()
        denied: list[str] = []
        with ExitStack() as stack:
            parts = self._parts(stack, shipped)
            for batch in _batches(self._items(parts, shipped), self.lines_max):
                answers = send([item.line for item in batch])
                for answer in answers:
                    shipped.counts[answer.word] = shipped.counts.get(answer.word, 0) + 1
                denied += [str(each.message) for each in answers if each.code == DENIED]
                _settle(batch, answers)
                on_batch(shipped)
            for part in parts:
                _remove_finished(part, shipped)
        if denied:
            from tallystick.emit.post import NotSentError  # noqa: PLC0415 (a store needs no HTTP)

            message = f"{len(denied)} records are not allowed with this token: {denied[0]}"
            raise NotSentError(message, is_final=True)
        return shipped

    def _parts(self, stack: ExitStack, shipped: Shipped) -> list[Part]:
        """Open the parts that can be read."""
        parts = []
        for uid in sorted(_uids(self._spool)):
            with _named(shipped, self._spool / str(uid)):
                parts.append(stack.enter_context(Part(self._spool, uid)))
        return parts

    def _items(self, parts: Iterable[Part], shipped: Shipped) -> Iterator[Item]:
        for part in parts:
            yield from self._losses(part)
            for name in part.names():
                with suppress(FileNotFoundError):
                    yield self._item(part, name)
            for name in part.journals.names():
                with _named(shipped, self._spool / str(part.uid)), suppress(FileNotFoundError):
                    yield from self._entries(part, name)

    def _item(self, part: Part, name: str) -> Item:
        try:
            line = part.read(name)
            self._check_producer(part, line)
        except BadFileError as error:
            return Item(self._trouble(part, name, str(error)), part, name, str(error))
        return Item(line, part, name)

    def _entries(self, part: Part, name: str) -> Iterator[Item]:
        """Read on in a journal; of its lines that are no records the first is told.

        The numbers of the others are missing, which says the rest.
        """
        is_told = False
        try:
            for entry in part.journals.entries(name):
                trouble = self._trouble_with(part, entry)
                if trouble is None and entry.line is not None:
                    yield Item(entry.line, part, entry=entry)
                elif not is_told:
                    is_told = True
                    yield Item(self._trouble(part, name, str(trouble)), part, entry=entry)
        except BadJournalError as error:
            part.journals.set_aside(name)
            yield Item(self._trouble(part, name, str(error)), part)

    def _trouble_with(self, part: Part, entry: Entry) -> str | None:
        if entry.line is None:
            return "a line of it is no record"
        try:
            self._check_producer(part, entry.line)
        except BadFileError as error:
            return str(error)
        return None

    def _trouble(self, part: Part, name: str, reason: str) -> bytes:
        body = {"uid": part.uid, "file": ascii(name)[1:-1], "reason": reason}
        return self._line("spool.quarantined", body)

    def _check_producer(self, part: Part, line: bytes) -> None:
        """Refuse what a user says in a name that is not theirs, or of somebody else's job.

        Raises:
            BadFileError: they may not say it.
        """
        if part.uid in self._trusted:
            return
        try:
            record = json.loads(line)
            producer, body = record["producer"]["name"], record["body"]
            kind, attempt = record["kind"], body.get("attempt")
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise BadFileError("it is no record") from error
        if not str(producer).startswith((f"slurm-task/{part.uid}@", f"job/{part.uid}@")):
            raise BadFileError(f"user {part.uid} may not write as {str(producer)!a}")
        if str(kind).startswith("allocation.") or not self._owns(part.uid, attempt):
            raise BadFileError(f"user {part.uid} may not write {str(kind)!a} of {attempt!a}")

    def _owns(self, uid: int, attempt: Any) -> bool:
        match = _TASK_KEY.fullmatch(attempt) if isinstance(attempt, str) else None
        if match is None:
            return False
        held = read_held(held_file(self._spool, match[1], match[2]))
        return held is not None and held.uid == uid

    def _losses(self, part: Part) -> Iterator[Item]:
        notes = part.notes()
        if notes.dropped:
            *lines, last = [self._line("spool.gap", body) for body in gap_bodies(part.uid, notes)]
            yield from (Item(line, part) for line in lines)
            yield Item(last, part, notes=notes)

    def _line(self, kind: str, body: dict[str, Any]) -> bytes:
        now_us = clock_us()
        record = draft_record(kind, body, producer=self._producer, at_us=None, observed_us=now_us)
        return canonical_bytes(record)


def _settle(batch: Sequence[Item], answers: Sequence[Answer]) -> None:
    """Remove what the log has, and set aside what it will not take.

    Raises:
        OSError: the spool cannot be changed.
    """
    told: dict[Part, list[str]] = {}
    ends: dict[tuple[Part, str], Place] = {}
    for item, answer in zip(batch, answers):
        is_told = answer.word in TOLD
        why = f"{answer.word}: {answer.code}: {answer.message}"
        if item.entry is not None:
            name, end = item.entry.journal, item.entry.end
            if answer.code == DENIED:
                item.part.journals.hold(name)
            elif not is_told:
                item.part.quarantine_line(f"{name}.{end.number}", item.line, why)
            if not item.part.journals.is_held(name):
                ends[item.part, name] = end
        elif item.name is not None and item.trouble is not None:
            item.part.quarantine(item.name, item.trouble)
        elif item.name is not None and is_told:
            told.setdefault(item.part, []).append(item.name)
        elif item.name is not None and answer.code != DENIED:
            item.part.quarantine(item.name, why)
        elif item.notes is not None and is_told:
            with suppress(OSError):  # Its user took them away: they are told again, or are gone.
                item.part.clear_notes(item.notes)
    for part, names in told.items():
        part.remove(names)
    for (part, name), end in ends.items():
        part.journals.settle(name, end)


def _remove_finished(part: Part, shipped: Shipped) -> None:
    """Remove the journals of writers that are gone, as far as they are told."""
    for name in part.journals.names():
        with _named(shipped, name), suppress(BadJournalError):
            part.journals.remove_finished(name)


@contextmanager
def _named(shipped: Shipped, place: Path | str) -> Iterator[None]:
    """Go on without what cannot be read, and name it."""
    try:
        yield
    except OSError as error:
        shipped.problems.append(f"{place}: {(error.strerror or str(error)).lower()}")


def gap_bodies(uid: int, notes: Notes) -> Iterator[dict[str, Any]]:
    """Say what was dropped: one body for each producer, boot and reason."""
    groups: dict[tuple[str, str | None, str], list[_Note]] = {}
    for note in filter(None, map(_read_note, notes.lines)):
        groups.setdefault((note.producer, note.boot, note.reason), []).append(note)
    known = 0
    for (name, boot, reason), dropped in groups.items():
        known += len(dropped)
        numbers = [note.seq for note in dropped if note.seq is not None]
        times = [note.at_us for note in dropped]
        yield {
            "uid": uid,
            "producer": name,
            "boot": boot,
            "reason": reason,
            "dropped": len(dropped),
            "kinds": sorted({note.kind for note in dropped}),
            "first_seq": min(numbers, default=None),
            "last_seq": max(numbers, default=None),
            "from": format_instant(min(times)),
            "to": format_instant(max(times)),
        }
    if notes.dropped > known:
        reason = "there was no room to note which"
        count = min(notes.dropped - known, INTEGER_MAX)
        yield {"uid": uid, "producer": None, "dropped": count, "reason": reason}


class _Note(NamedTuple):
    producer: str
    boot: str | None
    seq: int | None
    kind: str
    reason: str
    at_us: int


def _read_note(line: bytes) -> _Note | None:
    """Read a note; None if its user, who may write anything there, wrote something else."""
    try:
        stated = json.loads(line)
        producer = stated["producer"]
        note = _Note(
            producer["name"],
            producer["boot"],
            producer["seq"],
            stated["kind"],
            stated["reason"],
            stated["at_us"],
        )
        texts = (note.producer, note.kind, note.reason, note.boot or "")
        numbers = (note.at_us, note.seq or 0)
        "".join(texts).encode()
        format_instant(note.at_us)
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return None
    is_whole = all(type(each) is int and 0 <= each <= INTEGER_MAX for each in numbers)
    return note if is_whole else None


def _uids(spool: Path) -> Iterator[int]:
    for path in spool.iterdir():
        if path.name.isascii() and path.name.isdigit() and len(path.name) < 12:
            yield int(path.name)


def _batches(items: Iterable[Item], lines_max: int) -> Iterator[list[Item]]:
    batch: list[Item] = []
    size = 0
    for item in items:
        if batch and (len(batch) >= lines_max or size + len(item.line) > BATCH_BYTES_MAX):
            yield batch
            batch, size = [], 0
        batch.append(item)
        size += len(item.line)
    if batch:
        yield batch
