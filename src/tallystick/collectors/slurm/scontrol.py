"""Jobs as ``scontrol show job`` prints them, with or without ``-d`` and ``-o``.

Values are not escaped, so a job name or comment can hold what looks like a field. A field
that decides anything and stands twice makes its job a bad row; nothing is guessed.
"""

import re
from collections.abc import Iterator
from zoneinfo import ZoneInfo

from tallystick.collectors.collected import Place
from tallystick.collectors.slurm.controller import claims_of
from tallystick.collectors.slurm.errors import BadRowError
from tallystick.collectors.slurm.hostlist import expand_hosts
from tallystick.collectors.slurm.row import JobRow, shown_id
from tallystick.collectors.slurm.states import RUNNING, SUSPENDED, read_exit, read_state
from tallystick.collectors.slurm.times import Meanings, read_duration, read_time, settle
from tallystick.collectors.slurm.tres import parse_tres
from tallystick.emit.slurm.call import stated_run

_FIELD = re.compile(r"(?:^|\s)([A-Z][A-Za-z0-9_/:]*)=")
_JOB_ID = re.compile(r"[0-9]{1,18}")
_NUMBER = re.compile(r"[0-9]{1,9}")
# These end their line, and whatever they hold is theirs.
_FREE_LINES = (
    "AdminComment=",
    "BatchScript=",
    "Command=",
    "Comment=",
    "Extra=",
    "StdErr=",
    "StdIn=",
    "StdOut=",
    "SubmitLine=",
    "SystemComment=",
    "WorkDir=",
)
_DECIDING_NAMES = """
    JobId ArrayJobId ArrayTaskId HetJobId HetJobOffset JobState Restarts ExitCode RunTime
    SubmitTime StartTime EndTime SuspendTime Partition NodeList TRES AllocTRES
"""
_DECIDING = frozenset(_DECIDING_NAMES.split())


def split_jobs(text: str) -> Iterator[tuple[int, list[str]]]:
    """Give the lines of each job, with the number of its first line."""
    lines: list[str] = []
    begin = 1
    for number, line in enumerate(text.split("\n"), start=1):
        if line.lstrip(" \t").startswith("JobId="):
            if lines:
                yield begin, lines
            begin, lines = number, []
        if line.strip():
            lines.append(line.removesuffix("\r"))
    yield begin, lines


def split_fields(lines: list[str]) -> dict[str, str]:
    """Give the fields of a job; what stands on several lines is joined with newlines.

    Raises:
        BadRowError: a field that decides something stands twice.
    """
    fields: dict[str, list[str]] = {}
    for name, value in _fields(lines):
        fields.setdefault(name, []).append(value)
    for name, values in fields.items():
        if name in _DECIDING and len(values) > 1:
            raise BadRowError(name, "one value", " and ".join(values))
    return {name: "\n".join(values) for name, values in fields.items()}


def _fields(lines: list[str]) -> Iterator[tuple[str, str]]:
    is_oneline = len(lines) == 1 and " SubmitTime=" in lines[0]
    for index, line in enumerate(lines):
        text = line.strip()
        if not is_oneline and text.startswith(_FREE_LINES):
            name, _, value = text.partition("=")
            yield name, value
        elif index == 0 and not is_oneline and " JobName=" in text:
            numbers, _, name = text.partition(" JobName=")
            yield from _pairs(numbers)
            yield "JobName", name
        else:
            yield from _pairs(text)


def _pairs(text: str) -> Iterator[tuple[str, str]]:
    marks = list(_FIELD.finditer(text))
    ends = [*(mark.start() for mark in marks[1:]), len(text)]
    for mark, end in zip(marks, ends, strict=False):
        yield mark[1], text[mark.end() : end].strip()


def read_job(fields: dict[str, str], place: Place, zone: ZoneInfo) -> JobRow:
    """Read one job.

    Raises:
        BadRowError: its identity, a time or its host list cannot be read.
    """
    job_id = fields.get("JobId", "")
    if not _JOB_ID.fullmatch(job_id):
        raise BadRowError("JobId", "a number", job_id)
    state = read_state(fields.get("JobState", ""))
    was_suspended = bool(read_time("SuspendTime", fields.get("SuspendTime", ""), zone))
    # Only a fact is held against the clock: the end of a running job is its limit.
    is_held = state.is_terminal or state.base in {RUNNING, SUSPENDED}
    none: Meanings = ()
    settled = settle(
        read_time("SubmitTime", fields.get("SubmitTime", ""), zone),
        read_time("StartTime", fields.get("StartTime", ""), zone) if is_held else none,
        read_time("EndTime", fields.get("EndTime", ""), zone) if state.is_terminal else none,
        None if was_suspended else read_duration(fields.get("RunTime", "")),
    )
    claims = claims_of(
        state,
        start_s=settled.start_s,
        end_s=settled.end_s,
        nodes=expand_hosts(fields.get("NodeList", "")),
        tres=parse_tres(fields.get("AllocTRES", fields.get("TRES", ""))),
    )
    return JobRow(
        origin="controller",
        place=place,
        raw=fields,
        job_id=job_id,
        shown_id=_shown_id(job_id, fields),
        cluster="",
        partition=fields.get("Partition", ""),
        submit_s=settled.submit_s,
        start_s=claims.start_s,
        end_s=claims.end_s,
        ambiguous=settled.ambiguous,
        state=state,
        exit=read_exit(fields.get("ExitCode", ""), state.base),
        nodes=claims.nodes,
        tres=claims.tres,
        was_suspended=was_suspended,
        restarts=_number(fields.get("Restarts", "")),
        run=stated_run(fields.get("Comment", "")),
    )


def _shown_id(job_id: str, fields: dict[str, str]) -> str:
    task = fields.get("ArrayTaskId")
    return shown_id(
        job_id,
        array=_number(fields.get("ArrayJobId", "")),
        task=task if task is None or _NUMBER.fullmatch(task) else f"[{task}]",
        het=_number(fields.get("HetJobId", "")),
        offset=_number(fields.get("HetJobOffset", "")),
    )


def _number(text: str) -> int | None:
    return int(text) if _NUMBER.fullmatch(text) else None
