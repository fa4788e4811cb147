"""Which host engine runs: its process and when it began, since its memory lives as long as it.

Only processes of the system count: a user may give any name to a process.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import NamedTuple

PROC = Path("/proc")
NAME = "nv-hostengine"
_SYSTEM_UIDS = 1000
_FILE_BYTES_MAX = 1 << 16
_BOOT = re.compile(r"^btime ([0-9]{1,12})$", re.MULTILINE)


class EngineProcess(NamedTuple):
    """A process by number and start; ticks count from the boot, so no clock changes them."""

    pid: int
    ticks: int
    started_us: int | None

    @property
    def word(self) -> str:
        """What tells this process from any other of this boot."""
        return f"{self.pid}+{self.ticks}"


def engine_process(proc: Path | None = None) -> EngineProcess | None:
    """Find the host engine that has run longest; None if none is to be seen."""
    proc = PROC if proc is None else proc
    boot = _BOOT.search(_read(proc / "stat"))
    found = []
    try:
        names = [entry.name for entry in os.scandir(proc) if entry.name.isdigit()]
    except OSError:
        return None
    for name in names:
        if _read(proc / name / "comm").strip() == NAME and _is_of_system(proc / name):
            ticks = _ticks(_read(proc / name / "stat"))
            if ticks is not None:
                found.append((ticks, int(name)))
    if not found:
        return None
    ticks, pid = min(found)
    since_boot_us = ticks * 10**6 // os.sysconf("SC_CLK_TCK")
    return EngineProcess(pid, ticks, int(boot[1]) * 10**6 + since_boot_us if boot else None)


def _ticks(stat: str) -> int | None:
    """Read the 22nd field; the name before it may hold spaces and brackets."""
    fields = stat.rpartition(")")[2].split()
    return int(fields[19]) if len(fields) > 19 and fields[19].isdigit() else None


def _is_of_system(path: Path) -> bool:
    try:
        uid = path.stat().st_uid
    except OSError:
        return False
    return uid < _SYSTEM_UIDS or uid == os.geteuid()


def _read(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(_FILE_BYTES_MAX).decode("utf-8", errors="replace")
    except OSError:  # Processes end while they are listed.
        return ""
