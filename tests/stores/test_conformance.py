"""Every store keeps the contract; a store of another kind joins with a class of its own."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tallystick.stores.memory import MemoryStore
from tallystick.stores.protocol import Store
from tallystick.stores.sqlite import create_sqlite_store, open_sqlite_store, rows
from tests.stores.conformance import Open, StoreConformance
from tests.stores.samples import ORIGIN


class TestMemoryStore(StoreConformance):
    """A store in memory, where there is but one holder."""

    @contextmanager
    def place(self, folder: Path) -> Iterator[Open]:
        """Give the one store again and again."""
        del folder
        store = MemoryStore(ORIGIN, wait_s=0)
        yield lambda: store


class TestSqliteStore(StoreConformance):
    """A store in a file, which each holder opens for itself."""

    @contextmanager
    def place(self, folder: Path) -> Iterator[Open]:
        """Make the file, and open it as often as asked."""
        create_sqlite_store(folder / "log.db", ORIGIN)
        stores: list[Store] = []

        def opened() -> Store:
            stores.append(open_sqlite_store(folder / "log.db", wait_s=0))
            return stores[-1]

        yield opened
        for store in stores:
            store.close()


class TestSqliteStoreThatSettlesOften(TestSqliteStore):
    """The same where identities go to their table after every third leaf."""

    @pytest.fixture(autouse=True)
    def _settles_often(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(rows, "SETTLE_LEAVES", 3)


class TestSqliteStoreOfSmallRows(TestSqliteStore):
    """The same where a row holds two leaves, or twenty bytes."""

    @pytest.fixture(autouse=True)
    def _small_rows(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(rows, "BATCH_LEAVES_MAX", 2)
        monkeypatch.setattr(rows, "BATCH_BYTES_MAX", 20)
        monkeypatch.setattr(rows, "SETTLE_LEAVES", 4)
