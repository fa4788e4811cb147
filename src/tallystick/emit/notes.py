"""Notes of what was dropped, in a file whose blocks were set aside while the disk had some.

The file has a fixed size and is only ever written over, which needs no new block. Its first
line counts all drops, the others say what each was; when they are full, only the count grows.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from tallystick.emit.state import locked

if TYPE_CHECKING:
    from pathlib import Path

NOTES_BYTES = 64 << 10
_COUNT = "{:020d}\n"
_COUNT_BYTES = 21
_LOCK_S = 0.5


class Notes(NamedTuple):
    """How many records were dropped, and what is known of the first of them."""

    dropped: int
    lines: tuple[bytes, ...]


def add_note(path: Path, line: bytes) -> None:
    """Count one drop, and say which it was while there is room.

    Raises:
        OSError: not even that can be written.
    """
    with locked(path, _LOCK_S) as handle:
        if handle is None:
            raise OSError("the notes cannot be had")
        found, used = _read(handle)
        data = line + b"\n"
        if used + len(data) <= NOTES_BYTES:
            os.pwrite(handle, data, used)
        os.pwrite(handle, _COUNT.format(found.dropped + 1).encode(), 0)
        os.fsync(handle)


def read_notes(path: Path | str, folder: int | None = None) -> Notes:
    """Read what was dropped since the notes were last cleared; nothing if there are none."""
    with locked(path, _LOCK_S, folder) as handle:
        return Notes(0, ()) if handle is None else _read(handle)[0]


def clear_notes(path: Path | str, told: Notes, folder: int | None = None) -> None:
    """Take out notes that were told; those that came meanwhile stay.

    Raises:
        OSError: the notes cannot be written.
    """
    with locked(path, _LOCK_S, folder) as handle:
        if handle is None:
            raise OSError("the notes cannot be had")
        found, _ = _read(handle)
        lines = found.lines[len(told.lines) :]
        text = b"".join(line + b"\n" for line in lines)
        count = _COUNT.format(max(0, found.dropped - told.dropped)).encode()
        os.pwrite(handle, (count + text).ljust(NOTES_BYTES, b"\0"), 0)
        os.fsync(handle)


def _read(handle: int) -> tuple[Notes, int]:
    """Read the notes, and say where the next one goes."""
    data = os.pread(handle, NOTES_BYTES, 0)
    head, text = data[:_COUNT_BYTES], data[_COUNT_BYTES:].partition(b"\0")[0]
    whole = text[: text.rfind(b"\n") + 1]
    lines = tuple(whole.split(b"\n")[:-1])
    digits = head.strip()
    dropped = int(digits) if digits.isdigit() else len(lines)
    return Notes(max(dropped, len(lines)), lines), _COUNT_BYTES + len(whole)
