"""Zip archives as ``torch.save`` writes them: the directory at the end, then every record.

The directory is compared with the file and with the header of each record before anything is
read, so a size that an archive claims costs nothing. Records may not overlap, and what is
compressed is inflated up to the size that it states, and no further.
"""

from __future__ import annotations

import struct
import zlib
from typing import TYPE_CHECKING, NamedTuple

from tallystick.emit.checkpoint.reading import TornError, UntoldError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tallystick.emit.checkpoint.hashing import OnBytes
    from tallystick.emit.checkpoint.reading import OpenFile

RECORDS_MAX = 1_000_000
DIRECTORY_BYTES_MAX = 256 << 20
INFLATED_BYTES_MAX = 256 << 20
CHUNK_BYTES = 1 << 20
MAGIC = b"PK\x03\x04"

_STORED, _DEFLATED = 0, 8
_ENCRYPTED = 1
_END = struct.Struct("<4s4H2LH")
_END_64 = struct.Struct("<4sQ2H2L4Q")
_LOCATOR_64 = struct.Struct("<4sLQL")
_ENTRY = struct.Struct("<4s6H3L5H2L")
_HEADER = struct.Struct("<4s5H3L2H")


class Record(NamedTuple):
    """One file of an archive, as the directory states it; ``start`` is where its bytes begin."""

    name: str
    method: int
    crc: int
    packed: int
    size: int
    start: int


def read_directory(file: OpenFile) -> tuple[Record, ...]:
    """Read the directory of an archive and find every record; no byte of them is read.

    Raises:
        TornError: the archive is not whole.
        UntoldError: it is larger, or written in another way, than is read.
    """
    start, size, count = _find_directory(file)
    if count > RECORDS_MAX or size > DIRECTORY_BYTES_MAX:
        raise UntoldError(f"is an archive of {count} records, more than are looked at")
    data = file.read(start, size)
    entries = sorted(_entries(data, count), key=lambda entry: entry.start)
    return tuple(_located(file, entries, start))


def _find_directory(file: OpenFile) -> tuple[int, int, int]:
    """Find start and size of the directory and the number of records."""
    tail_size = min(file.size, _END.size + 0xFFFF)
    tail = file.read(file.size - tail_size, tail_size)
    at = tail.rfind(b"PK\x05\x06", 0, len(tail) - _END.size + 4) if tail_size >= _END.size else -1
    if at < 0:
        raise TornError("ends before its directory of records, so it was not written to its end")
    _, disk, _, _, count, size, start, _ = _END.unpack_from(tail, at)
    end = file.size - tail_size + at
    if end >= _LOCATOR_64.size:
        locator = file.read(end - _LOCATOR_64.size, _LOCATOR_64.size)
        if locator.startswith(b"PK\x06\x07"):
            _, disk, end, _ = _LOCATOR_64.unpack(locator)
            found = _END_64.unpack(file.read(end, _END_64.size))
            if found[0] != b"PK\x06\x06":
                raise TornError("has no directory where it says that it is")
            count, size, start = found[7], found[8], found[9]
    if disk:
        raise UntoldError("is one of several parts of an archive")
    if start + size > end:
        raise TornError("has no directory where it says that it is")
    return start, size, count


def _entries(data: bytes, count: int) -> Iterator[Record]:
    at = 0
    for _ in range(count):
        if at + _ENTRY.size > len(data):
            raise TornError("has a directory with fewer records than it states")
        entry = _ENTRY.unpack_from(data, at)
        signature, flags, method, crc, packed, size = (entry[n] for n in (0, 3, 4, 7, 8, 9))
        name_size, extra_size, comment_size, offset = (entry[n] for n in (10, 11, 12, 16))
        at += _ENTRY.size
        name = data[at : at + name_size].decode("utf-8", "backslashreplace")
        extra = data[at + name_size : at + name_size + extra_size]
        at += name_size + extra_size + comment_size
        if signature != b"PK\x01\x02" or at > len(data):
            raise TornError("has a damaged directory of records")
        if flags & _ENCRYPTED:
            raise UntoldError("is encrypted")
        size, packed, offset = _wide(extra, size, packed, offset)
        yield Record(name, method, crc, packed, size, offset)


def _wide(extra: bytes, *narrow: int) -> Iterator[int]:
    """Replace the numbers that did not fit by those of the zip64 field."""
    field = b""
    at = 0
    while at + 4 <= len(extra):
        identity, size = struct.unpack_from("<2H", extra, at)
        if identity == 1:
            field = extra[at + 4 : at + 4 + size]
            break
        at += 4 + size
    used = 0
    for number in narrow:
        if number != 0xFFFFFFFF:
            yield number
        elif used + 8 > len(field):
            raise TornError("has a damaged directory of records")
        else:
            yield int(struct.unpack_from("<Q", field, used)[0])
            used += 8


def _located(file: OpenFile, entries: list[Record], end: int) -> Iterator[Record]:
    """Find where the bytes of each record begin; none may run into the next."""
    before = 0
    for entry in entries:
        header = _HEADER.unpack(file.read(entry.start, _HEADER.size))
        start = entry.start + _HEADER.size + header[9] + header[10]
        if header[0] != MAGIC or entry.start < before or start + entry.packed > end:
            raise TornError(f"has no record {entry.name!a:.80} where its directory says")
        if entry.method == _STORED and entry.packed != entry.size:
            raise TornError(f"states two sizes of the record {entry.name!a:.80}")
        before = start + entry.packed
        yield entry._replace(start=start)


def has_checksums(records: tuple[Record, ...]) -> bool:
    """Tell whether checksums were written: torch can leave them out, and then all are 0."""
    return any(record.crc for record in records if record.size)


def check_records(file: OpenFile, records: tuple[Record, ...], on_bytes: OnBytes) -> str | None:
    """Compare the CRC-32 of each record; give what is wrong with the first that differs.

    Raises:
        UntoldError: a record is compressed in a way or to an amount that is not read.
    """
    for record in records:
        crc = 0
        for piece in unpacked(file, record, on_bytes):
            crc = zlib.crc32(piece, crc)
        if crc != record.crc:
            return f"holds the record {record.name!a:.80}, whose bytes are not those of its CRC-32"
    return None


def unpacked(file: OpenFile, record: Record, on_bytes: OnBytes) -> Iterator[bytes]:
    """Give the bytes of a record in pieces.

    Raises:
        TornError: they are not of the size that it states.
        UntoldError: they are more than is inflated, or packed in an unknown way.
    """
    if record.method == _STORED:
        yield from _pieces(file, record, on_bytes)
        return
    if record.method != _DEFLATED:
        raise UntoldError(f"holds the record {record.name!a:.80}, packed in an unknown way")
    if record.size > INFLATED_BYTES_MAX:
        raise UntoldError(f"holds the record {record.name!a:.80}, too large to be inflated")
    inflater = zlib.decompressobj(-15)
    left = record.size
    try:
        for piece in _pieces(file, record, on_bytes):
            rest = piece
            while rest:
                made = inflater.decompress(rest, min(left, CHUNK_BYTES) + 1)
                rest = inflater.unconsumed_tail
                left -= len(made)
                if left < 0:
                    raise TornError(f"holds the record {record.name!a:.80}, larger than it states")
                yield made
    except zlib.error as error:
        raise TornError(
            f"holds the record {record.name!a:.80}, which cannot be inflated"
        ) from error
    if left or not inflater.eof:
        raise TornError(f"holds the record {record.name!a:.80}, smaller than it states")


def _pieces(file: OpenFile, record: Record, on_bytes: OnBytes) -> Iterator[bytes]:
    for offset in range(0, record.packed, CHUNK_BYTES):
        piece = file.read(record.start + offset, min(CHUNK_BYTES, record.packed - offset))
        on_bytes(len(piece))
        yield piece
