"""Which entries of a folder are checkpoints, and which only claim something about them."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, NamedTuple

from tallystick.emit.checkpoint.dcp import is_dcp
from tallystick.emit.checkpoint.formats import SUFFIXES
from tallystick.emit.checkpoint.huggingface import MARKER, STATE, is_trainer_name
from tallystick.emit.checkpoint.names import FOLDER_MANIFEST, beside, is_manifest, part_of
from tallystick.emit.checkpoint.ocdbt import MANIFEST as OCDBT_MANIFEST
from tallystick.emit.checkpoint.orbax import NOTES, TREE
from tallystick.emit.checkpoint.pointers import is_pointer_name
from tallystick.emit.checkpoint.steps import is_draft, step_in

if TYPE_CHECKING:
    from pathlib import Path

_MARKS = frozenset({FOLDER_MANIFEST, NOTES, TREE, OCDBT_MANIFEST})
_WEAK_MARKS = frozenset({STATE, MARKER})


class Candidates(NamedTuple):
    """What a folder holds: checkpoints, pointers, and the names of what is neither."""

    checkpoints: tuple[Path, ...]
    pointers: tuple[Path, ...]
    others: tuple[str, ...]


def candidates(path: Path) -> Candidates:
    """Find the checkpoints in a folder, which may be one itself.

    Raises:
        OSError: the folder cannot be read.
    """
    if not stat.S_ISDIR(path.stat().st_mode):
        return Candidates((path,), (), ())
    with os.scandir(path) as found:
        entries = sorted(found, key=lambda entry: entry.name)
    names = frozenset(entry.name for entry in entries)
    is_trainers = is_trainer_name(path.name) and bool(names & _WEAK_MARKS)
    if names & _MARKS or any(map(part_of, names)) or is_dcp(names) or is_trainers:
        return Candidates((path,), (), ())
    checkpoints, pointers, others = [], [], []
    for entry in entries:
        if is_manifest(entry.name):
            continue
        if entry.is_symlink():
            pointers.append(path / entry.name)
        elif _is_checkpoint(entry, names):
            checkpoints.append(path / entry.name)
        elif entry.is_file() and is_pointer_name(entry.name):
            pointers.append(path / entry.name)
        else:
            others.append(entry.name)
    if not checkpoints and (_holds_files(entries) or step_in(path.name) is not None):
        return Candidates((path,), (), ())
    return Candidates(tuple(checkpoints), tuple(pointers), tuple(others))


def _is_checkpoint(entry: os.DirEntry[str], names: frozenset[str]) -> bool:
    """Tell whether an entry is one, by its name or, of a folder, by what lies in it."""
    name = entry.name
    has_step = step_in(name) is not None
    if beside(name) in names:
        return True
    if entry.is_dir(follow_symlinks=False):
        return has_step or is_draft(name) or _is_marked(entry.path)
    if not entry.is_file(follow_symlinks=False):
        return False
    return name.endswith(".ckpt") or (has_step and _is_data(name))


def _is_data(name: str) -> bool:
    """Tell whether a file that names a step may be a checkpoint: a log or a table is none."""
    return name.endswith(SUFFIXES) or is_draft(name) or "." not in name


def _is_marked(path: str) -> bool:
    try:
        names = frozenset(os.listdir(path))  # noqa: PTH208 (names, no paths)
    except OSError:
        return False
    return bool(names & (_MARKS | _WEAK_MARKS)) or any(map(part_of, names)) or is_dcp(names)


def _holds_files(entries: list[os.DirEntry[str]]) -> bool:
    """Tell whether a folder may be a checkpoint of files that nothing describes."""
    return any(
        entry.is_file(follow_symlinks=False)
        and not is_manifest(entry.name)
        and (entry.name.endswith(SUFFIXES) or entry.name in _WEAK_MARKS)
        for entry in entries
    )
