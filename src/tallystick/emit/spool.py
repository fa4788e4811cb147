"""The spool: one file for each record, kept on the node until the log has it.

Everybody who writes has a folder of their own, named by user id and closed to others::

    SPOOL/                1777  each user makes their own folder
      0/                  0700
        new/              BOOT.PRODUCER.SEQ.SHA256.json
        tmp/              files that are not whole yet
        quarantine/       what the log would not take, and files that are not what their name says
        state             numbers given out, and bytes waiting
        notes             what had to be dropped; its blocks are reserved, for a disk that is full

A record is written beside its place, synced and renamed, and then the folder is synced: when
``put`` says True, it survives a power cut. Numbers are given out before the record is written,
so that a record that was lost leaves a hole in them. They count within one boot of the machine,
hence ``state`` needs no sync: no power cut can turn it back.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from tallystick.emit.errors import SpoolUnusableError
from tallystick.emit.notes import NOTES_BYTES, add_note
from tallystick.emit.record import Numbered, canonical_bytes, draft_record
from tallystick.emit.state import State, locked, read_state, write_state

SPOOL_MODE = 0o1777
BYTES_MAX = 1 << 30
RECORD_BYTES_MAX = 1 << 20
LOCK_S = 1.0
FOLDERS = ("new", "tmp", "quarantine")

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


def clock_us() -> int:
    """Read the clock."""
    return time.time_ns() // 1000


def boot_id() -> str:
    """Name this boot of the machine; a machine that does not say counts since its start."""
    try:
        return _BOOT_ID.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return f"uptime-{(time.time_ns() - time.monotonic_ns()) // 10**9 // 60}"


def make_spool(path: Path) -> None:
    """Make the folder that all users of the machine share.

    Raises:
        SpoolUnusableError: it cannot be made.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
        if path.stat().st_uid == os.geteuid():
            path.chmod(SPOOL_MODE)
    except OSError as error:
        raise SpoolUnusableError(str(path), _reason(error)) from error


class Spool:
    """One user's part of a spool, written in the name of one producer."""

    def __init__(self, path: Path, producer: str, *, bytes_max: int = BYTES_MAX) -> None:
        """Open the caller's part of a spool, and make it where it is not.

        Args:
            path: The spool.
            producer: Name of the producer of all records that are put.
            bytes_max: How much may wait.

        Raises:
            SpoolUnusableError: it cannot be made, or is not the caller's own.
        """
        self.path = path / str(os.geteuid())
        self.producer = producer
        self._bytes_max = bytes_max
        self._boot = boot_id()
        try:
            for folder in (self.path, *(self.path / name for name in FOLDERS)):
                own_folder(folder)
            _reserve(self.path / "notes")
        except OSError as error:
            raise SpoolUnusableError(str(self.path), _reason(error)) from error

    def put(
        self, kind: str, body: dict[str, Any], at_us: int | None, observed_us: int | None = None
    ) -> bool:
        """Keep one record; False if it could not be kept, which is then noted as a loss.

        Args:
            kind: Kind of the record.
            body: Facts of that kind.
            at_us: Time of the event, None where the kind has none.
            observed_us: When it was seen, None for now.
        """
        now_us = clock_us() if observed_us is None else observed_us
        fact = {"kind": kind, "body": body, "at_us": at_us, "observed_us": now_us}
        producer, data, problem = self._numbered(fact)
        try:
            if problem is not None:
                raise problem
            self._write(producer, data)
        except OSError as error:
            self._note(kind, producer, now_us, _reason(error))
            return False
        return True

    def _numbered(self, fact: dict[str, Any]) -> tuple[Numbered, bytes, OSError | None]:
        """Draft a record with its number; or why there is no room for it, which costs the number.

        Without the numbers, which somebody else may hold, it is drafted all the same: then it
        proves no gap.
        """
        plain = Numbered(self.producer)
        with locked(self.path / "state", LOCK_S) as handle:
            if handle is None:
                data = _draft(fact, plain)
                return plain, data, self._refusal(None, len(data))
            state = read_state(handle, self._boot)
            producer = state.next_number(self.producer)
            data = _draft(fact, producer)
            problem = self._refusal(state, len(data))
            try:
                write_state(handle, state)
            except OSError:
                return plain, _draft(fact, plain), problem
            return producer, data, problem

    def _refusal(self, state: State | None, size: int) -> OSError | None:
        """Count the bytes of a record in, or say why there is no room for it.

        A count that drifted, since a writer or the shipper was killed, is made again first.
        """
        if size > RECORD_BYTES_MAX:
            return OSError(errno.EMSGSIZE, "the record is larger than 1 MiB")
        if state is None:
            return None
        if state.waiting_bytes + size > self._bytes_max:
            state.waiting_bytes = bytes_in(self.path / "new")
        if state.waiting_bytes + size > self._bytes_max:
            return OSError(errno.ENOSPC, f"the spool is full: {self._bytes_max} bytes wait")
        state.waiting_bytes += size
        return None

    def _write(self, producer: Numbered, data: bytes) -> None:
        name = file_name(producer, data)
        draft = self.path / "tmp" / f"{name}.{os.getpid()}"
        place = self.path / "new" / name
        try:
            handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            try:
                written = 0
                while written < len(data):
                    written += os.write(handle, data[written:])
                os.fsync(handle)
            finally:
                os.close(handle)
            draft.rename(place)
            sync_folder(place.parent)
        except OSError:
            for path in (draft, place):  # What is noted as lost must not come all the same.
                with suppress(OSError):
                    path.unlink()
            raise

    def _note(self, kind: str, producer: Numbered, now_us: int, reason: str) -> None:
        note = {"kind": kind, "reason": reason, "at_us": now_us, "producer": producer._asdict()}
        with suppress(OSError):  # Then the hole in the numbers has to say it.
            add_note(self.path / "notes", canonical_bytes(note))


def _draft(fact: dict[str, Any], producer: Numbered) -> bytes:
    return canonical_bytes(draft_record(**fact, producer=producer)) + b"\n"


def file_name(producer: Numbered, data: bytes) -> str:
    """Name a record by boot, producer, number and content, so that names sort as they came."""
    boot = hashlib.sha256((producer.boot or "").encode()).hexdigest()[:8]
    name = hashlib.sha256(producer.name.encode()).hexdigest()[:8]
    number = "unnumbered" if producer.seq is None else f"{producer.seq:012d}"
    return f"{boot}.{name}.{number}.{hashlib.sha256(data).hexdigest()}.json"


def named_digest(name: str) -> str | None:
    """Give the digest that a file name states, None if it is no name of a record."""
    parts = name.split(".")
    if len(parts) != 5 or parts[4] != "json" or len(parts[3]) != 64:
        return None
    return parts[3]


def bytes_in(folder: Path) -> int:
    """Add up the sizes of the files in a folder."""
    total = 0
    with os.scandir(folder) as entries:
        for entry in entries:
            with suppress(FileNotFoundError):  # It was shipped meanwhile.
                total += entry.stat(follow_symlinks=False).st_size
    return total


def sync_folder(path: Path) -> None:
    """Make the names in a folder durable."""
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def own_folder(path: Path) -> None:
    """Make a folder that only the caller can use, or refuse one that somebody else made."""
    with suppress(FileExistsError):
        path.mkdir(mode=0o700)
    found = path.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
        raise PermissionError(errno.EPERM, f"{path.name} belongs to somebody else", str(path))


def _reserve(path: Path) -> None:
    """Set blocks aside while there are some, so that a loss can be noted when there are none."""
    try:
        if path.lstat().st_size == NOTES_BYTES:
            return
    except FileNotFoundError:
        pass
    with suppress(OSError):  # The disk is full already: records may still find room later.
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        handle = os.open(path, flags, 0o600)
        try:
            os.posix_fallocate(handle, 0, NOTES_BYTES)
            os.fsync(handle)
        finally:
            os.close(handle)


def _reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()
