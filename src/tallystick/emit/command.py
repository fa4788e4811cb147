"""Running a program that may hang, within a limit of time.

Nothing is left waiting: on its limit the program and all that it started are killed, and a
program that even then does not die (a driver that hangs in the kernel) is left to itself.
"""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import time
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
OUTPUT_BYTES_MAX = 4 << 20
_GRACE_S = 0.2


class Ran(NamedTuple):
    """What became of a program: its exit status, or why there is none."""

    status: int | None
    output: bytes
    problem: str | None

    @property
    def text(self) -> str:
        """Its standard output; bytes that are no UTF-8 are spelt out."""
        return self.output.decode("utf-8", errors="backslashreplace")


def run_command(
    argv: Sequence[str], *, limit_s: float, env: Mapping[str, str] | None = None
) -> Ran:
    """Run a program and take what it prints; it can neither hang nor flood the caller.

    Args:
        argv: The program, looked up in a fixed PATH, and its arguments.
        limit_s: Seconds that it may take, all in all.
        env: Variables besides PATH and the C locale.
    """
    if limit_s <= 0:
        return Ran(None, b"", f"{argv[0]}: no time was left for it")
    variables = {"PATH": PATH, "LC_ALL": "C", **(env or {})}
    try:
        process = subprocess.Popen(  # noqa: S603 (programs that hooks name, no shell)
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=variables,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:  # A word with a NUL is the latter.
        reason = getattr(error, "strerror", None) or str(error)
        return Ran(None, b"", f"{argv[0]}: {reason.lower()}")
    output, problem = _read(process, time.monotonic() + limit_s)
    if problem is None:
        return Ran(process.returncode, output, None)
    _kill(process)
    return Ran(None, output, f"{argv[0]}: {problem.format(limit_s=limit_s)}")


def _read(process: subprocess.Popen[bytes], deadline_s: float) -> tuple[bytes, str | None]:
    """Read until the program has ended, or give the reason for which it has to."""
    assert process.stdout is not None, "it was asked for"
    output = bytearray()
    with process.stdout as pipe, selectors.DefaultSelector() as selector:
        selector.register(pipe, selectors.EVENT_READ)
        while selector.select(max(0.0, deadline_s - time.monotonic())):
            chunk = os.read(pipe.fileno(), 1 << 16)
            if not chunk:
                break
            output += chunk
            if len(output) > OUTPUT_BYTES_MAX:
                return bytes(output), "printed too much"
        else:
            return bytes(output), "no answer in {limit_s:g} s"
    try:
        process.wait(max(0.0, deadline_s - time.monotonic()))
    except subprocess.TimeoutExpired:
        return bytes(output), "no answer in {limit_s:g} s"
    return bytes(output), None


def _kill(process: subprocess.Popen[bytes]) -> None:
    with suppress(OSError):
        os.killpg(process.pid, signal.SIGKILL)
    with suppress(subprocess.TimeoutExpired):
        process.wait(_GRACE_S)
    process.returncode = process.returncode or -signal.SIGKILL  # Nobody waits for it again.
