"""The last issued head, kept apart from the store.

Whoever restores a store from a backup has an older log, and signing it would make a second
history. So the last head lies in a file of its own, best on another disk. It is written
before a head is given to anyone, by one process at a time, and never made anew: if it is
gone, a person has to bring it back.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tallystick.stores.errors import HeadMissingError, StoreExistsError, StoreUnusableError
from tallystick.stores.sqlite.connect import sync_folder

HEAD_BYTES_MAX = 64 * 1024


class IssuedHead:
    """The file; its lock is a file beside it, since the file itself is replaced."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def create(self, note: bytes) -> None:
        """Keep the first head of a new log.

        Raises:
            StoreExistsError: a head is kept there already.
            StoreUnusableError: it cannot be written.
        """
        with self.locked():
            try:
                is_there = self.path.exists()
            except OSError as error:
                raise StoreUnusableError(str(self.path), _reason(error)) from error
            if is_there:
                raise StoreExistsError(str(self.path), "it keeps the head of another log")
            self.replace(note)

    def read(self) -> bytes:
        """Give the last issued head.

        Raises:
            HeadMissingError: the file is gone.
            StoreUnusableError: it cannot be read.
        """
        try:
            with self.path.open("rb") as stream:
                return stream.read(HEAD_BYTES_MAX)
        except FileNotFoundError as error:
            raise HeadMissingError(str(self.path)) from error
        except OSError as error:
            raise StoreUnusableError(str(self.path), _reason(error)) from error

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other processes from issuing a head meanwhile.

        Raises:
            StoreUnusableError: the lock cannot be made.
        """
        try:
            handle = os.open(self._beside(".lock"), os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise StoreUnusableError(str(self.path), _reason(error)) from error
        try:
            self._lock(handle)
            yield
        finally:
            with suppress(OSError):  # Whatever it says, the handle is gone, and the lock with it.
                os.close(handle)

    def replace(self, note: bytes) -> None:
        """Keep a later head; only within ``locked``. After this it is on disk.

        Raises:
            StoreUnusableError: it cannot be written, and the one before it stays; or it was,
                and whether that is on disk is not known.
        """
        draft = self._beside(".new")
        try:
            handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with os.fdopen(handle, "wb") as stream:
                stream.write(note)
                stream.flush()
                os.fsync(stream.fileno())
            draft.replace(self.path)
            sync_folder(self.path.parent)
        except OSError as error:
            with suppress(OSError):
                draft.unlink()
            raise StoreUnusableError(str(self.path), _reason(error)) from error

    def _lock(self, handle: int) -> None:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
        except OSError as error:
            raise StoreUnusableError(str(self.path), _reason(error)) from error

    def _beside(self, suffix: str) -> Path:
        return self.path.with_name(self.path.name + suffix)


def _reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()
