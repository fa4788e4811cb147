"""Training jobs for tests: scripts in processes of their own, and what they reported."""

import os
import subprocess
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path

from tallystick.emit.progress.run import Run

SOURCES = Path(__file__).resolve().parent.parent.parent / "src"
OFFLINE = {"HF_HUB_OFFLINE": "1", "CUDA_VISIBLE_DEVICES": "", "PYTHONWARNINGS": "ignore"}
Job = subprocess.Popen[str]


def start(script: str, folder: Path, *, rank: int = 0, ranks: int = 1, attempt: str = "a") -> Job:
    """Start a job in a folder; it reports into ``spool`` there, as an attempt of the run ``r``."""
    environment = {
        **os.environ,
        **OFFLINE,
        "PYTHONPATH": str(SOURCES),
        "TALLYSTICK_SPOOL": str(folder / "spool"),
        "TALLYSTICK_RUN_ID": "r",
        "TALLYSTICK_ATTEMPT": attempt,
        "RANK": str(rank),
        "WORLD_SIZE": str(ranks),
        "OMP_NUM_THREADS": "1",
    }
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(script)],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def word_of(job: Job) -> str:
    """Wait for a word of a job."""
    assert job.stdout is not None
    return job.stdout.readline().strip()


def kill(*jobs: Job) -> None:
    """Kill jobs, and wait until they are gone."""
    for job in jobs:
        job.kill()
    for job in jobs:
        job.communicate()


def finish(jobs: Sequence[Job]) -> list[str]:
    """Wait for jobs to end well, and give what they printed."""
    said = []
    try:
        for job in jobs:
            out, problems = job.communicate(timeout=240)
            assert job.returncode == 0, problems
            said.append(out)
    finally:
        kill(*(job for job in jobs if job.poll() is None))
    return said


def run(script: str, folder: Path, ranks: int = 1) -> list[str]:
    """Run a job of some ranks to its end."""
    return finish([start(script, folder, rank=rank, ranks=ranks) for rank in range(ranks)])


def fill_disk(run: Run) -> None:
    """Let the disk that a run reports to take nothing any more."""
    journal = run._journal  # noqa: SLF001 (no disk is filled for a test)
    assert journal is not None
    full = os.open("/dev/full", os.O_WRONLY)
    os.dup2(full, journal._handle)  # noqa: SLF001 (as above)
    os.close(full)
