"""What schedulers say of a rehearsal, in the store that its receipts are issued from."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tallystick.app import rehearsal_slurm
from tallystick.app.rehearsal_evidence import bring_evidence
from tallystick.app.store import OpenStore
from tallystick.app.stored_contracts import publish_contracts
from tallystick.app.stored_receipts import issue_receipt
from tallystick.core.instant import SECOND_US
from tallystick.rehearsal.kubernetes import KubernetesRoute
from tallystick.rehearsal.local import LocalRoute
from tallystick.rehearsal.slurm import SlurmRoute, jobs
from tests.app.stores import contract_file, new_store
from tests.rehearsal.rehearsals import RUN, TWIN, plan_of, rehearsed
from tests.stand_ins.kube_cluster import kube_cluster
from tests.stand_ins.slurm_cluster import FakeSlurm

START_S = 1_767_225_600
COLUMNS = [
    "JobIDRaw",
    "JobID",
    "Partition",
    "Submit",
    "Start",
    "End",
    "State",
    "AllocTRES",
    "NodeList",
]
SLURM = '[slurm]\ncluster = "fake"\n'
GPUS = {"limits": {"nvidia.com/gpu": "2"}}
POD = {"kind": "Pod", "spec": {"containers": [{"name": "main", "resources": GPUS}]}}
WAITS = "echo > result; [ $TALLYSTICK_RUN_ID = r ] && [ -z $SLURM_RESTART_COUNT ] && exec sleep 600"
QUICK = f'[job]\ncommand = ["sh", "-c", "{WAITS}; true"]\nresult = "result"\n'
SOON = '[[fault]]\nwhen = "time"\nafter_s = "0"\n'


@pytest.fixture
def store(tmp_path: Path) -> Iterator[OpenStore]:
    """Make a store with a contract."""
    with new_store(tmp_path) as made:
        publish_contracts(made.log, [contract_file(tmp_path)])
        yield made


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeSlurm]:
    """Make a stand-in for Slurm."""
    monkeypatch.setattr(SlurmRoute, "poll_s", 0.02)
    monkeypatch.setattr(jobs, "_LOOK_S", 0.02)
    made = FakeSlurm(tmp_path)
    yield made
    made.close()


def attempts(store: OpenStore, run: str) -> list[dict[str, Any]]:
    """Give the attempts that a receipt of a run shows."""
    found: list[dict[str, Any]] = issue_receipt(store, run).statement.predicate["attempts"]
    return found


@contextmanager
def accounting(folder: Path, rows: list[list[str]], patch: pytest.MonkeyPatch) -> Iterator[None]:
    """Have ``sacct`` print some rows."""
    text = "\n".join("\x1f".join(row) for row in [COLUMNS, *rows])
    (folder / "rows").write_text(f"{text}\n")
    sacct = folder / "bin" / "sacct"
    words = f"[ $1 = --helpformat ] && exec echo {' '.join(COLUMNS)}"
    sacct.write_text(f"#!/bin/sh\n{words}\nexec /bin/cat {folder / 'rows'}\n")
    sacct.chmod(0o755)
    with patch.context() as patched:
        patched.setenv("PATH", f"{folder / 'bin'}:/usr/bin:/bin")
        yield


def row(job: str, start_s: int, state: str, end_s: int | None) -> list[str]:
    """Write a row of accounting."""
    end = "Unknown" if end_s is None else str(end_s)
    times = [str(start_s - 1), str(start_s), end]
    return [job, job, "spot", *times, state, "gres/gpu=2,gres/gpu:h100=2", "n1"]


def slurm_rehearsed(folder: Path, slurm: FakeSlurm, place: str = SLURM) -> SlurmRoute:
    """Rehearse, and put the attempts a hundred seconds apart, as no test can wait for."""
    plan = plan_of(place, top='route = "slurm"', job=QUICK, faults=SOON)
    route = SlurmRoute(plan, slurm)
    rehearsed(plan, folder, route)
    for number, attempt in enumerate(route.attempts):
        attempt.began_us = (START_S + 100 * number + 1) * SECOND_US
    return route


def test_a_requeued_attempt_was_ended_by_the_scheduler(
    tmp_path: Path, store: OpenStore, slurm: FakeSlurm, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Accounting knows the moment and not whose act it was; the rehearsal does."""
    route = slurm_rehearsed(tmp_path, slurm)
    rows = [
        row("40", START_S, "COMPLETED", START_S + 10),
        row("41", START_S + 100, "REQUEUED", START_S + 130),
        row("41", START_S + 200, "COMPLETED", START_S + 210),
    ]
    plan = plan_of(SLURM, top='route = "slurm"', job=QUICK, faults=SOON)

    with accounting(tmp_path, rows, monkeypatch):
        problems = bring_evidence(plan, route, store)

    first, second = attempts(store, RUN)
    assert problems == ()
    assert [each["ended_by"] for each in (first, second)] == ["scheduler", "completed"]
    assert first["replacement_wait_seconds"] == "70.000000"
    assert (first["gpu_type"], first["capacity"], first["gpus"]) == ("h100", "spot", 2)
    assert [each["ended_by"] for each in attempts(store, TWIN)] == ["completed"]


def test_the_scheduler_s_own_word_stands(
    tmp_path: Path, store: OpenStore, slurm: FakeSlurm, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pre-emption is in accounting; its notice is what the route saw."""
    place = f'{SLURM}preempting_partition = "fast"\n'
    route = slurm_rehearsed(tmp_path, slurm, place)
    route.attempts[1].noticed_us = (START_S + 120) * SECOND_US
    rows = [
        row("40", START_S, "CANCELLED", START_S + 10),
        row("41", START_S + 100, "PREEMPTED", START_S + 130),
        row("41", START_S + 200, "COMPLETED", START_S + 210),
    ]
    plan = plan_of(place, top='route = "slurm"', job=QUICK, faults=SOON)

    with accounting(tmp_path, rows, monkeypatch):
        bring_evidence(plan, route, store)

    first = attempts(store, RUN)[0]
    assert (first["ended_by"], first["notice_seconds"]) == ("scheduler", "10.000000")
    assert [each["ended_by"] for each in attempts(store, TWIN)] == ["unknown"]


def test_accounting_that_takes_its_time_is_asked_again(
    tmp_path: Path, store: OpenStore, slurm: FakeSlurm, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When the patience is over, what there is counts, and that something lacks is said."""
    monkeypatch.setattr(rehearsal_slurm, "_LOOK_S", 0.01)
    monkeypatch.setattr(rehearsal_slurm, "SETTLE_S", 0.05)
    route = slurm_rehearsed(tmp_path, slurm)
    rows = [row("41", START_S + 100, "RUNNING", None)]
    plan = plan_of(SLURM, top='route = "slurm"', job=QUICK, faults=SOON)

    with accounting(tmp_path, rows, monkeypatch):
        problems = bring_evidence(plan, route, store)

    assert problems[-1] == "accounting does not have the ends of all attempts yet"
    assert attempts(store, RUN)[0]["end"] is None


def test_accounting_that_says_nothing_is_a_problem(
    tmp_path: Path, store: OpenStore, slurm: FakeSlurm, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There is no ``sacct`` here."""
    route = slurm_rehearsed(tmp_path, slurm)
    plan = plan_of(SLURM, top='route = "slurm"', job=QUICK, faults=SOON)
    monkeypatch.setenv("PATH", "/nowhere")

    (problem,) = bring_evidence(plan, route, store)

    assert problem.startswith("sacct: no such file or directory")


def test_an_evicted_pod_was_ended_as_the_plan_says(tmp_path: Path, store: OpenStore) -> None:
    """The pod says that it was evicted, its node of which type its GPUs are."""
    with kube_cluster() as cluster:
        place = (
            f"[kubernetes]\ncluster = 'kc'\nnamespace = 'team'\nmanifest = '{json.dumps(POD)}'\n"
            f"kubeconfig = '{cluster.kubeconfig(tmp_path)}'\n"
        )
        plan = plan_of(place, top='route = "kubernetes"')
        route = KubernetesRoute(plan)
        rehearsed(plan, tmp_path, route)

    problems = bring_evidence(plan, route, store)

    found = attempts(store, RUN)
    keys = {each.key for each in route.attempts if each.run == RUN}
    assert problems == ()
    assert {each["attempt"] for each in found} == keys
    assert {each["ended_by"] for each in found} == {"provider", "completed"}
    assert {(each["gpu_type"], each["gpus"]) for each in found} == {("H100", 2)}


def test_where_no_scheduler_holds_gpus_nothing_is_brought(
    tmp_path: Path, store: OpenStore, slurm: FakeSlurm
) -> None:
    """The rehearsal has told of the allocations itself."""
    slurm.has_gpus = False
    route = slurm_rehearsed(tmp_path, slurm)
    on_slurm = plan_of(SLURM, top='route = "slurm"', job=QUICK, faults=SOON)
    on_kubernetes = plan_of(
        f"[kubernetes]\ncluster = 'kc'\nnamespace = 'team'\nmanifest = '{json.dumps(POD)}'\n",
        top='route = "kubernetes"',
    )
    unused = KubernetesRoute(on_kubernetes, lambda _: object())  # type: ignore[arg-type,return-value]

    brought = (
        bring_evidence(on_slurm, route, store),
        bring_evidence(on_kubernetes, unused, store),
        bring_evidence(plan_of(), LocalRoute(plan_of()), store),
    )

    assert brought == ((), (), ())
    with store.log.reading() as log:
        assert log.size == 1  # The contract.
