"""Tests for where a job finds its run, attempt, rank and spool."""

import os
from pathlib import Path

import pytest

from tallystick.emit.progress.attach import attach
from tallystick.emit.progress.whereabouts import Whereabouts, find
from tallystick.emit.slurm.held import Held, held_file, write_held

SLURM = {
    "SLURM_JOB_ID": "7",
    "SLURM_CLUSTER_NAME": "c1",
    "SLURMD_NODENAME": "n1",
    "SLURM_JOB_START_TIME": "1767225600",
}


def found(**environment: str) -> Whereabouts:
    """Look around in an environment."""
    return find(environment, run=None, attempt=None)


@pytest.mark.parametrize(
    ("environment", "run"),
    [
        ({}, None),
        ({"TALLYSTICK_RUN_ID": "r"}, "r"),
        ({"SKYPILOT_TASK_ID": "sky-1"}, "sky-1"),
        ({"TALLYSTICK_RUN_ID": "r", "SKYPILOT_TASK_ID": "sky-1"}, "r"),
        ({"TALLYSTICK_RUN_ID": "", "SKYPILOT_TASK_ID": "sky-1"}, "sky-1"),
        ({"TALLYSTICK_RUN_ID": "a\nb"}, None),
        ({"TALLYSTICK_RUN_ID": "x" * 201}, None),
        ({"SLURM_JOB_COMMENT": "mine tallystick.run=r"}, "r"),
    ],
)
def test_the_run_is_what_the_first_one_says(environment: dict[str, str], run: str | None) -> None:
    """Its own variable, SkyPilot's, then the comment of the Slurm job."""
    assert found(**environment).run == run


def test_the_caller_comes_first() -> None:
    """What is stated in the call needs no environment."""
    where = find({"TALLYSTICK_RUN_ID": "e", "TALLYSTICK_ATTEMPT": "f"}, run="r", attempt="a")

    assert (where.run, where.attempt) == ("r", "a")


@pytest.mark.parametrize("name", ["", "a\x00", "x" * 201, "\ud800" * 100])
def test_a_name_that_is_none_is_a_problem(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """It is said, and nothing is kept."""
    run = attach(name)

    assert run.problem is not None
    assert "expected 1 to 200 printable bytes" in capsys.readouterr().err


def test_the_attempt_is_what_the_prolog_of_the_task_exported() -> None:
    """It comes before all that could be worked out."""
    assert found(TALLYSTICK_ATTEMPT="slurm:c1:7@n1:5", **SLURM).attempt == "slurm:c1:7@n1:5"


def test_without_the_export_the_prolog_of_the_node_says_it(tmp_path: Path) -> None:
    """It left the attempt where the job can read it."""
    attempt = "slurm:c1:7@n1:1767225601"
    write_held(held_file(tmp_path, "7", "n1"), Held(attempt, os.geteuid(), has_gpus=True))

    assert found(TALLYSTICK_SPOOL=str(tmp_path), **SLURM).attempt == attempt


def test_without_hooks_slurm_says_it() -> None:
    """Job, node and start make a key that a collector can join."""
    assert found(**SLURM).attempt == "slurm:c1:7@n1:1767225600"


def test_without_a_start_the_key_says_when_the_job_looked() -> None:
    """Versions before 23.02 state none; accounting tells whose time it falls into."""
    attempt = found(**{**SLURM, "SLURM_JOB_START_TIME": ""}).attempt

    assert attempt.startswith("slurm:c1:7@n1:1")


@pytest.mark.parametrize("missing", ["SLURM_JOB_ID", "SLURM_CLUSTER_NAME"])
def test_without_a_scheduler_the_attempt_is_this_process(missing: str) -> None:
    """It is nobody else's."""
    attempt = found(**{name: value for name, value in SLURM.items() if name != missing}).attempt

    assert attempt.startswith("process:n1:")
    assert f":{os.getpid()}:" in attempt


@pytest.mark.parametrize(
    ("environment", "rank"),
    [
        ({}, 0),
        ({"RANK": "3"}, 3),
        ({"SLURM_PROCID": "2"}, 2),
        ({"RANK": "1", "SLURM_PROCID": "2"}, 1),
        ({"RANK": "x", "OMPI_COMM_WORLD_RANK": "5"}, 5),
        ({"RANK": "-1"}, 0),
        ({"RANK": "9" * 50}, 0),
        ({"SKYPILOT_NODE_RANK": "4"}, 4),
    ],
)
def test_the_rank_is_what_the_launcher_says(environment: dict[str, str], rank: int) -> None:
    """Without one it is the only process."""
    assert found(**environment).rank == rank


@pytest.mark.parametrize("options", [{"every": 0}, {"ranks": "some"}])
def test_options_that_mean_nothing_are_a_problem(options: dict[str, object]) -> None:
    """Nothing is raised into the job."""
    assert attach("r", **options).problem is not None  # type: ignore[arg-type]
