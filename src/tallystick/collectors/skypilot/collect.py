"""Collecting from SkyPilot: databases of managed jobs in, records and findings out."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from pathlib import Path
from typing import Any

from tallystick.collectors.collected import Collected, Place
from tallystick.collectors.errors import BadClusterError
from tallystick.collectors.skypilot.attempts import (
    Event,
    Story,
    Stretch,
    make_task,
    read_story,
)
from tallystick.collectors.skypilot.database import (
    NotAJobsDatabaseError,
    Row,
    read_jobs,
)
from tallystick.collectors.skypilot.values import (
    Gpus,
    plain,
    read_epoch_us,
    read_gpus,
    read_moments_us,
)
from tallystick.core.finding import InputFinding
from tallystick.core.instant import SECOND_US
from tallystick.evidence.draft import draft_record

Output = dict[str, Any] | InputFinding

EVENTS_MAX = 1000
_TASK_ID_MARK = "sky-"


@dataclass(frozen=True, slots=True)
class SkypilotOptions:
    """Which controller it is, and when it was read.

    Args:
        cluster: Name of the jobs controller in attempt keys.
        timezone: Zone of event times that state none.
        observed_us: When the databases were read.
    """

    cluster: str
    timezone: tzinfo
    observed_us: int


@dataclass(frozen=True, slots=True)
class _Task:
    """A task of a managed job, with everything that is known of it."""

    name: str
    row: Row
    info: Row
    run: str | None
    place: Place


def collect_skypilot(paths: Sequence[str], options: SkypilotOptions) -> Collected:
    """Read databases of managed jobs; one that cannot be read is a finding, the others go on.

    Raises:
        BadClusterError: the name of the controller cannot stand in a key.
    """
    name = options.cluster
    if not name or not name.isprintable() or set(name) & set(" :") or len(name.encode()) > 64:
        raise BadClusterError(name)
    collected = Collected()
    for number, path in enumerate(paths, start=1):
        place = Place(path, number)
        for output in _read(Path(path), place, options):
            if isinstance(output, InputFinding):
                collected.findings.append(output)
            else:
                collected.add(output)
    if not collected.records and not collected.findings:
        collected.findings.append(
            InputFinding("nothing_collected", "the databases hold no managed job")
        )
    return collected


def _read(path: Path, place: Place, options: SkypilotOptions) -> Iterator[Output]:
    try:
        jobs = read_jobs(path)
    except NotAJobsDatabaseError as error:
        yield place.finding("not_a_jobs_database", f"cannot read managed jobs: {error}")
        return
    if jobs.missing:
        message = f"this version has no {', '.join(jobs.missing)}; what they say stays unknown"
        yield place.finding("column_absent", message)
    rows_of = _grouped(jobs.tasks, _job_of)
    events_of = _grouped(jobs.events, lambda event: event.get("spot_job_id"))
    for row in jobs.tasks:
        job = _job_of(row)
        if job is None:
            yield place.finding("bad_row", "a task has no number of its job")
            continue
        info = jobs.infos.get(job, {})
        run = _task_id(row, info, is_alone=len(rows_of[job]) == 1)
        task = _Task(f"sky:{options.cluster}:{_job_id(row)}", row, info, run, place)
        told = [
            event
            for event in events_of.get(job, ())
            if event.get("task_id") in {None, _task_number(row)}
        ]
        events: list[Event] = []
        for item in _events(task, told, options):
            if isinstance(item, Event):
                events.append(item)
            else:
                yield item
        yield from _bad_times(task)
        yield _row(task, told, options)
        yield from _describe(task, read_story(make_task(row), sorted(events)), options)


def _grouped(rows: Sequence[Row], key: Callable[[Row], Any]) -> dict[Any, list[Row]]:
    groups: dict[Any, list[Row]] = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    return groups


def _events(
    task: _Task, told: Sequence[Row], options: SkypilotOptions
) -> Iterator[Event | InputFinding]:
    """Read the events of a task, and those of its job; one that cannot be read is told."""
    for number, event in enumerate(told):
        status, source = event.get("new_status"), event.get("recovery_source")
        moments = read_moments_us(event.get("timestamp"), options.timezone)
        if len(moments) == 1 and isinstance(status, str):
            yield Event(moments[0], number, status, source if isinstance(source, str) else "")
            continue
        code = "ambiguous_time" if len(moments) > 1 else "bad_row"
        message = f"{task.name}: an event cannot be used: {event.get('timestamp')!r} {status!r}"
        yield task.place.finding(code, message[:200])


def _bad_times(task: _Task) -> Iterator[InputFinding]:
    for column in ("start_at", "end_at"):
        value = task.row.get(column)
        if value is not None and read_epoch_us(value) is None:
            message = f"{task.name}: {column} is no time: {str(value)[:40]!r}"
            yield task.place.finding("bad_time", message)


def _task_number(row: Row) -> int:
    return _number(row.get("task_id")) or 0


def _job_id(row: Row) -> str:
    return f"{_job_of(row)}-{_task_number(row)}"


def _job_of(row: Row) -> int | None:
    job = _number(row.get("spot_job_id"))
    return _number(row.get("job_id")) if job is None else job


def _number(value: Any) -> int | None:
    return value if type(value) is int and 0 <= value < 2**53 else None


def _task_id(row: Row, info: Row, *, is_alone: bool) -> str | None:
    """Give SKYPILOT_TASK_ID as the controller composes it, if all its parts are there."""
    stamp, job = row.get("run_timestamp"), _job_of(row)
    dag = info.get("name") or row.get("job_name")
    task = row.get("task_name")
    name = dag if is_alone else f"{dag}_{task}" if dag and task else None
    if not isinstance(stamp, str) or not stamp.startswith(_TASK_ID_MARK) or not name:
        return None
    since = stamp.removeprefix(_TASK_ID_MARK).removeprefix("managed-")
    task_id = f"sky-managed-{since}_{name}_{job}-{_task_number(row)}"
    return task_id if task_id.isprintable() and len(task_id.encode()) <= 200 else None


def _row(task: _Task, told: Sequence[Row], options: SkypilotOptions) -> Output:
    raw = _plain(task.row)
    if task.info:
        raw["job_info"] = _plain(task.info)
    if told:
        raw["events"] = [_plain(event) for event in told[:EVENTS_MAX]]
    body = {
        "scheduler": "skypilot",
        "cluster": options.cluster,
        "raw": raw,
        "resolution_us": 1,
    }
    return _record("allocation.row", None, body, options)


def _plain(row: Row) -> Row:
    return {name: plain(value) for name, value in row.items() if value is not None}


def _describe(task: _Task, story: Story, options: SkypilotOptions) -> Iterator[Output]:
    gpus = read_gpus(task.row.get("resources"), task.row.get("full_resources"))
    if story.is_incomplete:
        message = f"{task.name}: it recovered more often than its events show"
        yield task.place.finding("history_incomplete", message)
    if story.own_recoveries:
        message = (
            f"{task.name}: the controller itself recovered {story.own_recoveries} times;"
            " whether the machines were held meanwhile is not said, the time counts as held"
        )
        yield task.place.finding("controller_recovered", message)
    if story.stretches and gpus.gpu_count is None:
        message = f"{task.name}: its resources name no single number of GPUs; starts are withheld"
        yield task.place.finding("gpu_count_unknown", message)
    for stretch in story.stretches:
        is_last = stretch is story.stretches[-1]
        yield from _attempt(task, stretch, gpus, options, is_last=is_last)


def _attempt(
    task: _Task, stretch: Stretch, gpus: Gpus, options: SkypilotOptions, *, is_last: bool
) -> Iterator[Output]:
    key = f"{task.name}:{stretch.start_us // SECOND_US}"
    yield _record("attempt.linked", None, {"run": task.run or task.name, "attempt": key}, options)
    if gpus.gpu_count is not None:
        # The row of a job knows the machines of its latest attempt only.
        nodes = str(task.info.get("node_names") or "") if is_last else ""
        zone = task.info.get("zone") if is_last else None
        body = {
            "attempt": key,
            "scheduler": "skypilot",
            "cluster": options.cluster,
            "job_id": _job_id(task.row),
            "nodes": [name.strip() for name in nodes.split(",") if name.strip()],
            "gpu_count": gpus.gpu_count,
            "gpu_type": gpus.gpu_type,
            "capacity": gpus.capacity,
            "zone": zone if isinstance(zone, str) else None,
        }
        stated = {name: value for name, value in body.items() if value is not None}
        yield _record("allocation.started", stretch.start_us, stated, options)
    if stretch.end_us is not None:
        body = {"attempt": key, "ended_by": stretch.ended_by, "state": stretch.state}
        yield _record("allocation.ended", stretch.end_us, body, options)


def _record(
    kind: str, at_us: int | None, body: dict[str, Any], options: SkypilotOptions
) -> dict[str, Any]:
    return draft_record(
        kind,
        body,
        producer=f"skypilot/{options.cluster}",
        at_us=at_us,
        observed_us=options.observed_us,
    )
