"""Job states: which of them end an allocation, and whose act that was.

A state never says that a run was accepted, and an exit code of 0 beside a state other than
COMPLETED is what Slurm prints for jobs that it killed (r8).
"""

import re
from typing import NamedTuple

COMPLETED = "COMPLETED"
RESIZING = "RESIZING"
PENDING = "PENDING"
RUNNING = "RUNNING"
SUSPENDED = "SUSPENDED"

_NOT_TERMINAL = frozenset(
    {
        PENDING,
        RUNNING,
        SUSPENDED,
        "COMPLETING",
        "CONFIGURING",
        "POWER_UP_NODE",
        "REQUEUE_FED",
        "REQUEUE_HOLD",
        "RESV_DEL_HOLD",
        "SIGNALING",
        "SPECIAL_EXIT",
        "STAGE_OUT",
        "STOPPED",
    }
)
_ENDED_BY = {
    COMPLETED: "completed",
    "FAILED": "user",
    "OUT_OF_MEMORY": "user",
    "TIMEOUT": "time_limit",
    "DEADLINE": "time_limit",
    "NODE_FAIL": "hardware",
    "BOOT_FAIL": "hardware",
    "PREEMPTED": "scheduler",
}
_NOBODY = frozenset({"", "0", "root", "(null)", "none"})
_STATE = re.compile(r"([A-Z][A-Z_]*)\+?(?: by (\S+))?(?:[ ,].*)?")
_EXIT = re.compile(r"([0-9]{1,9}):([0-9]{1,9})")


class State(NamedTuple):
    """Base state, and the user who cancelled the job, if somebody but root did."""

    base: str
    canceller: str | None = None

    @property
    def is_terminal(self) -> bool:
        """Tell whether the allocation is over; a word that nobody knows is taken to say so."""
        return bool(self.base) and self.base not in _NOT_TERMINAL

    @property
    def ended_by(self) -> str:
        """Name whose act the end was, as far as the state says it."""
        if self.base == "CANCELLED" and self.canceller is not None:
            return "user"
        return _ENDED_BY.get(self.base, "unknown")


class Exit(NamedTuple):
    """How a job's process ended; None is not stated."""

    code: int | None = None
    signal: int | None = None


def read_state(text: str) -> State:
    """Read ``COMPLETED`` or ``CANCELLED by 1503``; a text that is no state has base ``""``."""
    match = _STATE.fullmatch(text.strip())
    return State(match[1], canceller(match[2])) if match else State("")


def canceller(name: str | None) -> str | None:
    """Give the user who cancelled; nobody and root are no user's act."""
    return None if name is None or name.strip().lower() in _NOBODY else name


def read_exit(text: str, state: str) -> Exit:
    """Read ``code:signal``."""
    match = _EXIT.fullmatch(text.strip())
    return stated_exit(int(match[1]), int(match[2]), state) if match else Exit()


def stated_exit(code: int | None, signal: int | None, state: str) -> Exit:
    """Keep what an exit says: a signal of 0 is none, and 0:0 only counts if it completed (r8)."""
    if not code and not signal and state != COMPLETED:
        return Exit()
    return Exit(code, signal or None)


def wait_status(status: int, state: str) -> Exit:
    """Read a process status as the kernel gives it: exit 3 is 768, a segmentation fault 11."""
    code, signal = status >> 8 & 0xFF, status & 0x7F
    return stated_exit(None if signal else code, signal, state)
