"""Asking ``sacct``: every row of a window of time, and every row of some jobs.

``-D`` gives all attempts of a requeued job, ``%s`` gives times that no zone can blur, and a
delimiter that nobody types keeps free text in its column. Fields come and go with versions of
Slurm, so those that are not offered are left out.
"""

import os
import subprocess
from collections.abc import Sequence
from typing import Final

from tallystick.collectors.collected import Source
from tallystick.collectors.slurm.live.errors import PollFailedError
from tallystick.core.instant import SECOND_US, format_instant

LIMIT_S: Final = 120
JOBS_MAX: Final = 500
DELIMITER: Final = "\x1f"
NEEDED: Final = ("JobIDRaw", "Submit")
WANTED: Final = (
    *("JobIDRaw", "JobID", "Cluster", "DBIndex", "User", "UID", "Account", "Partition", "QOS"),
    *("Submit", "Eligible", "Start", "End", "ElapsedRaw", "Suspended", "State", "ExitCode"),
    *("DerivedExitCode", "NNodes", "AllocTRES", "NodeList", "Reason", "Flags", "Restarts"),
    *("SLUID", "FailedNode", "Reservation", "Comment"),  # Free text last.
)
_ENVIRONMENT: Final = {
    "TZ": "UTC0",
    "SLURM_TIME_FORMAT": "%s",
    "SLURM_BITSTR_LEN": "0",
    "LC_ALL": "C",
}


class Sacct:
    """The ``sacct`` of this machine, asked about one cluster."""

    def __init__(self, program: str = "sacct", cluster: str | None = None) -> None:
        self._program = program
        self._cluster = () if cluster is None else ("-M", cluster)
        self._fields: tuple[str, ...] | None = None

    def window(self, from_us: int, to_us: int) -> Source:
        """Ask for every row that overlaps a window.

        Raises:
            PollFailedError: there is no answer, or one that says that something is wrong.
        """
        return self._rows("-a", "-S", _time(from_us), "-E", _time(to_us))

    def jobs(self, job_ids: Sequence[str], to_us: int) -> list[Source]:
        """Ask for every row of some jobs, however old.

        Raises:
            PollFailedError: there is no answer, or one that says that something is wrong.
        """
        return [
            self._rows(
                *("-a", "-j", ",".join(job_ids[first : first + JOBS_MAX])),
                *("-S", _time(0), "-E", _time(to_us)),
            )
            for first in range(0, len(job_ids), JOBS_MAX)
        ]

    def _rows(self, *choice: str) -> Source:
        if self._fields is None:
            self._fields = self._offered()
        text = self._run(
            *("-D", "-X", "-P", "--noconvert", f"--delimiter={DELIMITER}"),
            *(*self._cluster, *choice, "-o", ",".join(self._fields)),
        )
        return Source(self._program, text)

    def _offered(self) -> tuple[str, ...]:
        offered = set(self._run("--helpformat").decode(errors="replace").split())
        missing = [name for name in NEEDED if name not in offered]
        if missing:
            raise PollFailedError(self._program, f"it does not offer the field {missing[0]}")
        return tuple(name for name in WANTED if name in offered)

    def _run(self, *arguments: str) -> bytes:
        """Run it; older versions end with 0 even if they failed, but then say so.

        Raises:
            PollFailedError: it did not run, took too long, ended with an error, or told of one.
        """
        try:
            ran = subprocess.run(  # noqa: S603 (the program that was configured, no shell)
                [self._program, *arguments],
                env={**os.environ, **_ENVIRONMENT},
                capture_output=True,
                stdin=subprocess.DEVNULL,
                timeout=LIMIT_S,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise PollFailedError(self._program, f"no answer in {LIMIT_S} s") from error
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise PollFailedError(self._program, reason) from error
        said = ran.stderr.decode(errors="replace").strip().splitlines()
        if ran.returncode != 0 or said:
            reason = said[0][:200] if said else f"ended with {ran.returncode}"
            raise PollFailedError(self._program, reason)
        return ran.stdout


def _time(us: int) -> str:
    """Write a time as sacct reads it under the zone UTC0: whole seconds."""
    return format_instant(us - us % SECOND_US)[:19]
