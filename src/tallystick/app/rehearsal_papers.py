"""What a rehearsal leaves behind for others: a store, receipts, bundles and the packet."""

import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple

import msgspec

from tallystick.app.errors import NotShippedError
from tallystick.app.files import read_file, write_file
from tallystick.app.rehearsal_evidence import bring_evidence
from tallystick.app.ship import store_sender
from tallystick.app.store import OpenStore, init_store, open_store
from tallystick.app.stored_bundles import bundle_run
from tallystick.app.stored_contracts import publish_contracts
from tallystick.app.stored_receipts import issue_receipt
from tallystick.emit.post import NotSentError
from tallystick.emit.ship import Shipper
from tallystick.evidence.leaf import leaf_record
from tallystick.rehearsal.packet import packet_files, recovery_packet
from tallystick.rehearsal.plan import Plan
from tallystick.rehearsal.rehearse import FOLDER, TWIN_FOLDER
from tallystick.rehearsal.route import Route
from tallystick.stores.errors import NetworkStoreError
from tallystick.stores.mounts import check_local

STORE: Final = "store"
KEYS: Final = "keys"
CONTRACT: Final = "contract.toml"


class Papers(NamedTuple):
    """Where they are, and what the packet says."""

    packet: dict[str, Any]
    files: tuple[Path, ...]
    problems: tuple[str, ...]
    """What of the evidence could not be brought into the store."""


def write_papers(plan: Plan, route: Route, out: Path, spool: Path) -> Papers:
    """Bring the evidence of a rehearsal into a store of its own, and rate both runs from it.

    Args:
        plan: What was rehearsed.
        route: Knows what else is to be told of it.
        out: The folder of the rehearsal, with the contract.
        spool: Where its evidence waits.

    Raises:
        TallystickError: something cannot be written, or is not as it was promised.
    """
    files: list[Path] = []
    host = socket.gethostname()
    with _store(out, f"rehearsal/{host}") as store:
        problems = _ship(store, spool, host) + bring_evidence(plan, route, store)
        publish_contracts(store.log, [str(out / CONTRACT)])
        receipts = {}
        for run, name in ((plan.twin, TWIN_FOLDER), (plan.run, FOLDER)):
            issued = issue_receipt(store, run)
            receipts[run] = issued.statement.predicate
            papers = {
                f"{name}.receipt": issued.envelope,
                f"{name}.bundle": bundle_run(store, run).data,
            }
            files += _write(out, papers)
        packet = recovery_packet(plan.run, receipts, _records(store))
        files += _write(out, _public_keys(store))
    files += _write(out, packet_files(packet))
    return Papers(packet, tuple(files), problems)


@contextmanager
def _store(out: Path, origin: str) -> Iterator[OpenStore]:
    """Make a store beside the rest; a passing one where that is no place for a store.

    Clusters share folders over the network, which no database may trust. What others need is
    in the bundles.
    """
    with ExitStack() as passing:
        try:
            check_local(out)
            place = out / STORE
        except NetworkStoreError:
            place = Path(passing.enter_context(TemporaryDirectory())) / STORE
        init_store(place, origin)
        with open_store(place) as store:
            yield store


def _ship(store: OpenStore, spool: Path, host: str) -> tuple[str, ...]:
    try:
        shipped = Shipper(spool, host, ()).ship(store_sender(store.log))
    except NotSentError as error:
        raise NotShippedError(str(error)) from error
    return tuple(shipped.problems)


def _records(store: OpenStore) -> list[dict[str, Any]]:
    """Read all records of the store, in the order of its log."""
    with store.log.reading() as log:
        return [msgspec.json.decode(leaf_record(leaf)) for leaf in log.leaves(0, log.size)]


def _public_keys(store: OpenStore) -> dict[str, bytes]:
    """Read what receipts and bundles are verified with."""
    paths = sorted(store.folder.keys.glob("*.vkey"))
    return {f"{KEYS}/{path.name}": read_file(str(path)) for path in paths}


def _write(out: Path, papers: dict[str, bytes]) -> list[Path]:
    for name, data in papers.items():
        (out / name).parent.mkdir(exist_ok=True)
        write_file(out / name, data)
    return [out / name for name in papers]
