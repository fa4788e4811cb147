"""Other processes: one that holds the lock of a store, and some that write at once."""

import fcntl
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager, suppress
from multiprocessing import get_context
from pathlib import Path
from typing import IO, NamedTuple

from tallystick.core.keys import SigningKey
from tallystick.stores.errors import DuplicateLeafError
from tallystick.stores.issued_head import IssuedHead
from tallystick.stores.protocol import Store
from tallystick.stores.signing import issue_head
from tallystick.stores.sqlite import open_sqlite_store, rows
from tests.stores.samples import LOG, append, leaf

_HOLD = """
import sys
import apsw
connection = apsw.Connection(sys.argv[1])
for statement in sys.argv[2:]:
    connection.execute(statement).fetchall()
print("held", flush=True)
sys.stdin.readline()
connection.close()
print("let go", flush=True)
sys.stdin.read()
"""
SHARED = 1_000_000
"""Identities from here on are tried by all writers."""


class Holder:
    """Another process that has executed some statements on the file of a store."""

    def __init__(self, stdin: IO[str], stdout: IO[str]) -> None:
        self._stdin = stdin
        self._stdout = stdout

    def let_go(self) -> None:
        """Have it close the file, and wait until it has."""
        self._stdin.write("\n")
        self._stdin.flush()
        assert self._stdout.readline() == "let go\n"


@contextmanager
def holder(path: Path, *statements: str) -> Iterator[Holder]:
    """Have another process execute statements on a file, and hold what they give it."""
    command = [sys.executable, "-c", _HOLD, str(path), *statements]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield Holder(process.stdin, process.stdout)
        with suppress(BrokenPipeError):
            process.stdin.close()


class Task(NamedTuple):
    """What one process is to write."""

    path: Path
    writer: int
    rounds: int
    batch: int
    settle_leaves: int
    heads: Path | None = None


def write_at_once(tasks: Sequence[Task]) -> list[list[int]]:
    """Have each task done by a process of its own; gives the first number of each batch."""
    with ProcessPoolExecutor(len(tasks), mp_context=get_context("spawn")) as pool:
        return list(pool.map(write_task, tasks))


def write_task(task: Task) -> list[int]:
    """Append batches, each after opening the store anew, and try what all others try."""
    rows.SETTLE_LEAVES = task.settle_leaves
    firsts = []
    for turn in range(task.rounds):
        store = open_sqlite_store(task.path)
        batch = [
            leaf(number_of(task, turn, place), b"%d %d %d" % (task.writer, turn, place))
            for place in range(task.batch)
        ]
        firsts.append(append(store, *batch))
        with suppress(DuplicateLeafError):
            append(store, leaf(SHARED + turn))
        if task.heads is not None:
            _issue(store, IssuedHead(task.heads), LOG)
        store.close()
    return firsts


def number_of(task: Task, turn: int, place: int) -> int:
    """Number the identity of one leaf of a task."""
    return (task.writer * task.rounds + turn) * task.batch + place


def _issue(store: Store, issued: IssuedHead, key: SigningKey) -> None:
    note = issue_head(store, issued, key, [key.verify_key])
    assert note.startswith(f"{key.name}\n".encode())


def is_locked(head: IssuedHead) -> bool:
    """Tell whether somebody issues a head now."""
    handle = os.open(f"{head.path}.lock", os.O_RDWR)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(handle)
    return False
