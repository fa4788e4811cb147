"""A store in one SQLite file: what the file itself refuses, whom it opens for, who has to wait."""

import stat
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest

from tallystick.stores.errors import (
    NewerStoreError,
    OldSqliteError,
    StoreBusyError,
    StoreDamagedError,
    StoreExistsError,
    StoreNotFoundError,
    StoreUnusableError,
    StoreWriteError,
)
from tallystick.stores.sqlite import (
    SqliteStore,
    connect,
    create_sqlite_store,
    open_sqlite_store,
    rows,
    schema,
)
from tests.app.privileges import as_nobody
from tests.stores.samples import ORIGIN, append, content_now, data_of, key, leaf, leaves, put
from tests.stores.writers import SHARED, Holder, Task, holder, number_of, write_at_once

BLOB_16 = "x'" + "00" * 16 + "'"
BLOB_32 = "x'" + "00" * 32 + "'"
TABLES = ("origin", "batch", "identity", "settled", "document")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Give the file of a new store."""
    create_sqlite_store(tmp_path / "log.db", ORIGIN)
    return tmp_path / "log.db"


@pytest.fixture
def store(path: Path) -> Iterator[SqliteStore]:
    """Open the store, with no patience."""
    with closing(open_sqlite_store(path, wait_s=0)) as opened:
        yield opened


@pytest.fixture
def filled(path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give the file of a store that has rows in every table: 3 leaves in 2 rows, 2 documents."""
    monkeypatch.setattr(rows, "SETTLE_LEAVES", 2)
    with closing(open_sqlite_store(path, wait_s=0)) as store:
        append(store, *leaves(0, 1))
        append(store, leaf(2))
        put(store, "head", "a", b"1")
        put(store, "head", "b", b"2")
    return path


def execute(path: Path, *statements: str) -> None:
    """Execute statements on the bare file, as a person with a shell would."""
    with closing(apsw.Connection(str(path))) as connection:
        for statement in statements:
            connection.execute(statement).fetchall()


def dump(path: Path) -> dict[str, list[Any]]:
    """Give all rows of all tables."""
    with closing(apsw.Connection(str(path))) as connection:
        return {table: list(connection.execute(f"SELECT * FROM {table}")) for table in TABLES}  # noqa: S608


def spoil(path: Path, table: str) -> None:
    """Overwrite the first page of a table."""
    with closing(apsw.Connection(str(path))) as connection:
        page = connection.execute("SELECT rootpage FROM sqlite_schema WHERE name = ?", (table,)).get
        page_bytes = connection.execute("PRAGMA page_size").get
    with path.open("r+b") as file:
        file.seek((page - 1) * page_bytes)
        file.write(b"\xff" * page_bytes)


# -- the file ------------------------------------------------------------------------------


def test_a_new_store_is_one_file_for_its_owner_only(path: Path) -> None:
    """Nothing is left beside it."""
    assert [each.name for each in path.parent.iterdir()] == ["log.db"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_what_sqlite_puts_beside_an_open_store_is_for_its_owner_too(
    store: SqliteStore, path: Path
) -> None:
    """The write-ahead log holds evidence."""
    append(store, leaf(0))

    modes = {each.name: stat.S_IMODE(each.stat().st_mode) for each in path.parent.iterdir()}

    assert modes == {"log.db": 0o600, "log.db-wal": 0o600, "log.db-shm": 0o600}


def test_a_store_is_not_made_over_a_file(path: Path) -> None:
    """What is there stays as it is."""
    before = path.read_bytes()

    with pytest.raises(StoreExistsError):
        create_sqlite_store(path, "another")

    assert path.read_bytes() == before


@pytest.mark.parametrize("place", ["absent/log.db", "log.db/log.db"])
def test_a_store_is_not_made_where_there_is_no_folder(path: Path, place: str) -> None:
    """The folder is absent, or a file."""
    with pytest.raises(StoreUnusableError):
        create_sqlite_store(path.parent / place, ORIGIN)


def test_a_store_that_cannot_be_made_is_not_left_by_half(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file is removed again."""
    monkeypatch.setattr("tallystick.stores.sqlite.store.SCHEMA", "CREATE TABLE;")

    with pytest.raises(StoreUnusableError):
        create_sqlite_store(tmp_path / "log.db", ORIGIN)

    assert list(tmp_path.iterdir()) == []


# -- what the tables refuse ----------------------------------------------------------------

CHANGES = [
    "UPDATE origin SET name = 'x'",
    "UPDATE batch SET leaves = x'00' WHERE first = 2",
    "UPDATE batch SET first = 3 WHERE first = 2",
    "UPDATE OR REPLACE batch SET first = 0 WHERE first = 2",
    "UPDATE identity SET leaf = 7",
    "UPDATE settled SET leaves = leaves + 1",
    "UPDATE document SET data = x'00'",
    "UPDATE OR IGNORE document SET key = 'a'",
    "DELETE FROM origin",
    "DELETE FROM batch",
    "DELETE FROM identity",
    "DELETE FROM settled",
    "DELETE FROM document",
    "DELETE FROM batch WHERE first = 2",
    "DELETE FROM document WHERE place = 2",
]
ADDITIONS = [
    "origin VALUES (1, 'x')",
    "origin VALUES (2, 'x')",
    "origin VALUES (NULL, 'x')",
    f"batch VALUES (0, 1, x'00', {BLOB_32}, {BLOB_16})",
    f"batch VALUES (2, 1, x'00', {BLOB_32}, {BLOB_16})",
    f"batch VALUES (4, 1, x'00', {BLOB_32}, {BLOB_16})",
    f"batch VALUES (-1, 1, x'00', {BLOB_32}, {BLOB_16})",
    f"batch VALUES (NULL, 1, x'00', {BLOB_32}, {BLOB_16})",
    "identity SELECT key, leaf FROM identity LIMIT 1",
    "identity SELECT key, 7 FROM identity LIMIT 1",
    "settled SELECT max(leaves) FROM settled",
    "settled VALUES (1)",
    "settled VALUES (-1)",
    "settled VALUES (NULL)",
    "document VALUES (1, 'head', 'c', x'00')",
    "document VALUES (2, 'head', 'c', x'00')",
    "document VALUES (4, 'head', 'c', x'00')",
    "document VALUES (NULL, 'head', 'c', x'00')",
    "document VALUES (3, 'head', 'a', x'00')",
    "document (shelf, key, data) VALUES ('head', 'c', x'00')",
]


@pytest.mark.parametrize("change", CHANGES)
def test_nothing_is_changed_or_removed(filled: Path, change: str) -> None:
    """By whatever statement, on the bare file."""
    before = dump(filled)

    with pytest.raises(apsw.ConstraintError, match="is append-only"):
        execute(filled, change)

    assert dump(filled) == before


@pytest.mark.parametrize(
    "verb", ["INSERT", "INSERT OR REPLACE", "INSERT OR IGNORE", "INSERT OR FAIL", "REPLACE"]
)
@pytest.mark.parametrize("addition", ADDITIONS)
def test_nothing_is_put_in_a_place_that_is_not_the_next(
    filled: Path, verb: str, addition: str
) -> None:
    """Nor over what is there, nor with a hole before it, nor where SQLite would choose."""
    before = dump(filled)

    with pytest.raises(apsw.ConstraintError, match="is append-only"):
        execute(filled, f"{verb} INTO {addition}")

    assert dump(filled) == before


@pytest.mark.parametrize("row", ["VALUES (NULL)", "VALUES (0)", "VALUES (-1)", "DEFAULT VALUES"])
def test_nothing_is_settled_before_the_first_leaf(path: Path, row: str) -> None:
    """Not in a new store either."""
    with pytest.raises(apsw.ConstraintError, match="is append-only"):
        execute(path, f"INSERT INTO settled {row}")


def test_an_upsert_is_refused(filled: Path) -> None:
    """It would update what is there."""
    upsert = (
        "INSERT INTO document VALUES (3, 'head', 'a', x'00')"
        " ON CONFLICT DO UPDATE SET data = excluded.data"
    )

    with pytest.raises(apsw.ConstraintError, match="document is append-only"):
        execute(filled, upsert)


def test_every_table_of_a_store_is_strict(path: Path) -> None:
    """No column takes a value of another type."""
    with closing(apsw.Connection(str(path))) as connection:
        found = connection.execute(
            "SELECT name, strict FROM pragma_table_list WHERE name NOT LIKE 'sqlite_%'"
        ).fetchall()

    assert sorted(found) == sorted((table, 1) for table in TABLES)


@pytest.mark.parametrize(
    "addition",
    [
        f"batch VALUES (3, 1, 'text', {BLOB_32}, {BLOB_16})",
        f"batch VALUES (3, 0, x'', x'', {BLOB_16})",
        f"batch VALUES (3, 2, x'00', {BLOB_32}, {BLOB_16})",
        f"batch VALUES (3, 1, x'00', {BLOB_32}, {BLOB_32})",
        f"batch VALUES (3, 1, NULL, {BLOB_32}, {BLOB_16})",
        "identity VALUES (x'00', 0)",
        f"identity VALUES ({BLOB_16}, 'text')",
        "document VALUES (3, 'head', 'c', 'text')",
        "document VALUES (3, 'head', NULL, x'00')",
    ],
)
def test_a_row_of_another_form_is_refused(filled: Path, addition: str) -> None:
    """Types, lengths and numbers must agree."""
    with pytest.raises(apsw.ConstraintError):
        execute(filled, f"INSERT INTO {addition}")


# -- connections ---------------------------------------------------------------------------


def test_every_connection_writes_ahead_and_syncs_each_commit(store: SqliteStore) -> None:
    """Those that are used, for reading and writing, one within the other."""
    settings = {
        "journal_mode": "wal",
        "synchronous": 2,
        "fullfsync": 1,
        "trusted_schema": 0,
        "cell_size_check": 1,
        "mmap_size": 0,
    }

    with store.writing() as log, store.reading() as other, store.reading() as third:
        for used in (log, other, third):
            found = {
                name: used._connection.execute(f"PRAGMA {name}").get  # noqa: SLF001
                for name in settings
            }
            assert found == settings


def test_connections_are_used_again(store: SqliteStore) -> None:
    """As many are open as blocks were open at once."""
    for _ in range(3):
        with store.reading(), store.reading(), store.writing():
            pass

    assert len(store._idle) == 3  # noqa: SLF001


# -- whom it opens for ---------------------------------------------------------------------


def test_a_store_of_a_later_version_is_not_opened(path: Path) -> None:
    """The error says which format is known and which is there; the file is left alone."""
    execute(path, f"PRAGMA user_version = {schema.FORMAT + 1}")
    before = path.read_bytes()

    with pytest.raises(NewerStoreError) as refused:
        open_sqlite_store(path)

    assert refused.value.args == (str(path.parent), schema.FORMAT, schema.FORMAT + 1)
    assert path.read_bytes() == before


def another_database(path: Path) -> None:
    """Make a database of another application."""
    execute(path, "PRAGMA application_id = 7", "CREATE TABLE origin (name)")


def anonymous_database(path: Path) -> None:
    """Make a database that names no application."""
    execute(path, "CREATE TABLE origin (name)")


def text(path: Path) -> None:
    """Make a text file, long enough to have a database's header."""
    path.write_text("a text\n" * 1000, encoding="utf-8")


def short_text(path: Path) -> None:
    """Make a short text file."""
    path.write_text("a text\n", encoding="utf-8")


def empty(path: Path) -> None:
    """Make an empty file."""
    path.touch()


def folder(path: Path) -> None:
    """Make a folder."""
    path.mkdir()


@pytest.mark.parametrize(
    "make", [another_database, anonymous_database, text, short_text, empty, folder]
)
def test_what_is_no_store_is_not_opened(tmp_path: Path, make: Callable[[Path], None]) -> None:
    """It is said so, and it stays as it is."""
    path = tmp_path / "log.db"
    make(path)
    before = path.is_file() and path.read_bytes()

    with pytest.raises(StoreUnusableError):
        open_sqlite_store(path)

    assert (path.is_file() and path.read_bytes()) == before
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("name", ["log.db", "absent/log.db"])
def test_where_nothing_is_no_store_is_made(tmp_path: Path, name: str) -> None:
    """A store that is absent is not found, and still absent afterwards."""
    with pytest.raises(StoreNotFoundError) as refused:
        open_sqlite_store(tmp_path / name)

    assert refused.value.args == (str((tmp_path / name).parent),)
    assert list(tmp_path.iterdir()) == []


def test_a_store_that_may_not_be_looked_at_is_unusable(path: Path) -> None:
    """Whether it is there cannot be said."""
    with as_nobody(), pytest.raises(StoreUnusableError) as refused:
        open_sqlite_store(path)

    assert refused.value.args == (str(path), "permission denied")


def test_an_unknown_way_to_the_disk_is_refused(path: Path) -> None:
    """The VFS is named by the caller."""
    with pytest.raises(StoreUnusableError):
        open_sqlite_store(path, vfs="none of ours")


@pytest.mark.parametrize("version", ["3.51.2", "3.40.1", "2.99.99"])
def test_an_old_sqlite_is_not_trusted(
    path: Path, monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    """It could damage what two processes write."""
    monkeypatch.setattr(apsw, "sqlite_lib_version", lambda: version)

    with pytest.raises(OldSqliteError) as refused:
        open_sqlite_store(path)

    assert refused.value.args == ("3.51.3", version)


@pytest.mark.parametrize("version", ["3.51.3", "3.100.0", "4.0.0"])
def test_a_later_sqlite_is_trusted(
    path: Path, monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    """Versions are compared as numbers."""
    monkeypatch.setattr(apsw, "sqlite_lib_version", lambda: version)

    open_sqlite_store(path).close()


# -- damage --------------------------------------------------------------------------------


def test_a_file_that_cannot_be_read_is_damaged(path: Path) -> None:
    """It says that it is a store, and its first table cannot be read."""
    spoil(path, "origin")

    with pytest.raises(StoreDamagedError):
        open_sqlite_store(path)


def test_damage_is_met_by_whoever_reads_it(filled: Path) -> None:
    """The rest of the store can be read."""
    spoil(filled, "document")

    with closing(open_sqlite_store(filled)) as store:
        with store.reading() as log:
            assert list(log.leaves(0, log.size)) == data_of(leaves(0, 1, 2))
        with pytest.raises(StoreDamagedError) as refused:
            put(store, "head", "c", b"3")

    assert refused.value.args[0] == str(filled.parent)


def test_sqlite_checks_its_file(filled: Path) -> None:
    """A good one has no damage; of a bad one each damage is a sentence."""
    with closing(open_sqlite_store(filled)) as store:
        good = list(store.check_file())
    short = "INSERT INTO batch VALUES (3, 2, x'00', x'', x'')"
    execute(filled, "PRAGMA ignore_check_constraints = on", short)

    with closing(open_sqlite_store(filled)) as store:
        bad = list(store.check_file())

    assert good == []
    assert bad == ["the database file: CHECK constraint failed in batch"]


def test_a_file_that_sqlite_cannot_check_is_damaged(filled: Path) -> None:
    """The check itself meets what it cannot read."""
    spoil(filled, "document")

    with closing(open_sqlite_store(filled)) as store, pytest.raises(StoreDamagedError):
        store.check_file()


# -- failures of the disk ------------------------------------------------------------------


@pytest.fixture
def full(path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SqliteStore]:
    """Give a store with one leaf on a disk that is nearly full."""
    with monkeypatch.context() as patch:
        patch.setattr(connect, "_SETTINGS", (*connect._SETTINGS, "PRAGMA max_page_count = 20"))  # noqa: SLF001
        with closing(open_sqlite_store(path)) as store:
            append(store, leaf(0))
            yield store


LARGE = leaf(1, b"x" * 1_000_000)


def test_on_a_full_disk_nothing_of_the_transaction_counts(full: SqliteStore, path: Path) -> None:
    """The error says so, and the store is as before."""
    before = content_now(full)

    with pytest.raises(StoreWriteError) as refused:
        append(full, LARGE)

    assert refused.value.args == (str(path.parent), "database or disk is full")
    assert content_now(full) == before


def test_after_a_failed_write_a_store_is_not_written_to(full: SqliteStore) -> None:
    """Even what would have room; it can be read still."""
    with pytest.raises(StoreWriteError):
        append(full, LARGE)

    with pytest.raises(StoreWriteError) as refused:
        append(full, leaf(2))

    assert refused.value.args[1] == "an earlier write failed: open the store again"
    assert content_now(full).leaves == data_of(leaves(0))


def test_a_store_that_failed_is_written_to_when_it_is_opened_again(
    full: SqliteStore, path: Path
) -> None:
    """By then the disk has room, or it fails again."""
    with pytest.raises(StoreWriteError):
        append(full, LARGE)

    with closing(open_sqlite_store(path)) as again:
        first = append(again, leaf(2))

    assert first == 1


def test_a_store_that_may_only_be_read_is_not_written_to(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is read, and a write is refused; that is no failure of the disk."""
    monkeypatch.setattr(connect, "_SETTINGS", (*connect._SETTINGS, "PRAGMA query_only = on"))  # noqa: SLF001

    with closing(open_sqlite_store(path)) as store:
        for _ in range(2):
            with pytest.raises(StoreUnusableError):
                append(store, leaf(0))
        assert content_now(store).leaves == []


# -- other processes -----------------------------------------------------------------------


class Clock:
    """Time that passes only while somebody sleeps: a second a time."""

    def __init__(self, *, on_sleep: Callable[[int], None] = lambda _: None) -> None:
        self.slept = 0
        self._on_sleep = on_sleep

    def monotonic(self) -> float:
        """Say how late it is."""
        return float(self.slept)

    def sleep(self, _: float) -> None:
        """Sleep a second."""
        self.slept += 1
        self._on_sleep(self.slept)


def test_a_wait_is_noticed_once_and_ends(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process writes on and on; each wait has its notice and its end."""
    notices: list[str] = []
    clock = Clock()
    monkeypatch.setattr(connect, "time", clock)

    with (
        holder(path, "BEGIN IMMEDIATE"),
        closing(open_sqlite_store(path, notice=notices.append, wait_s=60)) as store,
    ):
        for waits in (1, 2):
            with pytest.raises(StoreBusyError) as refused:
                append(store, leaf(0))
            assert (clock.slept, len(notices)) == (60 * waits, waits)
        assert content_now(store).leaves == []

    assert refused.value.args == (str(path.parent), 60)
    assert str(path.parent) in notices[0]
    assert "another process" in notices[0]


def test_a_short_wait_is_not_noticed(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without patience there is nothing to tell."""
    notices: list[str] = []
    monkeypatch.setattr(connect, "time", Clock())

    with (
        holder(path, "BEGIN IMMEDIATE"),
        closing(open_sqlite_store(path, notice=notices.append, wait_s=1)) as store,
        pytest.raises(StoreBusyError),
    ):
        append(store, leaf(0))

    assert notices == []


def test_a_writing_begins_when_the_other_process_has_done(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The wait is not in vain."""
    others: list[Holder] = []

    def on_sleep(slept: int) -> None:
        if slept == 3:
            others[0].let_go()

    monkeypatch.setattr(connect, "time", Clock(on_sleep=on_sleep))

    with (
        holder(path, "BEGIN IMMEDIATE") as other,
        closing(open_sqlite_store(path)) as store,
    ):
        others.append(other)
        first = append(store, leaf(0))

    assert first == 0


def test_a_wait_can_be_interrupted(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By a person at the keyboard; the store goes on later."""

    def on_sleep(_: int) -> None:
        raise KeyboardInterrupt

    with closing(open_sqlite_store(path)) as store:
        with holder(path, "BEGIN IMMEDIATE"), monkeypatch.context() as patch:
            patch.setattr(connect, "time", Clock(on_sleep=on_sleep))
            with pytest.raises(KeyboardInterrupt):
                append(store, leaf(0))
        assert append(store, leaf(0)) == 0


def test_a_store_that_another_process_has_to_itself_is_busy(path: Path) -> None:
    """Opening it is waited for, too."""
    alone = ("PRAGMA locking_mode = exclusive", "BEGIN EXCLUSIVE")

    with holder(path, *alone), pytest.raises(StoreBusyError) as refused:
        open_sqlite_store(path, wait_s=0)

    assert refused.value.args == (str(path.parent), 0)


def test_processes_that_write_at_once_lose_nothing(path: Path) -> None:
    """Every batch stands whole at its number, every identity once and found, whoever settles."""
    tasks = [Task(path, writer, rounds=12, batch=3, settle_leaves=7) for writer in range(4)]

    firsts = write_at_once(tasks)

    with closing(open_sqlite_store(path)) as store, store.reading() as log:
        data = list(log.leaves(0, log.size))
        numbers = [
            (first + place, number_of(task, turn, place), b"%d %d %d" % (task.writer, turn, place))
            for task, own in zip(tasks, firsts, strict=True)
            for turn, first in enumerate(own)
            for place in range(task.batch)
        ]
        shared = [SHARED + turn for turn in range(12)]
        assert len(data) == 4 * 12 * 3 + 12
        assert [data[number] for number, _, _ in numbers] == [each for _, _, each in numbers]
        assert sorted(data).count(leaf(SHARED).data) == 1
        assert log.find([key(each) for _, each, _ in numbers]) == {
            key(each): number for number, each, _ in numbers
        }
        found = log.find([key(each) for each in shared])
        assert {data[number] for number in found.values()} == set(data_of(leaves(*shared)))
    assert dump(path)["settled"] != []


def test_processes_that_open_and_close_at_once_do_not_hinder_each_other(tmp_path: Path) -> None:
    """Not even the first that open a new store."""
    for number in range(2):
        path = tmp_path / f"{number}.db"
        create_sqlite_store(path, ORIGIN)
        tasks = [Task(path, writer, rounds=20, batch=0, settle_leaves=9) for writer in range(4)]

        write_at_once(tasks)

        assert len(dump(path)["batch"]) == 20
