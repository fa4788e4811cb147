"""Identities are entered into their table many at a time, and found before and after."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from tallystick.stores.sqlite import SqliteStore, create_sqlite_store, open_sqlite_store, rows
from tests.stores.samples import ORIGIN, append, key, keys, leaf


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give the file of a new store whose identities settle by the handful."""
    monkeypatch.setattr(rows, "SETTLE_LEAVES", 4)
    monkeypatch.setattr(rows, "SETTLE_PART", 2)
    monkeypatch.setattr(rows, "SETTLE_LEAVES_MAX", 10)
    create_sqlite_store(tmp_path / "log.db", ORIGIN)
    return tmp_path / "log.db"


@pytest.fixture
def store(path: Path) -> Iterator[SqliteStore]:
    """Open the store."""
    with closing(open_sqlite_store(path)) as opened:
        yield opened


def settled(path: Path) -> list[int]:
    """Give the sizes of the log at which identities settled."""
    with closing(apsw.Connection(str(path))) as connection:
        return [size for (size,) in connection.execute("SELECT leaves FROM settled")]


def test_the_larger_the_table_the_more_settle_together(store: SqliteStore, path: Path) -> None:
    """At least 4, then half of those that are there, at most 10."""
    for number in range(60):
        append(store, leaf(number))

    assert settled(path) == [4, 8, 12, 18, 27, 37, 47, 57]


def test_an_identity_is_found_wherever_it_is(store: SqliteStore, path: Path) -> None:
    """By whoever wrote it, and by whoever opens the store later."""
    for number in range(60):
        append(store, leaf(number))

    with closing(open_sqlite_store(path)) as other:
        found = []
        for each in (store, other):
            with each.reading() as log:
                found.append(log.find(keys(*range(60), 99)))

    assert found == [{key(number): number for number in range(60)}] * 2
