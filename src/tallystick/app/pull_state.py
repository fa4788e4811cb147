"""How far a pull came, kept beside the store's segments, so that it can go on.

The file is named by what was asked and replaced whole after each span that was sealed.
"""

from pathlib import Path
from typing import Any, Final

import msgspec

from tallystick.app.files import write_file
from tallystick.collectors.pull.scrapes import Outage, Target
from tallystick.core.canonical import canonical_bytes, sha256_digest

SCHEMA: Final = "tallystick.pull/1"
FOLDER: Final = "pull"


class PullState(msgspec.Struct, kw_only=True):
    """What a pull that goes on needs to know.

    Args:
        done_ms: Everything before is sealed.
        span_ms: How long a span is by now.
        piece_ms: By place of the query, how long a piece of a span can be, if less.
        targets: What is carried of each target.
        waiting: Outages of targets whose node is not known yet.
    """

    schema: str = SCHEMA
    asked: dict[str, Any]
    done_ms: int
    span_ms: int
    is_complete: bool = False
    piece_ms: dict[str, int] = {}
    targets: dict[str, Target] = {}
    waiting: list[Outage] = []


def state_file(store: Path, asked: dict[str, Any]) -> Path:
    """Say where the state of a pull lies."""
    digest = sha256_digest(canonical_bytes(asked)).removeprefix("sha256:")
    return store / FOLDER / f"{digest}.json"


def load_state(path: Path, asked: dict[str, Any]) -> PullState | None:
    """Read how far a pull came; None if it is to begin: none was, it ended, or is unreadable.

    A state only saves work: whatever is pulled twice is stored once.
    """
    try:
        state = msgspec.json.decode(path.read_bytes(), type=PullState)
    except (OSError, msgspec.DecodeError):
        return None
    is_ours = state.schema == SCHEMA and state.asked == asked
    return state if is_ours and not state.is_complete else None


def save_state(path: Path, state: PullState) -> None:
    """Write how far a pull came, whole and on disk.

    Raises:
        UnwritableFileError: it cannot be written.
    """
    write_file(path, msgspec.json.encode(state))
