"""Opening the file of a store: settings that make a commit durable, and what is refused."""

import os
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Final

import apsw

from tallystick.stores.errors import (
    NewerStoreError,
    OldSqliteError,
    StoreBusyError,
    StoreDamagedError,
    StoreNotFoundError,
    StoreUnusableError,
)
from tallystick.stores.sqlite.schema import APPLICATION_ID, FORMAT

# Earlier ones may damage a write-ahead log when two connections reset it at once.
SQLITE_MIN: Final = (3, 51, 3)

Notice = Callable[[str], None]

_NOTICE_AFTER_S = 1
_EFFECTIVE = os.access in os.supports_effective_ids
_RETRY_S = 0.01
_SETTINGS = (
    "PRAGMA journal_mode = wal",
    "PRAGMA synchronous = full",
    "PRAGMA fullfsync = on",
    "PRAGMA trusted_schema = off",
    "PRAGMA cell_size_check = on",
    # A short write-ahead log is soon written over in place, which syncs faster than growing.
    "PRAGMA wal_autocheckpoint = 128",
    "PRAGMA foreign_keys = on",
)


def connect(path: Path, *, wait_s: int, notice: Notice, vfs: str | None = None) -> apsw.Connection:
    """Open a store's file for reading and writing, and check that it is one that we know.

    Args:
        path: The file.
        wait_s: How long to wait, now and later, while another process has it to itself.
        notice: Told, once a wait, that another process is writing.
        vfs: Name of the SQLite VFS to open the file through.

    Raises:
        StoreNotFoundError: there is no such file.
        StoreUnusableError: it cannot be opened, or is something else.
        NewerStoreError: a later version wrote it.
        StoreDamagedError: it cannot be read.
        StoreBusyError: another process had it to itself for too long.
        OldSqliteError: this SQLite is not to be trusted with it.
    """
    _check_sqlite()
    try:
        if not path.exists():
            raise StoreNotFoundError(str(path.parent))
        if not os.access(path, os.R_OK | os.W_OK, effective_ids=_EFFECTIVE):
            # SQLite would make its other files as closed as this one, and leave them so.
            raise StoreUnusableError(str(path), "it may not be read and written: see its mode")
        connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE, vfs=vfs)
        try:
            # First of all: whoever opens or closes the file has it to itself for a moment.
            _wait_for_others(connection, wait_s=wait_s, notice=notice, name=str(path.parent))
            _prepare(connection, path)
        except BaseException:
            connection.close()
            raise
    except apsw.BusyError as error:
        raise StoreBusyError(str(path.parent), wait_s) from error
    except apsw.CorruptError as error:
        raise StoreDamagedError(str(path), str(error)) from error
    except (apsw.Error, OSError) as error:
        raise StoreUnusableError(str(path), _reason(error)) from error
    return connection


def _prepare(connection: apsw.Connection, path: Path) -> None:
    """Check what was opened, set it up, and make its write-ahead log durable."""
    _check_format(connection, path)
    for setting in _SETTINGS:
        connection.execute(setting).fetchall()
    connection.execute("SELECT count(*) FROM origin").fetchall()  # Makes the write-ahead log.
    sync_folder(path.parent)  # SQLite does not tell if this fails; a new file needs it.


def sync_folder(folder: Path) -> None:
    """Make the names of a folder's files durable.

    Raises:
        OSError: the disk failed.
    """
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _wait_for_others(
    connection: apsw.Connection, *, wait_s: int, notice: Notice, name: str
) -> None:
    """Have a connection wait while another process writes, and say so when it takes long."""
    began_s = 0.0
    noticed = False

    def wait(tries: int) -> bool:
        nonlocal began_s, noticed
        if tries == 0:
            began_s, noticed = time.monotonic(), False
        waited_s = time.monotonic() - began_s
        if waited_s >= wait_s:
            return False
        if waited_s >= _NOTICE_AFTER_S and not noticed:
            noticed = True
            notice(f"store {name} is busy: another process writes to it; waiting")
        time.sleep(_RETRY_S)
        return True

    connection.set_busy_handler(wait)


def _check_sqlite() -> None:
    found = tuple(map(int, apsw.sqlite_lib_version().split(".")))
    if found < SQLITE_MIN:
        raise OldSqliteError(".".join(map(str, SQLITE_MIN)), apsw.sqlite_lib_version())


def _check_format(connection: apsw.Connection, path: Path) -> None:
    with closing(connection.cursor()) as cursor:
        application = cursor.execute("PRAGMA application_id").get
        found = cursor.execute("PRAGMA user_version").get
    if application != APPLICATION_ID:
        raise StoreUnusableError(str(path), "it is not the file of a store")
    if found > FORMAT:
        raise NewerStoreError(str(path.parent), FORMAT, found)


def _reason(error: Exception) -> str:
    return (getattr(error, "strerror", None) or str(error)).lower()
