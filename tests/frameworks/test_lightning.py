"""PyTorch Lightning on the CPU: what its fit reports, and when.

Run by ``make test-frameworks``; nothing is fetched.
"""

import os
import pickle
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pl = pytest.importorskip("lightning.pytorch")

from lightning.pytorch.callbacks import (  # noqa: E402 (after the frameworks)
    LearningRateFinder,
)
from lightning.pytorch.plugins.io import (  # noqa: E402 (as above)
    AsyncCheckpointIO,
    TorchCheckpointIO,
)

from tallystick.emit.checkpoint.survey import survey  # noqa: E402 (as above)
from tallystick.emit.frameworks.lightning import ReportProgress  # noqa: E402 (as above)
from tallystick.emit.progress.attach import attach  # noqa: E402 (as above)
from tests.emit.progress.jobs import events, kinds, new_run, told  # noqa: E402 (as above)
from tests.frameworks import fits  # noqa: E402 (as above)
from tests.frameworks.fits import (  # noqa: E402 (as above)
    Acting,
    Line,
    every,
    new_trainer,
    notify,
    points,
)
from tests.frameworks.jobs import (  # noqa: E402 (as above)
    fill_disk,
    finish,
    kill,
    start,
    word_of,
)
from tests.frameworks.receipts import receipt  # noqa: E402 (as above)

pytestmark = pytest.mark.filterwarnings("ignore")

SAVES = ("checkpoint.begun", "checkpoint.committed", "checkpoint.abandoned")
FITS = Path(fits.__file__).read_text()


class Broken(TorchCheckpointIO):  # type: ignore[misc]  # It has no types where it is absent.
    """Writes to a disk that fails."""

    def save_checkpoint(self, *arguments: Any, **options: Any) -> None:
        """Fail."""
        del arguments, options
        raise OSError("disk")


@pytest.fixture(autouse=True)
def handlers() -> Iterator[None]:
    """Leave signals to be handled as before: Lightning does not after an error."""
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGUSR1)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def fit(
    folder: Path,
    *callbacks: Any,
    attempt: str = "a",
    resume: Path | None = None,
    model: Any = None,
    **options: Any,
) -> Any:
    """Fit to the end, report into ``spool``, and give how often the model was changed."""
    run = new_run(folder / "spool", attempt=attempt)
    model = model or Line()
    try:
        trainer = new_trainer(ReportProgress(run), *callbacks, **options)
        trainer.fit(model, points(), ckpt_path=resume)
    finally:
        run.close()
    assert run.problem is None
    return model.updates


def numbers(spool: Path, *kinds: str) -> list[int]:
    """Give the steps that some kinds name."""
    return [body["step"] for body in events(spool, *kinds)]


def done(spool: Path) -> list[int]:
    """Give the steps that were reported; a word from another thread may repeat the last one."""
    return sorted(set(numbers(spool, "progress.step")))


def test_a_fit_reports_steps_and_saves(tmp_path: Path) -> None:
    """A fresh start, each optimiser step, and each save committed with its bytes, then verified."""
    fit(tmp_path, every(3, tmp_path / "saved"), max_epochs=2)

    spool = tmp_path / "spool"
    saves = events(spool, *SAVES)
    sizes = [(tmp_path / "saved" / f"step={n}.ckpt").stat().st_size for n in (3, 6)]
    assert events(spool, "checkpoint.restored") == [{"checkpoint": None, "step": 0}]
    assert done(spool) == list(range(1, 7))
    assert [(body["checkpoint"], body["step"], body.get("bytes")) for body in saves] == [
        ("step=3.ckpt", 3, None),
        ("step=3.ckpt", 3, sizes[0]),
        ("step=6.ckpt", 6, None),
        ("step=6.ckpt", 6, sizes[1]),
    ]
    assert numbers(spool, "checkpoint.verified") == [3, 6]


def test_a_batch_that_only_adds_to_a_gradient_is_no_step(tmp_path: Path) -> None:
    """Three batches make one."""
    fit(tmp_path, max_epochs=4, accumulate_grad_batches=3)

    assert done(tmp_path / "spool") == [1, 2, 3, 4]


@pytest.mark.parametrize("moment", ["batch", "epoch"])
def test_steps_are_what_was_really_done(moment: str, tmp_path: Path) -> None:
    """Lightning#19403: resumed twice from the end of an epoch, an epoch may come once more."""
    saved, updates = tmp_path / "saved", []
    for part, attempt in enumerate("abc", 1):
        trigger = {"every_n_train_steps": 3} if moment == "batch" else {"every_n_epochs": 1}
        keeps = pl.callbacks.ModelCheckpoint(
            dirpath=saved, filename="x", enable_version_counter=False, **trigger
        )
        resume = saved / "x.ckpt" if part > 1 else None
        updates.append(fit(tmp_path, keeps, attempt=attempt, resume=resume, max_epochs=part))

    spool, total = tmp_path / "spool", sum(updates)
    steps = done(spool)
    made = receipt(tmp_path, spool, a="provider", b="provider", c="completed")
    assert steps == list(range(1, total + 1))
    assert numbers(spool, "checkpoint.restored") == [0, 3, 6]
    assert (made["progress"]["steps_completed"], made["progress"]["replayed_steps"]) == (total, 0)
    assert [each["lost_steps"] for each in made["progress"]["interruptions"]] == [0, 0]
    assert made["findings"] == []


def test_another_fit_of_the_same_trainer_goes_on(tmp_path: Path) -> None:
    """It restores nothing; a new trainer starts afresh; each save is told once."""
    run = new_run(tmp_path / "spool")
    report, keeps = ReportProgress(run), every(3, tmp_path / "saved")
    trainer = new_trainer(report, keeps, max_epochs=1)

    trainer.fit(Line(), points())
    trainer.fit_loop.max_epochs = 2
    trainer.fit(trainer.lightning_module, points())
    new_trainer(report, max_epochs=1).fit(Line(), points())
    run.close()

    spool = tmp_path / "spool"
    assert numbers(spool, "checkpoint.restored") == [0, 0]
    assert done(spool) == list(range(1, 7))
    assert numbers(spool, *SAVES) == [3, 3, 6, 6]


def test_a_save_in_the_background_is_committed_when_it_is_written(tmp_path: Path) -> None:
    """Lightning's own hook says it when it is only queued; steps go on meanwhile."""
    gate = threading.Event()

    class Slow(TorchCheckpointIO):  # type: ignore[misc]  # As above.
        def save_checkpoint(self, *arguments: Any, **options: Any) -> None:
            gate.wait()
            super().save_checkpoint(*arguments, **options)

    plugin = AsyncCheckpointIO(Slow())
    fit(
        tmp_path,
        Acting(5, gate.set),
        every(3, tmp_path / "saved"),
        plugins=[plugin],
        max_steps=5,
        max_epochs=9,
    )

    spool = tmp_path / "spool"
    order = [(each["kind"], each["body"].get("step")) for each in told(spool)]
    begun, committed = events(spool, *SAVES)
    assert (begun["blocking"], committed["blocking"]) == (False, False)
    assert committed["bytes"] == (tmp_path / "saved" / "step=3.ckpt").stat().st_size
    assert order.index(("checkpoint.committed", 3)) > order.index(("progress.step", 5))


def test_a_writer_that_two_trainers_use_tells_each_save_once(tmp_path: Path) -> None:
    """What stands around it is replaced, and never piled up."""
    run = new_run(tmp_path / "spool")
    report, plugin = ReportProgress(run), AsyncCheckpointIO()

    for count in (1, 2):
        keeps = every(3, tmp_path / f"saved{count}")
        new_trainer(report, keeps, plugins=[plugin], max_epochs=1).fit(Line(), points())
    run.close()

    assert [kind for kind in kinds(tmp_path / "spool") if kind in SAVES] == [*SAVES[:2]] * 2


@pytest.mark.parametrize("in_background", [False, True])
def test_a_save_that_fails_is_abandoned_and_the_fit_sees_it(
    in_background: bool,  # noqa: FBT001 (a parameter of the test)
    tmp_path: Path,
) -> None:
    """The error is Lightning's to handle."""
    plugin = AsyncCheckpointIO(Broken()) if in_background else Broken()

    with pytest.raises(OSError, match="disk"):
        fit(tmp_path, every(3, tmp_path / "saved"), plugins=[plugin], max_epochs=1)

    begun, abandoned = events(tmp_path / "spool", *SAVES)
    assert begun["blocking"] is not in_background
    assert abandoned["reason"] == "OSError: disk"


def test_a_fit_that_is_killed_in_a_save_goes_on_from_the_one_before(tmp_path: Path) -> None:
    """6 is begun and never committed, so 3 is the last valid one and three steps come again."""
    script = f"{FITS}\nfrom tallystick.emit.frameworks.lightning import ReportProgress\n"
    script += "trainer = new_trainer(ReportProgress(), every(3, 'saved'), plugins=[Halting(6)],"
    script += " max_epochs=5)\ntrainer.fit(Line(), points(30))"
    job = start(script, tmp_path)
    assert word_of(job) == "saving"
    kill(job)
    saved, spool = tmp_path / "saved", tmp_path / "spool"
    seen, before = survey(saved), receipt(tmp_path, spool, a="provider")

    fit(tmp_path, attempt="b", resume=saved / "step=3.ckpt", max_steps=9, max_epochs=5)
    after = receipt(tmp_path, spool, a="provider", b="completed")

    assert [each.name for each in seen.checkpoints if each.is_valid] == ["step=3.ckpt"]
    assert before["progress"]["last_valid_checkpoint"]["step"] == 3
    (interruption,) = after["progress"]["interruptions"]
    assert interruption == {
        "attempt": "a",
        "last_step": 6,
        "restored_step": 3,
        "lost_steps": 3,
        "avoidable_lost_steps": 0,
    }
    assert (after["progress"]["steps_completed"], after["progress"]["replayed_steps"]) == (9, 3)


def test_a_notice_is_time_to_save(tmp_path: Path) -> None:
    """SIGTERM stops the fit after a batch; Lightning saves on the way out, and all is kept."""
    keeps = every(100, tmp_path / "saved", save_on_exception=True)

    with pytest.raises(SystemExit):
        fit(tmp_path, Acting(2, lambda: notify(signal.SIGTERM)), keeps, max_epochs=1)

    spool = tmp_path / "spool"
    assert kinds(spool)[-4:-1] == ["progress.step", "checkpoint.begun", "checkpoint.committed"]
    assert numbers(spool, "progress.step", *SAVES) == [1, 2, 2, 2]


def test_a_save_on_the_way_out_tells_the_step_that_it_holds(tmp_path: Path) -> None:
    """The fit broke after the update and before the end of its batch was told."""

    def break_off() -> None:
        raise ValueError("broken")

    run = new_run(tmp_path / "spool")
    keeps = every(100, tmp_path / "saved", save_on_exception=True)
    trainer = new_trainer(Acting(2, break_off), ReportProgress(run), keeps, max_epochs=1)

    with pytest.raises(ValueError, match="broken"):
        trainer.fit(Line(), points())
    run.close()

    assert numbers(tmp_path / "spool", "progress.step", *SAVES) == [1, 2, 2, 2]


def test_slurms_notice_is_saved_and_found_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lightning saves on SIGUSR1 under a name of its own, and takes that up without being told."""
    (tmp_path / "scontrol").write_text("#!/bin/sh\n")
    (tmp_path / "scontrol").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    for name, value in (("NTASKS", "1"), ("JOB_ID", "7"), ("PROCID", "0"), ("LOCALID", "0")):
        monkeypatch.setenv(f"SLURM_{name}", value)
    monkeypatch.setenv("SLURM_NODEID", "0")
    monkeypatch.setenv("SLURM_JOB_NAME", "train")
    place: Any = {"default_root_dir": tmp_path / "saved", "max_epochs": 1}
    (tmp_path / "saved").mkdir()

    fit(tmp_path, Acting(2, lambda: notify(signal.SIGUSR1)), **place)
    fit(tmp_path, attempt="b", **place)

    spool = tmp_path / "spool"
    assert [body["checkpoint"] for body in events(spool, *SAVES)] == ["hpc_ckpt_1.ckpt"] * 2
    assert events(spool, "checkpoint.restored")[1] == {"checkpoint": "hpc_ckpt_1.ckpt", "step": 2}


def test_weights_alone_are_no_checkpoint(tmp_path: Path) -> None:
    """Lightning itself does not go on from them; that training stood still is said."""
    weights = every(3, tmp_path / "saved", save_weights_only=True)
    for plugins in ([], [AsyncCheckpointIO()]):
        fit(tmp_path, weights, plugins=plugins, max_epochs=1)
        weights = every(3, tmp_path / "again", save_weights_only=True)

    spool = tmp_path / "spool"
    assert (tmp_path / "saved" / "step=3.ckpt").exists()
    assert events(spool, *SAVES) == []
    assert events(spool, "progress.waiting") == [{"reason": "checkpoint_storage"}] * 2
    with pytest.raises(KeyError, match="contains only the model"):
        fit(tmp_path, attempt="b", resume=tmp_path / "saved" / "step=3.ckpt", max_epochs=2)


def test_what_the_tuner_tries_is_no_part_of_the_run(tmp_path: Path) -> None:
    """It saves, trains and restores before training starts, and removes its file."""
    finder = LearningRateFinder(num_training_steps=3, update_attr=True)

    fit(tmp_path, finder, max_epochs=1, default_root_dir=tmp_path)

    spool = tmp_path / "spool"
    assert events(spool, "checkpoint.restored", *SAVES) == [{"checkpoint": None, "step": 0}]
    assert done(spool) == [1, 2, 3]


def test_a_checkpoint_that_is_removed_leaves_no_manifest(tmp_path: Path) -> None:
    """Only the last one is kept, with its manifest beside it."""
    saved = tmp_path / "saved"
    first = saved / "step=3.ckpt.tallystick-manifest.json"

    def wait() -> None:
        for _ in range(60_000):
            if first.exists():
                return
            time.sleep(0.001)

    fit(tmp_path, Acting(4, wait), every(3, saved, save_top_k=1), max_epochs=2)

    left = sorted(each.name for each in saved.iterdir())
    assert left == ["step=6.ckpt", "step=6.ckpt.tallystick-manifest.json"]


def test_what_a_url_names_is_committed_by_lightnings_word(tmp_path: Path) -> None:
    """Nobody can look at it here, so its bytes are not stated."""
    fit(tmp_path, every(3, "memory://saved"), max_epochs=1)  # type: ignore[arg-type]

    begun, committed = events(tmp_path / "spool", *SAVES)
    assert committed == begun == {"checkpoint": "step=3.ckpt", "step": 3, "blocking": True}
    assert "checkpoint.verified" not in kinds(tmp_path / "spool")


def test_of_ranks_that_lightning_starts_the_first_reports(tmp_path: Path) -> None:
    """Nothing around the other one tells it its rank."""
    (tmp_path / "job.py").write_text(f"""
{FITS}
from tallystick.emit.frameworks.lightning import ReportProgress
if __name__ == "__main__":
    report = ReportProgress()
    trainer = new_trainer(report, every(3, "saved"), max_epochs=1, devices=2, strategy="ddp")
    trainer.fit(Line(), points(6))
    report.run.close()
    say(f"rank {{trainer.global_rank}} {{report.run.problem}}")
""")
    script = "import os, runpy\nos.environ.pop('RANK'), os.environ.pop('WORLD_SIZE')\n"
    script += "runpy.run_path('job.py', run_name='__main__')"

    (said,) = finish([start(script, tmp_path)])

    assert {"rank 0 None", "rank 1 None"} <= set(said.splitlines())
    spool = tmp_path / "spool"
    assert len({each["body"]["writer"] for each in told(spool)}) == 1
    assert numbers(spool, "progress.step", *SAVES) == [1, 2, 3, 3, 3]


def test_a_callback_can_be_sent_to_another_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who reports stays: the other process is a writer of its own."""
    monkeypatch.setenv("TALLYSTICK_SPOOL", str(tmp_path / "other"))
    report = ReportProgress(new_run(tmp_path / "spool"))

    sent = pickle.loads(pickle.dumps(report))  # noqa: S301 (our own)
    sent.run.close()

    assert kinds(tmp_path / "spool") == ["attempt.linked", "progress.started"]
    assert kinds(tmp_path / "other") == ["progress.started"]


def test_the_library_under_its_other_name_is_taken(tmp_path: Path) -> None:
    """Also where ``lightning`` is not installed."""
    script = f"""
import sys
sys.modules["lightning"] = None
{FITS.replace("lightning.pytorch", "pytorch_lightning")}
from pytorch_lightning.plugins.io import AsyncCheckpointIO
from tallystick.emit.frameworks.lightning import ReportProgress
trainer = new_trainer(ReportProgress(), every(3, "saved"), plugins=[AsyncCheckpointIO()],
    max_epochs=1)
trainer.fit(Line(), points())
"""

    finish([start(script, tmp_path)])

    assert numbers(tmp_path / "spool", "progress.step", *SAVES) == [1, 2, 3, 3, 3]
    assert events(tmp_path / "spool", "checkpoint.committed")[0]["blocking"] is False


def test_a_run_that_cannot_be_kept_changes_nothing(tmp_path: Path) -> None:
    """There is no place for it: the fit ends as it would without it."""
    (tmp_path / "file").touch()
    run = attach("r", attempt="a", spool=tmp_path / "file" / "spool")
    reported, alone = Line(), Line()
    alone.load_state_dict(reported.state_dict())

    new_trainer(ReportProgress(run), every(3, tmp_path / "s"), max_epochs=1).fit(reported, points())
    new_trainer(max_epochs=1).fit(alone, points())

    assert run.problem is not None
    assert torch.equal(reported.line.weight, alone.line.weight)
    assert (tmp_path / "s" / "step=3.ckpt").exists()


def test_a_full_disk_is_a_problem_of_the_run_alone(tmp_path: Path) -> None:
    """Nothing that is written to the journal is taken."""
    run = new_run(tmp_path / "spool")
    fill_disk(run)
    model = Line()

    new_trainer(ReportProgress(run), every(3, tmp_path / "s"), max_epochs=1).fit(model, points())

    assert (model.updates, run.problem) == (3, "no space left on device")
    assert (tmp_path / "s" / "step=3.ckpt").exists()


def test_a_library_that_is_otherwise_is_a_problem_and_no_error(tmp_path: Path) -> None:
    """What a hook does not find, in whoever's frames that shows."""
    run = new_run(tmp_path / "spool")
    report = ReportProgress(run)

    class Odd:
        @property
        def global_step(self) -> int:
            raise AttributeError("renamed")

    report.setup(Odd(), None, "fit")
    report.on_load_checkpoint(Odd(), None, {})
    report.on_train_start(Odd(), None)
    report.on_train_batch_end(Odd(), None, None, None, 0)
    with report._around_save(Odd(), "a.ckpt", is_whole=True):  # noqa: SLF001
        pass
    with report._around_write(None, "a.ckpt"):  # noqa: SLF001
        pass

    assert run.problem is not None
    assert events(tmp_path / "spool") == []


def test_a_job_that_stops_itself_is_let_through(tmp_path: Path) -> None:
    """A signal handler that raises in a hook of ours has to reach the job."""

    class Stop(Exception):  # noqa: N818 (it is no error)
        pass

    class Interrupted:
        @property
        def global_step(self) -> int:
            raise Stop

    report = ReportProgress(new_run(tmp_path / "spool"))

    with pytest.raises(Stop):
        report.on_train_batch_end(Interrupted(), None, None, None, 0)
