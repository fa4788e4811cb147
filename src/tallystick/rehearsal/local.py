"""The local route: the job is processes of this machine, each attempt under a keeper.

Only processes that a keeper has below it are signalled, by number and start time; and when
this process is gone, whatever the cause, the keeper ends them.
"""

import os
import shlex
import signal
import socket
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Final, NamedTuple

from tallystick.emit.progress.whereabouts import RANK_VARIABLES
from tallystick.emit.spool import boot_id
from tallystick.rehearsal.errors import NoTargetError, RouteUnavailableError
from tallystick.rehearsal.journal import JournalTail
from tallystick.rehearsal.kept import ATTEMPT_VARIABLE, Kept
from tallystick.rehearsal.plan import Plan
from tallystick.rehearsal.processes import status
from tallystick.rehearsal.results import result_file
from tallystick.rehearsal.route import Act, Job, Look, Started, Still

POLL_S: Final = 0.02


class _Attempt(NamedTuple):
    kept: Kept
    tail: JournalTail


class LocalRoute:
    """Jobs as processes of this machine."""

    name = "local"
    poll_s = POLL_S

    def __init__(self, plan: Plan) -> None:
        """Prepare to start jobs.

        Args:
            plan: States the GPUs that the job is taken to hold: no scheduler gives it any.

        Raises:
            RouteUnavailableError: the machine cannot do what this needs.
        """
        check_available()
        self._allocation = plan.allocation
        self._host = socket.gethostname()
        self._attempts: dict[str, _Attempt] = {}

    def touches(self, job: Job) -> tuple[str, ...]:
        """Say what it would start and signal."""
        stated = {**job.environment, ATTEMPT_VARIABLE: self._key(job, 1)}
        settings = [f"{key}={shlex.quote(value)}" for key, value in stated.items()]
        return (
            f"start    {shlex.join(job.argv)}",
            f"in       {job.folder}",
            f"with     {settings[0]}",
            *(f"         {setting}" for setting in settings[1:]),
            f"output   {job.logs / 'attempt-1.log'}",
            "notice   SIGTERM to the process that was started",
            "stop     SIGSTOP, and SIGCONT, to all processes of the job, to look where it is",
            "fault    SIGKILL to all processes of the job, or to the worker with RANK=N",
            "after    SIGKILL to whatever of the job is left",
        )

    def never_touches(self) -> tuple[str, ...]:
        """Say what it would leave alone."""
        return (
            "a process that is not below one that the rehearsal started itself",
            "a process by its number alone: the start time must be the recorded one, too",
            "services, containers, GPUs, schedulers, other machines",
        )

    def start(self, job: Job, number: int) -> Started:
        """Start an attempt under a keeper of its own.

        Raises:
            JobNotStartedError: its program cannot be run.
        """
        attempt = self._key(job, number)
        log = job.logs / f"attempt-{number}.log"
        asked = {
            "argv": job.argv,
            "environment": {**_inherited(), **job.environment, ATTEMPT_VARIABLE: attempt},
            "folder": str(job.folder),
            "log": str(log),
        }
        kept = Kept(attempt, asked)
        self._attempts[attempt] = _Attempt(kept, JournalTail(job.spool, attempt))
        stated = {
            "gpu_count": self._allocation.gpu_count,
            "gpu_type": self._allocation.gpu_type,
            "capacity": self._allocation.capacity,
            "zone": self._allocation.zone,
            "tier": self._allocation.tier,
        }
        allocation = {
            "scheduler": "local",
            "cluster": self._host,
            "job_id": kept.leader.id,
            "nodes": [self._host],
            **{key: value for key, value in stated.items() if value is not None},
        }
        return Started(job, number, attempt, kept.at_us, (kept.leader.id,), allocation)

    def look(self, started: Started) -> Look:
        """Read the job's journal, and hear whether it is over."""
        kept, tail = self._attempts[started.attempt]
        kept.listen()  # First: what is read after the end is complete.
        return Look(tail.read(), kept.gone)

    def notice(self, started: Started) -> tuple[Act, ...]:
        """Send SIGTERM to the process that was started."""
        return self._attempts[started.attempt].kept.act("notice")

    def interrupt(self, started: Started, target: str, still: Still) -> tuple[Act, ...] | None:
        """Stop all processes of the job, ask, and kill those that are meant.

        Raises:
            NoTargetError: no process of the job is the worker of that rank.
        """
        kept = self._attempts[started.attempt].kept
        stopped = kept.act("stop")
        if not still():
            kept.act("continue")
            return None
        killed = kept.kill(target)
        if target != "all":
            kept.act("continue")
        if killed is None:
            raise NoTargetError(target)
        return (*stopped, *killed)

    def result(self, job: Job, name: str) -> Path | None:
        """Give the file with the result, where the job put it."""
        return result_file(job, name)

    def end(self, started: Started) -> tuple[Act, ...]:
        """Kill what is left of an attempt."""
        return self._attempts[started.attempt].kept.kill("all") or ()

    def close(self) -> tuple[Act, ...]:
        """End all attempts and their keepers.

        Raises:
            SurvivorsError: something is left.
        """
        with ExitStack() as each:  # One that cannot be ended does not save the others.
            while self._attempts:
                _, attempt = self._attempts.popitem()
                each.callback(attempt.kept.close)
        return ()

    def _key(self, job: Job, number: int) -> str:
        """Name an attempt, so that no other on any machine has the name."""
        own = status(os.getpid())
        assert own is not None, "this process runs"
        rehearsal = f"{own.process.pid}-{own.process.start}"
        return f"local:{self._host}:{boot_id()[:8]}:{rehearsal}:{job.run}:{number}"


def _inherited() -> dict[str, str]:
    """Give the caller's environment but for its own place in another job, if it has one."""
    return {key: value for key, value in os.environ.items() if key not in RANK_VARIABLES}


def check_available() -> None:
    """See that this machine can hold processes the way that this route does.

    Raises:
        RouteUnavailableError: it cannot.
    """
    if sys.platform != "linux" or not hasattr(signal, "pidfd_send_signal"):
        raise RouteUnavailableError("local", "expected Linux with pidfd_send_signal")
    try:
        os.close(os.pidfd_open(os.getpid()))
    except OSError as error:
        raise RouteUnavailableError("local", "expected Linux 5.3 or later") from error
