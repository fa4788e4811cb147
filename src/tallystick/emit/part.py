"""One user's part of a spool, as the shipper sees it: a folder that this user may change.

The shipper mostly runs as root, so it goes through open folders and follows no link: whatever
a user puts in the way, only plain files of that user, in that user's part, are read or removed.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from contextlib import suppress
from typing import TYPE_CHECKING

from tallystick.emit.journals import Journals
from tallystick.emit.notes import Notes, clear_notes, read_notes
from tallystick.emit.spool import LOCK_S, RECORD_BYTES_MAX, boot_id, named_digest
from tallystick.emit.state import locked, read_state, write_state

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path
    from types import TracebackType

QUARANTINE_FILES_MAX = 4096
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class BadFileError(Exception):
    """A file in the spool is no record, or not the one that its name says."""


class Part:
    """An open part of a spool."""

    def __init__(self, spool: Path, uid: int) -> None:
        """Open the part of a user.

        Raises:
            OSError: it is no folder of theirs.
        """
        self.uid = uid
        self._folders: dict[str, int] = {}
        self.journals = Journals()
        self._whole = os.open(spool / str(uid), _FOLDER)
        try:
            if os.fstat(self._whole).st_uid != uid:
                raise PermissionError(errno.EPERM, "the folder belongs to somebody else")
            for name in ("new", "quarantine"):
                self._folders[name] = os.open(name, _FOLDER, dir_fd=self._whole)
            self.journals.open(self._whole, uid)
        except OSError:
            self.close()
            raise

    def __enter__(self) -> Part:  # noqa: PYI034 (Self came with Python 3.11)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the folders."""
        self.journals.close()
        for handle in (*self._folders.values(), self._whole):
            with suppress(OSError):
                os.close(handle)
        self._folders.clear()

    def names(self) -> list[str]:
        """Name the files that wait, in the order in which each producer wrote them."""
        return sorted(_names(self._folders["new"]))

    def read(self, name: str) -> bytes:
        """Read the line of a record.

        Raises:
            BadFileError: the file is not what its name says.
            OSError: it cannot be read.
        """
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        try:
            handle = os.open(name, flags, dir_fd=self._folders["new"])
        except OSError as error:
            if error.errno == errno.ELOOP:
                raise BadFileError("it is a link") from error
            if error.errno == errno.ENXIO:
                raise BadFileError("it is no plain file of its user") from error
            raise
        try:
            found = os.fstat(handle)
            if not stat.S_ISREG(found.st_mode) or found.st_uid != self.uid:
                raise BadFileError("it is no plain file of its user")
            data = _read_all(handle)
        finally:
            os.close(handle)
        if hashlib.sha256(data).hexdigest() != named_digest(name):
            raise BadFileError("its bytes are not those of its name")
        line = data[:-1]
        if data[-1:] != b"\n" or b"\n" in line or not line.strip():
            raise BadFileError("it is not one line")
        return line

    def remove(self, names: Iterable[str]) -> None:
        """Remove files that are told, and count their bytes out.

        Raises:
            OSError: one cannot be removed.
        """
        gone = 0
        for name in names:
            # What its user put in its place meanwhile waits for the next call.
            with suppress(FileNotFoundError, IsADirectoryError, PermissionError):
                size = os.lstat(name, dir_fd=self._folders["new"]).st_size
                os.unlink(name, dir_fd=self._folders["new"])
                gone += size
        self._count_out(gone)

    def quarantine(self, name: str, reason: str) -> None:
        """Set a file aside with the reason; past a bound it stays where it is.

        Raises:
            OSError: the folder cannot be changed.
        """
        new, aside = self._folders["new"], self._folders["quarantine"]
        if len(_names(aside)) >= QUARANTINE_FILES_MAX:
            return  # Nothing is thrown away: somebody has to look at so many.
        with suppress(FileNotFoundError):
            waiting, size = name, os.lstat(name, dir_fd=new).st_size
            name = _free_name(name, aside)
            os.rename(waiting, name, src_dir_fd=new, dst_dir_fd=aside)
            self._count_out(size)
        with suppress(OSError):  # A full disk: the log has the reason, too.
            _write_new(f"{name}.why", reason.encode() + b"\n", aside)

    def quarantine_line(self, name: str, line: bytes, reason: str) -> None:
        """Set the line of a journal aside with the reason, as far as there is room for it."""
        aside = self._folders["quarantine"]
        if len(_names(aside)) < QUARANTINE_FILES_MAX:
            with suppress(OSError):
                name = _free_name(name, aside)
                _write_new(name, line + b"\n", aside)
                _write_new(f"{name}.why", reason.encode() + b"\n", aside)

    def notes(self) -> Notes:
        """Read what was dropped."""
        try:
            return read_notes("notes", self._whole)
        except OSError:
            return Notes(0, ())

    def clear_notes(self, told: Notes) -> None:
        """Take out what was told of it.

        Raises:
            OSError: the notes cannot be written.
        """
        clear_notes("notes", told, self._whole)

    def _count_out(self, size: int) -> None:
        """Take bytes out of the count; if that fails the writer counts again when it is full."""
        with suppress(OSError), locked("state", LOCK_S, self._whole) as handle:
            if handle is not None:
                state = read_state(handle, boot_id())
                state.waiting_bytes = max(0, state.waiting_bytes - size)
                write_state(handle, state)


def _write_new(name: str, data: bytes, folder: int) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    handle = os.open(name, flags, 0o600, dir_fd=folder)
    try:
        os.write(handle, data)
    finally:
        os.close(handle)


def _free_name(name: str, folder: int) -> str:
    """Give a name that nothing in a folder has: what was set aside before stays as it is."""
    taken = set(_names(folder))
    if name not in taken:
        return name
    numbers = range(len(taken) + 1)
    return next(each for each in (f"again-{n}" for n in numbers) if each not in taken)


def _names(folder: int) -> list[str]:
    return os.listdir(folder)


def _read_all(handle: int) -> bytes:
    data = bytearray()
    while chunk := os.read(handle, 1 << 16):
        data += chunk
        if len(data) > RECORD_BYTES_MAX:
            raise BadFileError("it is larger than 1 MiB")
    return bytes(data)
