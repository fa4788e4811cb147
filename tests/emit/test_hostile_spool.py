"""Whatever lies in a spool, the shipper goes on: it follows no link, and leaves nothing untold.

The user of a part may put anything into it, and anybody may put anything beside the parts,
while the shipper runs as root for all of them. So each test has a good record wait behind what
is in the way, and asks that it arrives, that the rest is told or set aside, that a second call
finds nothing more to do, and that a folder elsewhere is as it was.
"""

import hashlib
import json
import os
import socket
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from tallystick.emit.post import Answer
from tallystick.emit.spool import boot_id
from tallystick.evidence.codec import RefusedLineError, read_line
from tests.emit.spools import HOOK, new_spool, ship

GOOD = {"n": 1}
NOTE: dict[str, Any] = {
    "kind": "k",
    "reason": "the disk is full",
    "at_us": 5,
    "producer": {"name": "p", "boot": None, "seq": 1},
}
Part = Path
Put = Callable[[Part], object]


class Entry(NamedTuple):
    """Something in a folder: its name, what kind of thing it is, and what it holds."""

    name: str
    kind: str
    data: bytes


class Log:
    """Admits what a log admits, and remembers all lines."""

    def __init__(self) -> None:
        self.lines: list[bytes] = []

    def send(self, lines: Sequence[bytes]) -> list[Answer]:
        """Take a batch."""
        self.lines += lines
        return [self._answer(line) for line in lines]

    def _answer(self, line: bytes) -> Answer:
        try:
            read_line(line)
        except RefusedLineError as error:
            return Answer("refused", error.code, error.message)
        return Answer("accepted", None, None)

    def told(self, kind: str) -> list[dict[str, Any]]:
        """Give the bodies of one kind, of the lines that a log admits."""
        admitted = [line for line in self.lines if self._answer(line).word == "accepted"]
        records = [json.loads(line) for line in admitted]
        return [record["body"] for record in records if record["kind"] == kind]


class Node(NamedTuple):
    """A spool with one part, in which a good record waits, and a folder elsewhere."""

    spool: Path
    part: Part
    elsewhere: Path


@contextmanager
def a_node() -> Iterator[Node]:
    """Make a node."""
    with tempfile.TemporaryDirectory(prefix="tallystick-") as folder:
        spool, elsewhere = Path(folder) / "spool", Path(folder) / "elsewhere"
        elsewhere.mkdir()
        (elsewhere / "file").write_bytes(b"as it was")
        assert new_spool(spool).put(HOOK, GOOD, None)
        yield Node(spool, spool / str(os.geteuid()), elsewhere)


def lay(folder: Path, entry: Entry, elsewhere: Path) -> None:
    """Put an entry into a folder, over what is there; a name that is no name is left out."""
    path = folder / entry.name
    with suppress(FileNotFoundError, IsADirectoryError):
        path.unlink()
    if entry.kind == "file":
        path.write_bytes(entry.data)
    elif entry.kind == "folder":
        path.mkdir()
    elif entry.kind == "full folder":
        path.mkdir()
        (path / "file").write_bytes(entry.data)
    elif entry.kind == "pipe":
        os.mkfifo(path)
    elif entry.kind == "socket":
        put_socket(path)
    else:
        names = {"link": "file", "link to a folder": ".", "dead link": "nothing"}
        path.symlink_to(elsewhere / names[entry.kind])


def put_socket(path: Path) -> None:
    """Bind a socket, by a short name since the system takes no long one."""
    with tempfile.TemporaryDirectory(dir=path.parent.parent, prefix="s") as folder:
        bound = Path(folder) / "s"
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(str(bound))
        bound.rename(path)


def plain_name(raw: bytes) -> str:
    """Make bytes a name that a folder can have."""
    name = os.fsdecode(raw.replace(b"/", b"_").replace(b"\0", b"_"))
    return f"_{name}" if name in {".", ".."} else name


def record_name(data: bytes) -> str:
    """Name bytes as the spool names those of a record."""
    return f"00000000.00000000.000000000000.{hashlib.sha256(data).hexdigest()}.json"


def is_told(entry: Entry, log: Log) -> bool:
    """Say whether the log was sent what a file holds, or was told that the file is none."""
    files = {body["file"] for body in log.told("spool.quarantined")}
    return entry.data[:-1] in log.lines or ascii(entry.name)[1:-1] in files


def ship_all(node: Node) -> Log:
    """Ship until nothing waits; what is good arrives, and nothing elsewhere is touched."""
    log = Log()
    ship(node.spool, log.send)

    again = ship(node.spool, Log().send)

    assert again.counts == {}
    assert GOOD in log.told(HOOK)
    assert list((node.part / "new").iterdir()) == []
    assert list(node.elsewhere.iterdir()) == [node.elsewhere / "file"]
    assert (node.elsewhere / "file").read_bytes() == b"as it was"
    return log


KINDS = ("file", "folder", "full folder", "pipe", "link", "link to a folder", "dead link")
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
LINES = JSON_VALUES.map(lambda value: json.dumps(value).encode() + b"\n")
RECORDS = st.fixed_dictionaries(
    {
        "schema": st.just("tallystick.evidence/1"),
        "id": st.text(),
        "producer": st.fixed_dictionaries({"name": st.text()}) | JSON_VALUES,
        "kind": st.text(),
        "at": st.none(),
        "observed": st.just("2026-01-01T00:00:00.000000Z") | st.text(),
        "body": st.dictionaries(st.text(), JSON_VALUES, max_size=3) | JSON_VALUES,
    }
).map(lambda record: json.dumps(record).encode() + b"\n")
DATA = st.binary(max_size=80) | LINES | RECORDS
NAMES = st.binary(min_size=1, max_size=40) | st.just(b"x" * 255)


def entries(*kinds: str) -> st.SearchStrategy[list[Entry]]:
    """Draw entries of a folder: of any name, and files whose names state their digest."""
    odd = st.builds(Entry, NAMES.map(plain_name), st.sampled_from(kinds), DATA)
    named = DATA.map(lambda data: Entry(record_name(data), "file", data))
    return st.lists(odd | named, max_size=6, unique_by=lambda entry: entry.name)


def notes(*lines: bytes, dropped: int | None = None) -> bytes:
    """Write notes as the spool does, with a count and a line for each."""
    count = len(lines) if dropped is None else dropped
    return f"{count:020d}\n".encode() + b"".join(line + b"\n" for line in lines)


@given(entries(*KINDS))
def test_whatever_waits_is_told_or_set_aside(waiting: list[Entry]) -> None:
    """Files of any name and content, folders, pipes and links stop no record."""
    with a_node() as node:
        for entry in waiting:
            lay(node.part / "new", entry, node.elsewhere)

        log = ship_all(node)

        assert [entry for entry in waiting if not is_told(entry, log)] == []


@given(st.sampled_from(KINDS), st.sampled_from(KINDS), st.binary(max_size=80))
def test_whatever_stands_for_its_counts_stops_no_record(
    state: str, noted: str, data: bytes
) -> None:
    """Numbers and notes that are no files, or hold any bytes, are not needed."""
    with a_node() as node:
        lay(node.part, Entry("state", state, data), node.elsewhere)
        (node.part / "notes").unlink()
        lay(node.part, Entry("notes", noted, b"\n" + data), node.elsewhere)
        log = Log()

        ship(node.spool, log.send)

        assert GOOD in log.told(HOOK)
        assert (node.elsewhere / "file").read_bytes() == b"as it was"


@given(entries(*KINDS))
def test_what_lies_beside_the_parts_stops_no_record(beside: list[Entry]) -> None:
    """Anybody may put it there; what is no part is passed over or named."""
    with a_node() as node:
        for entry in beside:
            lay(node.spool, entry, node.elsewhere)

        ship_all(node)


@settings(phases=[Phase.generate])  # Making spools smaller and smaller takes minutes.
@given(entries(*KINDS, "socket"), entries(*KINDS, "socket"), st.lists(LINES, max_size=3))
def test_any_spool_at_all_is_shipped(
    waiting: list[Entry], aside: list[Entry], noted: list[bytes]
) -> None:
    """Sockets wait, names are taken among what was set aside, and notes hold any JSON."""
    with a_node() as node:
        taken = [
            entry._replace(name=other.name) for entry, other in zip(aside, waiting, strict=False)
        ]
        for entry in (*aside, *taken):
            lay_if_free(node.part / "quarantine", entry, node.elsewhere)
        for entry in waiting:
            lay(node.part / "new", entry, node.elsewhere)
        (node.part / "notes").write_bytes(notes(*(line[:-1] for line in noted)))

        log = ship_all(node)

        assert [entry for entry in waiting if not is_told(entry, log)] == []


def lay_if_free(folder: Path, entry: Entry, elsewhere: Path) -> None:
    """Put an entry into a folder unless its name is taken."""
    if not os.path.lexists(folder / entry.name):
        lay(folder, entry, elsewhere)


def of_part(name: str, data: bytes) -> Put:
    """Write a file of the part."""
    return lambda part: (part / name).write_bytes(data)


def note(**changed: Any) -> bytes:
    """Write a note of one loss, with some of it changed."""
    return json.dumps(NOTE | changed).encode()


def state(**changed: Any) -> Put:
    """Write counts, with some of them changed."""
    counts = {"boot": boot_id(), "given": {}, "waiting_bytes": 0} | changed
    return of_part("state", json.dumps(counts).encode() + b"\n")


def puts_socket(part: Part) -> None:
    """Have a socket wait."""
    put_socket(part / "new" / "x")


def puts_folder_aside(part: Part) -> None:
    """Have the name of a bad file taken by a folder among what was set aside."""
    (part / "new" / "x").write_bytes(b"no record")
    (part / "quarantine" / "x" / "y").mkdir(parents=True)


def puts_file_aside(part: Part) -> None:
    """Have the name of a folder taken by a file among what was set aside."""
    (part / "new" / "x").mkdir()
    (part / "quarantine" / "x").write_bytes(b"set aside before")


def puts_number_beside(part: Part) -> None:
    """Have a folder beside the parts whose name is a digit, and no number."""
    (part.parent / "²").mkdir()


WITHOUT_SEQ = {"name": "p", "boot": None}
IN_THE_WAY: dict[str, Put] = {
    "a socket": puts_socket,
    "a folder where a file is set aside": puts_folder_aside,
    "a file where a folder is set aside": puts_file_aside,
    "a folder named by a digit that is no number": puts_number_beside,
    "a note without time": of_part("notes", notes(note(at_us=None))),
    "a note of a time beyond all": of_part("notes", notes(note(at_us=10**30))),
    "a note of no kind": of_part("notes", notes(note(kind=[]))),
    "notes of kinds that do not sort": of_part("notes", notes(note(kind=1), note())),
    "a note without number": of_part("notes", notes(note(producer=WITHOUT_SEQ))),
    "a note of numbers that do not sort": of_part(
        "notes", notes(note(), note(producer=WITHOUT_SEQ | {"seq": "1"}))
    ),
    "a note of half a character": of_part("notes", notes(note(reason="\ud800"))),
    "a note of brackets": of_part("notes", notes(b"[" * 60_000)),
    "counts of brackets": of_part("state", b"[" * (1 << 20)),
    "counts of a boot that is no text": state(boot=5),
    "counts of half a character": state(given={"\ud800": 1}),
}


@pytest.mark.parametrize("put", IN_THE_WAY.values(), ids=IN_THE_WAY)
def test_this_stops_no_record(put: Put) -> None:
    """Each was made by the user of a part, and the records of others wait behind it."""
    with a_node() as node:
        put(node.part)

        ship_all(node)


def test_more_losses_than_a_number_can_say_are_told_once() -> None:
    """A count of 20 digits is beyond the integers of a record, and would be refused each time."""
    with a_node() as node:
        (node.part / "notes").write_bytes(notes(dropped=10**20 - 1))

        ship_all(node)


def swaps_files(part: Part) -> None:
    """Put a folder where a file was that is being sent."""
    for path in (part / "new").iterdir():
        path.unlink()
        path.mkdir()


def swaps_notes(part: Part) -> None:
    """Put a folder where the notes were that are being sent."""
    (part / "notes").unlink()
    (part / "notes").mkdir()


@pytest.mark.parametrize("swap", [swaps_files, swaps_notes])
def test_what_was_swapped_while_it_was_sent_stops_nothing(swap: Put) -> None:
    """It was told; what stands in its place is the next call's."""
    with a_node() as node:
        (node.part / "notes").write_bytes(notes(note()))
        log = Log()

        def send(lines: Sequence[bytes]) -> list[Answer]:
            answers = log.send(lines)
            swap(node.part)
            return answers

        shipped = ship(node.spool, send)

        assert shipped.counts == {"accepted": 2}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_brackets_of_another_user_are_no_record() -> None:
    """What a user may say is read out of it, and reading it has to end."""
    with a_node() as node:
        data = b"[" * 100_000 + b"\n"
        part = node.spool / "4711"
        for folder in (part, part / "new", part / "quarantine"):
            folder.mkdir()
            os.chown(folder, 4711, 4711)
        path = part / "new" / record_name(data)
        path.write_bytes(data)
        os.chown(path, 4711, 4711)

        log = ship_all(node)

        assert [body["reason"] for body in log.told("spool.quarantined")] == ["it is no record"]
