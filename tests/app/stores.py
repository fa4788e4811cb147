"""A store for tests: the evidence of a small run, its contract, and what goes with it."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tallystick.app.admit import clock_us
from tallystick.app.store import OpenStore, init_store, open_store
from tallystick.app.stored_contracts import publish_contracts
from tallystick.stores.delivery import deliver
from tests.evidence.records import Json, as_line, ended, started

ORIGIN = "log.example/gpu"
CONTRACT = """
schema = "tallystick.contract/1"
id = "{id}"
version = {version}
currency = "USD"
effective_from = 2026-01-01T00:00:00Z
[parties]
provider = "Example Cloud"
customer = "Acme"
[[rate]]
clause = "1"
gpu_type = "{gpu_type}"
per_hour = "{per_hour}"
[[rule]]
clause = "4.2"
when = {{ telemetry = "unknown" }}
then = "{unknown}"
"""
RUN = "run"
STORY = (started(), ended("01:00"))


def contract_file(
    folder: Path,
    *,
    contract_id: str = "plain",
    version: int = 1,
    per_hour: str = "3.60",
    unknown: str = "charge",
    gpu_type: str = "H100",
) -> str:
    """Write a contract to a file of its own, and give its name."""
    path = folder / f"{contract_id}-{version}.toml"
    text = CONTRACT.format(
        id=contract_id, version=version, per_hour=per_hour, unknown=unknown, gpu_type=gpu_type
    )
    path.write_text(text, encoding="utf-8")
    return str(path)


@contextmanager
def new_store(folder: Path, name: str = "store") -> Iterator[OpenStore]:
    """Make an empty store in a folder and open it."""
    init_store(folder / name, ORIGIN)
    with open_store(folder / name) as store:
        yield store


@contextmanager
def told_store(
    folder: Path, *, story: Iterable[Json] = STORY, unknown: str = "charge"
) -> Iterator[OpenStore]:
    """Make a store with a contract and a story."""
    with new_store(folder) as store:
        publish_contracts(store.log, [contract_file(folder, unknown=unknown)])
        tell(store, *story)
        yield store


def tell(store: OpenStore, *story: Json) -> None:
    """Deliver records to a store."""
    deliver(store.log, [as_line(each) for each in story], clock_us)


def size_of(store: OpenStore) -> int:
    """Count the leaves of a store."""
    with store.log.reading() as log:
        return log.size
