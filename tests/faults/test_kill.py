"""Killed at any moment, a store keeps what it acknowledged, and goes on with the same history."""

import json
import os
import random
import signal
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tallystick.app.store import open_store
from tests.faults.billing import lay_out
from tests.faults.effort import tries
from tests.faults.forking import Forker, forker
from tests.faults.promises import Promise, breaches, read_promises
from tests.faults.workload import new_store

KILLS = tries(20, 500)
KILLS_A_STORE = 10
AFTER_US_MAX = 60_000
EARLY_KILLS = 2
EARLY_AFTER_US = 300_000
MEMORY = Path("/dev/shm")  # noqa: S108 (a file system that forgets, which is all one)


@pytest.fixture(scope="module")
def forks() -> Iterator[Forker]:
    """Hold the process that forks those to be killed."""
    with forker() as held:
        yield held


@pytest.fixture(params=["on disk", "in memory"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """Give a folder on disk, where most moments are in a sync, and one where hardly any is."""
    if request.param == "on disk":
        yield tmp_path
        return
    if not os.access(MEMORY, os.W_OK):
        pytest.skip(f"expected a writable file system in memory at {MEMORY}")
    with tempfile.TemporaryDirectory(dir=MEMORY) as name:
        yield Path(name)


def a_job(
    folder: Path, name: str, again: Sequence[Any] = (), do: str = "work_on"
) -> dict[str, Any]:
    """Make the job of a process that works on the store of a folder."""
    return {
        "do": do,
        "name": name,
        "again": list(again),
        "store": str(folder / "store"),
        "promises": str(folder / f"{name}.promises"),
        "errors": str(folder / "errors"),
    }


@pytest.mark.parametrize("first", range(0, KILLS, KILLS_A_STORE))
def test_what_was_acknowledged_outlives_a_kill(forks: Forker, folder: Path, first: int) -> None:
    """One process or two work on a store and are killed, again and again; nothing is lost.

    What one was not told of before it was killed, the next delivers again.
    """
    new_store(folder)
    lay_out(folder)
    promises: list[Promise] = []
    again: list[Any] = []
    for kill in range(first, first + KILLS_A_STORE):
        chosen = random.Random(kill)  # noqa: S311 (it chooses moments, no secrets)
        names = [f"work-{kill}-{place}" for place in range(chosen.choice([1, 1, 2]))]
        after_us = chosen.randrange(AFTER_US_MAX)
        jobs = [a_job(folder, name, again) for name in names]

        ended = forks.kill_after(after_us, jobs)

        seed = f"kill {kill}: {names} killed after {after_us} us, see {folder}"
        assert ended == [-signal.SIGKILL] * len(names), f"{seed}: {errors(folder)}"
        again = []
        for name in names:
            promised = folder / f"{name}.promises"
            told = read_promises(promised) if promised.exists() else []
            promises += told
            again.append([name, batches(name, told)])
        with open_store(folder / "store") as store:
            assert breaches(store, promises) == [], seed


def test_an_acknowledgement_that_comes_too_early_is_found_out(forks: Forker, folder: Path) -> None:
    """The same kills find what a process loses that tells of records before they are durable."""
    new_store(folder)
    promises: list[Promise] = []
    broken: list[str] = []

    for kill in range(EARLY_KILLS):
        forks.kill_after(EARLY_AFTER_US, [a_job(folder, f"early-{kill}", do="tell_too_early")])
        promises += read_promises(folder / f"early-{kill}.promises")
        with open_store(folder / "store") as store:
            broken += breaches(store, promises)

    assert any(each.startswith("lost") for each in broken)


def batches(name: str, told: list[Promise]) -> int:
    """Count a process's batches that were acknowledged; the next it may have tried in vain."""
    records = [json.loads(promise.about[1])["record"] for promise in told if promise.word == "leaf"]
    tried = {record["body"].get("batch", "") for record in records}
    return sum(each.startswith(f"{name}/") for each in tried)


def errors(folder: Path) -> str:
    """Give what processes wrote before they ended by themselves."""
    path = folder / "errors"
    return path.read_text(encoding="utf-8") if path.exists() else ""
