"""The jobs that a rehearsal submitted: recorded, recognised, and ended when it is over.

A job is known by its id, a name with a random token, and its user. No job is touched whose id
was not recorded here when it was submitted.
"""

import os
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tallystick.emit.spool import clock_us
from tallystick.rehearsal.errors import SurvivorsError
from tallystick.rehearsal.route import Act
from tallystick.rehearsal.scheduler_errors import NotOursError, SchedulerRefusedError
from tallystick.rehearsal.slurm.commands import JobNow, Slurm
from tallystick.rehearsal.slurm.submission import cancel_argv

CLOSE_S: Final = 300.0
_LOOK_S: Final = 0.5


@dataclass(frozen=True, slots=True)
class Submitted:
    """A job that was submitted, as it is recognised."""

    job_id: str
    name: str
    uid: int

    @property
    def id(self) -> str:
        """How acts name it."""
        return f"slurm:{self.job_id}"


class Jobs:
    """All jobs of a rehearsal."""

    def __init__(self, slurm: Slurm, cluster: str) -> None:
        self._slurm = slurm
        self._cluster = cluster
        self._all: list[Submitted] = []

    def submit(
        self, argv_of: Callable[[str], tuple[str, ...]], environment: Mapping[str, str], noted: Path
    ) -> Submitted:
        """Submit a job.

        Args:
            argv_of: Gives the command for the name that the job gets.
            environment: Of the command.
            noted: The file to which name and id are added, for people: the name before the job
                is submitted, so that it can be found whatever comes.

        Raises:
            SchedulerRefusedError: it was not submitted.
        """
        name = named(secrets.token_hex(8))
        with noted.open("a", encoding="utf-8") as file:
            print(name, file=file, flush=True)
            job_id = self._slurm.submit(argv_of(name), environment, name)
            submitted = Submitted(job_id, name, os.geteuid())
            self._all.append(submitted)
            print(f"{name} {submitted.id} {self._cluster}", file=file)
        return submitted

    def show(self, submitted: Submitted) -> JobNow | None:
        """Look at a job; None if Slurm has forgotten it.

        Raises:
            NotOursError: its id is another job's.
            SchedulerRefusedError: there is no answer.
        """
        now = self._slurm.show(submitted.job_id)
        if now is not None and (now.name, now.uid) != (submitted.name, submitted.uid):
            raise NotOursError(f"slurm job {submitted.job_id}")
        return now

    def cancel(self, submitted: Submitted) -> tuple[Act, ...]:
        """Cancel a job that is not over.

        Raises:
            NotOursError: its id is another job's.
            SchedulerRefusedError: there is no answer.
        """
        now = self.show(submitted)
        if now is None or now.is_over:
            return ()
        at_us = clock_us()
        refused = self._slurm.act(cancel_argv(submitted.job_id))
        return () if refused else (Act("scancel", submitted.id, at_us),)

    def close(self) -> tuple[Act, ...]:
        """Cancel all that is not over, and wait until it is.

        Raises:
            SurvivorsError: something is left.
        """
        acts: list[Act] = []
        until_s = time.monotonic() + CLOSE_S
        while self._all:
            self._all = [each for each in self._all if self._is_left(each, acts)]
            if self._all and time.monotonic() > until_s:
                raise SurvivorsError(tuple(each.id for each in self._all))
            if self._all:
                time.sleep(_LOOK_S)
        return tuple(acts)

    def _is_left(self, submitted: Submitted, acts: list[Act]) -> bool:
        try:
            now = self.show(submitted)
            if now is None or now.is_over:
                return False
            if not any(act.id == submitted.id for act in acts):
                acts += self.cancel(submitted)
        except NotOursError:
            return False  # Slurm gave the id to another job, so ours is long gone.
        except SchedulerRefusedError:
            pass  # Who does not answer now is asked again.
        return True


def named(token: str) -> str:
    """Name a job after a token."""
    return f"tallystick-{token}"
