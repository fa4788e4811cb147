"""The journals in one user's part of a spool, as the shipper reads them.

Like all that a user may change they are read through open folders, with bounds, and no link is
followed. How far a journal was told is written beside it: losing that costs one more delivery.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import stat
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from tallystick.emit.progress.journal import FOLDER, SUFFIX
from tallystick.emit.progress.lines import LINE_BYTES_MAX, read_header, spell
from tallystick.emit.record import canonical_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator

TOLD_SUFFIX = ".told"
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ_BYTES = 1 << 20


class BadJournalError(Exception):
    """A file in a folder of journals is none."""


class Place(NamedTuple):
    """A place between two lines: the bytes before it, and the number of the next record."""

    offset: int
    number: int


class Entry(NamedTuple):
    """A line of a journal: the record that it stands for, or None, and where it ends."""

    journal: str
    line: bytes | None
    end: Place


class Journals:
    """The open folder of a user's journals; without one there are none."""

    def __init__(self) -> None:
        self._uid = -1
        self._folder: int | None = None
        self._held: set[str] = set()

    def open(self, part: int, uid: int) -> None:
        """Open the folder in an open part.

        Raises:
            OSError: it is no folder of theirs.
        """
        self._uid = uid
        with suppress(FileNotFoundError):
            self._folder = os.open(FOLDER, _FOLDER, dir_fd=part)
        if self._folder is not None and os.fstat(self._folder).st_uid != uid:
            self.close()
            raise PermissionError(errno.EPERM, "the folder belongs to somebody else")

    def close(self) -> None:
        """Let go of the folder."""
        if self._folder is not None:
            os.close(self._folder)
            self._folder = None

    def names(self) -> list[str]:
        """Name the journals, in the order in which each writer filled them."""
        if self._folder is None:
            return []
        names = os.listdir(self._folder)  # noqa: PTH208 (an open folder has no path)
        return sorted(name for name in names if name.endswith(SUFFIX))

    def entries(self, name: str) -> Iterator[Entry]:
        """Read what was not told yet, whole lines only.

        Raises:
            BadJournalError: it is no journal, or no plain file of its user.
            OSError: it cannot be read.
        """
        handle = self._open(name, os.O_RDONLY)
        with os.fdopen(handle, "rb") as file:
            first = file.readline(LINE_BYTES_MAX)
            header = read_header(first) if first.endswith(b"\n") else None
            if header is None:
                raise BadJournalError("its first line names no writer")
            told, number = self._told(name)
            if told < len(first):
                told, number = len(first), header.first
            file.seek(told)
            for line in iter(lambda: file.readline(LINE_BYTES_MAX), b""):
                is_whole = line.endswith(b"\n")
                if not is_whole and len(line) < LINE_BYTES_MAX:
                    return  # The rest is still to come, or never came.
                told += len(line)
                spelled = spell(header, number, line[:-1] if is_whole else b"")
                number = spelled.next_number
                if spelled.record is not None:
                    yield Entry(name, canonical_bytes(spelled.record), Place(told, number))
                elif spelled.is_bad:
                    yield Entry(name, None, Place(told, number))

    def hold(self, name: str) -> None:
        """Leave the rest of a journal for later, since a line of it may not be sent now."""
        self._held.add(name)

    def is_held(self, name: str) -> bool:
        """Tell whether the rest of a journal is left for later."""
        return name in self._held

    def settle(self, name: str, end: Place) -> None:
        """Keep in mind how far a journal was told.

        Raises:
            OSError: it cannot be written down.
        """
        handle = self._open(f"{name}{TOLD_SUFFIX}", os.O_WRONLY | os.O_CREAT)
        try:
            os.pwrite(handle, b"%020d %020d\n" % end, 0)
        finally:
            os.close(handle)

    def set_aside(self, name: str) -> None:
        """Keep what is no journal under a name that is not read again.

        Raises:
            OSError: it cannot be renamed.
        """
        os.rename(name, f"{name}.bad", src_dir_fd=self._folder, dst_dir_fd=self._folder)

    def remove_finished(self, name: str) -> None:
        """Remove a journal that was told to its end and whose writer is gone.

        What was cut off in the middle of a line never was acknowledged to its writer.

        Raises:
            OSError: it cannot be removed.
        """
        handle = self._open(name, os.O_RDONLY)
        try:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return
            told = self._told(name).offset
            rest = os.pread(handle, LINE_BYTES_MAX, told)
            is_over = rest.count(b"\n") <= (told == 0)  # The first line is no record.
            if not is_over or len(rest) == LINE_BYTES_MAX:
                return
            os.unlink(name, dir_fd=self._folder)
            with suppress(FileNotFoundError):
                os.unlink(f"{name}{TOLD_SUFFIX}", dir_fd=self._folder)
        finally:
            os.close(handle)

    def _told(self, name: str) -> Place:
        try:
            handle = self._open(f"{name}{TOLD_SUFFIX}", os.O_RDONLY)
        except (BadJournalError, OSError):
            return Place(0, 0)
        with os.fdopen(handle, "rb") as file:
            match = re.fullmatch(rb"([0-9]{20}) ([0-9]{20})\n", file.read(64))
        return Place(int(match[1]), int(match[2])) if match else Place(0, 0)

    def _open(self, name: str, flags: int) -> int:
        """Open a file of the user's own, and nothing else under its name."""
        assert self._folder is not None, "a name was found in it"
        flags |= os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        try:
            handle = os.open(name, flags, 0o600, dir_fd=self._folder)
        except OSError as error:
            if error.errno in {errno.ELOOP, errno.ENXIO, errno.EISDIR}:
                raise BadJournalError("it is no plain file of its user") from error
            raise
        found = os.fstat(handle)
        is_ours = found.st_uid in {self._uid, os.geteuid()}
        if not stat.S_ISREG(found.st_mode) or found.st_nlink != 1 or not is_ours:
            os.close(handle)
            raise BadJournalError("it is no plain file of its user")
        return handle
