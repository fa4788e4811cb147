"""Rehearsals on a real cluster: taken back by requeue and by pre-emption, and stopped."""

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from threading import Event

import pytest

from tallystick.app.rehearsal_evidence import bring_evidence
from tallystick.app.rehearse import load_rehearsal, run_rehearsal
from tallystick.app.ship import store_sender
from tallystick.app.store import open_store
from tallystick.emit.ship import Shipper
from tallystick.rehearsal.errors import RehearsalStoppedError
from tallystick.rehearsal.read_plan import read_plan
from tallystick.rehearsal.rehearse import rehearse
from tallystick.rehearsal.slurm import SlurmRoute
from tests.app.stores import contract_file
from tests.live.slurm.hooked import HookedCluster, Receipt, uuids
from tests.rehearsal.rehearsals import ground_of, laid_out

PLAN = """
schema = "tallystick.plan/1"
run = "{run}"
route = "slurm"
contract = "plain-1.toml"
[job.trainer]
workers = 2
steps = 12
save_every = 4
on_notice = "{on_notice}"
[allocation]
gpu_type = "h100"
gpu_count = 2
[slurm]
cluster = "testc"
partition = "spot"
options = ["--gres=gpu:h100:2", "--mem=500"]
{place}
[limits]
detection_s = "180"
[[fault]]
when = "step"
step = 6
"""


@pytest.fixture(autouse=True)
def on_the_cluster(cluster: HookedCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lead Slurm's commands to the cluster."""
    monkeypatch.setenv("SLURM_CONF", cluster.slurm_conf)


def plan_file(folder: Path, run: str, *, place: str = "", on_notice: str = "end") -> Path:
    """Write a plan and its contract."""
    contract_file(folder, gpu_type="h100", unknown="charge")
    path = folder / "plan.toml"
    path.write_text(PLAN.format(run=run, place=place, on_notice=on_notice))
    return path


def queued(cluster: HookedCluster) -> list[str]:
    """Name the jobs that Slurm has of ours."""
    names = cluster.command("squeue", "-h", "-u", "root", "-o", "%j").split()
    return [name for name in names if name.startswith("tallystick-")]


def test_a_requeued_job_has_a_receipt_of_hooks_and_accounting(
    cluster: HookedCluster, tmp_path: Path
) -> None:
    """Hooks name the boards, accounting the ends, the job its steps, the rehearsal whose act."""
    plan = read_plan(plan_file(tmp_path, "requeued").read_bytes())
    route = SlurmRoute(plan)
    jobs = laid_out(plan, tmp_path)
    ground, _ = ground_of(plan, tmp_path / "out", route)

    outcome = rehearse(ground, jobs)
    with open_store(cluster.store) as store:
        shipped = Shipper(tmp_path / "out" / "spool", "login", ()).ship(store_sender(store.log))
        problems = bring_evidence(plan, route, store)
    job = route.attempts[-1].submitted.job_id
    cluster.wait_final(job, rows=2, limit_s=120)
    cluster.wait_hooks(job, "slurm-epilog", 2, limit_s=120)
    receipt = cluster.receipt("requeued")

    first, second = receipt.attempts
    (interruption,) = receipt.predicate["progress"]["interruptions"]
    assert outcome.is_good
    assert shipped.problems == []
    assert problems == ()
    assert receipt.ended_by == ["scheduler", "completed"]
    assert first["attempt"].startswith(f"slurm:testc:{job}:")
    assert second["attempt"].startswith(f"slurm:testc:{job}:")
    assert all(len(boards) == 2 and _is_of_one_node(boards) for boards in receipt.gpus)
    assert first["replacement_wait_seconds"] is not None
    assert interruption["restored_step"] == 4
    assert interruption["lost_steps"] == interruption["last_step"] - 4
    assert receipt.predicate["progress"]["replayed_steps"] == interruption["last_step"] - 4
    assert queued(cluster) == []


def _is_of_one_node(boards: list[str]) -> bool:
    return any(set(boards) <= set(uuids(node)) for node in ("n1", "n2"))


def test_a_pre_empted_job_has_a_receipt_of_its_own_store(
    cluster: HookedCluster, tmp_path: Path
) -> None:
    """The partition's GraceTime is the notice: the job saves, and accounting says who took it."""
    place = 'preempting_partition = "ondemand"'
    plan = plan_file(tmp_path, "taken", place=place, on_notice="save")
    said: list[str] = []

    done = run_rehearsal(load_rehearsal(plan, tmp_path / "out"), stop=Event(), say=said.append)

    receipt = receipt_of(tmp_path, "taken")
    (interruption,) = receipt.predicate["progress"]["interruptions"]
    assert (done.outcome.findings, done.papers.problems) == ((), ())
    assert done.outcome.is_good
    assert receipt.ended_by == ["scheduler", "completed"]
    assert receipt.attempts[0]["notice_seconds"] is not None
    assert receipt.attempts[0]["replacement_wait_seconds"] is not None
    assert interruption["lost_steps"] == 0
    assert interruption["restored_step"] == interruption["last_step"]
    assert receipt.predicate["run"]["accepted"] is True
    assert queued(cluster) == []


def receipt_of(folder: Path, run: str) -> Receipt:
    """Rate a run from the store of its rehearsal."""
    from tallystick.app.stored_receipts import issue_receipt  # noqa: PLC0415

    with open_store(folder / "out" / "store") as store:
        return Receipt(issue_receipt(store, run).statement.predicate)


def test_a_rehearsal_that_is_stopped_leaves_no_job(cluster: HookedCluster, tmp_path: Path) -> None:
    """Its own job is cancelled; one of somebody else runs on."""
    theirs = cluster.submit("theirs", "sleep 600", gpus=1)
    cluster.wait(theirs, "RUNNING", limit_s=120)
    plan = read_plan(plan_file(tmp_path, "stopped").read_bytes())
    route = SlurmRoute(plan)
    jobs = laid_out(plan, tmp_path)
    ground, _ = ground_of(plan, tmp_path / "out", route)
    stop = _stops(ground.stop, "attempt 1 is slurm:")

    with pytest.raises(RehearsalStoppedError):
        rehearse(replace(ground, say=stop), jobs)

    left = (queued(cluster), cluster.state(theirs))
    cluster.cancel(theirs)
    assert left == ([], "RUNNING")
    assert os.listdir(jobs[0].logs / "slurm")  # noqa: PTH208 (only whether there is one)


def _stops(stop: Event, word: str) -> Callable[[str], None]:
    def say(said: str) -> None:
        if word in said:
            stop.set()

    return say
