"""Tables of ``sacct -P``: any delimiter, read off the header line; lines end at LF only.

Nothing is escaped in such a table. A delimiter inside free text is recovered only where that
text is the last column and the only one that could hold it; a newline inside it breaks the
row, which is then refused rather than guessed at.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from zoneinfo import ZoneInfo

from tallystick.collectors.collected import Place
from tallystick.collectors.slurm.errors import BadRowError
from tallystick.collectors.slurm.hostlist import expand_hosts
from tallystick.collectors.slurm.row import JobRow
from tallystick.collectors.slurm.sacct_fields import (
    FREE_TEXT,
    IDENTITY,
    SACCT_FIELDS,
    TAKES_SURPLUS,
)
from tallystick.collectors.slurm.states import read_exit, read_state
from tallystick.collectors.slurm.times import read_duration, read_time, settle
from tallystick.collectors.slurm.tres import parse_tres
from tallystick.emit.slurm.call import stated_run

_WORD = re.compile(r"[A-Za-z][A-Za-z0-9]*")
_NO_WORD = re.compile(r"[^A-Za-z0-9]+")
_DELIMITER_LENGTH_MAX = 16
_JOB_ID = re.compile(r"[0-9]{1,18}")
_STEP_ID = re.compile(r"[0-9]{1,18}\.\S+")
_RESTARTS = re.compile(r"[0-9]{1,9}")


@dataclass(frozen=True, slots=True)
class Header:
    """Columns of a table, and how they are told apart."""

    text: str
    delimiter: str
    columns: tuple[str, ...]
    closes_lines: bool  # The delimiter also ends each line, as with ``sacct -p``.
    crlf: bool

    @property
    def missing(self) -> tuple[str, ...]:
        """Name the columns that identity needs and that are not there (r3)."""
        return tuple(name for name in IDENTITY if name not in self.columns)

    @property
    def last_takes_surplus(self) -> bool:
        """Tell whether the last column is free text, and the only one (r15)."""
        free = [name for name in self.columns if name in FREE_TEXT]
        return self.columns[-1] in TAKES_SURPLUS and free == [self.columns[-1]]


def read_header(line: str) -> Header | None:
    """Read the columns off a line; None if it is not the header of a job table."""
    crlf = line.endswith("\r")
    text = line.removesuffix("\r")
    for delimiter in _delimiters(text):
        columns = text.split(delimiter)
        closes = columns[-1] == "" and len(columns) > 1
        if closes:
            columns.pop()
        if all(map(_WORD.fullmatch, columns)) and SACCT_FIELDS.issuperset(columns):
            return Header(text, delimiter, tuple(columns), closes, crlf)
    return _header_with_new_columns(text, crlf=crlf)


def _delimiters(text: str) -> Iterator[str]:
    """Guess what stands between the first known column and the next, shortest first."""
    firsts = [name for name in SACCT_FIELDS if text.startswith(name)]
    for first in sorted(firsts, key=len, reverse=True):
        rest = text[len(first) :][:_DELIMITER_LENGTH_MAX]
        yield from (rest[:length] for length in range(1, len(rest) + 1))


def _header_with_new_columns(text: str, *, crlf: bool) -> Header | None:
    """Read a header that has columns of a later Slurm; the delimiter then has no letters."""
    match = _NO_WORD.search(text)
    delimiter = match[0] if match else "|"
    columns = text.split(delimiter)
    closes = columns[-1] == "" and len(columns) > 1
    if closes:
        columns.pop()
    if not all(map(_WORD.fullmatch, columns)) or SACCT_FIELDS.isdisjoint(columns):
        return None
    return Header(text, delimiter, tuple(columns), closes, crlf)


def split_row(header: Header, line: str) -> dict[str, str]:
    """Give the fields of a row by column.

    Raises:
        BadRowError: too few fields, too many, or bytes that are no text where it matters.
    """
    if header.crlf:
        line = line.removesuffix("\r")
    if header.closes_lines:
        if not line.endswith(header.delimiter):
            raise BadRowError("row", "a delimiter at its end, as the header has", line[-20:])
        line = line.removesuffix(header.delimiter)
    fields = line.split(header.delimiter)
    wanted = len(header.columns)
    if len(fields) > wanted and header.last_takes_surplus:
        fields[wanted - 1 :] = [header.delimiter.join(fields[wanted - 1 :])]
    if len(fields) != wanted:
        raise BadRowError("row", f"{wanted} fields", f"{len(fields)} fields")
    # From the right, so that the first of two columns with one name stays.
    named = dict(reversed(list(zip(header.columns, fields, strict=True))))
    return {name: _text(name, named[name]) for name in header.columns}


def _text(name: str, field: str) -> str:
    """Keep a field; bytes that are no UTF-8 are spelt out in free text and refused elsewhere."""
    try:
        field.encode()
    except UnicodeEncodeError:
        spelt = field.encode(errors="surrogateescape").decode(errors="backslashreplace")
        if name in FREE_TEXT:
            return spelt
        raise BadRowError(name, "UTF-8", spelt) from None
    return field


def is_step(fields: dict[str, str]) -> bool:
    """Tell whether a row is about a step of a job rather than the job."""
    return bool(_STEP_ID.fullmatch(fields["JobIDRaw"].strip()))


def read_row(fields: dict[str, str], place: Place, zone: ZoneInfo) -> JobRow:
    """Read a job row.

    Raises:
        BadRowError: its identity, a time or its host list cannot be read.
    """
    job_id = fields["JobIDRaw"].strip()
    if not _JOB_ID.fullmatch(job_id):
        raise BadRowError("JobIDRaw", "a number", job_id)
    state = read_state(fields.get("State", ""))
    settled = settle(
        read_time("Submit", fields["Submit"], zone),
        read_time("Start", fields.get("Start", ""), zone),
        read_time("End", fields.get("End", ""), zone),
        _span_s(fields),
    )
    return JobRow(
        origin="accounting",
        place=place,
        raw=fields,
        job_id=job_id,
        shown_id=fields.get("JobID", "").strip() or job_id,
        cluster=fields.get("Cluster", "").strip(),
        partition=fields.get("Partition", "").strip(),
        submit_s=settled.submit_s,
        start_s=settled.start_s,
        end_s=settled.end_s,
        ambiguous=settled.ambiguous,
        state=state,
        exit=read_exit(fields.get("ExitCode", ""), state.base),
        nodes=expand_hosts(fields.get("NodeList", "")),
        tres=parse_tres(fields.get("AllocTRES", "")),
        was_suspended=bool(read_duration(fields.get("Suspended", ""))),
        restarts=_restarts(fields.get("Restarts", "")),
        run=stated_run(fields.get("Comment", "")),
    )


def _span_s(fields: dict[str, str]) -> int | None:
    """Give end − start as the row counts it: time run and time suspended."""
    elapsed_s = read_duration(fields.get("ElapsedRaw", ""))
    if elapsed_s is None:
        elapsed_s = read_duration(fields.get("Elapsed", ""))
    if elapsed_s is None:
        return None
    return elapsed_s + (read_duration(fields.get("Suspended", "")) or 0)


def _restarts(text: str) -> int | None:
    return int(text) if _RESTARTS.fullmatch(text.strip()) else None
