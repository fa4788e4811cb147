"""One file by ``torch.save``: it is whole under its name, or the one before is still there."""

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from tallystick.emit.frameworks import torch_checkpoint  # noqa: E402 (after the framework)
from tallystick.emit.progress.attach import attach  # noqa: E402 (as above)
from tests.emit.progress.jobs import events, kinds, new_run  # noqa: E402 (as above)
from tests.frameworks.jobs import kill, start, word_of  # noqa: E402 (as above)

SAVES = ("checkpoint.begun", "checkpoint.committed", "checkpoint.abandoned")


class Unwilling:
    """Cannot be saved."""

    def __reduce__(self) -> str:
        raise RuntimeError("no")


def test_a_save_is_committed_under_the_name_of_its_file(tmp_path: Path) -> None:
    """With its bytes; options go to the library."""
    run, place = new_run(tmp_path / "spool"), tmp_path / "last.pt"

    torch_checkpoint.save(run, {"w": torch.ones(3)}, place, step=7, pickle_protocol=4)
    torch_checkpoint.save(run, {"w": torch.ones(3)}, str(place), step=8, name="final")
    run.close()

    assert torch.equal(torch.load(place)["w"], torch.ones(3))
    told = events(tmp_path / "spool", "checkpoint.committed")
    size = place.stat().st_size
    assert [(body["checkpoint"], body["step"], body["bytes"]) for body in told] == [
        ("last.pt", 7, size),
        ("final", 8, size),
    ]
    assert sorted(each.name for each in tmp_path.iterdir() if each.name.startswith(".")) == []


def test_a_save_that_fails_leaves_the_one_before(tmp_path: Path) -> None:
    """It is abandoned, nothing of it lies about, and the job sees the error."""
    run, place = new_run(tmp_path / "spool"), tmp_path / "last.pt"
    torch_checkpoint.save(run, {"step": 7}, place, step=7)

    with pytest.raises(RuntimeError, match="no"):
        torch_checkpoint.save(run, {"step": Unwilling()}, place, step=8)
    run.close()

    assert torch.load(place) == {"step": 7}
    assert events(tmp_path / "spool", *SAVES)[-1]["reason"] == "RuntimeError: no"
    assert not (tmp_path / ".last.pt.tmp").exists()


def test_a_save_that_is_killed_leaves_the_one_before(tmp_path: Path) -> None:
    """Halfway through the same file name, with a half written draft beside it."""
    script = """
    import signal, torch
    from tallystick import emit
    from tallystick.emit.frameworks import torch_checkpoint

    class Halting:
        def __reduce__(self):
            print("saving", flush=True)
            signal.pause()

    run = emit.attach()
    torch_checkpoint.save(run, {"step": 7}, "last.pt", step=7)
    torch_checkpoint.save(run, {"step": 8, "rest": Halting()}, "last.pt", step=8)
    """
    job = start(script, tmp_path)
    assert word_of(job) == "saving"
    kill(job)

    told = [each for each in kinds(tmp_path / "spool") if each in SAVES]
    assert told == ["checkpoint.begun", "checkpoint.committed", "checkpoint.begun"]
    assert torch.load(tmp_path / "last.pt") == {"step": 7}


def test_a_run_that_cannot_be_kept_changes_nothing(tmp_path: Path) -> None:
    """The file is written as it would be without it."""
    (tmp_path / "file").touch()
    run = attach("r", attempt="a", spool=tmp_path / "file" / "spool")

    torch_checkpoint.save(run, {"step": 7}, tmp_path / "last.pt", step=7)

    assert run.problem is not None
    assert torch.load(tmp_path / "last.pt") == {"step": 7}
