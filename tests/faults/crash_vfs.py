"""What a power loss may leave: a VFS that writes down what SQLite does, and the states from it.

What was synced is there. Of what was not, any part may be there: each write or not, a write
torn at the sectors that it covers, each change of a file's length or not. Names are entries of
a folder that has syncs of its own: of those made or removed since the last one, the earlier
may be there without the later. The model has no rewritten neighbours of a sector (SQLite relies
on that) and no bits that rot.
"""

import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

import apsw

SECTOR_BYTES = 512

Kind = Literal["write", "truncate", "sync", "link", "unlink", "sync_folder", "replace", "told"]


class Operation(NamedTuple):
    """One thing that happened, in order.

    ``file`` numbers a file whatever its name; ``data`` are the bytes of a ``write``, of a
    ``replace`` (a whole file in one durable step), or what was ``told`` to somebody.
    """

    kind: Kind
    file: int = -1
    name: str = ""
    at: int = 0
    data: Any = b""


@dataclass(slots=True)
class Recording:
    """What was in a folder at first, and all that happened to it since."""

    first: dict[str, bytes]
    operations: list[Operation] = field(default_factory=list)
    _files: dict[str, int] = field(default_factory=dict)
    _synced: set[int] = field(default_factory=set)
    _next: int = 0

    def __post_init__(self) -> None:
        for name in self.first:
            self._number(name)
            self._synced.add(self._files[name])

    def _number(self, name: str) -> int:
        self._files[name] = self._next
        self._next += 1
        return self._files[name]

    def note(self, kind: Kind, **facts: Any) -> None:
        """Write down that something happened."""
        self.operations.append(Operation(kind, **facts))

    def opened(self, name: str) -> int:
        """Give the number of a file that was opened, which may be new."""
        if name not in self._files:
            self.note("link", file=self._number(name), name=name)
        return self._files[name]

    def synced(self, file: int) -> None:
        """Note a sync; SQLite's first one of a new file is one of its folder as well."""
        self.note("sync", file=file)
        if file not in self._synced:
            self._synced.add(file)
            self.note("sync_folder")

    def removed(self, name: str, *, and_synced: bool) -> None:
        """Note that a name is gone."""
        self.note("unlink", file=self._files.pop(name), name=name)
        if and_synced:
            self.note("sync_folder")


class _File(apsw.VFSFile):
    """A file that is really written, and whose changes are noted."""

    def __init__(self, recording: Recording, name: Any, flags: list[int]) -> None:
        super().__init__("", name, flags)
        self._recording = recording
        path = name.filename() if isinstance(name, apsw.URIFilename) else name
        self._file = recording.opened(Path(path).name)

    def xWrite(self, data: Any, offset: int) -> None:  # noqa: N802 (SQLite's name)
        super().xWrite(data, offset)
        self._recording.note("write", file=self._file, at=offset, data=bytes(data))

    def xTruncate(self, newsize: int) -> None:  # noqa: N802 (SQLite's name)
        super().xTruncate(newsize)
        self._recording.note("truncate", file=self._file, at=newsize)

    def xSync(self, flags: int) -> None:  # noqa: N802 (SQLite's name)
        super().xSync(flags)
        self._recording.synced(self._file)


class _Vfs(apsw.VFS):
    """The usual VFS, but for noting."""

    def __init__(self, name: str, recording: Recording) -> None:
        super().__init__(name, "")
        self._recording = recording

    def xOpen(self, name: Any, flags: list[int]) -> apsw.VFSFile:  # noqa: N802 (SQLite's name)
        if name is None:  # A file of its own that nobody looks for after a crash.
            return apsw.VFSFile("", name, flags)
        return _File(self._recording, name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:  # noqa: FBT001, N802 (SQLite's)
        super().xDelete(filename, syncdir)
        self._recording.removed(Path(filename).name, and_synced=syncdir)


@contextmanager
def recording_vfs(recording: Recording, name: str = "recording") -> Iterator[str]:
    """Have a VFS that notes all that is done through it; gives its name."""
    vfs = _Vfs(name, recording)
    try:
        yield name
    finally:
        vfs.unregister()


def read_folder(folder: Path, names: Sequence[str]) -> dict[str, bytes]:
    """Read files of a folder, those that there are."""
    return {name: (folder / name).read_bytes() for name in names if (folder / name).exists()}


# -- after the power loss ------------------------------------------------------------------


def crash(recording: Recording, done: int, chance: random.Random) -> dict[str, bytes]:
    """Give the files as a power loss after that many operations may leave them."""
    happened = recording.operations[:done]
    last_sync = {op.file: place for place, op in enumerate(happened) if op.kind == "sync"}
    images: dict[int, bytearray] = defaultdict(bytearray)
    images |= {file: bytearray(data) for file, data in enumerate(recording.first.values())}
    kept_rate = chance.choice([0.0, 0.1, 0.5, 0.9, 1.0])
    for place, op in enumerate(happened):
        if op.kind not in {"write", "truncate"}:
            continue
        is_synced = place < last_sync.get(op.file, -1)
        if is_synced or chance.random() < kept_rate:
            is_torn = not is_synced and chance.getrandbits(1)
            _apply(images[op.file], op, chance if is_torn else None)
    return {name: bytes(images[file]) for name, file in _names(recording, happened, chance)}


def _apply(image: bytearray, op: Operation, torn_by: random.Random | None) -> None:
    """Change a file; by whom a write is torn decides of each sector whether it is there."""
    if op.kind == "truncate":
        del image[op.at :]
        return
    for start, data in _sectors(op.at, op.data):
        if torn_by is None or torn_by.getrandbits(1):
            image.extend(bytes(max(0, start + len(data) - len(image))))
            image[start : start + len(data)] = data


def _sectors(at: int, data: bytes) -> Iterator[tuple[int, bytes]]:
    """Cut a write at the sectors."""
    place = 0
    while place < len(data):
        length = SECTOR_BYTES - (at + place) % SECTOR_BYTES
        yield at + place, data[place : place + length]
        place += length


def _names(
    recording: Recording, happened: Sequence[Operation], chance: random.Random
) -> Iterator[tuple[str, int]]:
    """Give the names that are there, and of which file each is."""
    entries: list[Operation] = []
    settled = 0
    for op in happened:
        if op.kind in {"link", "unlink"}:
            entries.append(op)
        elif op.kind == "sync_folder":
            settled = len(entries)
    names = {name: file for file, name in enumerate(recording.first)}
    for op in entries[: chance.randint(settled, len(entries))]:
        if op.kind == "link":
            names[op.name] = op.file
        else:
            del names[op.name]
    yield from names.items()


def told(recording: Recording, done: int) -> Iterator[Any]:
    """Give what had been told by then."""
    return (op.data for op in recording.operations[:done] if op.kind == "told")


def replaced(recording: Recording, done: int) -> dict[str, bytes]:
    """Give the files that were replaced in one durable step, as they were by then."""
    return {op.name: op.data for op in recording.operations[:done] if op.kind == "replace"}


def moments(recording: Recording, count: int, chance: random.Random) -> list[int]:
    """Choose moments: before and after every sync in turn, and as many anywhere."""
    operations = recording.operations
    anywhere = range(1, len(operations) + 1)
    syncs = [place for place, op in enumerate(operations, 1) if op.kind == "sync"]
    near = [place - before for place in syncs for before in (1, 0)] or anywhere
    chosen = [near[each * len(near) // (count // 2) % len(near)] for each in range(count // 2)]
    return chosen + [chance.choice(anywhere) for _ in range(count - count // 2)]
