"""The questions that are asked after every fault: each breach is seen, and nothing else is."""

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import apsw
import pytest

from tallystick.app.store import OpenStore, open_store
from tests.faults.billing import add, drop, issue, lay_out, run
from tests.faults.promises import Promise, breaches
from tests.faults.workload import Work, admit, admit_again, new_store, sign


@pytest.fixture
def told() -> list[Promise]:
    """Hold what was acknowledged."""
    return []


@pytest.fixture
def store(fast_folder: Path, told: list[Promise]) -> Iterator[OpenStore]:
    """Give a store in which one of everything was done."""
    new_store(fast_folder)
    lay_out(fast_folder)
    with open_store(fast_folder / "store") as store:
        at = Work(store, "promises", told.append)
        for step in (admit, admit_again, sign, run, issue, add, sign):
            step(at)
        yield store


def test_a_store_that_keeps_everything_is_in_no_breach(
    store: OpenStore, told: list[Promise]
) -> None:
    """All that was acknowledged is found, of every kind that there is."""
    drop(Work(store, "drop", told.append))

    broken = breaches(store, told)

    assert broken == []
    words = {"leaf", "record", "remark", "contract", "receipt", "segment", "dropped", "head"}
    assert {promise.word for promise in told} == words


NOTHING = "sha256:" + "0" * 64


@pytest.mark.parametrize(
    ("promise", "breach"),
    [
        (Promise("leaf", [99, "{}"]), "lost: leaf 99 is not the one that was acknowledged"),
        (Promise("record", [99, "{}"]), "lost: leaf 99 is not of the record that it was said to"),
        (Promise("remark", ["delivery.refused", NOTHING]), "lost: delivery.refused of sha256:000"),
        (Promise("contract", "none@1"), "lost: contract none@1 is not published"),
        (Promise("receipt", [NOTHING, "{}", []]), "lost: receipt sha256:000"),
        (Promise("receipt", [NOTHING, "{}", ["1"]]), "lost: receipt sha256:000"),
        (Promise("segment", NOTHING), "lost: segment sha256:000"),
        (Promise("dropped", NOTHING), "lost: what segment sha256:000"),
    ],
)
def test_what_is_not_there_is_in_breach(store: OpenStore, promise: Promise, breach: str) -> None:
    """A promise of what was never stored is found broken."""
    broken = breaches(store, [promise])

    assert broken[0].startswith(breach)


def change_a_leaf(store: OpenStore) -> None:
    """Change one digit in a stored leaf, past the triggers."""
    run_sql(
        store,
        "UPDATE batch SET leaves ="
        " CAST(replace(CAST(leaves AS TEXT), '2026-01-01', '2026-01-02') AS BLOB)",
    )


def forget_a_batch(store: OpenStore) -> None:
    """Remove the last leaves."""
    run_sql(store, "DELETE FROM batch WHERE first = (SELECT max(first) FROM batch)")


def forget_an_entry(store: OpenStore) -> None:
    """Remove one entry of the ledger."""
    run_sql(store, "DELETE FROM document WHERE shelf = 'entry'")


def forget_a_segment(store: OpenStore) -> None:
    """Remove the segments."""
    shutil.rmtree(store.folder.segments)
    store.folder.segments.mkdir()


def run_sql(store: OpenStore, statement: str) -> None:
    """Do to a store what its triggers forbid."""
    connection = apsw.Connection(str(store.folder.log))
    triggers = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'trigger'")
    for (name,) in triggers.fetchall():
        connection.execute(f"DROP TRIGGER {name}")
    connection.execute(statement)
    connection.close()


@pytest.mark.parametrize(
    ("harm", "breach"),
    [
        (change_a_leaf, "is not the one that was admitted"),
        (forget_a_batch, "would fork it"),
        (forget_an_entry, "is posted in part"),
        (forget_a_segment, "is missing"),
    ],
)
def test_harm_is_a_breach(
    store: OpenStore, told: list[Promise], harm: Callable[[OpenStore], None], breach: str
) -> None:
    """What was changed or removed behind the store's back is found out."""
    harm(store)

    broken = breaches(store, told)

    assert any(breach in each for each in broken), json.dumps(broken)
