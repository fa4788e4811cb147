"""What a spool counts: the next number of each producer, and the bytes that wait.

One line of JSON at the start of a file that is locked while it is used. A file that cannot be
read starts a new count under a boot name of its own, so that no number is given out twice.
"""

from __future__ import annotations

import fcntl
import json
import os
import stat
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tallystick.emit.record import Numbered, canonical_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_STATE_BYTES_MAX = 1 << 20
_POLL_S = 0.005


@dataclass
class State:
    """Numbers given out within one boot, and bytes waiting (never fewer than there are)."""

    boot: str
    given: dict[str, int] = field(default_factory=dict)
    waiting_bytes: int = 0

    def next_number(self, producer: str) -> Numbered:
        """Give out the next number of a producer, from 0 on."""
        number = self.given.get(producer, -1) + 1
        self.given[producer] = number
        return Numbered(producer, self.boot, number)


@contextmanager
def locked(path: Path | str, limit_s: float, folder: int | None = None) -> Iterator[int | None]:
    """Hold a file for the length of a block; None if it cannot be had in time.

    Args:
        path: The file, which is made where it is not.
        limit_s: How long others may hold it.
        folder: An open folder that the path starts from, None for the working directory.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        handle = os.open(path, flags, 0o600, dir_fd=folder)
    except OSError:
        yield None
        return
    try:
        is_held = _is_plain(handle) and _lock(handle, time.monotonic() + limit_s)
        yield handle if is_held else None
    finally:
        os.close(handle)


def _is_plain(handle: int) -> bool:
    """Tell a file of its own from a pipe, and from another name of somebody else's file."""
    found = os.fstat(handle)
    return stat.S_ISREG(found.st_mode) and found.st_nlink == 1


def _lock(handle: int, deadline_s: float) -> bool:
    while not _try_lock(handle):
        if time.monotonic() >= deadline_s:
            return False
        time.sleep(_POLL_S)
    return True


def _try_lock(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def read_state(handle: int, boot: str) -> State:
    """Read the state of a locked file; that of another boot counts no numbers."""
    line = os.pread(handle, _STATE_BYTES_MAX, 0).partition(b"\n")[0]
    if not line:
        return State(boot)
    try:
        stated = json.loads(line)
        state = State(stated["boot"], stated["given"], stated["waiting_bytes"])
        counts = [*state.given.values(), state.waiting_bytes]
        is_whole = all(type(count) is int for count in counts)
        "".join((state.boot, *state.given)).encode()
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        is_whole = False
    if not is_whole:
        return State(f"{boot}/{time.time_ns() // 1000}")
    if not state.boot.startswith(boot):
        return State(boot, {}, state.waiting_bytes)
    return state


def write_state(handle: int, state: State) -> None:
    """Write the state of a locked file over the last one.

    Raises:
        OSError: the disk does not take it.
    """
    stated = {"boot": state.boot, "given": state.given, "waiting_bytes": state.waiting_bytes}
    data = canonical_bytes(stated) + b"\n"
    os.pwrite(handle, data, 0)
