"""Reading inputs and writing results, whole or not at all. ``-`` is standard input."""

import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from tallystick.app.errors import UnreadableFileError, UnwritableFileError

LINE_BYTES_MAX = 64 * 1024 * 1024


def read_file(path: str, *, bytes_max: int = -1) -> bytes:
    """Read a whole input, or its first ``bytes_max`` bytes.

    Raises:
        UnreadableFileError: it cannot be opened or read.
    """
    try:
        if path == "-":
            return sys.stdin.buffer.read(bytes_max)
        with Path(path).open("rb") as stream:
            return stream.read(bytes_max)
    except OSError as error:
        raise UnreadableFileError(path, _reason(error)) from error


def read_lines(path: str) -> Iterator[bytes | None]:
    """Read an input line by line, split at LF only, without the LF.

    A line longer than ``LINE_BYTES_MAX`` is given as None and is never held in memory.

    Raises:
        UnreadableFileError: it cannot be opened or read.
    """
    try:
        if path == "-":
            yield from _lines(sys.stdin.buffer)
        else:
            with Path(path).open("rb") as stream:
                yield from _lines(stream)
    except OSError as error:
        raise UnreadableFileError(path, _reason(error)) from error


def _lines(stream: BinaryIO) -> Iterator[bytes | None]:
    while line := stream.readline(LINE_BYTES_MAX + 1):
        if line.endswith(b"\n"):
            yield line[:-1]
        elif len(line) <= LINE_BYTES_MAX:
            yield line
        else:
            while (rest := stream.readline(LINE_BYTES_MAX)) and not rest.endswith(b"\n"):
                pass
            yield None


def write_file(path: Path, data: bytes, *, mode: int = 0o644) -> None:
    """Write a result: after this it is whole and on disk, or it is not there.

    Raises:
        UnwritableFileError: the folder does not exist or is not writable, or the disk is full.
    """
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            _fill(handle, data, mode)
            Path(name).replace(path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
        _sync_folder(path.parent)
    except OSError as error:
        raise UnwritableFileError(str(path), _reason(error)) from error


def create_file(path: Path, data: bytes, *, mode: int) -> None:
    """Write a file that must not be there yet: after this it is whole and on disk.

    Raises:
        UnwritableFileError: it exists already, or it cannot be written; then it is not there.
    """
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        try:
            _fill(handle, data, mode)
        except BaseException:
            path.unlink(missing_ok=True)
            raise
        _sync_folder(path.parent)
    except OSError as error:
        raise UnwritableFileError(str(path), _reason(error)) from error


def _fill(handle: int, data: bytes, mode: int) -> None:
    with os.fdopen(handle, "wb") as stream:
        stream.write(data)
        stream.flush()
        os.fchmod(stream.fileno(), mode)
        os.fsync(stream.fileno())


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()
