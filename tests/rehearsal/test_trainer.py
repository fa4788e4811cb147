"""The small trainer: the same steps give the same bits, however often it is cut short."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from tallystick.emit.progress.journal import FOLDER
from tallystick.rehearsal.holds import VARIABLE
from tallystick.rehearsal.journal import JournalTail
from tallystick.rehearsal.trained import ENDED_ON_NOTICE
from tests.rehearsal.rehearsals import processes_with

ARGUMENTS = ("--steps", "8", "--save-every", "3", "--workers", "3")


def environment(folder: Path, **more: str) -> dict[str, str]:
    """Say where a trainer reports to."""
    own = {"TALLYSTICK_SPOOL": str(folder / "spool"), "TALLYSTICK_RUN_ID": "r"}
    return {**os.environ, **own, "TALLYSTICK_ATTEMPT": "a", **more}


def begin(folder: Path, *arguments: str, **more: str) -> "subprocess.Popen[bytes]":
    """Start a trainer in a folder."""
    folder.mkdir(exist_ok=True)
    argv = [sys.executable, "-m", "tallystick.rehearsal.trainer", *ARGUMENTS, *arguments]
    return subprocess.Popen(
        argv, cwd=folder, env=environment(folder, **more), stderr=subprocess.DEVNULL
    )


def train(folder: Path, *arguments: str, **more: str) -> int:
    """Run a trainer to its end."""
    with begin(folder, *arguments, **more) as trainer:
        return trainer.wait()


def saw(folder: Path, kind: str, attempt: str = "a") -> list[int]:
    """Give the steps of all reports of a kind."""
    records = JournalTail(folder / "spool", attempt).read()
    return [record["body"]["step"] for record in records if record["kind"] == kind]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give the folder of a run from start to end."""
    folder = tmp_path_factory.mktemp("whole")
    assert train(folder) == 0
    return folder


def test_it_learns_and_reports(whole: Path) -> None:
    """Every step and every save is reported by rank 0 alone, and the output is accepted."""
    journals = list((whole / "spool" / str(os.geteuid()) / FOLDER).glob("*.journal"))

    assert len(journals) == 1
    assert saw(whole, "progress.step") == [1, 2, 3, 4, 5, 6, 7, 8]
    assert saw(whole, "checkpoint.committed") == [3, 6]
    assert saw(whole, "output.accepted") == [8]
    assert np.isfinite(np.load(whole / "result.npy")).all()


def test_a_checkpoint_has_a_shard_of_each_worker(whole: Path) -> None:
    """And a manifest, which its digests were written into afterwards."""
    names = sorted(path.name for path in (whole / "checkpoints" / "step-3").iterdir())

    assert names == [*(f"rank-0000{rank}.npy" for rank in range(3)), "tallystick-manifest.json"]


def test_going_on_from_a_checkpoint_gives_the_same_bits(whole: Path, tmp_path: Path) -> None:
    """From the newest whole one; a draft that was never finished is no checkpoint."""
    shutil.copytree(whole / "checkpoints", tmp_path / "checkpoints")
    (tmp_path / "checkpoints" / "step-6").rename(tmp_path / "checkpoints" / ".step-6")

    assert train(tmp_path) == 0

    assert saw(tmp_path, "checkpoint.restored") == [3]
    assert (tmp_path / "result.npy").read_bytes() == (whole / "result.npy").read_bytes()


def test_another_seed_is_another_result(whole: Path, tmp_path: Path) -> None:
    """The comparison of results can fail."""
    assert train(tmp_path, "--seed", "2") == 0

    assert (tmp_path / "result.npy").read_bytes() != (whole / "result.npy").read_bytes()


def held(folder: Path, *arguments: str) -> "subprocess.Popen[bytes]":
    """Start a trainer that stands still after step 4, and wait until it does."""
    trainer = begin(folder, *arguments, **{VARIABLE: "1:step:4"})
    while saw(folder, "progress.step") != [1, 2, 3, 4]:
        assert trainer.poll() is None
        time.sleep(0.01)
    return trainer


def test_told_to_stop_it_saves_if_it_is_to(whole: Path, tmp_path: Path) -> None:
    """The next start goes on from there, to the same bits."""
    with held(tmp_path, "--on-notice", "save") as trainer:
        trainer.send_signal(signal.SIGTERM)
        assert trainer.wait() == ENDED_ON_NOTICE
    assert saw(tmp_path, "checkpoint.committed") == [3, 5]

    assert train(tmp_path, TALLYSTICK_ATTEMPT="b") == 0

    assert saw(tmp_path, "checkpoint.restored", "b") == [5]
    assert (tmp_path / "result.npy").read_bytes() == (whole / "result.npy").read_bytes()


def test_told_to_stop_it_dies_like_a_program_that_knows_no_better(tmp_path: Path) -> None:
    """What is left of it is the business of whoever started it."""
    with held(tmp_path) as trainer:
        trainer.send_signal(signal.SIGTERM)
        code = trainer.wait()
    for rank in "012":
        for pid in workers(rank, tmp_path):
            os.kill(pid, signal.SIGKILL)

    assert code == -signal.SIGTERM
    assert saw(tmp_path, "checkpoint.committed") == [3]


def test_a_lost_worker_ends_the_others(tmp_path: Path) -> None:
    """The launcher sees it, whichever rank it was, and fails."""
    with held(tmp_path) as trainer:
        (worker,) = workers("2", tmp_path)
        os.kill(worker, signal.SIGKILL)
        assert trainer.wait() == 1

    assert workers("0", tmp_path) == []


def test_each_start_is_counted(whole: Path) -> None:
    """Holds are for one start of a run, which an interruption does not take back."""
    assert (whole / "starts").read_bytes() == b"."


def workers(rank: str, folder: Path) -> list[int]:
    """Find the worker of a rank, of the trainer in a folder."""
    ranked = set(processes_with("RANK", rank))
    return sorted(ranked & set(processes_with("TALLYSTICK_SPOOL", str(folder / "spool"))))
