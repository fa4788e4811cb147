"""Reading the database of managed jobs, and never writing to it or beside it.

Columns differ from version to version: what is absent is None, and told once. A database that
nobody has open is read from a copy, since opening it could make files next to it; one that is in
use is read where it lies, in one transaction.
"""

import shutil
import sqlite3
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

Row = dict[str, Any]

BUSY_S: Final = 5.0
_WAL_MARK: Final = b"\x02\x02"

# What is read. Contents of files, environments and specifications are not: they hold secrets.
SPOT: Final = (
    "job_id",
    "spot_job_id",
    "task_id",
    "job_name",
    "task_name",
    "resources",
    "full_resources",
    "submitted_at",
    "start_at",
    "end_at",
    "status",
    "status_override",
    "run_timestamp",
    "last_recovered_at",
    "recovery_count",
    "recovering_from_failure",
    "job_duration",
    "failure_reason",
)
JOB_INFO: Final = (
    "spot_job_id",
    "name",
    "schedule_state",
    "workspace",
    "pool",
    "current_cluster_name",
    "cloud",
    "region",
    "zone",
    "node_names",
)
JOB_EVENTS: Final = (
    "id",
    "spot_job_id",
    "task_id",
    "new_status",
    "code",
    "reason",
    "timestamp",
    "recovery_source",
)


class NotAJobsDatabaseError(Exception):
    """A file is no database of managed jobs; says why. Caught where it becomes a finding."""


@dataclass(frozen=True, slots=True)
class Jobs:
    """What a database holds, and which columns it lacks."""

    tasks: tuple[Row, ...]
    infos: dict[Any, Row]
    events: tuple[Row, ...]
    missing: tuple[str, ...] = ()
    has_events: bool = True


@dataclass(slots=True)
class _Reader:
    connection: sqlite3.Connection
    missing: list[str] = field(default_factory=list)

    def rows(self, table: str, wanted: Sequence[str]) -> tuple[Row, ...]:
        """Give the rows of a table with the columns that there are."""
        stated = [row[1] for row in self.connection.execute(f"PRAGMA table_info({table})")]
        if not stated:
            self.missing.append(table)
            return ()
        columns = [name for name in wanted if name in stated]
        self.missing.extend(f"{table}.{name}" for name in wanted if name not in stated)
        if not columns:
            return ()
        # The names are ours: no text of the database stands in the query.
        query = f"SELECT {', '.join(columns)} FROM {table} ORDER BY rowid"  # noqa: S608
        return tuple(dict(zip(columns, row, strict=True)) for row in self.connection.execute(query))


def read_jobs(path: Path) -> Jobs:
    """Read all managed jobs.

    Raises:
        NotAJobsDatabaseError: it is something else, damaged, or cannot be read.
    """
    try:
        with _readable(path) as name, closing(_open(name)) as connection:
            connection.execute("BEGIN")
            reader = _Reader(connection)
            tasks = reader.rows("spot", SPOT)
            if "spot" in reader.missing:
                raise NotAJobsDatabaseError("it has no table spot")
            infos = {row.get("spot_job_id"): row for row in reader.rows("job_info", JOB_INFO)}
            events = reader.rows("job_events", JOB_EVENTS)
            has_events = "job_events" not in reader.missing
            return Jobs(tasks, infos, events, tuple(reader.missing), has_events)
    except (sqlite3.Error, OSError) as error:
        raise NotAJobsDatabaseError(str(error)) from error


def _open(name: str) -> sqlite3.Connection:
    connection = sqlite3.connect(name, uri=True, timeout=BUSY_S, isolation_level=None)
    connection.text_factory = _text
    return connection


def _text(data: bytes) -> str:
    return data.decode(errors="replace")


@contextmanager
def _readable(path: Path) -> Iterator[str]:
    """Give the name under which a database can be read without leaving a trace."""
    if not _is_wal(path) or path.with_name(path.name + "-shm").exists():
        yield _name(path)
        return
    with tempfile.TemporaryDirectory(prefix="tallystick-") as folder:
        copy = Path(folder) / "jobs.db"
        shutil.copyfile(path, copy)
        log = path.with_name(path.name + "-wal")
        if log.exists():
            shutil.copyfile(log, copy.with_name("jobs.db-wal"))
        yield _name(copy)


def _is_wal(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(20)[18:] == _WAL_MARK


def _name(path: Path) -> str:
    return f"file:{quote(str(path.absolute()))}?mode=ro"
