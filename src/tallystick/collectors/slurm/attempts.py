"""From job rows to records: which attempts there were, when they began, and how they ended.

A row is believed where its parts agree; each thing that it leaves open is a finding, and the
record that would need it is withheld.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tallystick.collectors.slurm.options import SlurmOptions
from tallystick.collectors.slurm.row import JobRow
from tallystick.collectors.slurm.states import COMPLETED, RESIZING
from tallystick.collectors.slurm.tres import count_gpus, count_nodes
from tallystick.core.finding import InputFinding
from tallystick.core.instant import SECOND_US
from tallystick.evidence.draft import draft_record

Output = dict[str, Any] | InputFinding

RESOLUTION_US = SECOND_US


@dataclass(frozen=True, slots=True)
class Attempt:
    """What rows know of one attempt, for hooks to be joined to; an end of None is open."""

    key: str
    job_id: str
    start_s: int
    end_s: int | None
    gpu_type: str | None


def attempt_keys(rows: Sequence[JobRow], cluster: str) -> list[str]:
    """Give the attempt key of each row.

    A row that goes on where a RESIZING row of the same job and submit time ended would have
    that row's key; it gets the suffix ``:resize<n>`` instead, n by order of start (r10).
    """
    groups: dict[tuple[str, int], list[JobRow]] = {}
    for row in rows:
        groups.setdefault((row.job_id, row.submit_s), []).append(row)
    suffixes = {identity: _resize_numbers(group) for identity, group in groups.items()}
    keys = []
    for row in rows:
        number = suffixes[row.job_id, row.submit_s].get(_stage(row))
        suffix = "" if number is None else f":resize{number}"
        keys.append(f"slurm:{cluster}:{row.job_id}:{row.submit_s}{suffix}")
    return keys


_Stage = tuple[int, bool]


def _stage(row: JobRow) -> _Stage:
    """Order the rows of a resized job: by start, a RESIZING row of no length before the next."""
    start_s = -1 if row.start_s is None else row.start_s
    is_empty = row.state.base == RESIZING and row.end_s == row.start_s
    return start_s, not is_empty


def _resize_numbers(group: Sequence[JobRow]) -> dict[_Stage, int]:
    resized = {_stage(row): row.end_s for row in group if row.state.base == RESIZING}
    continued = {
        _stage(row)
        for row in group
        if row.start_s is not None
        and any(end_s == row.start_s and stage != _stage(row) for stage, end_s in resized.items())
    }
    return {stage: number for number, stage in enumerate(sorted(continued), start=1)}


def begin_after_resize(rows: Sequence[JobRow]) -> tuple[list[JobRow], list[InputFinding]]:
    """Have each row that goes on after a resize begin where the row before it ended.

    Slurm writes the job's first start into it again, and the resize as its submission, so taken
    as it stands the time before would be held twice.
    """
    resized: dict[tuple[str, int], list[int]] = {}
    for row in rows:
        if row.state.base == RESIZING and row.start_s is not None and row.end_s is not None:
            resized.setdefault((row.job_id, row.start_s), []).append(row.end_s)
    settled, findings = [], []
    for row in rows:
        begin_s = _resized_at(row, resized)
        if begin_s is None:
            settled.append(row)
            continue
        settled.append(replace(row, start_s=begin_s))
        message = (
            f"job {row.job_id}: states its first start again; begins where the resize ended it"
        )
        findings.append(row.place.finding("start_before_submit", message))
    return settled, findings


def _resized_at(row: JobRow, resized: dict[tuple[str, int], list[int]]) -> int | None:
    """Give the end of the resized row that a row goes on from, None if it is no such row."""
    if row.start_s is None or row.start_s >= row.submit_s:
        return None
    ends_s = resized.get((row.job_id, row.start_s), [])
    return max((end_s for end_s in ends_s if row.start_s < end_s <= row.submit_s), default=None)


def missing_history(rows: Iterable[JobRow]) -> Iterator[InputFinding]:
    """Tell of each job that restarted more often than its rows show (r6)."""
    for row, shown in partly_shown(rows):
        message = (
            f"job {row.job_id} restarted {_restarts(row)} times, but the inputs show {shown} of "
            f"its attempts; query the accounting with -D and an earlier start"
        )
        yield row.place.finding("history_incomplete", message)


def partly_shown(rows: Iterable[JobRow]) -> Iterator[tuple[JobRow, int]]:
    """Give the last row of each job that restarted more often than rows show, and their number."""
    submits: dict[str, set[int]] = {}
    most: dict[str, JobRow] = {}
    for row in rows:
        submits.setdefault(row.job_id, set()).add(row.submit_s)
        if row.restarts is not None and row.restarts > _restarts(most.get(row.job_id)):
            most[row.job_id] = row
    for job_id, row in most.items():
        shown = len(submits[job_id])
        if _restarts(row) > shown - 1:
            yield row, shown


def _restarts(row: JobRow | None) -> int:
    return 0 if row is None or row.restarts is None else row.restarts


def describe_row(row: JobRow, key: str, options: SlurmOptions) -> Iterator[Output]:
    """Give the records and findings of one row."""
    yield _record(row, options, "allocation.row", None, _row_body(row, options))
    if row.ambiguous:
        message = f"{key}: start and end lie in an hour that the clock repeats, nothing decides"
        yield row.place.finding("ambiguous_time", message)
    if not row.held_resources:
        return
    if row.start_s is not None:
        yield from _started(row, key, options)
    elif not row.ambiguous and (row.end_s is not None or row.state.is_terminal):
        message = f"{key}: held resources since a moment that the row does not state"
        yield row.place.finding("start_missing", message)
    yield from _ended(row, key, options)
    if row.was_suspended:
        message = f"{key}: was suspended, but when is not stated; the time counts as held"
        yield row.place.finding("suspended_times_unknown", message)


def row_record(row: JobRow, options: SlurmOptions) -> str:
    """Give the id of the record that keeps a row as it was read."""
    record = _record(row, options, "allocation.row", None, _row_body(row, options))
    record_id: str = record["id"]
    return record_id


def row_producer(row: JobRow, options: SlurmOptions) -> str:
    """Name who says what a row says."""
    return f"slurm-{row.origin}/{options.cluster}"


def describe_attempt(row: JobRow, key: str, options: SlurmOptions) -> Attempt | None:
    """Give what a hook can be joined to; None if the row states no start or held nothing."""
    if row.start_s is None or not row.held_resources:
        return None
    end_s = row.end_s if _end_is_trusted(row) else None
    return Attempt(key, row.job_id, row.start_s, end_s, _gpu_type(row, options))


def _row_body(row: JobRow, options: SlurmOptions) -> dict[str, Any]:
    return {
        "scheduler": "slurm",
        "cluster": options.cluster,
        "raw": row.raw,
        "resolution_us": RESOLUTION_US,
    }


def _started(row: JobRow, key: str, options: SlurmOptions) -> Iterator[Output]:
    gpu_count = _gpu_count(row, options)
    if gpu_count is None:
        message = (
            f"{key}: the row states no GPU count, so its start is withheld; "
            f"give --gpus-per-node N if whole nodes were allocated"
        )
        yield row.place.finding("gpu_count_unknown", message)
        return
    gpu_type = _gpu_type(row, options)
    if gpu_type is None:
        yield row.place.finding("gpu_type_unknown", gpu_type_message(key, _types_named(row)))
    body: dict[str, Any] = {
        "attempt": key,
        "scheduler": "slurm",
        "cluster": options.cluster,
        "job_id": row.shown_id,
        "nodes": list(row.nodes),
        "gpu_count": gpu_count,
        "gpu_type": gpu_type,
        "capacity": options.capacity_of(row.partition),
        "run": row.run,
    }
    yield _record(row, options, "allocation.started", row.start_s, stated(body))


def _ended(row: JobRow, key: str, options: SlurmOptions) -> Iterator[Output]:
    if not row.state.is_terminal or row.end_s is None:
        return
    if not _end_is_trusted(row):
        message = (
            f"{key}: COMPLETED with the end at its start, as the repair of runaway jobs writes "
            f"it; no end is claimed"
        )
        yield row.place.finding("end_not_trusted", message)
        return
    body: dict[str, Any] = {
        "attempt": key,
        "ended_by": row.state.ended_by,
        "state": row.state.base,
        "exit_code": row.exit.code,
        "signal": row.exit.signal,
    }
    yield _record(row, options, "allocation.ended", row.end_s, stated(body))


def _end_is_trusted(row: JobRow) -> bool:
    """Tell a stated end from none, and from that of a repaired runaway job (r11)."""
    if not row.state.is_terminal or row.end_s is None:
        return False
    return row.state.base != COMPLETED or row.start_s is None or row.end_s != row.start_s


def _gpu_count(row: JobRow, options: SlurmOptions) -> int | None:
    count = count_gpus(row.tres).gpu_count
    if count is not None or options.gpus_per_node is None:
        return count
    nodes = len(row.nodes) or count_nodes(row.tres)
    return options.gpus_per_node * nodes if nodes else None


def _gpu_type(row: JobRow, options: SlurmOptions) -> str | None:
    gpus = count_gpus(row.tres)
    return gpus.gpu_type if gpus.types_named else options.gpu_type_of(row.partition)


def _types_named(row: JobRow) -> int:
    return count_gpus(row.tres).types_named


def gpu_type_message(key: str, types_named: int) -> str:
    """Say why a start has no GPU type, and what can be done about it."""
    if types_named > 1:
        return f"{key}: {types_named} GPU types are named, so none stands for the attempt"
    return f"{key}: no GPU type is named; give --gpu-type TYPE or --gpu-type PARTITION=TYPE"


def stated(body: dict[str, Any]) -> dict[str, Any]:
    """Leave out what is not stated."""
    return {name: value for name, value in body.items() if value is not None}


def _record(
    row: JobRow, options: SlurmOptions, kind: str, at_s: int | None, body: dict[str, Any]
) -> dict[str, Any]:
    return draft_record(
        kind,
        body,
        producer=row_producer(row, options),
        at_us=None if at_s is None else at_s * SECOND_US,
        observed_us=options.observed_us,
    )
