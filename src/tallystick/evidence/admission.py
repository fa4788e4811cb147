"""Admitting lines: each fact once, each refusal and conflict a finding, the rest goes on."""

from collections.abc import Iterable
from dataclasses import dataclass

from tallystick.core.finding import InputFinding
from tallystick.core.wording import quoted
from tallystick.evidence.codec import RefusedLineError, read_line
from tallystick.evidence.record import Record

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
    numbers: dict[tuple[str, str | None], set[int]] = {}
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
                numbers.setdefault((record.producer, record.boot), set()).add(record.seq)
            first = kept.setdefault((record.producer, record.id), record)
            if first.digest != record.digest:
                findings.append(_conflict(record, number, file))
    return Evidence(
        records=tuple(sorted(kept.values(), key=lambda record: record.order)),
        sequence_gaps=_sequence_gaps(numbers),
        findings=tuple(findings),
    )


def conflict_message(producer: str, record_id: str) -> str:
    """Say that a record came with other content than the one that stays (rule 3)."""
    return f"record {quoted(record_id)} of {quoted(producer)} came before with other content"


def _conflict(record: Record, line: int, file: int) -> InputFinding:
    message = conflict_message(record.producer, record.id)
    return InputFinding("record_conflict", message, line=line, file=file, digest=record.digest)


def _sequence_gaps(numbers: dict[tuple[str, str | None], set[int]]) -> tuple[SequenceGap, ...]:
    gaps = []
    for (producer, boot), seen in sorted(
        numbers.items(), key=lambda item: (item[0][0], item[0][1] or "")
    ):
        lowest, highest = min(seen), max(seen)
        missing = highest - lowest + 1 - len(seen)
        if missing:
            gaps.append(SequenceGap(producer, boot, missing, lowest, highest))
    return tuple(gaps)
