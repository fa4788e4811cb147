"""The files of one checkpoint as they are now, with sizes, before a byte of them is read.

A name is relative to the root: the folder itself if the checkpoint is one folder, else the
folder that holds all its parts. Links that stay inside are kept as links; their targets are
files of the listing anyway. Manifests are no part of what they describe.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tallystick.emit.checkpoint.errors import (
    BadCheckpointError,
    ChangedFileError,
    LinkOutsideError,
    MissingPathError,
    NoFilesError,
    NotAFileError,
)
from tallystick.emit.checkpoint.names import FOLDER_MANIFEST, beside, is_manifest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["BadCheckpointError", "Link", "ListedFile", "Listing", "Stamp", "listing", "stamp_of"]


class Stamp(NamedTuple):
    """What tells that a file was not touched: identity, size and time of the last write.

    Its other time is left out, since a hard link or new rights would move it.
    """

    device: int
    inode: int
    size: int
    modified_ns: int


class ListedFile(NamedTuple):
    """A regular file; ``name`` uses ``/`` and is relative to the root."""

    name: str
    path: str
    stamp: Stamp

    @property
    def size(self) -> int:
        """Give its length in bytes."""
        return self.stamp.size


class Link(NamedTuple):
    """A symbolic link that stays inside the root, with its text."""

    name: str
    target: str


class Listing(NamedTuple):
    """Every file and link of a checkpoint, by name, and where its manifest belongs."""

    root: Path
    manifest: Path
    files: tuple[ListedFile, ...]
    links: tuple[Link, ...]

    @property
    def total_bytes(self) -> int:
        """Add up the sizes of the files."""
        return sum(file.size for file in self.files)


def listing(
    paths: Iterable[os.PathLike[str] | str], *, root: os.PathLike[str] | str | None = None
) -> Listing:
    """List files and folders that make up one checkpoint.

    Args:
        paths: The files and folders; all that is in a folder belongs to it.
        root: Folder that names are relative to and that the manifest lies in, for a rank that
            lists only its own part of a folder; else it follows from the paths.

    Raises:
        MissingPathError: a path is not there.
        NoFilesError: there is no path, or no file.
        LinkOutsideError: a link leads out of the root, or nowhere.
        NotAFileError: there is a device, a socket or a pipe.
        ChangedFileError: a file vanished while the folders were read.
        OSError: a folder cannot be read.
    """
    given = [_real(path) for path in paths]
    if not given:
        raise NoFilesError("the list of paths")
    base, manifest = _place(given, None if root is None else _real(root))
    found: dict[str, ListedFile | Link] = {each.name: each for each in _walk(given, base)}
    ordered = [found[name] for name in sorted(found)]
    files = tuple(each for each in ordered if isinstance(each, ListedFile))
    if not files:
        raise NoFilesError(str(given[0]))
    links = tuple(each for each in ordered if isinstance(each, Link))
    return Listing(base, manifest, files, links)


def stamp_of(found: os.stat_result) -> Stamp:
    """Take what tells later whether a file was touched."""
    return Stamp(found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)


def _real(path: os.PathLike[str] | str) -> Path:
    """Resolve a path that was named; a link there is only another way to say it."""
    try:
        return Path(path).resolve(strict=True)
    except (FileNotFoundError, NotADirectoryError, RuntimeError) as error:
        raise MissingPathError(os.fspath(path)) from error


def _place(given: list[Path], root: Path | None) -> tuple[Path, Path]:
    """Find the folder that names are relative to, and the place of the manifest."""
    if root is None and len(given) == 1 and given[0].is_dir():
        root = given[0]
    if root is not None:
        outside = [path for path in given if not _is_in(path, root)]
        if outside:
            raise LinkOutsideError(str(outside[0]))
        return root, root / FOLDER_MANIFEST
    base = Path(os.path.commonpath([path.parent for path in given]))
    return base, base / beside(given[0].relative_to(base).parts[0])


def _walk(given: list[Path], base: Path) -> Iterator[ListedFile | Link]:
    folders = []
    for path in given:
        if stat.S_ISDIR(_stat(str(path)).st_mode):
            folders.append(str(path))
        else:
            yield _listed(str(path), base)
    while folders:
        with os.scandir(folders.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
                elif not is_manifest(entry.name):
                    yield _listed(entry.path, base)


def _listed(path: str, base: Path) -> ListedFile | Link:
    found = _stat(path)
    name = path[len(str(base)) :].lstrip("/")
    if stat.S_ISLNK(found.st_mode):
        return _link(path, name, base)
    if not stat.S_ISREG(found.st_mode):
        raise NotAFileError(path)
    return ListedFile(name, path, stamp_of(found))


def _link(path: str, name: str, base: Path) -> Link:
    try:
        target = os.readlink(path)  # noqa: PTH115 (the text of it, as it stands)
        leads_to = Path(path).resolve(strict=True)
    except (OSError, RuntimeError) as error:
        raise LinkOutsideError(path) from error
    if target.startswith("/") or not _is_in(leads_to, base):
        raise LinkOutsideError(path)
    return Link(name, target)


def _is_in(path: Path, base: Path) -> bool:
    return path == base or base in path.parents


def _stat(path: str) -> os.stat_result:
    try:
        return os.lstat(path)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise ChangedFileError(path) from error
