"""The file that one writer appends to: what ``write`` took survives the death of the process.

A journal appears in the spool under its name only when it has its first line and its lock, and
is held locked for as long as its writer lives: so the shipper can tell one that will grow from
one that is finished. When it has grown large, the next one takes its place.
"""

from __future__ import annotations

import errno
import fcntl
import itertools
import os
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from tallystick.emit.progress.lines import dropped_line
from tallystick.emit.spool import BYTES_MAX, bytes_in, own_folder, sync_folder

if TYPE_CHECKING:
    from pathlib import Path

    from tallystick.emit.progress.lines import Header

FOLDER = "progress"
SUFFIX = ".journal"
FILE_BYTES_MAX = 4 << 20
_FULL_S = 1.0


class HalfWrittenError(OSError):
    """The disk took only a part of a line."""


class Journal:
    """An open journal. Threads may write at once: each line goes down in one call."""

    def __init__(
        self,
        part: Path,
        header: Header,
        *,
        bytes_max: int = BYTES_MAX,
        file_bytes_max: int = FILE_BYTES_MAX,
    ) -> None:
        """Begin a journal in the caller's part of a spool.

        Raises:
            OSError: it cannot be made.
        """
        self._folder = part / FOLDER
        self._header = header
        self._bytes_max = bytes_max
        self._file_bytes_max = file_bytes_max
        self._files = itertools.count()
        self._turning = threading.Lock()
        self._is_torn = False
        self._full_until_s = 0.0
        self._lines = 0
        self._unsaid = 0
        own_folder(self._folder)
        self._handle = self._begin()
        self._used = 0

    def write(self, line: bytes) -> None:
        """Append the line of one record.

        Raises:
            OSError: the disk does not take it; the next line that it takes says so.
        """
        try:
            if self._used > self._file_bytes_max:
                self._turn()
            if self._unsaid or self._is_torn:
                self._write_after_loss(line)
                return
            self._used += self._append(line)
            self._lines += 1
        except OSError:
            self._unsaid += 1
            raise

    def _write_after_loss(self, line: bytes) -> None:
        unsaid = self._unsaid
        # Half a line counts as one that is no record: it must not pass for a shorter whole one.
        broken = b"!\n" * self._is_torn
        self._used += self._append(broken + dropped_line(unsaid - self._is_torn) + line)
        self._unsaid -= unsaid
        self._lines += unsaid + 1

    def _append(self, data: bytes) -> int:
        """Write in one call; half of it is none."""
        try:
            _write_whole(self._handle, data)
        except HalfWrittenError:
            self._is_torn = True
            raise
        self._is_torn = False
        return len(data)

    def sync(self) -> None:
        """Make what was written survive a power cut, too.

        Raises:
            OSError: the disk does not take it.
        """
        os.fdatasync(self._handle)

    def close(self) -> None:
        """Let go of the file: nothing more will come."""
        with suppress(OSError):
            os.close(self._handle)

    def _turn(self) -> None:
        """Go on in a new file, under the same handle: whoever writes meanwhile hits one of them.

        Raises:
            OSError: it cannot be made, or too much waits already.
        """
        if not self._turning.acquire(blocking=False):
            return  # Another thread does it, or this one in a signal handler.
        try:
            self._check_room()
            handle = self._begin()
            os.dup2(handle, self._handle, inheritable=False)
            os.close(handle)
            self._used = 0
        finally:
            self._turning.release()

    def _check_room(self) -> None:
        """Look at what waits, at most once a second while it is too much."""
        full = OSError(errno.ENOSPC, f"the spool is full: {self._bytes_max} bytes wait")
        if time.monotonic() < self._full_until_s:
            raise full
        if bytes_in(self._folder) > self._bytes_max:
            self._full_until_s = time.monotonic() + _FULL_S
            raise full

    def _begin(self) -> int:
        name = f"{self._header.writer}.{next(self._files):06d}"
        draft = self._folder / f".{name}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC
        handle = os.open(draft, flags, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _write_whole(handle, self._header._replace(first=self._lines).line())
            os.fsync(handle)
            draft.rename(self._folder / f"{name}{SUFFIX}")
            sync_folder(self._folder)
        except OSError:
            os.close(handle)
            with suppress(OSError):
                draft.unlink()
            raise
        return handle


def _write_whole(handle: int, data: bytes) -> None:
    if os.write(handle, data) != len(data):
        raise HalfWrittenError(errno.ENOSPC, os.strerror(errno.ENOSPC))
