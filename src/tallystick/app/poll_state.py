"""What a poll of a cluster leaves for the next one, beside the log of a store.

It can be lost: then more is asked for than need be, what is asked for twice is admitted once,
and only rows that changed or went away in between are not noticed.
"""

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import msgspec

from tallystick.app.errors import UnreadableFileError, UnwritableFileError
from tallystick.app.files import read_file, write_file
from tallystick.collectors.slurm.join import NOWHERE, HookKey
from tallystick.collectors.slurm.live.changes import Seen
from tallystick.core.canonical import canonical_bytes
from tallystick.core.finding import InputFinding

SCHEMA: Final = "tallystick.poll/1"
_BYTES_MAX: Final = 512 << 20


@dataclass(slots=True)
class PollState:
    """Where polls of one cluster stand.

    ``cursor_us`` is when the last poll that was answered began; ``hooks`` are attempts of hooks
    that no row was found for, and ``leaf`` is how much of the log was looked through for them.
    """

    cursor_us: int | None = None
    seen: dict[str, Seen] = field(default_factory=dict)
    hooks: dict[str, HookKey] = field(default_factory=dict)
    leaf: int = 0


class _Row(msgspec.Struct, forbid_unknown_fields=True, array_like=True):
    record: str
    job_id: str
    submit_s: int
    end_s: int | None
    missing_s: int | None


class _Hook(msgspec.Struct, forbid_unknown_fields=True, array_like=True):
    job_id: str
    moment_us: int


class _Stated(msgspec.Struct, forbid_unknown_fields=True):
    schema: str
    cursor_us: int | None
    rows: dict[str, _Row]
    hooks: dict[str, _Hook]
    leaf: int


def state_file(store: Path, cluster: str) -> Path:
    """Say where the state of a cluster is kept."""
    return store / "collect" / f"slurm-{cluster.replace('/', '_')}.json"


def load_state(path: Path) -> tuple[PollState, list[InputFinding]]:
    """Read a state; one that cannot be read is a finding, and polling begins anew."""
    try:
        data = read_file(str(path), bytes_max=_BYTES_MAX)
        stated = msgspec.json.decode(data, type=_Stated)
        if stated.schema != SCHEMA:
            raise msgspec.ValidationError(f"expected the schema {SCHEMA}")
    except UnreadableFileError as error:
        if isinstance(error.__cause__, FileNotFoundError):
            return PollState(), []
        return PollState(), [_lost(path, str(error))]
    except msgspec.DecodeError as error:
        return PollState(), [_lost(path, str(error).lower())]
    rows = {
        key: Seen(row.record, row.job_id, row.submit_s, row.end_s, row.missing_s)
        for key, row in stated.rows.items()
    }
    hooks = {
        key: HookKey(key, hook.job_id, hook.moment_us, NOWHERE)
        for key, hook in stated.hooks.items()
    }
    return PollState(stated.cursor_us, rows, hooks, stated.leaf), []


def _lost(path: Path, reason: str) -> InputFinding:
    message = f"what the last poll left in {path.name} cannot be read: {reason}"
    return InputFinding("poll_state_lost", message)


def save_state(path: Path, state: PollState) -> None:
    """Write a state over the last one.

    Raises:
        UnwritableFileError: the disk does not take it.
    """
    stated = {
        "schema": SCHEMA,
        "cursor_us": state.cursor_us,
        "rows": {key: list(seen) for key, seen in state.seen.items()},
        "hooks": {key: [hook.job_id, hook.moment_us] for key, hook in state.hooks.items()},
        "leaf": state.leaf,
    }
    try:
        path.parent.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        reason = (error.strerror or os.strerror(error.errno or 0)).lower()
        raise UnwritableFileError(str(path.parent), reason) from error
    write_file(path, canonical_bytes(stated), mode=0o600)
