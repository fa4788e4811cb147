"""SkyPilot's database of managed jobs: attempts by stretches of RUNNING, read without a trace."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tallystick.collectors.collected import Collected
from tallystick.collectors.errors import BadClusterError
from tallystick.collectors.skypilot import SkypilotOptions, collect_skypilot
from tallystick.collectors.skypilot.values import read_epoch_us, read_gpus
from tallystick.core.canonical import canonical_bytes
from tallystick.evidence.codec import read_line

Make = Callable[..., str]

T0 = 1_767_225_600.0  # 2026-01-01T00:00:00Z
OPTIONS = SkypilotOptions(cluster="ctl", timezone=ZoneInfo("UTC"), observed_us=0)
SCHEMA = """
CREATE TABLE spot (
  job_id INTEGER PRIMARY KEY AUTOINCREMENT, job_name TEXT, resources TEXT, submitted_at FLOAT,
  status TEXT, run_timestamp TEXT, start_at FLOAT, end_at FLOAT,
  last_recovered_at FLOAT DEFAULT -1, recovery_count INTEGER DEFAULT 0,
  job_duration FLOAT DEFAULT 0, failure_reason TEXT, spot_job_id INTEGER,
  task_id INTEGER DEFAULT 0, task_name TEXT, specs TEXT, full_resources JSON,
  recovering_from_failure BOOLEAN, status_override TEXT);
CREATE TABLE job_info (
  spot_job_id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT, schedule_state TEXT, workspace TEXT,
  env_file_content TEXT, pool TEXT, current_cluster_name TEXT, cloud TEXT, region TEXT, zone TEXT,
  node_names TEXT);
CREATE TABLE job_events (
  id INTEGER PRIMARY KEY AUTOINCREMENT, spot_job_id INTEGER, task_id INTEGER, new_status TEXT,
  code TEXT, reason TEXT, timestamp DATETIME, recovery_source TEXT);
"""
SPOT: dict[str, Any] = {
    "job_name": "train",
    "resources": "2x(gpus=H100:8)[Spot]",
    "status": "SUCCEEDED",
    "run_timestamp": "sky-2026-01-01-00-00-00-123456",
    "start_at": T0 + 60,
    "end_at": T0 + 7200,
    "last_recovered_at": T0 + 60,
    "spot_job_id": 7,
    "task_name": "train",
    "specs": "secret",
}


def stamp(after_s: float) -> str:
    """Give a time as the database keeps that of an event."""
    hours, rest = divmod(int(after_s), 3600)
    return f"2026-01-01 {hours:02}:{rest // 60:02}:{rest % 60:02}.250000"


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Make a database of one task, from its differences and its events."""

    def build(
        *events: tuple[Any, ...], schema: str = SCHEMA, info: bool = True, **spot: Any
    ) -> str:
        path = tmp_path / "spot_jobs.db"
        path.unlink(missing_ok=True)
        with closing(sqlite3.connect(path)) as connection:
            connection.executescript(schema)
            row = SPOT | spot
            marks = ", ".join("?" for _ in row)
            connection.execute(
                f"INSERT INTO spot ({', '.join(row)}) VALUES ({marks})",  # noqa: S608
                list(row.values()),
            )
            if info:
                connection.execute(
                    "INSERT INTO job_info (spot_job_id, name, zone, node_names, env_file_content)"
                    " VALUES (7, 'train', 'us-east-1a', 'a, b', 'KEY=hunter2')"
                )
            for after_s, status, *source in events:
                connection.execute(
                    "INSERT INTO job_events (spot_job_id, task_id, new_status, timestamp,"
                    " recovery_source) VALUES (7, 0, ?, ?, ?)",
                    (status, stamp(after_s), source[0] if source else None),
                )
            connection.commit()
        return str(path)

    return build


def collect(*paths: str, **more: Any) -> Collected:
    """Collect databases."""
    options = {"cluster": "ctl", "timezone": ZoneInfo("UTC"), "observed_us": 0, **more}
    return collect_skypilot(paths, SkypilotOptions(**options))


def bodies(collected: Collected, kind: str) -> list[dict[str, Any]]:
    """Give the bodies of one kind."""
    return [record["body"] for record in collected.records if record["kind"] == kind]


def spans(collected: Collected) -> list[tuple[str, str | None, str | None]]:
    """Give start, end and who ended it, of each attempt."""
    ends = {
        record["body"]["attempt"]: (record["at"][11:19], record["body"]["ended_by"])
        for record in collected.records
        if record["kind"] == "allocation.ended"
    }
    return [
        (record["at"][11:19], *ends.get(record["body"]["attempt"], (None, None)))
        for record in collected.records
        if record["kind"] == "allocation.started"
    ]


def codes(collected: Collected) -> list[str]:
    """Give the codes of the findings, sorted."""
    return sorted(finding.code for finding in collected.findings)


QUIET = [(0, "PENDING"), (5, "STARTING"), (60, "RUNNING"), (7200, "SUCCEEDED")]


def test_a_job_that_ran_through_is_one_attempt(make: Make) -> None:
    """Its row's own times count, and its run is SKYPILOT_TASK_ID."""
    collected = collect(make(*QUIET))

    assert spans(collected) == [("00:01:00", "02:00:00", "completed")]
    assert bodies(collected, "allocation.started") == [
        {
            "attempt": "sky:ctl:7-0:1767225660",
            "scheduler": "skypilot",
            "cluster": "ctl",
            "job_id": "7-0",
            "nodes": ["a", "b"],
            "gpu_count": 16,
            "gpu_type": "H100",
            "capacity": "spot",
            "zone": "us-east-1a",
        }
    ]
    (link,) = bodies(collected, "attempt.linked")
    assert link["run"] == "sky-managed-2026-01-01-00-00-00-123456_train_7-0"
    assert codes(collected) == []


def test_b51_a_preemption_that_was_not_noticed_is_an_interruption(make: Make) -> None:
    """Skypilot#7117: RUNNING, PENDING, RUNNING with recovery_count 0."""
    events = [*QUIET[:3], (1800, "PENDING"), (2400, "RUNNING"), (7200, "SUCCEEDED")]

    collected = collect(make(*events))

    assert spans(collected) == [
        ("00:01:00", "00:30:00", "unknown"),
        ("00:40:00", "02:00:00", "completed"),
    ]
    assert codes(collected) == []


def test_a_recovery_is_an_interruption_whose_cause_is_not_said(make: Make) -> None:
    """Taken back or broken: the controller does not tell them apart."""
    events = [*QUIET[:3], (1800, "RECOVERING", "FAILURE"), (2400, "RUNNING"), (7200, "SUCCEEDED")]

    collected = collect(make(*events, recovery_count=1))

    assert [span[2] for span in spans(collected)] == ["unknown", "completed"]
    assert len({link["run"] for link in bodies(collected, "attempt.linked")}) == 1


@pytest.mark.parametrize("source", ["EMERGENCY", "HA", "RESTART"])
def test_a_recovery_of_the_controller_does_not_end_an_attempt(make: Make, source: str) -> None:
    """The machines may have gone on, so the time counts, and a finding says so."""
    events = [*QUIET[:3], (1800, "RECOVERING", source), (1900, "RUNNING"), (7200, "SUCCEEDED")]

    collected = collect(make(*events))

    assert spans(collected) == [("00:01:00", "02:00:00", "completed")]
    assert codes(collected) == ["controller_recovered"]


@pytest.mark.parametrize(
    ("status", "word"),
    [("CANCELLED", "user"), ("FAILED", "user"), ("FAILED_CONTROLLER", "unknown")],
)
def test_whose_act_the_last_end_was(make: Make, status: str, word: str) -> None:
    """The machines are held until a cancellation is done."""
    events = [*QUIET[:3], (7000, "CANCELLING"), (7200, status)]

    collected = collect(make(*events, status=status))

    assert spans(collected) == [("00:01:00", "02:00:00", word)]


def test_a_job_that_runs_is_open_whatever_is_shown_instead(make: Make) -> None:
    """An override of the status is for people."""
    collected = collect(make(*QUIET[:3], status="RUNNING", end_at=None, status_override="PENDING"))

    assert spans(collected) == [("00:01:00", None, None)]


def test_events_that_were_cleaned_up_are_told(make: Make) -> None:
    """They are kept for 30 days; what is left begins in the middle."""
    events = [(2400, "RUNNING"), (7200, "SUCCEEDED")]

    collected = collect(make(*events, recovery_count=1))

    assert spans(collected) == [("00:40:00", "02:00:00", "completed")]
    assert codes(collected) == ["history_incomplete"]


def test_without_events_a_job_that_never_recovered_is_whole(make: Make) -> None:
    """Its row has start and end."""
    collected = collect(make())

    assert spans(collected) == [("00:01:00", "02:00:00", "completed")]
    assert codes(collected) == []


def test_without_events_only_the_latest_attempt_is_known(make: Make) -> None:
    """Those before it are told to be missing."""
    collected = collect(make(recovery_count=2, last_recovered_at=T0 + 3600))

    assert spans(collected) == [("01:00:00", "02:00:00", "completed")]
    assert codes(collected) == ["history_incomplete"]


def test_a_job_that_never_ran_gives_its_row_only(make: Make) -> None:
    """Waiting holds nothing."""
    collected = collect(make((0, "PENDING"), status="PENDING", start_at=None, end_at=None))

    assert [record["kind"] for record in collected.records] == ["allocation.row"]


def test_an_old_version_without_columns_is_read_as_far_as_it_goes(make: Make) -> None:
    """What it lacks is named once."""
    old = (
        "CREATE TABLE spot (job_id INTEGER PRIMARY KEY, job_name TEXT, resources TEXT,"
        " status TEXT, run_timestamp TEXT, start_at FLOAT, end_at FLOAT, last_recovered_at FLOAT,"
        " spot_job_id INTEGER, task_name TEXT, specs TEXT)"
    )

    collected = collect(make(schema=old, info=False))

    assert spans(collected) == [("00:01:00", "02:00:00", "completed")]
    (finding,) = collected.findings
    assert finding.code == "column_absent"
    assert "spot.recovery_count" in finding.message
    assert "job_events" in finding.message


@pytest.mark.parametrize("content", [b"", b"not a database", b"SQLite format 3\x00" + b"x" * 200])
def test_what_is_no_database_is_a_finding(tmp_path: Path, content: bytes) -> None:
    """And so is one without the table."""
    path = tmp_path / "x.db"
    path.write_bytes(content)

    assert codes(collect(str(path))) == ["not_a_jobs_database"]


def test_a_file_that_is_not_there_does_not_stop_the_others(make: Make, tmp_path: Path) -> None:
    """The rest is collected."""
    collected = collect(str(tmp_path / "missing"), make(*QUIET))

    assert codes(collected) == ["not_a_jobs_database"]
    assert len(spans(collected)) == 1


def test_a_database_without_jobs_says_so(make: Make) -> None:
    """Nothing is no success."""
    path = make()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("DELETE FROM spot")
        connection.commit()

    assert codes(collect(path)) == ["nothing_collected"]


@pytest.fixture
def in_use(make: Make) -> Iterator[str]:
    """Make a database in write-ahead mode that somebody has open."""
    path = make(*QUIET)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("UPDATE spot SET end_at = end_at + 60")
        connection.commit()
        yield path


def test_a_database_in_use_is_read_with_its_log(in_use: str) -> None:
    """What was committed and not yet written back counts."""
    assert spans(collect(in_use)) == [("00:01:00", "02:01:00", "completed")]


def test_reading_leaves_no_trace(make: Make) -> None:
    """Nothing is made beside a database that nobody has open, nor is it changed."""
    path = Path(make(*QUIET))
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
    before = (sorted(path.parent.iterdir()), path.read_bytes())

    collect(str(path))

    assert (sorted(path.parent.iterdir()), path.read_bytes()) == before


def test_secrets_stay_where_they_are(make: Make) -> None:
    """Environments and specifications are not read."""
    text = str(collect(make(*QUIET)).records)

    assert "hunter2" not in text
    assert "secret" not in text


def test_collecting_twice_gives_the_same_ids(make: Make) -> None:
    """The moment of looking is no part of an id."""
    path = make(*QUIET)

    first, second = collect(path), collect(path, observed_us=10**15)

    assert [r["id"] for r in first.records] == [r["id"] for r in second.records]


def test_every_record_is_admitted(make: Make) -> None:
    """Numbers with fractions are text."""
    for record in collect(make(*QUIET)).records:
        assert read_line(canonical_bytes(record)).id == record["id"]


def test_the_times_of_events_are_those_of_the_zone(make: Make) -> None:
    """They state no offset; an hour that comes twice decides nothing."""
    events = [*QUIET[:3], (1800, "PENDING"), (2400, "RUNNING")]

    collected = collect(
        make(*events, start_at=None, end_at=None, status="RUNNING"),
        timezone=ZoneInfo("Europe/Berlin"),
    )

    assert [span[0] for span in spans(collected)] == ["23:01:00", "23:40:00"]


def test_an_event_in_a_repeated_hour_is_told(make: Make) -> None:
    """It is left out."""
    path = make(*QUIET)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE job_events SET timestamp = '2025-10-26 02:30:00' WHERE id = 1")
        connection.commit()

    assert "ambiguous_time" in codes(collect(path, timezone=ZoneInfo("Europe/Berlin")))


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ("UPDATE job_events SET timestamp = 'soon' WHERE id = 1", "bad_row"),
        ("UPDATE spot SET start_at = 'soon'", "bad_time"),
        ("UPDATE spot SET spot_job_id = NULL, job_id = -1", "bad_row"),
        ("UPDATE spot SET resources = '1x(cpus=8)'", "gpu_count_unknown"),
    ],
)
def test_what_cannot_be_used_is_told(make: Make, change: str, code: str) -> None:
    """A value of another type stops nothing."""
    path = make(*QUIET)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(change)
        connection.commit()

    assert code in codes(collect(path))


def test_a_name_of_the_controller_must_fit_into_a_key() -> None:
    """It is the call that is wrong."""
    with pytest.raises(BadClusterError):
        collect_skypilot((), SkypilotOptions("a:b", ZoneInfo("UTC"), 0))


@pytest.mark.parametrize(
    ("value", "us"),
    [
        (T0, 1_767_225_600_000_000),
        (1767225600.123456, 1_767_225_600_123_456),
        (1767225600, 1_767_225_600_000_000),
        (-1.0, None),
        (0, None),
        (float("nan"), None),
        (float("inf"), None),
        (1e300, None),
        ("1767225600", None),
        (True, None),
        (None, None),
    ],
)
def test_a_double_is_the_nearest_microsecond(value: Any, us: int | None) -> None:
    """What says that there is no time is none."""
    assert read_epoch_us(value) == us


@given(st.integers(1_500_000_000 * 10**6, 4_000_000_000 * 10**6))
def test_a_time_of_this_century_survives_the_double(us: int) -> None:
    """Doubles are finer than microseconds there."""
    assert read_epoch_us(us / 10**6) == us


@pytest.mark.parametrize(
    ("resources", "full", "count", "kind", "capacity"),
    [
        ("1x[A100:8]", None, 8, "A100", "unknown"),
        ("1x(cpus=8, mem=32, A100-80GB:4)[Spot]", None, 4, "A100-80GB", "spot"),
        ("4x[...]", '{"accelerators": {"H100": 8}, "use_spot": true}', 32, "H100", "spot"),
        ("1x[...]", '{"accelerators": "H100:2", "use_spot": false}', 2, "H100", "on_demand"),
        (
            "1x",
            '{"any_of": [{"accelerators": "H100:8"}, {"accelerators": "A100:8"}]}',
            None,
            None,
            "unknown",
        ),
        ("1x[H100:0.5]", '{"accelerators": {"H100": 0.5}}', None, None, "unknown"),
        (None, None, None, None, "unknown"),
        (7, "[]", None, None, "unknown"),
        ("1x", "{cut", None, None, "unknown"),
    ],
)
def test_resources_name_gpus(
    resources: Any, full: Any, count: int | None, kind: str | None, capacity: str
) -> None:
    """One kind and one number, or nothing."""
    gpus = read_gpus(resources, full)

    assert (gpus.gpu_count, gpus.gpu_type, gpus.capacity) == (count, kind, capacity)


VALUES = (
    st.none()
    | st.integers(-(2**60), 2**60)
    | st.floats()
    | st.text(max_size=8)
    | st.binary(max_size=8)
)


@given(
    st.dictionaries(st.sampled_from([*SPOT, "full_resources", "recovery_count"]), VALUES),
    st.lists(st.tuples(VALUES, VALUES, VALUES), max_size=3),
)
@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_any_value_in_any_column_is_survived(
    tmp_path: Path, spot: dict[str, Any], events: list[tuple[Any, Any, Any]]
) -> None:
    """SQLite holds any type in any column."""
    path = tmp_path / "any.db"
    path.unlink(missing_ok=True)
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(SCHEMA)
        row = SPOT | spot
        marks = ", ".join("?" for _ in row)
        connection.execute(
            f"INSERT INTO spot ({', '.join(row)}) VALUES ({marks})",  # noqa: S608
            list(row.values()),
        )
        connection.executemany(
            "INSERT INTO job_events (spot_job_id, new_status, timestamp, recovery_source)"
            " VALUES (7, ?, ?, ?)",
            events,
        )
        connection.commit()

    collected = collect_skypilot([str(path)], OPTIONS)

    assert collected.records or collected.findings
    for record in collected.records:
        assert read_line(canonical_bytes(record)).id == record["id"]
