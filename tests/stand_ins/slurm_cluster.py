"""A stand-in for Slurm's commands: jobs that really run, on one node, without any waiting.

A batch script runs as a process of this machine; a requeue kills it and runs it again; a job
for the node of another pre-empts that one. It schedules nothing and accounts for nothing: what
the real one does is tested in ``tests/live/slurm``.
"""

import os
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from tallystick.rehearsal.slurm.commands import Ran

SRUN = '#!/bin/sh\nwhile [ "${1#-}" != "$1" ]; do shift; done\nexec "$@"\n'
SLEEP = '#!/bin/sh\n[ "$1" = 1 ] || exec /bin/sleep "$1"\n'
"""The second for which a script waits after its command is of no use here."""


@dataclass
class FakeJob:
    """A job of the stand-in."""

    name: str
    argv: tuple[str, ...]
    environment: Mapping[str, str]
    uid: int = field(default_factory=os.geteuid)
    state: str = "RUNNING"
    restarts: int = 0
    exit_code: str = "0:0"
    preempted: str = "None"
    process: "subprocess.Popen[bytes] | None" = None

    @property
    def is_here(self) -> bool:
        """Whether a process of it runs."""
        return self.process is not None and self.process.poll() is None


class FakeSlurm:
    """Runs the commands that the route runs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.jobs: dict[str, FakeJob] = {}
        self.ran: list[tuple[str, ...]] = []
        self.answers: dict[str, Ran] = {}
        """By the first words of a command: what it answers instead."""
        self.has_gpus = True
        self.before: Callable[[Sequence[str]], None] = lambda _: None
        """Told of each command before it is run."""
        (folder / "bin").mkdir()
        for name, script in (("srun", SRUN), ("sleep", SLEEP)):
            path = folder / "bin" / name
            path.write_text(script)
            path.chmod(0o755)

    def __call__(self, argv: Sequence[str], environment: Mapping[str, str]) -> Ran:
        """Run a command."""
        self.ran.append(tuple(argv))
        self.before(argv)
        text = " ".join(argv)
        for begins, answer in self.answers.items():
            if text.startswith(begins):
                return answer
        match list(argv):
            case ["scontrol", "show", "config"]:
                return Ran(0, "Configuration\nClusterName             = fake\n", "")
            case ["scontrol", "show", "job", "-o", job_id]:
                return self._show(job_id)
            case ["scontrol", "requeue", job_id]:
                self._requeue(job_id)
                return Ran(0, "", "")
            case ["scancel", *options, job_id]:
                return self._cancel(job_id, options)
            case ["squeue", "-h", name, "-o", "%i"]:
                wanted = name.removeprefix("--name=")
                return Ran(0, "\n".join(i for i, j in self.jobs.items() if j.name == wanted), "")
            case ["sbatch", *_]:
                return self._submit(tuple(argv), environment)
        raise AssertionError(argv)

    def submit_and_lose(self, argv: Sequence[str], environment: Mapping[str, str]) -> None:
        """Submit a job, and lose the answer."""
        self._submit(tuple(argv), environment)
        self.answers["sbatch"] = Ran(None, "", "no answer in 60 s")

    def options(self, job_id: str) -> set[str]:
        """Give the arguments that a job was submitted with."""
        return set(self.jobs[job_id].argv)

    def acts(self) -> list[str]:
        """Give the commands that do something."""
        words = ("scancel", "scontrol requeue", "sbatch")
        return [" ".join(each) for each in self.ran if " ".join(each).startswith(words)]

    def close(self) -> None:
        """End all that runs."""
        for job in self.jobs.values():
            _kill(job)

    def _submit(self, argv: tuple[str, ...], environment: Mapping[str, str]) -> Ran:
        stated = dict(each.partition("=")[::2] for each in argv if each.startswith("--"))
        job = FakeJob(stated["--job-name"], argv, environment)
        job_id = str(40 + len(self.jobs))
        if "--nodelist" in stated:
            job.state = "COMPLETED"
            for other_id, other in self.jobs.items():
                if other.is_here:
                    other.preempted = "1767225600"
                    assert other.process is not None
                    os.killpg(other.process.pid, signal.SIGTERM)
                    self._requeue(other_id)
        else:
            self._run(job, job_id)
        self.jobs[job_id] = job
        return Ran(0, job_id, "")

    def _run(self, job: FakeJob, job_id: str) -> None:
        own = {
            "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}",
            "SLURM_JOB_ID": job_id,
            "SLURM_CLUSTER_NAME": "fake",
            "SLURMD_NODENAME": "n1",
            "SLURM_JOB_START_TIME": str(1767225600 + job.restarts),
        }
        if job.restarts:
            own["SLURM_RESTART_COUNT"] = str(job.restarts)
        (folder,) = (each[8:] for each in job.argv if each.startswith("--chdir="))
        job.state = "RUNNING"
        job.process = subprocess.Popen(
            ["bash", job.argv[-1]],
            env={**job.environment, **own},
            cwd=folder,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )

    def _show(self, job_id: str) -> Ran:
        job = self.jobs.get(job_id)
        if job is None:
            error = "slurm_load_jobs error: Invalid job id specified"
            return Ran(1, "", error)
        if job.process is not None and job.state == "RUNNING" and not job.is_here:
            code = job.process.returncode
            job.state = "FAILED" if code else "COMPLETED"
            job.exit_code = f"{max(code, 0)}:{max(-code, 0)}"
        tres = "TRES=cpu=1,gres/gpu=2" if self.has_gpus else "TRES=cpu=1"
        return Ran(
            0,
            f"JobId={job_id} JobName={job.name} UserId=who({job.uid}) JobState={job.state}"
            f" Reason=None Requeue=1 Restarts={job.restarts} ExitCode={job.exit_code}"
            f" StartTime=1767225600 PreemptTime={job.preempted} ReqNodeList=(null) NodeList=n1"
            f" BatchHost=n1 NumNodes=1 {tres} Comment=JobState=CANCELLED ",
            "",
        )

    def _requeue(self, job_id: str) -> None:
        job = self.jobs[job_id]
        _kill(job)
        job.restarts += 1
        job.preempted = "None"
        self._run(job, job_id)

    def _cancel(self, job_id: str, options: list[str]) -> Ran:
        job = self.jobs[job_id]
        if options:
            assert job.process is not None
            os.killpg(job.process.pid, signal.SIGTERM)
        else:
            _kill(job)
            job.state, job.exit_code = "CANCELLED", "0:15"
        return Ran(0, "", "")


def _kill(job: FakeJob) -> None:
    if job.process is not None:
        with suppress(ProcessLookupError):
            os.killpg(job.process.pid, signal.SIGKILL)
        job.process.wait()
