"""A process that has everything imported, and forks one for each job that it is told to do.

Jobs come as lines of JSON on standard input and are answered on standard output. A forked
process writes its promises to a file, each in one call, before it goes on; that file and the
store are all that is left of it.
"""

import io
import json
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NoReturn

from tallystick.app.store import init_store, open_store
from tallystick.cli.main import cli, main
from tallystick.core.errors import TallystickError
from tallystick.stores.errors import StoreWriteError
from tests.faults.billing import STEPS, add, bundle, drop, issue, lay_out, run
from tests.faults.promises import Promise
from tests.faults.workload import (
    ORIGIN,
    Say,
    Work,
    admit,
    admit_lines,
    batch,
    new_store,
    settle_often,
    sign,
    work,
)

CRASHED = 70
"""Exit status of a forked process that ended with an exception that is none of ours."""

LIFE_S = 90
"""A forked process that hangs ends by a signal: longer than a store is waited for."""

EARLY_S = 5
"""How much too early: any kill falls into it."""

_APPEND = os.O_WRONLY | os.O_CREAT | os.O_APPEND

# -- jobs of a forked process --------------------------------------------------------------


def work_on(job: dict[str, Any], say: Say) -> None:
    """Work until killed; first deliver again what the one before may not have been told."""
    with open_store(Path(job["store"])) as store:
        at = Work(store, job["name"], say)
        for name, number in job["again"]:
            admit_lines(at, batch(name, number))
        for _ in work(at, STEPS):
            pass


def tell_too_early(job: dict[str, Any], say: Say) -> None:
    """Work as no program should: tell of records, and only then admit them."""
    with open_store(Path(job["store"])) as store:
        at = Work(store, job["name"], lambda _: None)
        while True:
            with store.log.reading() as log:
                size = log.size
            for number, line in enumerate(batch(at.name, at.batches), start=size):
                say(Promise("record", [number, line.decode()]))
            time.sleep(EARLY_S)
            admit(at)


def take_each_step(job: dict[str, Any], say: Say) -> None:
    """Take each step; after a failed write show that no other is let through."""
    with open_store(Path(job["store"])) as store:
        at = Work(store, job["name"], say)
        try:
            for step in (admit, sign, add, run, issue, bundle, drop, sign):
                step(at)
        except StoreWriteError as error:
            if error.args[0] == str(store.folder.path):
                _try_to_go_on(at)
            raise


def _try_to_go_on(at: Work) -> None:
    try:
        admit(at)
    except StoreWriteError as error:
        at.say(Promise("stopped", str(error)))


def make_store(job: dict[str, Any], say: Say) -> None:
    """Make a store."""
    init_store(Path(job["store"]), ORIGIN)
    say(Promise("made", job["store"]))


def head_command(folder: Path) -> list[str]:
    """Give the arguments that write the head of the store in a folder to a file beside it."""
    return ["log", "head", "--store", str(folder / "store"), "-o", str(folder / "head.txt")]


def run_command(job: dict[str, Any], say: Say) -> None:
    """Run a command that signs, writes a file and prints."""
    sys.argv = ["tallystick", *head_command(Path(job["store"]).parent)]
    try:
        main()
    except SystemExit as ended:
        if ended.code:
            raise
    sys.stdout.flush()
    say(Promise("printed", "head"))


JOBS: dict[str, Callable[[dict[str, Any], Say], None]] = {
    job.__name__: job for job in (work_on, tell_too_early, take_each_step, make_store, run_command)
}

# -- forking -------------------------------------------------------------------------------


class Forked:
    """A forked process; it waits until it is let go."""

    def __init__(self, job: dict[str, Any]) -> None:
        gate, self._gate = os.pipe()
        is_ready, ready = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self._gate)
            _be(job, ready, gate)
        os.close(gate)
        os.close(ready)
        os.read(is_ready, 1)
        os.close(is_ready)

    def let_go(self) -> None:
        """Have it begin."""
        os.close(self._gate)

    def end(self) -> int:
        """Wait for its end and give its exit status, or minus the signal that killed it."""
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def _be(job: dict[str, Any], ready: int, gate: int) -> NoReturn:
    """Be the forked process: wait, do the job, and end as the command line would.

    Until it is let go all of its own files are open, and they are written to by other system
    calls than those of the store, of which a test lets some fail.
    """
    promises, errors = (os.open(job[name], _APPEND, 0o600) for name in ("promises", "errors"))
    null = os.open(os.devnull, os.O_RDWR)
    for standard, handle in enumerate((null, null, errors)):
        os.dup2(handle, standard)
    os.close(ready)
    os.readv(gate, [bytearray(1)])
    signal.alarm(LIFE_S)
    status = 0
    try:
        JOBS[job["do"]](job, lambda promise: _write(promises, promise.line()))
    except TallystickError as error:
        _write(errors, f"tallystick: {error.code}: {error}\n".encode())
        status = error.exit_status
    except SystemExit as error:
        status = error.code if isinstance(error.code, int) else CRASHED
    except BaseException:  # noqa: BLE001 (the test reads it and fails)
        _write(errors, traceback.format_exc().encode())
        status = CRASHED
    os._exit(status)


def _write(handle: int, data: bytes) -> None:
    written = os.writev(handle, [data])
    assert written == len(data), "a file takes all of a line, or the disk is full"


# -- the forking process -------------------------------------------------------------------


def kill_after(order: dict[str, Any]) -> list[int]:
    """Fork a process for each job, kill all of them after a while, give how each ended."""
    forked = [Forked(job) for job in order["jobs"]]
    for each in forked:
        each.let_go()
    time.sleep(order["after_us"] / 1e6)
    for each in forked:
        os.kill(each.pid, signal.SIGKILL)
    return [each.end() for each in forked]


def serve() -> None:
    """Take orders until there are no more."""
    held: Forked | None = None
    for line in sys.stdin:
        order = json.loads(line)
        answer: Any
        if order["order"] == "kill":
            answer = kill_after(order)
        elif order["order"] == "fork":
            held = Forked(order["job"])
            answer = held.pid
        else:
            assert held is not None, "a process is let go after it was forked"
            held.let_go()
            answer = held.end()
        sys.stdout.write(f"{json.dumps(answer)}\n")
        sys.stdout.flush()


def warm_up() -> None:
    """Take steps once, so that no forked process has anything left to import."""
    with TemporaryDirectory() as name:
        new_store(Path(name))
        lay_out(Path(name))
        with open_store(Path(name) / "store") as store:
            at = Work(store, "warm-up", lambda _: None)
            for step in (admit, sign, run, issue, bundle, drop):
                step(at)
        with redirect_stdout(io.StringIO()):
            cli(head_command(Path(name)), standalone_mode=False)


if __name__ == "__main__":
    settle_often()
    warm_up()
    serve()
