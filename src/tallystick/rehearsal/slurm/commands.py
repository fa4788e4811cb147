"""Asking Slurm, by its own commands: what is said of a job, and whether an act was done.

A command that fails is told from one that says no such job: who does not answer now may answer
later, and a job that is forgotten is over.
"""

import os
import re
import shlex
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from tallystick.rehearsal.scheduler_errors import SchedulerRefusedError

LIMIT_S: Final = 60
_PLAIN: Final = {"SLURM_TIME_FORMAT": "%s", "LC_ALL": "C"}
_FIELD: Final = re.compile(r"(?:^| )([A-Z][A-Za-z:/]*)=(\S*)")
_UID: Final = re.compile(r".*\(([0-9]+)\)")
_EXIT: Final = re.compile(r"([0-9]+):([0-9]+)")
_SUBMITTED: Final = re.compile(r"([0-9]{1,18})(?:;\S*)?")
_NO_SUCH_JOB: Final = "Invalid job id"
_OVER: Final = frozenset(
    {
        *("BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "NODE_FAIL"),
        *("OUT_OF_MEMORY", "PREEMPTED", "REVOKED", "TIMEOUT"),
    }
)


class Ran(NamedTuple):
    """A command that has ended; a status of None is that it could not, or took too long."""

    status: int | None
    out: str
    err: str


RunCommand = Callable[[Sequence[str], Mapping[str, str]], Ran]
"""Runs a command with an environment."""


def run_command(argv: Sequence[str], environment: Mapping[str, str]) -> Ran:
    """Run a command of this machine."""
    try:
        ran = subprocess.run(  # noqa: S603 (Slurm's commands, no shell)
            argv,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=LIMIT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Ran(None, "", f"no answer in {LIMIT_S} s")
    except OSError as error:
        return Ran(None, "", (error.strerror or str(error)).lower())
    out, err = (each.decode(errors="replace").strip() for each in (ran.stdout, ran.stderr))
    return Ran(ran.returncode, out, err)


@dataclass(frozen=True, slots=True)
class JobNow:
    """What the controller says of a job now."""

    name: str
    uid: int | None
    state: str
    restarts: int
    start_s: int | None
    preempted_s: int | None
    """When it was told that it is pre-empted, None if it is not."""
    nodes: str
    node_count: str
    has_gpus: bool
    exit_code: int | None
    signal: int | None

    @property
    def is_over(self) -> bool:
        """Whether it has ended, and will not begin again."""
        return self.state in _OVER


class Slurm:
    """The cluster of this machine."""

    def __init__(self, run: RunCommand = run_command) -> None:
        self._run = run

    def cluster(self) -> str:
        """Give the name of the cluster.

        Raises:
            SchedulerRefusedError: there is no answer.
        """
        argv = ("scontrol", "show", "config")
        for line in self._asked(argv).splitlines():
            key, _, value = line.partition("=")
            if key.strip() == "ClusterName":
                return value.strip()
        raise SchedulerRefusedError(shlex.join(argv), "it names no cluster")

    def submit(self, argv: Sequence[str], environment: Mapping[str, str], name: str) -> str:
        """Submit a job, and give its id; an answer that was lost is looked for by the job's name.

        Raises:
            SchedulerRefusedError: it was not submitted.
        """
        ran = self._run(argv, environment)
        match = _SUBMITTED.fullmatch(ran.out)
        if ran.status == 0 and match is not None:
            return match[1]
        found = self._run(("squeue", "-h", f"--name={name}", "-o", "%i"), _environment())
        if found.status == 0 and _SUBMITTED.fullmatch(found.out):
            return found.out
        raise SchedulerRefusedError(shlex.join(argv), ran.err or ran.out)

    def show(self, job_id: str) -> JobNow | None:
        """Look at a job; None if the controller has forgotten it, which it does after its end.

        Raises:
            SchedulerRefusedError: there is no answer.
        """
        argv = ("scontrol", "show", "job", "-o", job_id)
        ran = self._run(argv, _environment())
        if ran.status == 0:
            return read_job(ran.out)
        if _NO_SUCH_JOB in ran.err:
            return None
        raise SchedulerRefusedError(shlex.join(argv), ran.err)

    def act(self, argv: Sequence[str]) -> str | None:
        """Do something to a job; gives why it was not done, None if it was."""
        ran = self._run(argv, _environment())
        return None if ran.status == 0 else ran.err or ran.out or f"ended with {ran.status}"

    def _asked(self, argv: Sequence[str]) -> str:
        ran = self._run(argv, _environment())
        if ran.status != 0:
            raise SchedulerRefusedError(shlex.join(argv), ran.err)
        return ran.out


def _environment() -> dict[str, str]:
    return {**os.environ, **_PLAIN}


def read_job(line: str) -> JobNow:
    """Read what ``scontrol show job -o`` prints; the first of a name counts.

    Free text, in which anything may stand, comes after all that is read here but for GPUs.
    """
    stated: dict[str, str] = {}
    for match in _FIELD.finditer(line):
        stated.setdefault(match[1], match[2])
    state = stated.get("JobState", "")
    uid = _UID.fullmatch(stated.get("UserId", ""))
    ended = _EXIT.fullmatch(stated.get("ExitCode", ""))
    code, signal = (int(ended[1]), int(ended[2])) if ended else (None, None)
    return JobNow(
        name=stated.get("JobName", ""),
        uid=int(uid[1]) if uid else None,
        state=state,
        restarts=_number(stated.get("Restarts")) or 0,
        start_s=_number(stated.get("StartTime")),
        preempted_s=_number(stated.get("PreemptTime")),
        nodes=stated.get("NodeList", ""),
        node_count=stated.get("NumNodes", "1"),
        # Versions differ; of a job that was requeued meanwhile only the last is stated.
        has_gpus=any("gres/gpu" in stated.get(key, "") for key in ("TRES", "AllocTRES", "ReqTRES")),
        # Beside any other state 0 is what Slurm prints for jobs that were killed.
        exit_code=None if code == 0 and state != "COMPLETED" else code,
        signal=signal or None,
    )


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.isascii() and text.isdigit() else None
