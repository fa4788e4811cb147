"""What every collector takes and gives."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from tallystick.core.finding import InputFinding
from tallystick.evidence.record import content_digest


@dataclass(frozen=True, slots=True)
class Place:
    """Where in the inputs something stands: an input, and a line of it where it has lines."""

    source: str
    file: int | None = None
    line: int | None = None

    def on_line(self, line: int) -> "Place":
        """Give the place of a line of this input."""
        return replace(self, line=line)

    def finding(self, code: str, message: str, digest: str | None = None) -> InputFinding:
        """Make a finding about this place."""
        return InputFinding(code, message, self.line, self.file, self.source, digest)


@dataclass(frozen=True, slots=True)
class Source:
    """One input of a call: its name, its bytes, and its 1-based place among the inputs."""

    name: str
    data: bytes
    file: int | None = None

    @property
    def place(self) -> Place:
        """Give the place that is the whole input."""
        return Place(self.name, self.file)

    def lines(self) -> Iterator[tuple[Place, bytes]]:
        """Give each line that is not blank, with its place; lines end at LF only."""
        for number, line in enumerate(self.data.split(b"\n"), start=1):
            if line.strip(b" \t\r"):
                yield self.place.on_line(number), line


@dataclass(slots=True)
class Collected:
    """Records in order of appearance, each once, and findings."""

    records: list[dict[str, Any]] = field(default_factory=list)
    findings: list[InputFinding] = field(default_factory=list)
    _digests: dict[tuple[str, str], str] = field(default_factory=dict, init=False, repr=False)

    def add(self, record: dict[str, Any], place: Place | None = None) -> None:
        """Keep a record once; of two with one identity and other content the first stays (r2).

        Args:
            record: The record with its envelope.
            place: Where it was read, if it is handed on rather than made here.
        """
        name, record_id = record["producer"]["name"], record["id"]
        digest = content_digest(record)
        first = self._digests.get((name, record_id))
        if first is None:
            self._digests[name, record_id] = digest
            self.records.append(record)
        elif first != digest:
            message = f"record {record_id} of {name} came before with other content"
            find = InputFinding if place is None else place.finding
            self.findings.append(find("record_conflict", message, digest=digest))
