"""What every route does: start a job, watch it, interrupt it, and leave nothing behind.

A route is a way to run and to interrupt a job: processes of this machine, a Slurm cluster, a
Kubernetes cluster. It touches only what it started itself, and that only by the ids which it
recorded when it started it; every act names the id that it was done to. Methods return soon,
save where it is said: whoever rehearses asks again every ``poll_s`` seconds.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol


@dataclass(frozen=True, slots=True)
class Job:
    """A job to run, from its first attempt to its last."""

    run: str
    argv: tuple[str, ...]
    environment: Mapping[str, str]
    """What is set for it beside the caller's own environment: ``TALLYSTICK_RUN_ID`` and
    ``TALLYSTICK_SPOOL`` among others; a route adds ``TALLYSTICK_ATTEMPT`` where it names it."""
    spool: Path
    """Where its progress records appear, see ``rehearsal.journal``."""
    folder: Path
    """Where it works: checkpoints, result; new and empty at the first attempt."""
    logs: Path
    """Where its output is kept, a file for each attempt."""


class Act(NamedTuple):
    """Something that was done to something that was started for the rehearsal."""

    act: str
    """What was done, in a few words: ``SIGKILL``, ``scontrol requeue``."""
    id: str
    """To what: ``pid:4711@123456`` (with its start time), ``slurm:4242``, ``pod:<uid>``."""
    at_us: int


class Started(NamedTuple):
    """An attempt that was started."""

    job: Job
    number: int
    """1 for the first attempt of its run."""
    attempt: str
    """Its key, as the job's own progress records name it too."""
    at_us: int
    ids: tuple[str, ...]
    """What was started, as acts name it."""
    allocation: Mapping[str, Any] | None
    """Body of ``allocation.started`` without attempt and run; None where a scheduler's own
    records tell of the allocation, and the rehearsal must not tell it again."""


class Gone(NamedTuple):
    """The end of an attempt: nothing that belongs to it runs any more."""

    at_us: int
    exit_code: int | None = None
    signal: int | None = None


class Look(NamedTuple):
    """What is new about an attempt since the last look at it."""

    records: tuple[dict[str, Any], ...]
    """Its progress and checkpoint records, as evidence: ``kind``, ``at``, ``body``."""
    gone: Gone | None


Still = Callable[[], bool]
"""Looks once more and tells whether the job is still where it is to be interrupted."""


class Route(Protocol):
    """A way to run and to interrupt a job."""

    name: str
    poll_s: float

    def touches(self, job: Job) -> tuple[str, ...]:
        """Say what it would start and do, a line each, as commands where there are some."""
        ...

    def never_touches(self) -> tuple[str, ...]:
        """Say what it would leave alone, a line each."""
        ...

    def start(self, job: Job, number: int) -> Started | None:
        """Start an attempt; None while it is still on its way, then this is called again.

        After an interruption a scheduler may bring the next attempt itself: then this finds it.

        Raises:
            TallystickError: it cannot be started.
        """
        ...

    def look(self, started: Started) -> Look:
        """Tell what is new; after ``gone`` the records are complete."""
        ...

    def notice(self, started: Started) -> tuple[Act, ...]:
        """Tell the job that it will be interrupted, as the provider would."""
        ...

    def interrupt(self, started: Started, target: str, still: Still) -> tuple[Act, ...] | None:
        """Interrupt the job, or one worker of it.

        Args:
            started: The attempt.
            target: ``all``, or ``rank:N`` for the worker of that rank.
            still: Asked as late as the route can, with the job stopped if it can do that.

        Returns:
            What was done; None if ``still`` said no, and then nothing was done.

        Raises:
            NoTargetError: the attempt has no such worker.
        """
        ...

    def result(self, job: Job, name: str) -> Path | None:
        """Give the file with the result of a run, brought here if need be; None if it has none.

        Args:
            job: The job.
            name: Path of the file below the folder of the job.
        """
        ...

    def end(self, started: Started) -> tuple[Act, ...]:
        """End an attempt that hangs, or what is left of one; ``look`` then gives its end."""
        ...

    def close(self) -> tuple[Act, ...]:
        """End everything that was started, and wait until it is gone. May be called twice.

        Raises:
            TallystickError: something could not be ended; the message names it.
        """
        ...
