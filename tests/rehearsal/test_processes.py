"""Processes by number and start time."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tallystick.rehearsal.processes import (
    Process,
    descendants,
    send,
    status,
    variable,
    with_variable,
)

SLEEPER = (sys.executable, "-c", "import time; time.sleep(600)")


@pytest.fixture
def child() -> Iterator["subprocess.Popen[bytes]"]:
    """Give a process that does nothing until it is ended."""
    with subprocess.Popen(SLEEPER, env={**os.environ, "MARK": "a=b"}) as process:
        yield process
        process.kill()


def of(pid: int) -> Process:
    """Look at a process that is there."""
    found = status(pid)
    assert found is not None
    return found.process


def test_a_process_is_its_number_and_start(child: "subprocess.Popen[bytes]") -> None:
    """Acts name both; its parent is known."""
    found = status(child.pid)

    assert found is not None
    assert found.process.id == f"pid:{child.pid}@{found.process.start}"
    assert found.parent == os.getpid()


def test_a_process_that_is_over_is_none(child: "subprocess.Popen[bytes]") -> None:
    """Nothing is signalled in its place."""
    process = of(child.pid)
    child.kill()
    child.wait()

    assert status(child.pid) is None
    assert not send(process, signal.SIGKILL)


def test_a_number_that_somebody_else_has_now_is_not_signalled(
    child: "subprocess.Popen[bytes]",
) -> None:
    """The start time is another one: the process lives on."""
    process = of(child.pid)

    assert not send(process._replace(start=process.start - 1), signal.SIGKILL)
    assert child.poll() is None
    assert send(process, signal.SIGKILL)
    assert child.wait() == -signal.SIGKILL


def test_descendants_are_found_below_their_parents(child: "subprocess.Popen[bytes]") -> None:
    """A child is; what is over, though nobody has waited for it, is not."""
    process = of(child.pid)
    assert process in descendants(os.getpid())

    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)

    assert process not in descendants(os.getpid())


def test_a_variable_is_that_of_the_start(child: "subprocess.Popen[bytes]") -> None:
    """Its value may hold an equals sign; one that is not there is None."""
    process = of(child.pid)

    assert variable(process, "MARK") == "a=b"
    assert variable(process, "MAR") is None
    assert variable(process._replace(pid=2**22 + 1), "MARK") is None
    assert process in with_variable("MARK", "a=b")


def test_a_name_with_brackets_does_not_confuse() -> None:
    """The name of a program is free text in what the kernel prints."""
    code = "open('/proc/self/comm', 'w').write('a) R 1 (b'); print(flush=True); input()"
    argv = [sys.executable, "-c", code]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        found = status(process.pid)
        process.kill()

    assert found is not None
    assert found.parent == os.getpid()
