"""Collecting into a store: lines are admitted batch by batch, and every one is answered."""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple

from tallystick.app.cycles import no_cycle_collection
from tallystick.app.files import read_lines
from tallystick.collectors.collected import Collected
from tallystick.core.canonical import canonical_bytes
from tallystick.core.finding import InputFinding
from tallystick.stores.delivery import Answer, Word, deliver, write_own
from tallystick.stores.protocol import Store

WORDS: Final[tuple[Word, ...]] = ("accepted", "exists", "conflict", "refused")
BATCH_LINES_MAX: Final = 1000
BATCH_BYTES_MAX: Final = 4 << 20
_BLANK = b" \t\r"


class Line(NamedTuple):
    """One line of an input, and where it stood."""

    data: bytes | None
    file: int | None
    number: int | None


class Answered(NamedTuple):
    """One delivery, and what became of it."""

    line: Line
    answer: Answer


@dataclass(slots=True)
class Admission:
    """What became of all deliveries, and how many records the log has now."""

    counts: Counter[str] = field(default_factory=Counter)
    findings: list[InputFinding] = field(default_factory=list)
    size: int = 0

    def to_json(self) -> dict[str, Any]:
        """Give the counts, every word stated, the findings and the size."""
        findings = [finding.to_json() for finding in self.findings]
        stated: dict[str, Any] = {word: self.counts[word] for word in WORDS}
        return stated | {"findings": findings, "size": self.size}


OnBatch = Callable[[list[Answered]], None]


def admit_files(store: Store, paths: Iterable[str], on_batch: OnBatch) -> Admission:
    """Admit evidence files, one record a line; what was admitted stays if a later one fails.

    Raises:
        UnreadableFileError: a file cannot be read.
        TallystickError: the store cannot take more.
    """
    return _admit(store, _lines_of(paths), on_batch)


def admit_collected(
    store: Store, collected: Collected, collector: str, on_batch: OnBatch
) -> Admission:
    """Admit what a collector saw, and keep what it found wrong with its inputs.

    Raises:
        TallystickError: the store cannot take more.
    """
    lines = (Line(canonical_bytes(record), None, None) for record in collected.records)
    admission = _admit(store, lines, on_batch)
    if collected.findings:
        with store.writing() as log:
            for finding in collected.findings:
                write_own(log, "collect.finding", _said(finding, collector), clock_us())
            admission.size = log.size
    admission.findings = [*collected.findings, *admission.findings]
    return admission


def clock_us() -> int:
    """Read the clock."""
    return time.time_ns() // 1000


def _lines_of(paths: Iterable[str]) -> Iterator[Line]:
    for file, path in enumerate(paths, start=1):
        for number, data in enumerate(read_lines(path), start=1):
            if data is None or data.strip(_BLANK):
                yield Line(data, file, number)


def _admit(store: Store, lines: Iterable[Line], on_batch: OnBatch) -> Admission:
    admission = Admission()
    for batch in _batches(lines):
        with no_cycle_collection():
            answers = deliver(store, [line.data for line in batch], clock_us)
        for line, answer in zip(batch, answers, strict=True):
            admission.counts[answer.word] += 1
            if answer.finding is not None:
                placed = replace(answer.finding, file=line.file, line=line.number)
                admission.findings.append(placed)
        on_batch([Answered(*each) for each in zip(batch, answers, strict=True)])
    with store.reading() as log:
        admission.size = log.size
    return admission


def _batches(lines: Iterable[Line]) -> Iterator[list[Line]]:
    batch: list[Line] = []
    size = 0
    for line in lines:
        batch.append(line)
        size += len(line.data or b"")
        if len(batch) == BATCH_LINES_MAX or size >= BATCH_BYTES_MAX:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _said(finding: InputFinding, collector: str) -> dict[str, Any]:
    """Give a finding for the log, without the name of a file on somebody's machine."""
    stated = finding.to_json()
    return {"collector": collector} | {
        k: v for k, v in stated.items() if k not in {"source", "file"}
    }
