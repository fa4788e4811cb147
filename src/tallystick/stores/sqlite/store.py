"""A store in one SQLite file: transactions, and what a failure of the disk does to them."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import apsw

from tallystick.stores.errors import (
    StoreBusyError,
    StoreDamagedError,
    StoreExistsError,
    StoreUnusableError,
    StoreWriteError,
)
from tallystick.stores.sqlite.connect import Notice, connect, sync_folder
from tallystick.stores.sqlite.rows import SqliteReading, SqliteWriting, Tail
from tallystick.stores.sqlite.schema import SCHEMA

WAIT_S = 60

_FAILED_BEFORE = "an earlier write failed: open the store again"


def create_sqlite_store(path: Path, origin: str) -> None:
    """Make the file of a new store, empty but for its name: after this it is whole and on disk.

    Raises:
        StoreExistsError: there is a file already.
        StoreUnusableError: it cannot be written.
    """
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError as error:
        raise StoreExistsError(str(path), "there is one already") from error
    except OSError as error:
        raise StoreUnusableError(str(path), (error.strerror or str(error)).lower()) from error
    try:
        connection = apsw.Connection(str(path))
        # Now, while nobody else has it open: processes that change the mode at once do not wait.
        connection.execute("PRAGMA journal_mode = wal")
        connection.execute("PRAGMA synchronous = extra")
        with connection:
            connection.execute(SCHEMA)
            connection.execute("INSERT INTO origin VALUES (1, ?)", (origin,))
        connection.close()
        sync_folder(path.parent)
    except (apsw.Error, OSError) as error:
        path.unlink(missing_ok=True)
        raise StoreUnusableError(str(path), str(error)) from error


def open_sqlite_store(
    path: Path,
    *,
    notice: Notice = lambda _: None,
    wait_s: int = WAIT_S,
    vfs: str | None = None,
) -> "SqliteStore":
    """Open the file of a store.

    Args:
        path: The file.
        notice: Told, once a wait, that another process is writing.
        wait_s: How long to wait for it.
        vfs: Name of the SQLite VFS to open the file through.

    Raises:
        StoreNotFoundError: there is no such file.
        StoreUnusableError: it cannot be opened, or is something else.
        NewerStoreError: a later version wrote it.
        StoreDamagedError: it cannot be read.
        StoreBusyError: another process had it to itself for too long.
        OldSqliteError: this SQLite is not to be trusted with it.
    """

    def open_connection() -> apsw.Connection:
        return connect(path, wait_s=wait_s, notice=notice, vfs=vfs)

    return SqliteStore(path, open_connection, wait_s)


class SqliteStore:
    """An open store; safe to use from one thread at a time."""

    def __init__(
        self, path: Path, open_connection: Callable[[], apsw.Connection], wait_s: int
    ) -> None:
        self._path = path
        self._open_connection = open_connection
        self._wait_s = wait_s
        self._idle = [open_connection()]
        self._tail = Tail()
        self._has_failed = False
        try:
            self.origin = str(self._idle[0].execute("SELECT name FROM origin").get)
        except apsw.Error as error:
            raise StoreUnusableError(str(path), str(error).lower()) from error

    @contextmanager
    def reading(self) -> Iterator[SqliteReading]:
        """Look at the store as it is now."""
        with self._connection() as connection, self._errors():
            connection.execute("BEGIN")
            yield SqliteReading(connection, self._tail)
            connection.execute("COMMIT")

    @contextmanager
    def writing(self) -> Iterator[SqliteWriting]:
        """Write to the store: all of the block or nothing of it."""
        if self._has_failed:
            raise StoreWriteError(str(self._path.parent), _FAILED_BEFORE)
        with self._connection() as connection, self._errors():
            connection.execute("BEGIN IMMEDIATE")
            log = SqliteWriting(connection, self._tail)
            yield log
            log.settle()
            connection.execute("COMMIT")
            log.keep_tail()

    def check_file(self) -> Iterator[str]:
        """Have SQLite check its file; one sentence for each damage."""
        with self._connection() as connection, self._errors():
            rows = connection.execute("PRAGMA integrity_check").fetchall()
        return (f"the database file: {row[0]}" for row in rows if row[0] != "ok")

    def close(self) -> None:
        """Let go of the file; what was written stays."""
        while self._idle:
            self._idle.pop().close()

    @contextmanager
    def _connection(self) -> Iterator[apsw.Connection]:
        """Lend a connection; readings and writings may be open at once, each on its own."""
        connection = self._idle.pop() if self._idle else self._open_connection()
        try:
            yield connection
        finally:
            if connection.in_transaction:
                with suppress(apsw.Error):
                    connection.execute("ROLLBACK")
            if connection.txn_state() == apsw.SQLITE_TXN_NONE:
                self._idle.append(connection)
            else:  # Something read from it is not finished, and would keep it at an old moment.
                connection.close()

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Say in our words what SQLite could not do."""
        folder = str(self._path.parent)
        try:
            yield
        except apsw.BusyError as error:
            raise StoreBusyError(folder, self._wait_s) from error
        except (apsw.FullError, apsw.IOError, apsw.NoMemError, apsw.ProtocolError) as error:
            self._has_failed = True
            raise StoreWriteError(folder, str(error).lower()) from error
        except (apsw.CorruptError, apsw.NotADBError) as error:
            raise StoreDamagedError(folder, str(error).lower()) from error
        except (apsw.ReadOnlyError, apsw.CantOpenError, apsw.PermissionsError) as error:
            raise StoreUnusableError(folder, str(error).lower()) from error
