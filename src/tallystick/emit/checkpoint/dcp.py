"""Folders of torch distributed checkpoint: ``.metadata`` names every piece of every file.

``.metadata`` is a pickle, written last and renamed into place; it is read without being run. Each
piece is what ``torch.save`` wrote into a stretch of a file, so it has checksums of its own.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from tallystick.emit.checkpoint.errors import NotAFileError
from tallystick.emit.checkpoint.inert import PICKLE_BYTES_MAX, read_pickle
from tallystick.emit.checkpoint.reading import TornError, UntoldError, open_file, unreadable
from tallystick.emit.checkpoint.torch_archive import JOB_BYTES, NO_CHECKSUMS
from tallystick.emit.checkpoint.verdict import TORN, UNFINISHED, UNKNOWN, Fault, Job, Look, Read
from tallystick.emit.checkpoint.zip_archive import (
    MAGIC,
    check_records,
    has_checksums,
    read_directory,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tallystick.emit.checkpoint.hashing import OnBytes
    from tallystick.emit.checkpoint.listing import ListedFile
    from tallystick.emit.checkpoint.reading import OpenFile

METADATA = ".metadata"
_METADATA = re.compile(r"(__\d+)?\.metadata")
_DRAFT = re.compile(r"(__\d+)?\.metadata\.tmp")
_DATA = re.compile(r"__\d+_\d+\.distcp")
_ZEROS = b"\0\0\0\0"
NO_CHECKSUM = ".metadata, which has no checksum"
OTHER_PIECES = "pieces of .distcp files that are no torch archives"


class _Piece(NamedTuple):
    file: str
    offset: int
    size: int
    is_plain: bool


def is_dcp(names: frozenset[str]) -> bool:
    """Tell whether a folder with such files is one of these."""
    patterns = (_METADATA, _DRAFT, _DATA)
    return any(pattern.fullmatch(name) for name in names for pattern in patterns)


def look_at_dcp(files: Mapping[str, ListedFile], prefix: str) -> Look:
    """Look at a folder.

    Args:
        files: The files in it, by name within it.
        prefix: What goes before a name to make it one of the checkpoint.
    """
    drafts = [name for name in sorted(files) if _DRAFT.fullmatch(name)]
    stated = [name for name in sorted(files) if _METADATA.fullmatch(name)]
    if drafts:
        reason = "was never renamed to what it is for, so the save did not end"
        return Look("dcp", (Fault(UNFINISHED, reason, prefix + drafts[0]),))
    if not stated:
        reason = "is not there, and is written when all else is"
        return Look("dcp", (Fault(UNFINISHED, reason, prefix + METADATA),))
    pieces: list[_Piece] = []
    for name in stated:
        found = _pieces_or_fault(files[name].path, prefix + name)
        if isinstance(found, Fault):
            return Look("dcp", (found,))
        pieces += found
    look = _look_at_files(pieces, files, prefix)
    if METADATA in stated:
        return look
    reason = "each rank wrote metadata of its own, and nothing says how many there are"
    return look._replace(faults=(*look.faults, Fault(UNKNOWN, reason, prefix + stated[0])))


def _pieces_or_fault(path: str, name: str) -> list[_Piece] | Fault:
    try:
        return _pieces(path)
    except TornError as error:
        return Fault(TORN, str(error), name)
    except (UntoldError, NotAFileError, OSError) as error:
        return Fault(UNKNOWN, unreadable(error), name)


def _pieces(path: str) -> list[_Piece]:
    """Read the pieces that a metadata file names."""
    pieces: list[_Piece] = []

    def on_state(state: Any) -> bool:
        if isinstance(state, dict) and "relative_path" in state:
            name, offset, size = (state.get(key) for key in ("relative_path", "offset", "length"))
            if not isinstance(name, str) or type(offset) is not int or type(size) is not int:
                raise TornError("names a piece without a place")
            pieces.append(_Piece(name, offset, size, not state.get("transform_descriptors")))
        return False

    with open_file(path) as file:
        read_pickle(file.whole(PICKLE_BYTES_MAX), on_state=on_state)
    if not pieces:
        raise UntoldError("names no piece of any file")
    return sorted(pieces)


def _look_at_files(pieces: list[_Piece], files: Mapping[str, ListedFile], prefix: str) -> Look:
    by_file: dict[str, list[_Piece]] = {}
    for piece in pieces:
        by_file.setdefault(piece.file, []).append(piece)
    faults, jobs = [], []
    unchecked = {NO_CHECKSUM: None}
    for name, those in by_file.items():
        if name not in files:
            faults.append(Fault(TORN, "is named in the metadata, and is not there", prefix + name))
            continue
        end = max(piece.offset + piece.size for piece in those)
        if end > files[name].size:
            reason = f"has {files[name].size} bytes, where the metadata names a piece up to {end}"
            faults.append(Fault(TORN, reason, prefix + name))
            continue
        if any(not piece.is_plain for piece in those):
            unchecked[OTHER_PIECES] = None
        plain = [piece for piece in those if piece.is_plain]
        jobs += [_job(files[name].path, prefix + name, group) for group in _groups(plain)]
    return Look("dcp", tuple(faults), tuple(jobs), is_closed=True, unchecked=tuple(unchecked))


def _groups(pieces: list[_Piece]) -> Iterator[list[_Piece]]:
    group: list[_Piece] = []
    size = 0
    for piece in pieces:
        group.append(piece)
        size += piece.size
        if size >= JOB_BYTES:
            yield group
            group, size = [], 0
    if group:
        yield group


def _job(path: str, name: str, pieces: list[_Piece]) -> Job:
    def check(on_bytes: OnBytes) -> Read:
        unchecked: dict[str, None] = {}
        with open_file(path) as file:
            for piece in pieces:
                found = _check(file.window(piece.offset, piece.size), on_bytes)
                if found.wrong is not None:
                    return Read(f"{found.wrong}, in the piece at byte {piece.offset}")
                unchecked.update(dict.fromkeys(found.unchecked))
        return Read(None, tuple(unchecked))

    return Job(name, sum(piece.size for piece in pieces), check)


def _check(piece: OpenFile, on_bytes: OnBytes) -> Read:
    start = piece.read(0, min(4, piece.size))
    if start == _ZEROS:
        return Read("holds zeros where an archive should begin")
    if start != MAGIC:
        return Read(None, (OTHER_PIECES,))
    records = read_directory(piece)
    if not has_checksums(records):
        return Read(None, (NO_CHECKSUMS,))
    return Read(check_records(piece, records, on_bytes))
