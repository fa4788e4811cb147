"""What the prolog leaves on the node for the epilog: which attempt holds it.

Slurm's own numbers do not tell attempts apart (the restart count of an epilog is already that
of the next attempt), so the prolog writes down its attempt, by job and node, and whoever comes
later finds it there. Files are readable by all: a task learns its attempt from them.
"""

from __future__ import annotations

import errno
import json
import os
import stat
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from tallystick.emit.record import canonical_bytes

if TYPE_CHECKING:
    from pathlib import Path

FOLDER = "runs"
_FILE_BYTES_MAX = 1 << 20
_KEEP_S = 7 * 86_400


class Held(NamedTuple):
    """An attempt as its prolog saw it, and how far its epilog came.

    ``watch`` is what the prolog began to watch, as its source wrote it down.
    """

    attempt: str
    uid: int | None
    has_gpus: bool
    gpus: tuple[tuple[str, int | None], ...] = ()
    watch: dict[str, Any] | None = None
    ended_us: int | None = None
    is_told: bool = False


def held_file(spool: Path, job_id: str, node: str) -> Path:
    """Say where the attempt of a job on a node is written down."""
    return spool / FOLDER / f"{job_id}@{node.replace('/', '_')}.json"


def write_held(path: Path, held: Held) -> None:
    """Write an attempt down, over what stood there.

    Raises:
        OSError: it cannot be written.
    """
    path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    if path.parent.lstat().st_uid != os.geteuid():
        raise PermissionError(errno.EPERM, "the folder belongs to somebody else")
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with draft.open("xb") as file:
            os.fchmod(file.fileno(), 0o644)
            file.write(canonical_bytes(held._asdict()) + b"\n")
            file.flush()
            os.fsync(file.fileno())
        draft.rename(path)
    except OSError:
        with suppress(OSError):
            draft.unlink()
        raise


def read_held(path: Path) -> Held | None:
    """Read an attempt; None if none was written, or neither by root nor by the caller.

    So nobody can make a hook, or another's task, take an attempt for theirs.
    """
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(handle, "rb") as file:
            found = os.fstat(file.fileno())
            if not stat.S_ISREG(found.st_mode) or found.st_uid not in {0, os.geteuid()}:
                return None
            stated = json.loads(file.read(_FILE_BYTES_MAX))
        gpus = tuple((str(uuid), index) for uuid, index in stated["gpus"])
        return Held(**{**stated, "gpus": gpus})
    except (OSError, ValueError, TypeError, KeyError):
        return None


def forget_old(spool: Path) -> None:
    """Remove what was written down a week ago for attempts that were told to the end."""
    before_s = time.time() - _KEEP_S
    with suppress(OSError):
        for path in (spool / FOLDER).glob("*.json"):
            if path.lstat().st_mtime < before_s:
                held = read_held(path)
                if held is None or held.is_told:
                    path.unlink()
