"""Jobs as JSON: ``sacct --json``, slurmrestd, ``squeue --json``; plugins v0.0.37 to v0.0.45.

Two layouts: that of the accounting database (``time.submission``) and that of the controller
(``submit_time``). Within each, later plugins turn a number into ``{set, infinite, number}``
and a word into a list of words; both forms are read whatever the version says. The version
decides one thing only: up to v0.0.39 a status SUCCESS says nothing about the exit code (r9).
"""

import re
from typing import Any

from tallystick.collectors.collected import Place
from tallystick.collectors.json_text import first, part, read_number, read_text
from tallystick.collectors.slurm.controller import claims_of
from tallystick.collectors.slurm.errors import BadRowError
from tallystick.collectors.slurm.hostlist import expand_hosts
from tallystick.collectors.slurm.row import JobRow, shown_id
from tallystick.collectors.slurm.states import (
    Exit,
    State,
    canceller,
    read_state,
    stated_exit,
    wait_status,
)
from tallystick.collectors.slurm.times import read_epoch
from tallystick.collectors.slurm.tres import Tres, parse_tres
from tallystick.emit.slurm.call import stated_run

_VERSION = re.compile(r"v0\.0\.([0-9]{1,4})")
_LAST_VAGUE_VERSION = 39
_NO_TASK = 4294967294


def plugin_version(document: dict[str, Any]) -> int | None:
    """Give the number of the plugin that wrote a document: 38 for ``openapi/dbv0.0.38``."""
    for path in (("meta", "plugin", "data_parser"), ("meta", "plugin", "type")):
        if match := _VERSION.search(read_text(part(document, *path))):
            return int(match[1])
    return None


def read_job(job: Any, place: Place, version: int | None) -> JobRow:
    """Read one element of ``jobs``.

    Raises:
        BadRowError: it is no object, or its identity, a time or its host list cannot be read.
    """
    if not isinstance(job, dict):
        raise BadRowError("job", "an object", type(job).__name__)
    if "submit_time" in job or "job_state" in job:
        return _controller_job(job, place)
    return _accounting_job(job, place, version)


def _accounting_job(job: dict[str, Any], place: Place, version: int | None) -> JobRow:
    job_id = _job_id(job)
    base = read_state(read_text(first(part(job, "state", "current")))).base
    state = State(base, canceller(_name(job.get("kill_request_user"))))
    time = part(job, "time")
    return JobRow(
        origin="accounting",
        place=place,
        raw=job,
        job_id=job_id,
        shown_id=shown_id(
            job_id,
            array=read_number(part(job, "array", "job_id")),
            task=_task(part(job, "array", "task_id"), part(job, "array", "task")),
            het=read_number(part(job, "het", "job_id")),
            offset=_optional(part(job, "het", "job_offset")),
        ),
        cluster=read_text(job.get("cluster")),
        partition=read_text(job.get("partition")),
        submit_s=_submit(part(time, "submission")),
        start_s=read_epoch("time.start", read_number(part(time, "start"))),
        end_s=read_epoch("time.end", read_number(part(time, "end"))),
        ambiguous=False,
        state=state,
        exit=_exit(job.get("exit_code"), base, version),
        nodes=_hosts(job.get("nodes")),
        tres=_tres(part(job, "tres", "allocated")),
        was_suspended=bool(read_number(part(time, "suspended"))),
        restarts=read_number(job.get("restart_cnt")),
        run=stated_run(read_text(part(job, "comment", "job"))),
    )


def _controller_job(job: dict[str, Any], place: Place) -> JobRow:
    job_id = _job_id(job)
    words = job.get("job_state")
    listed = words if isinstance(words, list) else [words]
    state = read_state(read_text(first(words)))
    claims = claims_of(
        State("COMPLETING") if "COMPLETING" in listed else state,
        start_s=read_epoch("start_time", read_number(job.get("start_time"))),
        end_s=read_epoch("end_time", read_number(job.get("end_time"))),
        nodes=_hosts(job.get("nodes")),
        tres=parse_tres(read_text(job.get("tres_alloc_str"))),
    )
    return JobRow(
        origin="controller",
        place=place,
        raw=job,
        job_id=job_id,
        shown_id=shown_id(
            job_id,
            array=read_number(job.get("array_job_id")),
            task=_task(job.get("array_task_id"), job.get("array_task_string")),
            het=read_number(job.get("het_job_id")),
            offset=_optional(job.get("het_job_offset")),
        ),
        cluster=read_text(job.get("cluster")),
        partition=read_text(job.get("partition")),
        submit_s=_submit(job.get("submit_time")),
        start_s=claims.start_s,
        end_s=claims.end_s,
        ambiguous=False,
        state=state,
        exit=_controller_exit(job.get("exit_code"), state.base),
        nodes=claims.nodes,
        tres=claims.tres,
        was_suspended=bool(read_number(job.get("suspend_time"))),
        restarts=read_number(job.get("restart_cnt")),
        run=stated_run(read_text(job.get("comment"))),
    )


def _job_id(job: dict[str, Any]) -> str:
    number = read_number(job.get("job_id"))
    if number is None or number < 0:
        raise BadRowError("job_id", "a number", repr(job.get("job_id")))
    return str(number)


def _submit(value: Any) -> int:
    submit_s = read_epoch("submission", read_number(value))
    if submit_s is None:
        raise BadRowError("submission", "a time", repr(value))
    return submit_s


def _name(value: Any) -> str | None:
    if isinstance(value, str):
        return value
    number = read_number(value)
    return None if number is None else str(number)


def _optional(value: Any) -> int | None:
    number = read_number(value)
    return None if number == _NO_TASK else number


def _task(task_id: Any, waiting: Any) -> str | None:
    """Name an array task: its number, or the bracket of the tasks that still wait."""
    number = _optional(task_id)
    if number is not None:
        return str(number)
    return f"[{waiting}]" if isinstance(waiting, str) and waiting else None


def _hosts(value: Any) -> tuple[str, ...]:
    if isinstance(value, list):
        value = ",".join(read_text(host) for host in value)
    return expand_hosts(read_text(value))


def _tres(entries: Any) -> Tres:
    pairs = []
    for entry in entries if isinstance(entries, list) else ():
        kind, name = read_text(part(entry, "type")), read_text(part(entry, "name"))
        count = read_number(part(entry, "count"))
        if kind:
            pairs.append((f"{kind}/{name}" if name else kind, _name(count)))
    return tuple(pairs)


def _exit(exit_code: Any, state: str, version: int | None) -> Exit:
    status = read_text(first(part(exit_code, "status")))
    code = read_number(part(exit_code, "return_code"))
    number = read_number(part(exit_code, "signal", "signal_id"))
    if number is None:
        number = read_number(part(exit_code, "signal", "id"))
    is_vague = version <= _LAST_VAGUE_VERSION if version else status == part(exit_code, "status")
    if status in {"SIGNALED", "CORE_DUMPED"}:
        return stated_exit(None, number, state)
    if is_vague and status == "SUCCESS":
        return Exit()
    return stated_exit(code, number, state)


def _controller_exit(exit_code: Any, state: str) -> Exit:
    if isinstance(exit_code, dict) and "status" in exit_code:
        return _exit(exit_code, state, _LAST_VAGUE_VERSION + 1)
    status = read_number(exit_code)
    return Exit() if status is None else wait_status(status, state)
