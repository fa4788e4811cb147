"""Reading what may be hostile: regular files only, at given places, never past what was asked.

A pipe does not hold the reader up, a length that a file claims is compared with the file before
anything is made of it, and JSON of any depth is a value or an error.
"""

from __future__ import annotations

import json
import os
import stat
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from tallystick.emit.checkpoint.errors import NotAFileError
from tallystick.emit.checkpoint.listing import Stamp, stamp_of

if TYPE_CHECKING:
    from collections.abc import Iterator

JSON_BYTES_MAX = 64 << 20


class TornError(Exception):
    """A file is not whole, for a reason that can be told."""


class UntoldError(Exception):
    """Whether a file is whole cannot be told, for a reason that can."""


class BadJsonError(TornError):
    """A text is no JSON."""


class OpenFile(NamedTuple):
    """An open regular file, or a stretch of one: reads are relative to its start."""

    handle: int
    stamp: Stamp
    start: int
    size: int

    def read(self, offset: int, size: int) -> bytes:
        """Read exactly so many bytes from a place.

        Raises:
            TornError: it ends before.
        """
        if offset < 0 or size < 0 or offset + size > self.size:
            raise TornError(f"ends at byte {self.size}, before byte {offset + size}")
        pieces = []
        done = 0
        while done < size:
            piece = os.pread(self.handle, size - done, self.start + offset + done)
            if not piece:
                raise TornError(f"became shorter while it was read, at byte {offset + done}")
            pieces.append(piece)
            done += len(piece)
        return b"".join(pieces)

    def whole(self, bytes_max: int) -> bytes:
        """Read all of it.

        Raises:
            UntoldError: it is larger than is read.
        """
        if self.size > bytes_max:
            raise UntoldError(f"is larger than {bytes_max} bytes, and was not read")
        return self.read(0, self.size)

    def window(self, offset: int, size: int) -> OpenFile:
        """Give a stretch of it.

        Raises:
            TornError: it ends before.
        """
        if offset < 0 or size < 0 or offset + size > self.size:
            raise TornError(f"ends at byte {self.size}, before byte {offset + size}")
        return OpenFile(self.handle, self.stamp, self.start + offset, size)


@contextmanager
def open_file(path: str) -> Iterator[OpenFile]:
    """Open a regular file for reading.

    Raises:
        NotAFileError: it is something else.
        OSError: it cannot be opened.
    """
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode):
            raise NotAFileError(path)
        yield OpenFile(handle, stamp_of(found), 0, found.st_size)
    finally:
        os.close(handle)


def unreadable(error: Exception) -> str:
    """Say why something cannot be read, or why nothing can be told of it."""
    if isinstance(error, OSError):
        return f"cannot be read: {(error.strerror or str(error)).lower()}"
    return "is no regular file" if isinstance(error, NotAFileError) else str(error)


def read_json(path: str, bytes_max: int = JSON_BYTES_MAX) -> Any:
    """Read a JSON file.

    Raises:
        BadJsonError: it is none, or cut short.
        UntoldError: it is larger than is read.
        NotAFileError: it is no regular file.
        OSError: it cannot be read.
    """
    with open_file(path) as file:
        return parse_json(file.whole(bytes_max))


def parse_json(text: bytes) -> Any:
    """Parse JSON text.

    Raises:
        BadJsonError: it is none.
    """
    try:
        return json.loads(text, parse_int=_integer)
    except RecursionError as error:
        raise BadJsonError("is nested too deeply to be read") from error
    except ValueError as error:
        raise BadJsonError("is no whole JSON text") from error


def _integer(digits: str) -> int:
    if len(digits) > 20:  # More than any size or step; and quadratic in Python.
        raise ValueError("too many digits")
    return int(digits)
