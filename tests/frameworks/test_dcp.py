"""``torch.distributed.checkpoint``, by two ranks: one commit, when all shards are written."""

import logging
import time
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torch.distributed.checkpoint import FileSystemWriter  # noqa: E402 (after the framework)

from tallystick.emit.checkpoint.survey import survey  # noqa: E402 (as above)
from tallystick.emit.frameworks import dcp  # noqa: E402 (as above)
from tallystick.emit.progress.attach import attach  # noqa: E402 (as above)
from tests.emit.progress.jobs import events, kinds, new_run, told  # noqa: E402 (as above)
from tests.frameworks.jobs import kill, run, start, word_of  # noqa: E402 (as above)

pytestmark = pytest.mark.filterwarnings("ignore")

SETUP = """
import os, signal, sys, time, torch, torch.distributed as dist
from torch.distributed.checkpoint import FileSystemWriter
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import distribute_tensor, Shard
from tallystick import emit
from tallystick.emit.frameworks import dcp
rank, ranks = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
dist.init_process_group("gloo", init_method=f"file://{os.getcwd()}/meet",
    rank=rank, world_size=ranks)
run = emit.attach()
mesh = init_device_mesh("cpu", (ranks,))

def state(value, step=5):
    return {"w": distribute_tensor(torch.full((8, 4), float(value)), mesh, [Shard(0)]),
        "step": step}

class Held(FileSystemWriter):
    # Stands still before it writes, until a file called "go" is there.
    def write_data(self, *arguments, **options):
        print("saving", flush=True)
        while not os.path.exists("go"):
            time.sleep(0.001)
        return super().write_data(*arguments, **options)

held = {"storage_writer": Held("step-5")} if rank else {}
"""
END = """
run.close()
assert run.problem is None, run.problem
dist.barrier()
sys.stdout.flush()
os._exit(0)  # Threads of the library may abort a rank whose peer left first.
"""
SAVES = ("checkpoint.begun", "checkpoint.committed", "checkpoint.abandoned")


class Broken(FileSystemWriter):  # type: ignore[misc]  # It has no types where it is absent.
    """Writes to a disk that fails."""

    def write_data(self, *arguments: Any, **options: Any) -> Any:
        """Fail."""
        del arguments, options
        raise OSError("disk")


@pytest.fixture
def alone(tmp_path: Path) -> Any:
    """Be the only rank of a process group."""
    torch.distributed.init_process_group(
        "gloo", init_method=f"file://{tmp_path / 'meet'}", rank=0, world_size=1
    )
    yield
    torch.distributed.destroy_process_group()


def state(step: int = 5) -> dict[str, Any]:
    """Make a state."""
    return {"w": torch.ones(3), "step": step}


def test_a_save_is_committed_once_and_a_load_is_what_the_run_goes_on_from(tmp_path: Path) -> None:
    """Rank 0 reports; its commit counts the bytes of both shards and the metadata."""
    script = """
run.restored(None)
run.step(5)
dcp.save(run, state(3), step=5, checkpoint_id="step-5")
loaded = state(0, step=0)
dcp.load(run, loaded, step=lambda state: state["step"], checkpoint_id="step-5")
print(float(loaded["w"].full_tensor().sum()))
"""

    first, second = run(SETUP + script + END, tmp_path, ranks=2)

    begun, committed = events(tmp_path / "spool", *SAVES)
    files = [each for each in (tmp_path / "step-5").iterdir() if each.suffix != ".json"]
    assert first == second == "96.0\n"
    assert begun == {"checkpoint": "step-5", "step": 5, "blocking": True}
    assert committed == {**begun, "bytes": sum(each.stat().st_size for each in files)}
    assert {".metadata", "__0_0.distcp", "__1_0.distcp"} <= {each.name for each in files}
    assert events(tmp_path / "spool", "checkpoint.restored") == [
        {"checkpoint": None, "step": 0},
        {"checkpoint": "step-5", "step": 5},
    ]


def test_a_save_in_the_background_is_committed_when_the_last_rank_has_written(
    tmp_path: Path,
) -> None:
    """Rank 1 is held up while steps go on; the commit is told before the future is done."""
    script = """
run.restored(None)
run.step(5)
future = dcp.async_save(run, state(1), step=5, checkpoint_id="step-5", **held)
assert not future.cancel()
run.step(6)
if rank == 0:
    open("go", "w").close()
future.result()
"""

    run(SETUP + script + END, tmp_path, ranks=2)

    order = [(each["kind"], each["body"].get("step")) for each in told(tmp_path / "spool")]
    begun, committed = events(tmp_path / "spool", *SAVES)
    assert (begun["blocking"], committed["blocking"]) == (False, False)
    assert committed["bytes"] > 0
    assert order[-4:-1] == [
        ("checkpoint.begun", 5),
        ("progress.step", 6),
        ("checkpoint.committed", 5),
    ]


@pytest.mark.parametrize("call", ["dcp.save", "dcp.async_save"])
def test_ranks_that_are_killed_in_a_save_have_committed_nothing(call: str, tmp_path: Path) -> None:
    """Rank 0 has written its shard, rank 1 never does."""
    script = f"future = {call}(run, state(1), step=5, checkpoint_id='step-5', **held)\n"
    script += "getattr(future, 'result', int)()\n"
    jobs = [start(SETUP + script, tmp_path, rank=rank, ranks=2) for rank in (0, 1)]
    assert word_of(jobs[1]) == "saving"
    for _ in range(60_000):
        if (tmp_path / "step-5" / "__0_0.distcp").exists():
            break
        time.sleep(0.001)
    kill(*jobs)

    assert [each for each in kinds(tmp_path / "spool") if each in SAVES] == ["checkpoint.begun"]
    assert [each.state for each in survey(tmp_path).checkpoints] == ["unfinished"]


def test_a_save_that_fails_is_abandoned_and_the_error_goes_on(alone: None, tmp_path: Path) -> None:
    """In the call or in its future: the job sees what the library raises."""
    del alone
    broken, place = Broken(tmp_path / "c"), tmp_path / "c"
    reports = new_run(tmp_path / "spool")

    with pytest.raises(BaseException, match="disk"):
        dcp.save(reports, state(), step=5, checkpoint_id=place, storage_writer=broken)
    future = dcp.async_save(reports, state(), step=6, checkpoint_id=place, storage_writer=broken)
    with pytest.raises(BaseException, match="disk"):
        future.result()
    with pytest.raises(TypeError, match="nonsense"):
        dcp.async_save(reports, state(), step=7, checkpoint_id=place, nonsense=1)
    reports.close()

    assert [(body["step"], "reason" in body) for body in events(tmp_path / "spool", *SAVES)] == [
        (5, False),
        (5, True),
        (6, False),
        (6, True),
        (7, False),
        (7, True),
    ]


def test_an_upload_that_was_given_up_is_abandoned_and_nobody_waits_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The library closes its own pool of threads so."""
    given_up: Future[None] = Future()
    given_up.cancel()
    monkeypatch.setattr(torch.distributed.checkpoint, "async_save", lambda *_, **__: given_up)
    reports = new_run(tmp_path / "spool")

    future = dcp.async_save(reports, state(), step=5, checkpoint_id=tmp_path / "c")

    assert future.exception() is not None
    assert events(tmp_path / "spool", *SAVES)[-1]["reason"] == "CancelledError: "


def test_staging_in_the_background_has_two_futures(alone: None, tmp_path: Path) -> None:
    """Both are the library's to the job; the upload is the one that commits."""
    del alone
    checkpoint = torch.distributed.checkpoint
    stager = checkpoint.staging.DefaultStager(
        checkpoint.staging.StagingOptions(
            use_pinned_memory=False,
            use_shared_memory=False,
            use_async_staging=True,
            use_non_blocking_copy=False,
        )
    )
    reports, place = new_run(tmp_path / "spool"), tmp_path / "c"

    response = dcp.async_save(reports, state(), step=5, checkpoint_id=place, async_stager=stager)
    response.staging_completion.result()
    response.upload_completion.result()
    reports.close()
    stager.close()

    assert "checkpoint.committed" in kinds(tmp_path / "spool")


def test_what_each_rank_saved_by_itself_is_not_committed(alone: None, tmp_path: Path) -> None:
    """Without collectives nobody knows of the others, and the library writes no common metadata."""
    del alone
    reports, place = new_run(tmp_path / "spool"), tmp_path / "c"

    dcp.save(reports, state(), step=5, checkpoint_id=place, use_collectives=False)

    assert (place / "__0.metadata").exists()
    reason = events(tmp_path / "spool", *SAVES)[-1]["reason"]
    assert reason == ".metadata is not there: whether every rank has written is not known"


def test_what_a_url_names_is_committed_by_the_librarys_word(alone: None, tmp_path: Path) -> None:
    """Nobody can look at it here, so its bytes are not stated."""
    del alone
    from torch.distributed.checkpoint._fsspec_filesystem import (  # noqa: PLC0415
        FsspecReader,
        FsspecWriter,
    )

    reports, url = new_run(tmp_path / "spool"), "memory://saved/step-5"
    writer = FsspecWriter(url)

    dcp.save(reports, state(), step=5, checkpoint_id=url, name="five", storage_writer=writer)
    loaded, reader = state(0), FsspecReader(url)
    dcp.load(reports, loaded, step=5, checkpoint_id=url, name="five", storage_reader=reader)

    begun, committed = events(tmp_path / "spool", *SAVES)
    assert begun == committed == {"checkpoint": "five", "step": 5, "blocking": True}
    assert loaded["step"] == 5
    assert events(tmp_path / "spool", "checkpoint.restored") == [{"checkpoint": "five", "step": 5}]


def test_a_step_that_the_state_does_not_tell_is_a_problem_and_no_error(tmp_path: Path) -> None:
    """What was loaded is loaded."""
    place, loaded = tmp_path / "c", {"w": torch.zeros(3)}
    reports = new_run(tmp_path / "spool")
    dcp.save(reports, state(), step=5, checkpoint_id=place)

    dcp.load(reports, loaded, step=lambda state: state["steps"], checkpoint_id=place)

    assert torch.equal(loaded["w"], torch.ones(3))
    assert reports.problem == "KeyError: 'steps'"


def test_a_run_that_cannot_be_kept_changes_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The library's files are there, and it has logged no error."""
    (tmp_path / "file").touch()
    reports = attach("r", attempt="a", spool=tmp_path / "file" / "spool")

    dcp.save(reports, state(), step=5, checkpoint_id=tmp_path / "c")

    assert reports.problem is not None
    assert (tmp_path / "c" / ".metadata").exists()
    assert [each for each in caplog.records if each.levelno >= logging.ERROR] == []
