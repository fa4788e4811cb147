"""OCDBT databases, in which Orbax keeps arrays: a manifest, and a tree that names every stretch.

Nodes of the tree have a CRC-32C each; the values that they point to have none. What is compressed
with Zstandard needs somebody who can inflate it, since the standard library cannot before 3.14.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Callable, NamedTuple, Optional

from tallystick.emit.checkpoint.reading import TornError, UntoldError, open_file

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tallystick.emit.checkpoint.listing import ListedFile

MANIFEST = "manifest.ocdbt"
NODE_BYTES_MAX = 64 << 20
NODES_MAX = 1_000_000
PATH_BYTES_MAX = 4096
Unzstd = Optional[Callable[[bytes, int], bytes]]
"""Inflates Zstandard to little more than so many bytes, or raises a ValueError; or nobody can."""

_MANIFEST, _NODE = 0x0CDB3A2A, 0x0CDB20DE
_SINGLE = 0
_HEADER_BYTES = 12


class Stretch(NamedTuple):
    """A place that the database names: so many bytes of a file."""

    file: str
    offset: int
    size: int


class _Named(NamedTuple):
    """A file of a table, and what goes before the names of the files that it names."""

    file: str
    base: str


class _Child(NamedTuple):
    stretch: Stretch
    base: str
    height: int


class _Text:
    """Bytes that are read one field after another."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def take(self, count: int) -> bytes:
        """Take some bytes."""
        if count > len(self._data) - self._at:
            raise TornError("has a node that ends early")
        self._at += count
        return self._data[self._at - count : self._at]

    def byte(self) -> int:
        """Take one byte as a number."""
        return self.take(1)[0]

    def number(self) -> int:
        """Take a number of variable length."""
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7
            if shift > 63:
                raise TornError("has a node with an absurd number")

    def numbers(self, count: int) -> list[int]:
        """Take several numbers; each has at least a byte."""
        if count > len(self._data) - self._at:
            raise TornError("has a node that ends early")
        return [self.number() for _ in range(count)]


def stretches(files: Mapping[str, ListedFile], prefix: str, unzstd: Unzstd) -> Iterator[Stretch]:
    """Give every stretch that the newest version of a database needs, nodes and values.

    Args:
        files: All files of the checkpoint, by name.
        prefix: What goes before a name of the database to make it one of the checkpoint.
        unzstd: Inflates Zstandard.

    Raises:
        TornError: a node is missing or damaged.
        UntoldError: it is written in a way that cannot be read here.
        OSError: a file cannot be read.
    """
    manifest = prefix + MANIFEST
    whole = Stretch(manifest, 0, files[manifest].size)
    waiting = [_root(_body(files, whole, _MANIFEST, unzstd), prefix)]
    seen: set[Stretch] = set()
    while waiting:
        child = waiting.pop()
        if child is None or child.stretch in seen:
            continue
        if len(seen) >= NODES_MAX:
            raise UntoldError(f"has a tree of more than {NODES_MAX} nodes")
        seen.add(child.stretch)
        yield child.stretch
        body = _body(files, child.stretch, _NODE, unzstd)
        for each in _children(body, child, prefix):
            if isinstance(each, Stretch):
                yield each
            else:
                waiting.append(each)


def _body(files: Mapping[str, ListedFile], place: Stretch, magic: int, unzstd: Unzstd) -> _Text:
    """Read a manifest or node, compare its length and checksum, and inflate what follows."""
    if place.file not in files:
        raise TornError(f"names {place.file!a:.120}, which is not there")
    if place.size > NODE_BYTES_MAX:
        raise UntoldError("has a node that is larger than is read")
    with open_file(files[place.file].path) as file:
        if place.offset + place.size > file.size:
            raise TornError(f"names more of {place.file!a:.120} than there is")
        data = file.read(place.offset, place.size)
    if len(data) < _HEADER_BYTES + 6:
        raise TornError(f"has no node in {place.file!a:.120}, where one is named")
    found, length = struct.unpack_from(">L", data)[0], struct.unpack_from("<Q", data, 4)[0]
    if found != magic or length != len(data):
        raise TornError(f"has no node in {place.file!a:.120}, where one is named")
    (crc,) = struct.unpack_from("<L", data, len(data) - 4)
    if crc32c(data[:-4]) != crc:
        raise TornError(f"has a node in {place.file!a:.120} that differs from its CRC-32C")
    text = _Text(data[_HEADER_BYTES:-4])
    version, method = text.number(), text.number()
    rest = text.take(len(data) - _HEADER_BYTES - 4 - 2)
    if version != 0 or method not in {0, 1}:
        raise UntoldError("is of a version that is not known here")
    if method == 0:
        return _Text(rest)
    if unzstd is None:
        raise UntoldError("is compressed with Zstandard, which cannot be inflated here")
    try:
        inflated = unzstd(rest, NODE_BYTES_MAX)
    except ValueError as error:
        raise TornError(f"has a node in {place.file!a:.120} that cannot be inflated") from error
    if len(inflated) > NODE_BYTES_MAX:
        raise UntoldError("has a node that is larger than is read")
    return _Text(inflated)


def _root(text: _Text, prefix: str) -> _Child | None:
    """Find the root of the newest version that the manifest names; None if it is empty."""
    text.take(16)
    if text.number() != _SINGLE:
        raise UntoldError("keeps its manifest in several files")
    text.number()
    text.number()
    text.byte()
    if text.number():
        text.take(4)
    table = _table(text, "", prefix)
    count = text.number()
    text.numbers(count)
    heights = [text.byte() for _ in range(count)]
    ids, offsets, sizes = text.numbers(count), text.numbers(count), text.numbers(count)
    if not count:
        raise UntoldError("names no version")
    if ids[-1] >= len(table):
        return None  # A version without a key has no root.
    named = table[ids[-1]]
    return _Child(Stretch(named.file, offsets[-1], sizes[-1]), named.base, heights[-1])


def _children(text: _Text, node: _Child, prefix: str) -> Iterator[Stretch | _Child]:
    """Give what a node names: values of a leaf, other nodes else."""
    height = text.byte()
    if height != node.height:
        raise TornError("has a node of another height than is named")
    table = _table(text, node.base, prefix)
    count = text.number()
    text.numbers(max(0, count - 1))
    suffixes = text.numbers(count)
    if height:
        text.numbers(count)
    text.take(sum(suffixes))
    if height:
        for number, offset, size in zip(*(text.numbers(count) for _ in range(3))):
            named = _in_table(table, number)
            yield _Child(Stretch(named.file, offset, size), named.base, height - 1)
        return
    sizes, kinds = text.numbers(count), text.numbers(count)
    outside = [size for size, kind in zip(sizes, kinds) if kind]
    ids, offsets = text.numbers(len(outside)), text.numbers(len(outside))
    for number, offset, size in zip(ids, offsets, outside):
        yield Stretch(_in_table(table, number).file, offset, size)


def _in_table(table: list[_Named], number: int) -> _Named:
    if number >= len(table):
        raise TornError("has a node that names a file of no table")
    return table[number]


def _table(text: _Text, base: str, prefix: str) -> list[_Named]:
    """Read a table of data files."""
    count = text.number()
    shared = [0, *text.numbers(max(0, count - 1))]
    suffixes, bases = text.numbers(count), text.numbers(count)
    path = b""
    table = []
    for number in range(count):
        path = path[: shared[number]] + text.take(suffixes[number])
        if len(path) > PATH_BYTES_MAX:
            raise TornError("has a node that names an absurd path")
        name = base + path.decode("utf-8", "surrogateescape")
        inner = base + path[: bases[number]].decode("utf-8", "surrogateescape")
        table.append(_Named(prefix + name, inner))
    return table


def _crc_table() -> tuple[int, ...]:
    table = []
    for byte in range(256):
        crc = byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
        table.append(crc)
    return tuple(table)


_CRC_TABLE = _crc_table()


def crc32c(data: bytes) -> int:
    """Compute the Castagnoli checksum, which ``zlib`` does not have."""
    crc = 0xFFFFFFFF
    table = _CRC_TABLE
    for byte in data:
        crc = table[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    return crc ^ 0xFFFFFFFF
