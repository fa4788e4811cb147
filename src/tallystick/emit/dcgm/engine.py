"""What is asked of DCGM for a job, and what came of it, whichever way it is asked.

Nothing that goes wrong raises: a hook goes on, and each reason has a code that is written down.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from tallystick.emit.dcgm.values import Value
    from tallystick.emit.deadline import Deadline

SECOND_US = 10**6
KEEP_S = 0.6  # For writing down what was learnt, after whatever was asked.
CALL_S = 2.0  # No single question may take longer.


class Problem(NamedTuple):
    """Why something is not known: a stable code, and what was seen."""

    code: str
    message: str


class Print(NamedTuple):
    """What the engine said, as it said it."""

    form: str
    status: int | None
    text: str


class Wish(NamedTuple):
    """Which boards to watch, under which name, how often, and how long samples are kept."""

    job: str
    uuids: tuple[str, ...]
    interval_ms: int
    keep_s: int


class Begun(NamedTuple):
    """What was begun; ``watch_us`` is None where nothing is watched.

    Both times are taken after the engine said yes, so it watched and counted at least from then.
    """

    group: int | None
    watch_us: int | None
    start_us: int | None
    problems: tuple[Problem, ...]


class Board(NamedTuple):
    """What the engine says of one board over its window; times as far as they can be read."""

    uuid: str
    start_us: int | None
    end_us: int | None
    values: dict[str, Value]


class Finished(NamedTuple):
    """What was read of a job; ``stop_us`` was taken before the engine was told to stop."""

    stop_us: int
    read_us: int
    boards: tuple[Board, ...]
    prints: tuple[Print, ...]
    problems: tuple[Problem, ...]


class Engine(Protocol):
    """A way to talk to DCGM."""

    how: str

    def begin(self, wish: Wish, deadline: Deadline) -> Begun:
        """Watch boards and begin the record of a job."""

    def finish(self, job: str, group: int | None, deadline: Deadline) -> Finished:
        """End the record of a job, read it, and forget it."""


def clock_us() -> int:
    """Read the clock."""
    return time.time_ns() // 1000


def limit_s(deadline: Deadline) -> float:
    """Give the seconds that one question may take."""
    return deadline.left_s(at_most_s=CALL_S, keep_s=KEEP_S)
