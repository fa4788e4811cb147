"""Telemetry segments: Parquet files that are named by the SHA-256 of their bytes.

The log is the catalogue; this folder only holds the bytes. A segment is written beside its
place, synced and renamed, so that a name always has all of its bytes; it is never changed.
Whether the bytes are still those of the name is for whoever reads them to check.
"""

import hashlib
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, Final

from tallystick.stores.errors import StoreUnusableError, StoreWriteError
from tallystick.stores.sqlite.connect import sync_folder

_PREFIX: Final = "sha256:"
_SUFFIX: Final = ".parquet"
_DRAFT: Final = ".adding."
_CHUNK_BYTES: Final = 1 << 20

OnBytes = Callable[[int], None]


class SegmentFolder:
    """The folder of a store's segments."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def place(self, digest: str) -> Path:
        """Say where the segment of a digest lies, if it is there."""
        return self.path / f"{digest.removeprefix(_PREFIX)}{_SUFFIX}"

    def has(self, digest: str) -> bool:
        """Tell whether the segment of a digest is there.

        Raises:
            StoreUnusableError: the disk does not say.
        """
        try:
            return self.place(digest).exists()
        except OSError as error:
            raise StoreUnusableError(str(self.path), _reason(error)) from error

    def digests(self) -> Iterator[str]:
        """Name the segments that are there, in order of name."""
        for path in sorted(self.path.glob(f"*{_SUFFIX}")):
            yield _PREFIX + path.name.removesuffix(_SUFFIX)

    def unfinished(self) -> Iterator[Path]:
        """Give the files that a process left when it was stopped while adding a segment."""
        yield from sorted(self.path.glob(f"{_DRAFT}*"))

    def add(self, source: BinaryIO, on_bytes: OnBytes = lambda _: None) -> str:
        """Keep a segment and give its digest; after this it is whole and on disk.

        Args:
            source: The Parquet file.
            on_bytes: Told how many bytes were copied since the last call.

        Raises:
            StoreWriteError: the disk is full, or a write or sync failed; nothing is kept.
        """
        try:
            handle, name = tempfile.mkstemp(dir=self.path, prefix=_DRAFT)
            draft = Path(name)
            try:
                with os.fdopen(handle, "wb") as target:
                    digest = _copy(source, target, on_bytes)
                    target.flush()
                    os.fsync(target.fileno())
                draft.replace(self.place(digest))
            except BaseException:
                draft.unlink(missing_ok=True)
                raise
            sync_folder(self.path)
        except OSError as error:
            raise StoreWriteError(str(self.path), _reason(error)) from error
        return digest

    def drop(self, digest: str) -> None:
        """Remove a segment; one that is gone already is no error.

        Raises:
            StoreUnusableError: it cannot be removed.
        """
        try:
            self.place(digest).unlink(missing_ok=True)
            sync_folder(self.path)
        except OSError as error:
            raise StoreUnusableError(str(self.path), _reason(error)) from error


def _copy(source: BinaryIO, target: BinaryIO, on_bytes: OnBytes) -> str:
    hashed = hashlib.sha256()
    while chunk := source.read(_CHUNK_BYTES):
        hashed.update(chunk)
        target.write(chunk)
        on_bytes(len(chunk))
    return _PREFIX + hashed.hexdigest()


def _reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()
