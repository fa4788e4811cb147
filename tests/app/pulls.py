"""Pulling from a fake server, and reading back what was sealed."""

from pathlib import Path
from typing import Any

import msgspec
import pyarrow.parquet as pq

from tallystick.app.pull import Pulled, PullRequest, pull
from tallystick.app.store import OpenStore
from tallystick.collectors.pull import Query
from tallystick.evidence.leaf import leaf_record
from tests.collectors.pull.fake_server import START_MS, FakeServer, serving

UTIL = "UTIL"
SECOND_US = 1_000_000
START_US = START_MS * 1000


def request(*matches: str, to_s: int = 60, **options: Any) -> PullRequest:
    """Ask for a minute, scraped each second, on the node n."""
    queries = tuple(Query(match, None, SECOND_US) for match in matches or (UTIL,))
    settings: dict[str, Any] = {"node_label": "hostname", "from_us": START_US} | options
    return PullRequest(
        queries=queries,
        to_us=START_US + to_s * SECOND_US,
        cadence_us=SECOND_US,
        **settings,
    )


def pulled(store: OpenStore, fake: FakeServer, asked: PullRequest | None = None) -> Pulled:
    """Pull from a fake server."""
    with serving(fake) as server:
        return pull(store, server, asked or request())


def rows(store: OpenStore, found: Pulled) -> dict[str, list[tuple[str, str, float | None]]]:
    """Read the segments of a pull: by metric, GPU, second after the start, and value."""
    read: dict[str, list[tuple[str, str, float | None]]] = {}
    for each in found.segments:
        path = store.folder.segments / f"{each.digest.removeprefix('sha256:')}.parquet"
        for row in pq.read_table(path).to_pylist():
            second = f"{(row['at_us'] - START_US) / SECOND_US:g}"
            read.setdefault(each.metric, []).append((row["gpu"], second, row["value"]))
    return read


def bodies(store: OpenStore, kind: str) -> list[dict[str, Any]]:
    """Give the bodies of the log's records of a kind."""
    with store.log.reading() as log:
        records = [msgspec.json.decode(leaf_record(leaf)) for leaf in log.leaves(0, log.size)]
    return [each["body"] for each in records if each["kind"] == kind]


def outages(store: OpenStore) -> list[tuple[str, str, str, str]]:
    """Give the failed scrapes of the log: node, first and last second, reason."""
    return sorted(
        (body["node"], body["from"][17:19], body["to"][17:19], body["reason"])
        for body in bodies(store, "telemetry.scrape_failed")
    )


def state_of(store: OpenStore) -> dict[str, Any]:
    """Read the state file of the only pull."""
    (path,) = Path(store.folder.path / "pull").glob("*.json")
    state: dict[str, Any] = msgspec.json.decode(path.read_bytes())
    return state
