"""The file of a bundle: a zip that any unzip program opens, and that has one spelling.

Members are stored as they are, in order of name, with every other field of the format fixed.
So the bytes of a file follow from its members alone. A reader makes use of that: it takes
name, size and checksum from each header and refuses the file unless the header, and in the
end the whole directory, are what would have been written. Nothing is searched for, expanded
or skipped, so no byte is left that two programs could read in two ways.
"""

import re
import struct
import zlib
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from tallystick.receipt.bundle.errors import MalformedContainerError, OversizedBundleError


class Limits(NamedTuple):
    """How large a bundle may be."""

    bundle_bytes: int
    member_bytes: int
    members: int


BUNDLE_BYTES_MAX: Final = 1 << 30
MEMBER_BYTES_MAX: Final = 1 << 29
MEMBERS_MAX: Final = 10_000
LIMITS: Final = Limits(BUNDLE_BYTES_MAX, MEMBER_BYTES_MAX, MEMBERS_MAX)
NAME_BYTES_MAX: Final = 100

_NAME = re.compile(r"[a-z0-9_][a-z0-9._-]*(?:/[a-z0-9_][a-z0-9._-]*)*", re.ASCII)

# Fields in the order of the format, little-endian, all that are fixed in the middle.
_LOCAL = struct.Struct("<4s5H3L2H")
_CENTRAL = struct.Struct("<4s6H3L5H2L")
_END = struct.Struct("<4s4H2LH")
_LOCAL_MARK, _CENTRAL_MARK, _END_MARK = b"PK\3\4", b"PK\1\2", b"PK\5\6"
_NEEDED = 20  # Version of the format; 2.0 knows folders.
_MADE_BY = 3 << 8 | _NEEDED  # On Unix, so that the mode below counts.
_MODE = 0o100644 << 16
_DATE = 1 << 5 | 1  # 1 January 1980; the time, like flags and method, is 0.


class _Entry(NamedTuple):
    name: str
    size: int
    checksum: int
    start: int


def write_container(members: Mapping[str, bytes], limits: Limits = LIMITS) -> bytes:
    """Write the file that has these members.

    Raises:
        MalformedContainerError: a name cannot stand in one.
        OversizedBundleError: there are too many members, or too many bytes.
    """
    parts: list[bytes] = []
    entries = []
    place = 0
    _check(len(members), limits.members, "members")
    for name, data in sorted(members.items()):
        _check(len(data), limits.member_bytes, "bytes a member")
        entry = _Entry(_check_name(name), len(data), zlib.crc32(data), place)
        entries.append(entry)
        parts += (_local(entry), data)
        place += _LOCAL.size + len(name) + len(data)
        _check(place, limits.bundle_bytes, "bytes")
    parts.append(_directory(entries, place))
    written = b"".join(parts)
    _check(len(written), limits.bundle_bytes, "bytes")
    return written


def read_container(data: bytes, limits: Limits = LIMITS) -> dict[str, memoryview]:
    """Give the members of a file, in order of name, as views of its bytes.

    Raises:
        OversizedBundleError: there are too many members, or too many bytes.
        MalformedContainerError: a byte is not the one that ``write_container`` would write.
    """
    _check(len(data), limits.bundle_bytes, "bytes")
    whole = memoryview(data)
    members: dict[str, memoryview] = {}
    entries: list[_Entry] = []
    place = 0
    while data.startswith(_LOCAL_MARK, place):
        _check(len(entries) + 1, limits.members, "members")
        entry, content = _member(whole, place)
        _check(entry.size, limits.member_bytes, "bytes a member")
        if entries and entry.name <= entries[-1].name:
            raise MalformedContainerError("expected members in order of name, each once")
        entries.append(entry)
        members[entry.name] = content
        place += _LOCAL.size + len(entry.name) + entry.size
    if whole[place:] != _directory(entries, place):
        raise MalformedContainerError("expected the directory of its members, and nothing else")
    return members


def _member(whole: memoryview, place: int) -> tuple[_Entry, memoryview]:
    """Read one member, whose header must be the one that it would be written with."""
    if len(whole) - place < _LOCAL.size:
        raise MalformedContainerError("expected the header of a member, got the end")
    _, _, _, _, _, _, checksum, _, size, name_length, _ = _LOCAL.unpack_from(whole, place)
    start = place + _LOCAL.size
    try:
        name = _check_name(bytes(whole[start : start + min(name_length, NAME_BYTES_MAX)]).decode())
    except UnicodeDecodeError as error:
        raise MalformedContainerError("expected names in ASCII") from error
    entry = _Entry(name, size, checksum, place)
    content = whole[start + len(name) :][:size]
    if whole[place : start + len(name)] != _local(entry):
        raise MalformedContainerError(f"expected {name} with the one header of a stored member")
    if len(content) != size or zlib.crc32(content) != checksum:
        raise MalformedContainerError(f"expected {name} whole and with its checksum")
    return entry, content


def _local(entry: _Entry) -> bytes:
    sizes = (entry.checksum, entry.size, entry.size, len(entry.name))
    return _LOCAL.pack(_LOCAL_MARK, _NEEDED, 0, 0, 0, _DATE, *sizes, 0) + entry.name.encode()


def _directory(entries: Iterable[_Entry], start: int) -> bytes:
    """Write what follows the members: a directory of them, and where it is."""
    central = [_central(entry) for entry in entries]
    size, count = sum(map(len, central)), len(central)
    return b"".join((*central, _END.pack(_END_MARK, 0, 0, count, count, size, start, 0)))


def _central(entry: _Entry) -> bytes:
    sizes = (entry.checksum, entry.size, entry.size, len(entry.name))
    fixed = (_CENTRAL_MARK, _MADE_BY, _NEEDED, 0, 0, 0, _DATE)
    return _CENTRAL.pack(*fixed, *sizes, 0, 0, 0, 0, _MODE, entry.start) + entry.name.encode()


def _check_name(name: str) -> str:
    if len(name) > NAME_BYTES_MAX or not _NAME.fullmatch(name):
        raise MalformedContainerError(f"expected a plain relative name, got {ascii(name)[:60]}")
    return name


def _check(found: int, most: int, what: str) -> None:
    if found > most:
        raise OversizedBundleError(most, what)
