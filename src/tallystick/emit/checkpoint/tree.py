"""What lies in a checkpoint that somebody else saved: every file, and what is odd about the rest.

Where a listing of one's own save refuses, a look at another's goes on and says what it saw. A
link to a file is read as that file; a link to a folder is not followed, so no circle is a trap.
"""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, NamedTuple

from tallystick.emit.checkpoint.listing import ListedFile, stamp_of
from tallystick.emit.checkpoint.names import is_manifest
from tallystick.emit.checkpoint.reading import unreadable
from tallystick.emit.checkpoint.verdict import TORN, UNKNOWN, Fault

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from tallystick.emit.checkpoint.listing import Stamp


class Tree(NamedTuple):
    """A file, or all files of a folder by name, without the manifests."""

    path: Path
    is_folder: bool
    files: dict[str, ListedFile]
    faults: tuple[Fault, ...]
    remarks: tuple[str, ...]

    @property
    def total_bytes(self) -> int:
        """Add up the sizes of the files."""
        return sum(file.size for file in self.files.values())

    def top(self) -> frozenset[str]:
        """Give the names that lie directly in the folder."""
        return frozenset(name for name in self.files if "/" not in name)


class _Seen(NamedTuple):
    files: dict[str, ListedFile]
    faults: list[Fault]
    remarks: list[str]


def read_tree(path: Path) -> Tree:
    """See what is there."""
    seen = _Seen({}, [], [])
    is_folder = path.is_dir()
    if is_folder:
        _walk(str(path), seen)
    else:
        _take(str(path), path.name, seen)
    return Tree(
        path,
        is_folder,
        {name: seen.files[name] for name in sorted(seen.files)},
        tuple(sorted(seen.faults)),
        tuple(sorted(seen.remarks)),
    )


def touched(tree: Tree) -> str | None:
    """Name a file that is no longer as it was seen, None if there is none."""
    return next(
        (name for name, file in tree.files.items() if _stamp(file.path) != file.stamp), None
    )


def _stamp(path: str) -> Stamp | None:
    try:
        return stamp_of(os.stat(path))  # noqa: PTH116 (many of them)
    except OSError:
        return None


def _walk(base: str, seen: _Seen) -> None:
    folders = [""]
    while folders:
        folder = folders.pop()
        try:
            with os.scandir(os.path.join(base, folder)) as entries:  # noqa: PTH118 (many of them)
                found = list(entries)
        except OSError as error:
            seen.faults.append(Fault(UNKNOWN, unreadable(error), folder.rstrip("/")))
            continue
        for entry in found:
            name = folder + entry.name
            if entry.is_dir(follow_symlinks=False):
                folders.append(f"{name}/")
            elif not is_manifest(entry.name):
                _take(entry.path, name, seen)


def _take(path: str, name: str, seen: _Seen) -> None:
    is_link = False
    try:
        is_link = stat.S_ISLNK(os.lstat(path).st_mode)
        found = os.stat(path)  # noqa: PTH116 (many of them)
    except OSError as error:
        is_dangling = is_link and isinstance(error, FileNotFoundError)
        state = TORN if is_dangling else UNKNOWN
        reason = "is a link that leads nowhere" if is_dangling else unreadable(error)
        seen.faults.append(Fault(state, reason, name))
    else:
        if stat.S_ISREG(found.st_mode):
            seen.files[name] = ListedFile(name, path, stamp_of(found))
        elif stat.S_ISDIR(found.st_mode):
            seen.remarks.append(f"{name!a:.120} is a link to a folder, and was not followed")
        else:
            seen.remarks.append(f"{name!a:.120} is neither a file nor a folder")


def folders_of(names: Iterable[str]) -> dict[str, frozenset[str]]:
    """Group names by the folder that they lie in, ``""`` for the top."""
    groups: dict[str, set[str]] = {}
    for name in names:
        folder, slash, last = name.rpartition("/")
        groups.setdefault(folder + slash, set()).add(last)
    return {folder: frozenset(groups[folder]) for folder in sorted(groups)}
