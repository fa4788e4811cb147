"""The keeper of one attempt: a process that starts a job and outlives nobody but it.

    python -m tallystick.rehearsal.keeper

It reads one JSON object a line from standard input and answers on standard output. All that
the job starts stays below it, since it adopts what the job leaves behind; and when its
standard input ends, because whoever rehearses is gone for whatever reason, it kills all that
and ends. Nothing else is ever signalled. Standard library only: it has to begin fast.
"""

import ctypes
import json
import os
import select
import signal
import subprocess
import sys
import time
from contextlib import suppress
from typing import Any, NamedTuple

from tallystick.rehearsal.processes import Process, descendants, send, status, variable

_SET_PARENT_DEATH_SIGNAL = 1
_SET_CHILD_SUBREAPER = 36
_ENDS = (signal.SIGINT, signal.SIGHUP, signal.SIGTERM)
_STAND_STILL_S = 1.0
_LEAST_S = 0.005


class _NotStartedError(Exception):
    """The program of the job cannot be run."""


class _Exit(NamedTuple):
    code: int | None
    signal: int | None


def main() -> None:
    """Keep one job."""
    for number in _ENDS:
        signal.signal(number, lambda *_: sys.exit(1))
    _prctl(_SET_CHILD_SUBREAPER, 1)
    asked = sys.stdin.buffer.readline()
    if not asked:
        return
    try:
        _keep(_start(json.loads(asked)))
    except _NotStartedError as error:
        _tell({"failed": str(error)})
    finally:
        _kill_rest()


def _start(job: dict[str, Any]) -> Process:
    """Start the job in a session of its own.

    Raises:
        _NotStartedError: its program cannot be run.
    """
    keeper = os.getpid()

    def die_with_keeper() -> None:
        _prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)
        if os.getppid() != keeper:
            os._exit(1)

    at_us = _clock_us()  # Before: nothing of the job is older than its attempt.
    try:
        with open(job["log"], "wb") as log:  # noqa: PTH123 (pathlib costs the start)
            child = subprocess.Popen(  # noqa: S603 (the job is what the plan says)
                job["argv"],
                cwd=job["folder"],
                env=job["environment"],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                preexec_fn=die_with_keeper,  # noqa: PLW1509 (there are no threads here)
            )
    except (OSError, subprocess.SubprocessError) as error:
        raise _NotStartedError(getattr(error, "strerror", None) or str(error)) from error
    found = status(child.pid)
    assert found is not None, "a child stays until its parent has waited for it"
    child.returncode = 0  # It is waited for below, with all that was adopted.
    _tell({"pid": found.process.pid, "start": found.process.start, "at_us": at_us})
    return found.process


def _keep(leader: Process) -> None:
    """Do what is asked until the job is over, then say how it ended."""
    handle = os.pidfd_open(leader.pid)
    poll = select.poll()
    poll.register(handle, select.POLLIN)
    poll.register(0, select.POLLIN)
    pending = b""
    while True:
        ready = {number for number, _ in poll.poll()}
        if handle in ready:
            break
        data = os.read(0, 65536)
        if not data:
            return
        *lines, pending = (pending + data).split(b"\n")
        for line in lines:
            _tell(_answer(json.loads(line), leader))
    ended = _wait_for(leader.pid)
    _kill_rest()
    _tell({"gone": _clock_us(), "exit_code": ended.code, "signal": ended.signal})
    # Whoever rehearses closes the pipe; what still comes before that has no job any more.
    while os.read(0, 65536):
        pass


def _answer(asked: dict[str, Any], leader: Process) -> dict[str, Any]:
    match asked["do"]:
        case "notice":
            return {"acts": _send([leader], signal.SIGTERM)}
        case "stop":
            return {"acts": _stand_still()}
        case "continue":
            return {"acts": _send(descendants(os.getpid()), signal.SIGCONT)}
        case _:
            return _kill(asked["target"])


def _kill(target: str) -> dict[str, Any]:
    below = descendants(os.getpid())
    if target == "all":
        return {"acts": _send(below, signal.SIGKILL)}
    rank = target.removeprefix("rank:")
    hit = [process for process in below if variable(process, "RANK") == rank]
    # A worker's own children have its environment, too; the first is the worker.
    return {"acts": _send(hit[:1], signal.SIGKILL), "missing": not hit}


def _stand_still() -> list[Any]:
    """Stop all processes, and those that they started meanwhile, and see that they stand."""
    acts: list[Any] = []
    stopped: set[Process] = set()
    until_s = time.monotonic() + _STAND_STILL_S
    while time.monotonic() < until_s:
        below = descendants(os.getpid())
        new = [each for each in below if each not in stopped]
        acts += _send(new, signal.SIGSTOP)
        stopped.update(new)
        if not new and all(_stands(each) for each in below):
            break
        time.sleep(_LEAST_S)
    return acts


def _stands(process: Process) -> bool:
    now = status(process.pid)
    return now is None or now.state in "TtZX"


def _kill_rest() -> None:
    """Kill what is left below until nothing is; nobody can keep it from that any more."""
    for number in _ENDS:
        signal.signal(number, signal.SIG_IGN)
    while below := descendants(os.getpid()):
        _send(below, signal.SIGKILL)
        _reap()
        time.sleep(_LEAST_S)
    _reap()


def _wait_for(pid: int) -> _Exit:
    _, code = os.waitpid(pid, 0)
    if os.WIFSIGNALED(code):
        return _Exit(None, os.WTERMSIG(code))
    return _Exit(os.WEXITSTATUS(code), None)


def _reap() -> None:
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _send(processes: list[Process], number: signal.Signals) -> list[Any]:
    return [
        [number.name, process.id, _clock_us()] for process in processes if send(process, number)
    ]


def _tell(answer: dict[str, Any]) -> None:
    with suppress(OSError):  # Nobody listens: the end of standard input says so, too.
        os.write(1, json.dumps(answer).encode() + b"\n")


def _clock_us() -> int:
    return time.time_ns() // 1000


def _prctl(option: int, value: int) -> None:
    ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


if __name__ == "__main__":
    main()
