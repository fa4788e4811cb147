"""Processes of this machine, named so that a number used twice never hits somebody else.

A process is its number and its start time. It is signalled through a handle that the kernel
gives out for exactly that process, after its start time was compared. Standard library only:
the keeper of a job has to begin fast.
"""

import os
import signal
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

_PROC = Path("/proc")


class Process(NamedTuple):
    """A process that runs, or ran."""

    pid: int
    start: int
    """In clock ticks since the machine started."""

    @property
    def id(self) -> str:
        """How acts name it."""
        return f"pid:{self.pid}@{self.start}"


class Status(NamedTuple):
    """What the kernel says of a process."""

    process: Process
    parent: int
    state: str


def status(pid: int) -> Status | None:
    """Look at a process; None if there is none of that number."""
    try:
        text = (_PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    # The name of the program comes in brackets and may hold anything, brackets included.
    fields = text.rpartition(")")[2].split()
    return Status(Process(pid, int(fields[19])), int(fields[1]), fields[0])


def descendants(pid: int) -> list[Process]:
    """Find all that descends from a process and is not over, parents before their children."""
    children: dict[int, list[Status]] = {}
    for entry in os.listdir(_PROC):  # noqa: PTH208 (a fifth of the time, a thousand times)
        found = status(int(entry)) if entry.isdigit() else None
        if found is not None:
            children.setdefault(found.parent, []).append(found)
    below: list[Process] = []
    queue = [pid]
    for parent in queue:
        for child in sorted(children.get(parent, ())):
            queue.append(child.process.pid)
            if child.state not in "ZX":
                below.append(child.process)
    return below


def send(process: Process, number: signal.Signals) -> bool:
    """Signal a process; False if it is over, whoever has its number now."""
    try:
        handle = os.pidfd_open(process.pid)
    except OSError:
        return False
    try:
        now = status(process.pid)
        if now is None or now.process != process:
            return False
        signal.pidfd_send_signal(handle, number)
    except ProcessLookupError:
        return False
    finally:
        os.close(handle)
    return True


def variable(process: Process, name: str) -> str | None:
    """Read a variable of the environment that a process was started with."""
    with suppress(OSError):
        for item in (_PROC / str(process.pid) / "environ").read_bytes().split(b"\0"):
            key, _, value = item.partition(b"=")
            if key == os.fsencode(name):
                return os.fsdecode(value)
    return None


def with_variable(name: str, value: str) -> list[Process]:
    """Find every process that was started with a variable, as far as the kernel tells us."""
    found = []
    for entry in os.listdir(_PROC):  # noqa: PTH208
        each = status(int(entry)) if entry.isdigit() else None
        if each is None or each.state in "ZX":
            continue
        if variable(each.process, name) == value:
            found.append(each.process)
    return found
