"""Admitting records: each fact once, each refusal and conflict a finding, the rest goes on.

They come as lines of files (``admit``) or as leaves of a log (``admit_leaves``). A log keeps
each fact once, and says in records of its own what else was delivered, so its leaves give the
same evidence as its deliveries would as lines.
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tallystick.core.canonical import sha256_digest
from tallystick.core.finding import InputFinding
from tallystick.core.wording import as_printed, quoted
from tallystick.evidence.codec import RefusedLineError, read_line
from tallystick.evidence.kinds import BadBodyError
from tallystick.evidence.leaf import leaf_record
from tallystick.evidence.record import Record
from tallystick.evidence.remarks import Conflict, Numbering, Refused, number_of, read_remark

_BLANK = b" \t\r"


@dataclass(frozen=True, slots=True)
class SequenceGap:
    """Numbers that one boot of a producer must have given and that never came (rule 10)."""

    producer: str
    boot: str | None
    missing: int
    lowest: int
    highest: int


@dataclass(frozen=True, slots=True)
class Withheld:
    """Numbers of one boot of a producer that came to the log, and whose records are not here.

    ``ranges``, of which there is one at least, are pairs of the first and the last number,
    ascending, and no two of them meet.
    """

    producer: str
    boot: str | None
    ranges: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Evidence:
    """Admitted records in canonical order, and what was wrong with the rest."""

    records: tuple[Record, ...]
    sequence_gaps: tuple[SequenceGap, ...]
    findings: tuple[InputFinding, ...]


def admit(files: Iterable[Iterable[bytes | None]]) -> Evidence:
    """Admit the lines of some files, in the order given.

    Order matters for a conflict only: the first of two records with one identity and
    different content stays (rule 3).

    Args:
        files: For each file its lines without LF; None is a line too long to be held.
    """
    kept: dict[tuple[str, str], Record] = {}
    numbers: dict[Numbering, set[int]] = {}
    findings: list[InputFinding] = []
    for file, lines in enumerate(files, start=1):
        for number, line in enumerate(lines, start=1):
            if line is not None and not line.strip(_BLANK):
                continue
            try:
                record = read_line(line)
            except RefusedLineError as error:
                findings.append(InputFinding(error.code, error.message, line=number, file=file))
                continue
            if record.seq is not None:
                numbers.setdefault(Numbering(record.producer, record.boot), set()).add(record.seq)
            first = kept.setdefault((record.producer, record.id), record)
            if first.digest != record.digest:
                findings.append(_conflict(record, number, file))
    return Evidence(
        records=_in_order(kept.values()),
        sequence_gaps=_sequence_gaps(numbers, ()),
        findings=tuple(findings),
    )


def admit_leaves(leaves: Iterable[bytes], withheld: Sequence[Withheld] = ()) -> Evidence:
    """Admit leaves of a log, in its order.

    Args:
        leaves: All leaves of a log up to some size, or a part of them.
        withheld: The numbers of those that are left out, one entry for each boot.

    Raises:
        BadLeafError: one has not the shape of a leaf.
    """
    return admit_logged(map(read_leaf, leaves), withheld)


def admit_logged(
    records: Iterable[Record | InputFinding], withheld: Sequence[Withheld] = ()
) -> Evidence:
    """Admit records of a log that are read already, as ``admit_leaves`` does.

    Args:
        records: In the order of the log; a finding stands for what could not be read.
        withheld: The numbers of those that are left out, one entry for each boot.
    """
    kept: dict[tuple[str, str], Record] = {}
    numbers: dict[Numbering, set[int]] = {}
    findings: list[InputFinding] = []
    for record in records:
        if isinstance(record, InputFinding):
            findings.append(record)
            continue
        kept.setdefault((record.producer, record.id), record)
        try:
            remark = read_remark(record)
        except BadBodyError as error:
            message = f"body of {record.kind}: {error}"
            findings.append(InputFinding("bad_body", message, digest=record.digest))
            continue
        if isinstance(remark, Conflict):
            message = conflict_message(remark.producer, remark.id)
            findings.append(InputFinding("record_conflict", message, digest=remark.digest))
        elif isinstance(remark, Refused):
            message = as_printed(remark.message)
            findings.append(InputFinding(remark.code, message, digest=remark.digest))
        number = number_of(record, remark)
        if number is not None:
            numbers.setdefault(number[0], set()).add(number[1])
    return Evidence(
        records=_in_order(kept.values()),
        sequence_gaps=_sequence_gaps(numbers, withheld),
        findings=tuple(findings),
    )


def read_leaf(leaf: bytes) -> Record | InputFinding:
    """Read the record of a leaf, or say why it cannot be read any more.

    Raises:
        BadLeafError: it has not the shape of a leaf.
    """
    line = leaf_record(leaf)
    try:
        return read_line(line)
    except RefusedLineError as error:  # A later version may be stricter than the log was.
        return InputFinding(error.code, error.message, digest=sha256_digest(line))


def conflict_message(producer: str, record_id: str) -> str:
    """Say that a record came with other content than the one that stays (rule 3)."""
    return f"record {quoted(record_id)} of {quoted(producer)} came before with other content"


def _in_order(records: Iterable[Record]) -> tuple[Record, ...]:
    return tuple(sorted(records, key=lambda record: record.order))


def _conflict(record: Record, line: int, file: int) -> InputFinding:
    message = conflict_message(record.producer, record.id)
    return InputFinding("record_conflict", message, line=line, file=file, digest=record.digest)


def _sequence_gaps(
    numbers: dict[Numbering, set[int]], withheld: Sequence[Withheld]
) -> tuple[SequenceGap, ...]:
    hidden = {Numbering(each.producer, each.boot): each.ranges for each in withheld}
    gaps = []
    for numbering in sorted(numbers.keys() | hidden.keys(), key=_numbering_order):
        seen, ranges = numbers.get(numbering, set()), hidden.get(numbering, ())
        ends = [number for each in ranges for number in each]
        if seen:
            ends += (min(seen), max(seen))
        lowest, highest = min(ends), max(ends)
        missing = highest - lowest + 1 - _count(seen, ranges)
        if missing:
            gaps.append(SequenceGap(*numbering, missing, lowest, highest))
    return tuple(gaps)


def _numbering_order(numbering: Numbering) -> tuple[str, bool, str]:
    return numbering.producer, numbering.boot is not None, numbering.boot or ""


def _count(seen: set[int], ranges: Sequence[tuple[int, int]]) -> int:
    """Count the numbers that came: ranges are never written out, since they may be long."""
    if not ranges:
        return len(seen)
    firsts = [first for first, _ in ranges]
    places = ((number, bisect_right(firsts, number)) for number in seen)
    outside = sum(place == 0 or number > ranges[place - 1][1] for number, place in places)
    return outside + sum(last - first + 1 for first, last in ranges)
