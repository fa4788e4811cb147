"""The one who tells a story: records, times on a grid, attempts as they really were."""

import json
import random
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.reference.story_contracts import START_S

Json = dict[str, Any]
NODES = ("node-a", "node-b", "node-c")
GPUS = {
    "node-a": ("GPU-a1", "GPU-a2", "GPU-a3", "MIG-a4"),
    "node-b": ("GPU-b1", "GPU-b2", "GPU-b3"),
    "node-c": ("GPU-c1",),
}
MARGIN_S = 60


@dataclass(slots=True)
class Teller:
    """Writes records, keeping the numbers of each producer."""

    rng: random.Random
    lines: list[bytes] = field(default_factory=list)
    seqs: dict[str, int] = field(default_factory=dict)
    count: int = 0
    ordered: bool = False
    sloppy: bool = False  # Whether producers lose numbers and forget their boot.

    def chance(self, probability: float) -> bool:
        """Decide something."""
        return self.rng.random() < probability

    def tell(self, kind: str, at: int | None, body: Json, name: str | None = None) -> None:
        """Write one record of a producer."""
        rng = self.rng
        self.count += 1
        name = name or rng.choice(("hook", "accounting", "trainer", "billing"))
        producer: Json = {"name": name}
        if self.chance(0.9):
            self.seqs[name] = self.seqs.get(name, -1) + 1
            if self.sloppy and self.chance(0.02):
                self.seqs[name] += 1
            producer["seq"] = self.seqs[name]
            if not self.sloppy or self.chance(0.98):
                producer["boot"] = "b1"
        record = {
            "schema": "tallystick.evidence/1",
            "id": f"{rng.choice('abc')}{self.count}",
            "producer": producer,
            "kind": kind,
            "at": None if at is None else text(at),
            "observed": text(4000 * SECOND if at is None else at + 1),
            "body": body,
        }
        self.lines.append(json.dumps(record, separators=(",", ":")).encode())


SECOND = 1_000_000


def text(us: int) -> str:
    """Give a time, in microseconds after the start of the story, as RFC 3339."""
    moment = datetime.fromtimestamp(START_S, tz=UTC) + timedelta(microseconds=us)
    return f"{moment:%Y-%m-%dT%H:%M:%S.%f}Z"


@dataclass(slots=True)
class Plan:
    """One attempt as the story knows it, before anybody reports it."""

    key: str
    run: str
    start: int
    end: int
    gpus: list[tuple[str, str]]

    def grid(self, rng: random.Random) -> int:
        """Give a moment near the attempt, mostly inside, often on a round number or an edge."""
        if rng.random() < 0.15:
            return rng.choice((self.start, self.end))
        low, high = sorted((self.start, self.end))
        margin = MARGIN_S * SECOND if rng.random() < 0.1 else 0
        step = rng.choice((10, 30, 30, 60)) * SECOND
        at = rng.randint((low - margin) // step, (high + margin) // step) * step
        return at + rng.choice((0,) * 20 + (1, -1))
