"""What happened, what each side says of it, and what a pull of it gives."""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.parquet as pq
from click.testing import Result

from tallystick.app.pull import Progress, Pulled, PullRequest, pull
from tallystick.app.store import OpenStore
from tallystick.app.stored_receipts import rate_store
from tallystick.collectors.pull import Query, Server
from tallystick.core.instant import SECOND_US, format_instant
from tests.app.stores import told_store
from tests.evidence.records import Json, ended, started
from tests.live.prometheus.exporter import GPUS, PAGE, UTIL
from tests.live.prometheus.servers import Servers

TAIL_S = 10
_LINE = re.compile(r"\{(.*)\} (\S+) (\d+)")
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')


class Sample(NamedTuple):
    """A sample of a GPU."""

    gpu: str
    at_us: int
    value: float | None


@dataclass(frozen=True)
class Story:
    """The servers, when it began and ended, when Prometheus was killed, and who asked it then."""

    servers: Servers
    start_s: int
    end_s: int
    killed_s: float
    refused: Result

    def dumped(self, metric: str) -> list[Sample]:
        """Give the samples that Prometheus has, by its own tool; stale markers are left out."""
        found = []
        for line in self.servers.dump().splitlines():
            match = _LINE.fullmatch(line)
            if match is None or match[2] == "NaN":
                continue
            labels = dict(_LABEL.findall(match[1]))
            at_us = int(match[3]) * 1000
            inside = self.start_s * SECOND_US <= at_us < self.end_s * SECOND_US
            if labels.get("__name__") == metric and inside:
                found.append(Sample(labels.get("UUID", ""), at_us, float(match[2])))
        return sorted(found)

    def served(self) -> set[tuple[str, int]]:
        """Give what the exporter noted: which GPU was on which page."""
        lines = self.servers.log.read_text(encoding="utf-8").splitlines()
        pages = [json.loads(line) for line in lines]
        return {(gpu, page["page"]) for page in pages for gpu in page["gpus"]}

    def request(self, **options: Any) -> PullRequest:
        """Ask for everything."""
        return PullRequest(
            queries=tuple(Query(metric, None, SECOND_US) for metric in (PAGE, UTIL)),
            from_us=self.start_s * SECOND_US,
            to_us=self.end_s * SECOND_US,
            cadence_us=SECOND_US,
            node_label="hostname",
            **options,
        )

    def pull(
        self, store: OpenStore, name: str, on_progress: Callable[[Progress], None] | None = None
    ) -> Pulled:
        """Pull in short spans from one of the servers."""
        server = Server(self.servers.url(name))
        asked = self.request(span_us=7 * SECOND_US)
        return pull(store, server, asked, on_progress or (lambda _: None))

    @contextmanager
    def store(self, folder: Path) -> Iterator[OpenStore]:
        """Make a store that knows of an attempt on both GPUs, which ends after the samples do."""
        begin = format_instant(self.start_s * SECOND_US)
        end = format_instant((self.end_s + TAIL_S) * SECOND_US)
        folder.mkdir(exist_ok=True)
        with told_store(folder, story=(started(begin, gpus=" ".join(GPUS)), ended(end))) as store:
            yield store


def sealed(store: OpenStore, found: Pulled, metric: str) -> list[Sample]:
    """Read the rows of a metric back."""
    rows: list[Sample] = []
    for each in found.segments:
        if each.metric == metric:
            path = store.folder.segments / f"{each.digest.removeprefix('sha256:')}.parquet"
            rows += [Sample(*row.values()) for row in pq.read_table(path).to_pylist()]
    return sorted(rows, key=lambda row: row[:2])


def stated(rows: list[Sample]) -> list[Sample]:
    """Leave blanks out."""
    return [row for row in rows if row.value is not None]


def coverage(store: OpenStore) -> dict[str, list[Json]]:
    """Rate the attempt; give the gaps of each GPU."""
    (receipt,) = rate_store(store).receipts
    return {each["gpu"]: each["gaps"] for each in receipt["coverage"]}
