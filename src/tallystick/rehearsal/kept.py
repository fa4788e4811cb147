"""The other side of a keeper: starting one, asking it, and seeing to it that nothing is left."""

import json
import os
import selectors
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from signal import Signals
from typing import Any, Final

from tallystick.rehearsal.errors import JobNotStartedError, SurvivorsError
from tallystick.rehearsal.processes import Process, send, with_variable
from tallystick.rehearsal.route import Act, Gone

ATTEMPT_VARIABLE: Final = "TALLYSTICK_ATTEMPT"
_ANSWER_S: Final = 60.0
_GONE_S: Final = 30.0
_COMMAND: Final = (sys.executable, "-P", "-m", "tallystick.rehearsal.keeper")


class Kept:
    """A job that a keeper started."""

    def __init__(self, attempt: str, job: Mapping[str, Any]) -> None:
        """Start a keeper, and the job through it.

        Args:
            attempt: Key of the attempt, which the job has in its environment.
            job: What the keeper is asked: argv, environment, folder, log.

        Raises:
            JobNotStartedError: the job cannot be started; then nothing runs.
        """
        self.gone: Gone | None = None
        self._attempt = attempt
        self._pending = b""
        # A session of its own: what is typed at the terminal does not reach it.
        self._keeper = subprocess.Popen(  # noqa: S603 (our own program)
            _COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
        )
        try:
            answer = self._ask(job) or {"failed": "its keeper did not answer"}
        except BaseException:
            self.close()
            raise
        if "failed" in answer:
            self.close()
            raise JobNotStartedError(job["argv"][0], answer["failed"].lower())
        self.leader = Process(answer["pid"], answer["start"])
        self.at_us: int = answer["at_us"]

    def act(self, do: str) -> tuple[Act, ...]:
        """Have something done to all processes of the job: notice, stop or continue."""
        answer = self._ask({"do": do})
        return () if answer is None else _acts(answer)

    def kill(self, target: str) -> tuple[Act, ...] | None:
        """Kill all, or one worker; None if there is no such worker."""
        answer = self._ask({"do": "kill", "target": target})
        if answer is None:
            return ()
        return None if answer.get("missing") else _acts(answer)

    def listen(self) -> None:
        """Hear whether the job is over; then ``gone`` is set, and its keeper is let go."""
        if self.gone is None:
            self._hear(0.0)
            self._let_go()

    def close(self, limit_s: float = _GONE_S) -> None:
        """End the job with its keeper, and wait until nothing of it is left.

        Args:
            limit_s: How long the keeper has to do it; then it is ended first.

        Raises:
            SurvivorsError: something is left all the same.
        """
        assert self._keeper.stdin is not None, "it is a pipe"
        with suppress(OSError):
            self._keeper.stdin.close()
        try:
            self._keeper.wait(limit_s)
        except subprocess.TimeoutExpired:
            self._keeper.kill()
            self._keeper.wait()
        assert self._keeper.stdout is not None, "it is a pipe"
        self._keeper.stdout.close()
        end_marked(self._attempt)

    def _ask(self, request: Mapping[str, Any]) -> dict[str, Any] | None:
        """Ask the keeper for something; None if the job, or the keeper, is gone."""
        assert self._keeper.stdin is not None, "it is a pipe"
        if self.gone is not None:
            return None
        with suppress(BrokenPipeError):
            self._keeper.stdin.write(json.dumps(request).encode() + b"\n")
            self._keeper.stdin.flush()
        answer = self._hear(_ANSWER_S)
        if answer is None:
            self._lost()
            return None
        return None if "gone" in answer else answer

    def _hear(self, limit_s: float) -> dict[str, Any] | None:
        """Give the next thing that the keeper says, None if it says nothing in time."""
        assert self._keeper.stdout is not None, "it is a pipe"
        until_s = time.monotonic() + limit_s
        with selectors.DefaultSelector() as selector:
            selector.register(self._keeper.stdout, selectors.EVENT_READ)
            while b"\n" not in self._pending:
                if not selector.select(max(0.0, until_s - time.monotonic())):
                    return None
                data = os.read(self._keeper.stdout.fileno(), 1 << 16)
                if not data:
                    self._lost()
                    return None
                self._pending += data
        line, _, self._pending = self._pending.partition(b"\n")
        answer: dict[str, Any] = json.loads(line)
        if "gone" in answer:
            self.gone = Gone(answer["gone"], answer["exit_code"], answer["signal"])
        return answer

    def _let_go(self) -> None:
        if self.gone is not None:
            self.close()

    def _lost(self) -> None:
        """Do what the keeper was there for, since it is gone itself, or hangs."""
        if self.gone is not None:
            return
        self._keeper.kill()
        self._keeper.wait()
        end_marked(self._attempt)
        self.gone = Gone(time.time_ns() // 1000)


def _acts(answer: Mapping[str, Any]) -> tuple[Act, ...]:
    return tuple(Act(*act) for act in answer["acts"])


def end_marked(attempt: str, limit_s: float = _GONE_S) -> None:
    """Kill what was started for an attempt, whose key nothing else has in its environment.

    Raises:
        SurvivorsError: something is left when the time is over.
    """
    until_s = time.monotonic() + limit_s
    while left := with_variable(ATTEMPT_VARIABLE, attempt):
        for process in left:
            send(process, Signals.SIGKILL)
        if time.monotonic() >= until_s:
            raise SurvivorsError(tuple(process.id for process in left))
        time.sleep(0.01)
