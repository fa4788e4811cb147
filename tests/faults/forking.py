"""Giving orders to the process that forks others."""

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]


class Forker:
    """The forking process, seen from the test."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def kill_after(self, after_us: int, jobs: Sequence[dict[str, Any]]) -> list[int]:
        """Have jobs begun and all killed after a while; gives how each ended."""
        ended: list[int] = self._order({"order": "kill", "after_us": after_us, "jobs": jobs})
        return ended

    def fork(self, job: dict[str, Any]) -> int:
        """Have a process forked that waits; gives its number."""
        pid: int = self._order({"order": "fork", "job": job})
        return pid

    def let_go(self) -> int:
        """Let the process go that waits; gives its exit status, or minus a signal."""
        status: int = self._order({"order": "let_go"})
        return status

    def _order(self, order: dict[str, Any]) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{json.dumps(order)}\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())


@contextmanager
def forker() -> Iterator[Forker]:
    """Hold a forking process for the length of a block."""
    with subprocess.Popen(
        [sys.executable, "-m", "tests.faults.forker"],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        yield Forker(process)
        assert process.stdin is not None
        process.stdin.close()
