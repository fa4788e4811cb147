"""Manifests: which files a checkpoint consists of, with sizes and SHA-256, stated by who saved it.

One JSON object in canonical form (RFC 8785) and a line feed. The digest of a checkpoint is the
SHA-256 of exactly these bytes, so ``sha256sum`` of the manifest gives it. A folder's manifest
lies in the folder, that of a file beside it. Of several ranks that write into one folder each may
state its own part; the checkpoint is whole only when every part is there.
"""

from __future__ import annotations

import hashlib
import os
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from tallystick.emit.checkpoint.errors import UnnameableFileError
from tallystick.emit.checkpoint.hashing import OnBytes, hash_files, silent
from tallystick.emit.checkpoint.names import part_name
from tallystick.emit.record import canonical_bytes
from tallystick.emit.spool import sync_folder

if TYPE_CHECKING:
    from pathlib import Path

    from tallystick.emit.checkpoint.listing import Listing

SCHEMA = "tallystick.checkpoint/1"
JOB_THREADS = 2

WRITING = threading.RLock()
"""Held while a manifest is written. Its folder counts as changed only meanwhile, so whoever goes
by the times of folders, as a library that deletes the oldest does, holds this as well."""


class Part(NamedTuple):
    """Which of several ranks states its part."""

    rank: int
    ranks: int


class ManifestFile(NamedTuple):
    """One file as it was when it was saved."""

    name: str
    size: int
    sha256: str


class ManifestLink(NamedTuple):
    """One symbolic link as it was when it was saved."""

    name: str
    target: str


class Manifest(NamedTuple):
    """What a checkpoint consists of. ``path`` is where the statement lies, and not part of it."""

    path: Path
    files: tuple[ManifestFile, ...]
    links: tuple[ManifestLink, ...] = ()
    run: str | None = None
    attempt: str | None = None
    checkpoint: str | None = None
    step: int | None = None
    part: Part | None = None

    @property
    def text(self) -> bytes:
        """Give the bytes of the manifest."""
        stated: dict[str, Any] = {
            "schema": SCHEMA,
            "files": [file._asdict() for file in self.files],
        }
        if self.links:
            stated["links"] = [link._asdict() for link in self.links]
        if self.part is not None:
            stated["part"] = self.part._asdict()
        facts = {name: getattr(self, name) for name in ("run", "attempt", "checkpoint", "step")}
        stated.update({name: value for name, value in facts.items() if value is not None})
        return canonical_bytes(stated) + b"\n"

    @property
    def digest(self) -> str:
        """Give the digest of the checkpoint."""
        return f"sha256:{hashlib.sha256(self.text).hexdigest()}"

    @property
    def total_bytes(self) -> int:
        """Add up the sizes of its files."""
        return sum(file.size for file in self.files)


def make_manifest(
    files: Listing,
    *,
    run: str | None = None,
    attempt: str | None = None,
    checkpoint: str | None = None,
    step: int | None = None,
    part: Part | None = None,
    on_bytes: OnBytes = silent,
    threads: int | None = JOB_THREADS,
) -> Manifest:
    """Hash the files of a checkpoint and state what it consists of.

    Args:
        files: As they were listed.
        run: The run that saved it.
        attempt: The attempt of that run.
        checkpoint: Its name.
        step: Steps that are complete in it.
        part: Which rank's part of a folder it is; None for the whole.
        on_bytes: Is told how many bytes were read since it was last.
        threads: How many files are hashed at once, None for as many as there are processors.

    Raises:
        ChangedFileError: a file is not as it was listed.
        UnnameableFileError: a name is not UTF-8.
        OSError: a file cannot be read.
    """
    for file in files.files:
        _check_name(file.name)
    for link in files.links:
        _check_name(link.name)
        _check_name(link.target)
    digests = hash_files(files.files, on_bytes, threads)
    return Manifest(
        files.manifest if part is None else files.root / part_name(part.rank, part.ranks),
        tuple(
            ManifestFile(file.name, file.size, digest) for file, digest in zip(files.files, digests)
        ),
        tuple(ManifestLink(link.name, link.target) for link in files.links),
        run=run,
        attempt=attempt,
        checkpoint=checkpoint,
        step=step,
        part=part,
    )


def write_manifest(manifest: Manifest) -> None:
    """Write a manifest to its place: after this it is whole and on disk, or it is not there.

    The folder keeps the time of its last change: a manifest makes no checkpoint newer.

    Raises:
        OSError: the folder is not writable, or the disk is full.
    """
    folder = manifest.path.parent
    with WRITING:
        before = folder.stat()
        try:
            _write(manifest)
        finally:
            with suppress(OSError):  # It is another user's.
                os.utime(folder, ns=(before.st_atime_ns, before.st_mtime_ns))
    sync_folder(folder)


def _write(manifest: Manifest) -> None:
    draft = manifest.path.with_name(f".{manifest.path.name}.tmp")
    with suppress(FileNotFoundError):
        draft.unlink()  # Of a writer that was killed.
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(manifest.text)
            stream.flush()
            os.fsync(handle)
        draft.replace(manifest.path)
    except BaseException:
        with suppress(OSError):
            draft.unlink()
        raise


def _check_name(name: str) -> None:
    try:
        name.encode()
    except UnicodeEncodeError as error:
        raise UnnameableFileError(name) from error
