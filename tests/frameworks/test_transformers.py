"""Hugging Face Trainer on the CPU: what its training reports, and what is left when it is killed.

Run by ``make test-frameworks``; nothing is fetched.
"""

import os
import signal
import socket
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from tallystick.emit.checkpoint.survey import survey  # noqa: E402 (after the frameworks)
from tallystick.emit.frameworks.transformers import ReportProgress  # noqa: E402 (as above)
from tallystick.emit.progress.attach import attach  # noqa: E402 (as above)
from tests.emit.progress.jobs import events, kinds, new_run, steps  # noqa: E402 (as above)
from tests.frameworks import trainers  # noqa: E402 (as above)
from tests.frameworks.jobs import Job, start  # noqa: E402 (as above)
from tests.frameworks.receipts import receipt  # noqa: E402 (as above)
from tests.frameworks.trainers import Halting, Noticed, new_trainer  # noqa: E402 (as above)

pytestmark = pytest.mark.filterwarnings("ignore")

SAVES = ("checkpoint.begun", "checkpoint.committed", "checkpoint.abandoned")
JOB = f"""
{Path(trainers.__file__).read_text()}
from tallystick.emit.frameworks.transformers import ReportProgress
trainer = new_trainer(Path("saved"), ReportProgress(), Saved(), enable_jit_checkpoint=True)
"""


class Broken(Halting):
    """A trainer whose disk breaks in the middle of a save."""

    def _save_optimizer_and_scheduler(self, output_dir: str) -> None:
        raise OSError(5, "broken", output_dir)


def train(folder: Path, *, attempt: str = "a", resume: Any = None, **options: Any) -> Any:
    """Train to the end, and report into ``spool``."""
    run = new_run(folder / "spool", attempt=attempt)
    trainer = new_trainer(folder / "saved", ReportProgress(run), **options)
    try:
        trainer.train(resume_from_checkpoint=resume)
    finally:
        run.close()
    assert run.problem is None
    return trainer


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


def test_a_training_reports_steps_and_saves(tmp_path: Path) -> None:
    """A fresh start, every step, and each save committed with its bytes and then verified."""
    train(tmp_path)

    spool = tmp_path / "spool"
    assert events(spool, "checkpoint.restored") == [{"checkpoint": None, "step": 0}]
    assert sorted(set(steps(spool))) == [(step, 1) for step in range(1, 31)]
    begun, committed, verified = (
        [(body["checkpoint"], body["step"]) for body in events(spool, f"checkpoint.{kind}")]
        for kind in ("begun", "committed", "verified")
    )
    assert begun == committed == verified == [(f"checkpoint-{n}", n) for n in (10, 20, 30)]
    last = tmp_path / "saved" / "checkpoint-30"
    files = [each for each in last.iterdir() if each.name != "tallystick-manifest.json"]
    size = sum(each.stat().st_size for each in files)
    assert events(spool, "checkpoint.committed")[-1]["bytes"] == size


def test_batches_that_only_add_to_a_gradient_are_no_steps(tmp_path: Path) -> None:
    """Four batches make one."""
    train(tmp_path, gradient_accumulation_steps=4, max_steps=5)

    assert sorted(set(steps(tmp_path / "spool"))) == [(step, 1) for step in range(1, 6)]


def test_what_the_trainer_chooses_to_resume_from_is_named(tmp_path: Path) -> None:
    """It takes the newest of its folder, and any other that it is told."""
    train(tmp_path, max_steps=20)
    (tmp_path / "saved" / "checkpoint-10").rename(tmp_path / "kept")

    train(tmp_path, attempt="b", resume=True, max_steps=21)
    train(tmp_path, attempt="c", resume=str(tmp_path / "kept") + "/", max_steps=11)

    assert events(tmp_path / "spool", "checkpoint.restored") == [
        {"checkpoint": None, "step": 0},
        {"checkpoint": "checkpoint-20", "step": 20},
        {"checkpoint": "kept", "step": 10},
    ]


def test_a_trainer_that_trains_twice_tells_each_save_once(tmp_path: Path) -> None:
    """The second training stands in the same place as the first."""
    run = new_run(tmp_path / "spool")
    trainer = new_trainer(tmp_path / "saved", ReportProgress(run), max_steps=10)

    trainer.train()
    trainer.train()
    run.close()

    assert [body["step"] for body in events(tmp_path / "spool", *SAVES)] == [10] * 4


def test_a_save_that_fails_is_abandoned_and_training_sees_it(tmp_path: Path) -> None:
    """The error is the trainer's to handle."""
    with pytest.raises(OSError, match="broken"):
        train(tmp_path, make=Broken)

    begun, abandoned = events(tmp_path / "spool", *SAVES)
    assert begun == {"blocking": True, "checkpoint": "checkpoint-10", "step": 10}
    assert abandoned["reason"].startswith("OSError: [Errno 5] broken")


def test_a_half_written_checkpoint_is_never_the_last_valid_one(tmp_path: Path) -> None:
    """transformers#27820: killed in the save on notice at 20, so 10 is what there is."""
    script = 'Noticed(trainer, "on_step_end", 20)\ntrainer.halt_at = 20\ntrainer.train()\n'
    saved, spool = tmp_path / "saved", tmp_path / "spool"
    job = start(JOB + script, tmp_path)
    assert [word_of(job), word_of(job)] == ["saved 10", "saving"]
    kill(job)

    seen = survey(saved)
    before = receipt(tmp_path, spool, a="provider")
    marker = (saved / "checkpoint-20" / "checkpoint-is-incomplete.txt").exists()
    with pytest.raises(FileNotFoundError, match=r"checkpoint-20/trainer_state\.json"):
        train(tmp_path, attempt="b", resume=True)
    train(tmp_path, attempt="c", resume=str(saved / "checkpoint-10"))
    after = receipt(tmp_path, spool, a="provider", b="user", c="completed")

    assert marker
    assert [(each.name, each.is_valid) for each in seen.checkpoints] == [
        ("checkpoint-20", False),
        ("checkpoint-10", True),
    ]
    assert before["progress"]["last_valid_checkpoint"]["step"] == 10
    first, second = after["progress"]["interruptions"]
    assert first == {
        "attempt": "a",
        "last_step": 20,
        "restored_step": 10,
        "lost_steps": 10,
        "avoidable_lost_steps": 0,
    }
    assert second["attempt"] == "b"
    assert (after["progress"]["steps_completed"], after["progress"]["replayed_steps"]) == (30, 10)
    assert after["progress"]["last_valid_checkpoint"]["checkpoint"] == "checkpoint-30"


@pytest.mark.parametrize(
    ("hook", "step", "reached"),
    [
        ("on_step_end", 20, 20),
        ("on_epoch_end", 20, 20),
        ("on_step_begin", 15, 16),
        ("on_pre_optimizer_step", 15, 16),
    ],
)
def test_a_save_on_notice_is_committed_when_the_library_says_it_is_over(
    hook: str, step: int, reached: int, tmp_path: Path
) -> None:
    """No hook tells of it, and the step that was under way is done after it, and so lost."""
    run = new_run(tmp_path / "spool")
    options = {"save_steps": 100, "enable_jit_checkpoint": True}
    if hook == "on_epoch_end":
        options |= {"per_device_train_batch_size": 64, "max_steps": 40}
    trainer = new_trainer(tmp_path / "saved", ReportProgress(run, digest=False), **options)
    Noticed(trainer, hook, step)

    trainer.train()
    run.close()

    said = events(tmp_path / "spool", "progress.step", *SAVES[:2])
    assert [body["step"] for body in said] == [
        *range(1, step + 1),
        step,
        step,
        *range(step + 1, reached + 1),
    ]
    assert survey(tmp_path / "saved").last is not None


def test_a_marker_that_is_left_is_no_commit(tmp_path: Path) -> None:
    """The next save, or the end, tells that the one before came to nothing."""
    folder = tmp_path / "saved" / "checkpoint-10"
    folder.mkdir(parents=True)
    (folder / "checkpoint-is-incomplete.txt").touch()

    train(tmp_path, max_steps=20)

    told = events(tmp_path / "spool", *SAVES)
    reasons = [(body["step"], body.get("reason")) for body in told]
    assert reasons == [
        (10, None),
        (10, "checkpoint-is-incomplete.txt is still there"),
        (20, None),
        (20, None),
    ]


def test_a_save_is_committed_when_every_rank_has_written(tmp_path: Path) -> None:
    """Rank 0 has come back from its save of 20, and rank 1 has not: nobody commits it."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    jobs = []
    for rank in (0, 1):
        place = {"LOCAL_RANK": str(rank), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
        script = f"import os\nos.environ.update({place})\n{JOB}\n"
        script += f"trainer.halt_at = {20 if rank == 1 else -1}\ntrainer.train()\n"
        jobs.append(start(script, tmp_path, rank=rank, ranks=2))
    assert [word_of(jobs[0]), word_of(jobs[1])] == ["saved 10", "saved 10"]
    assert [word_of(jobs[0]), word_of(jobs[1])] == ["saved 20", "saving"]
    kill(*jobs)

    told = events(tmp_path / "spool", "checkpoint.committed", "checkpoint.begun")
    files = {each.name for each in (tmp_path / "saved" / "checkpoint-10").iterdir()}
    assert {"rng_state_0.pth", "rng_state_1.pth"} < files
    assert [(body["step"], "bytes" in body) for body in told] == [
        (10, False),
        (10, True),
        (20, False),
    ]


def test_a_manifest_does_not_make_an_old_checkpoint_new(tmp_path: Path) -> None:
    """The library deletes the folder that was changed the longest ago."""
    train(tmp_path, max_steps=10)
    folder = tmp_path / "saved" / "checkpoint-10"

    files = [each for each in folder.iterdir() if each.name != "tallystick-manifest.json"]
    assert len(files) == len(list(folder.iterdir())) - 1
    assert folder.stat().st_mtime_ns <= max(each.stat().st_mtime_ns for each in files)


def test_a_run_that_cannot_be_kept_changes_nothing(tmp_path: Path) -> None:
    """There is no place for it: training ends as it would without it."""
    (tmp_path / "file").touch()
    run = attach("r", attempt="a", spool=tmp_path / "file" / "spool")
    reported = new_trainer(tmp_path / "reported", ReportProgress(run), seed=1)
    alone = new_trainer(tmp_path / "alone", seed=1)
    alone.model.load_state_dict(reported.model.state_dict())

    reported.train()
    alone.train()

    assert run.problem is not None
    assert torch.equal(reported.model.line.weight, alone.model.line.weight)
    assert len(list((tmp_path / "reported").iterdir())) == 3


def test_a_full_disk_is_a_problem_of_the_run_alone(tmp_path: Path) -> None:
    """Nothing that is written to the journal is taken."""
    run = new_run(tmp_path / "spool")
    assert run._journal is not None  # noqa: SLF001 (its disk fills up)
    full = os.open("/dev/full", os.O_WRONLY)
    os.dup2(full, run._journal._handle)  # noqa: SLF001 (as above)
    os.close(full)
    trainer = new_trainer(tmp_path / "saved", ReportProgress(run))

    trainer.train()

    assert (trainer.state.global_step, run.problem) == (30, "no space left on device")
    assert len(list((tmp_path / "saved").iterdir())) == 3


@pytest.mark.parametrize("hook", [name for name in vars(ReportProgress) if name.startswith("on_")])
def test_a_library_that_is_otherwise_is_a_problem_and_no_error(hook: str, tmp_path: Path) -> None:
    """What a hook does not find, or nobody it knows calls it."""
    callback = ReportProgress(new_run(tmp_path / "spool"))

    getattr(callback, hook)(object(), object(), object())

    assert events(tmp_path / "spool") == []


def test_a_trainer_that_is_not_found_is_said(tmp_path: Path) -> None:
    """Its steps are reported, and that its saves are not seen."""
    run = new_run(tmp_path / "spool")
    callback = ReportProgress(run)
    state = new_trainer(tmp_path / "saved").state

    callback.on_train_begin(None, state, None)

    assert run.problem is not None
    assert "the trainer was not found" in run.problem


def test_trials_of_a_search_are_no_steps_of_a_run(tmp_path: Path) -> None:
    """Each begins anew, and none is what was asked for."""
    run = new_run(tmp_path / "spool")
    callback = ReportProgress(run)
    state = new_trainer(tmp_path / "saved").state
    state.is_hyper_param_search, state.global_step = True, 1

    callback.on_train_begin(None, state, None)
    callback.on_step_end(None, state, None)

    assert kinds(tmp_path / "spool") == ["attempt.linked", "progress.started"]


def test_sigterm_is_the_librarys_again_after_training() -> None:
    """The tests above leave nothing behind."""
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
