"""Public failures, from objects to receipts: what is metered, and what was an interruption."""

import json
from pathlib import Path
from typing import Any

import pytest

from tallystick.app.rate import rate_files
from tallystick.collectors.collected import Collected
from tests.collectors.kubernetes.cluster_objects import (
    collect,
    condition,
    made,
    node,
    pod,
    terminated,
)
from tests.rating.rated import contract

JOB = ("Job", "j1")


def receipt(folder: Path, collected: Collected) -> Any:
    """Rate what was collected, which is one run."""
    evidence, terms = folder / "evidence.jsonl", folder / "contract.toml"
    evidence.write_text("".join(json.dumps(each) + "\n" for each in collected.records))
    terms.write_bytes(contract())
    (only,) = rate_files([str(evidence)], [str(terms)]).receipts
    return only


@pytest.mark.parametrize("stopped", ["01:00", "01:10"])
def test_b49_time_after_an_eviction_is_metered(tmp_path: Path, stopped: str) -> None:
    """Kueue#6122: 600 s until the container stopped are 600 s more on each of eight GPUs."""
    evicted = made("Workload", "w1", condition("Evicted", "01:00", "Preempted"), owner=JOB)
    ended = pod("Failed", terminated(stopped, 143), owner=JOB)

    rated = receipt(tmp_path, collect(node(), made("Job", "j1"), evicted, ended))

    seconds = {"01:00": 3600, "01:10": 4200}[stopped]
    assert rated["usage"]["metered"] == f"{8 * seconds}.000000"
    (attempt,) = rated["attempts"]
    assert (attempt["ended_by"], attempt["notice_seconds"]) == (
        "scheduler",
        f"{seconds - 3600}.000000",
    )


def test_b53_a_stale_condition_is_a_completion(tmp_path: Path) -> None:
    """KEP-3329: the receipt has one attempt that completed, with no finding."""
    stale = condition("DisruptionTarget", "12:00", "PreemptionByScheduler")
    done = pod("Succeeded", terminated("12:30"), conditions=[stale], owner=JOB)

    rated = receipt(tmp_path, collect(node(), done))

    (attempt,) = rated["attempts"]
    assert attempt["ended_by"] == "completed"
    assert rated["findings"] == []


def test_attempts_of_one_job_are_one_receipt(tmp_path: Path) -> None:
    """A pod that was pre-empted, and the one that took its place."""
    announced = condition("DisruptionTarget", "01:00", "PreemptionByScheduler")
    first = pod("Failed", terminated("01:00", 137), conditions=[announced], owner=JOB)
    second = pod("Succeeded", terminated("03:00"), bound="02:00", uid="u2", owner=JOB)

    rated = receipt(tmp_path, collect(node(), first, second))

    assert [each["ended_by"] for each in rated["attempts"]] == ["scheduler", "completed"]
    assert rated["attempts"][0]["replacement_wait_seconds"] == "3600.000000"
