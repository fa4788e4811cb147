"""What a pull is asked for, and what comes out of it."""

from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from tallystick.app.pull_seal import Sealed
from tallystick.collectors.pull.fetch import Kind
from tallystick.collectors.pull.queries import Query
from tallystick.collectors.pull.rows import ROWS_MAX
from tallystick.core.finding import InputFinding
from tallystick.core.instant import format_instant

SPAN_US: Final = 3_600_000_000


@dataclass(frozen=True, slots=True)
class PullRequest:
    """What to pull: selectors over a half-open time, and what the server does not say.

    Args:
        queries: The selectors.
        from_us: First moment.
        to_us: First moment that is not pulled.
        cadence_us: How often targets are scraped.
        node_label: Label that names the node of a target, or of its devices.
        node: Node of targets that have no such label.
        kind: Kind of the server, None to find out.
        span_us: How much is fetched before it is noted as done.
        rows_max: How many samples are held at a time.
    """

    queries: tuple[Query, ...]
    from_us: int
    to_us: int
    cadence_us: int
    node_label: str | None = None
    node: str | None = None
    kind: Kind | None = None
    span_us: int = SPAN_US
    rows_max: int = ROWS_MAX

    def to_json(self, url: str) -> dict[str, Any]:
        """Give all that decides what a pull of a server gives."""
        return {
            "url": url,
            "queries": [query._asdict() for query in self.queries],
            "from": format_instant(self.from_us),
            "to": format_instant(self.to_us),
            "cadence_us": self.cadence_us,
            "node_label": self.node_label,
            "node": self.node,
            "kind": self.kind,
            "span_us": self.span_us,
            "rows_max": self.rows_max,
        }


class Progress(NamedTuple):
    """How far a pull is."""

    done_ms: int
    of_ms: int
    rows: int


@dataclass(slots=True)
class Pulled:
    """What came out of a pull; what earlier calls of it sealed is not repeated."""

    kind: Kind
    segments: list[Sealed] = field(default_factory=list)
    outages: int = 0
    findings: list[InputFinding] = field(default_factory=list)
    size: int = 0
    resumed: bool = False

    @property
    def rows(self) -> int:
        """How many rows the segments have."""
        return sum(segment.rows for segment in self.segments)
