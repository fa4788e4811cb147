"""Whether a store is whole: everything in it is read, and computed again where it can be.

A *damage* is what must not be: bytes that are not those that were admitted, signed or posted.
A *remark* is what a person should know and may be right, such as a clock that stepped back.
"""

import stat
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tallystick.app.contradictions import clocks_of_producers, contradictions
from tallystick.app.segment_check import file_sha256
from tallystick.app.store import OpenStore
from tallystick.app.stored_contracts import contract_of
from tallystick.app.stored_ledger import read_ledger
from tallystick.app.stored_receipts import Issue, issues
from tallystick.app.stored_segments import list_segments
from tallystick.core.errors import TallystickError
from tallystick.evidence.admission import admit_leaves
from tallystick.ledger.entry import Entry
from tallystick.receipt.posting import Posted, entries_of
from tallystick.receipt.verify import open_receipt, verify_receipt
from tallystick.stores.checkup import check_heads, check_leaves, check_nodes, clock_steps_back
from tallystick.stores.protocol import Reading
from tallystick.stores.segments import SegmentFolder
from tallystick.timeline.segments import segment_sha256

OnCheck = Callable[[str], None]
_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


@dataclass(frozen=True, slots=True)
class Checkup:
    """What was found, each with the name of the check that found it."""

    checks: tuple[str, ...]
    damages: tuple[tuple[str, str], ...]
    remarks: tuple[tuple[str, str], ...]
    size: int

    def to_json(self) -> dict[str, Any]:
        """Give it with stable keys."""
        return {
            "clean": not self.damages,
            "checks": list(self.checks),
            "damages": [{"check": check, "message": said} for check, said in self.damages],
            "remarks": [{"check": check, "message": said} for check, said in self.remarks],
            "records": self.size,
        }


def check_store(store: OpenStore, on_check: OnCheck = lambda _: None) -> Checkup:
    """Check a whole store.

    Args:
        store: The store.
        on_check: Told the name of each check as it begins.
    """
    damages: list[tuple[str, str]] = []
    with store.log.reading() as log:
        checks: dict[str, Callable[[], Iterable[str]]] = {
            "permissions": lambda: _permissions(store),
            "database": store.log.check_file,
            "leaves": lambda: check_leaves(log),
            "tree": lambda: check_nodes(log),
            "heads": lambda: check_heads(log, store.folder.issued, store.folder.verify_keys()),
            "contracts": lambda: _contracts(log),
            "receipts": lambda: _receipts(store, log),
            "ledger": lambda: _ledger(log),
            "segments": lambda: _segments(store),
        }
        for name, check in checks.items():
            on_check(name)
            damages += [(name, said) for said in _said(check)]
        remarks = () if damages else (*_remarks(log), *_strays(store))
        size = log.size
    return Checkup(tuple(checks), tuple(damages), remarks, size)


def _said(check: Callable[[], Iterable[str]]) -> Iterator[str]:
    """Run a check; one that cannot go on has found damage, too."""
    try:
        yield from check()
    except TallystickError as error:
        yield str(error)
    except OSError as error:
        yield f"{error.filename}: {(error.strerror or str(error)).lower()}"


def _permissions(store: OpenStore) -> Iterator[str]:
    folder = store.folder
    for path in (*sorted(folder.keys.glob("*.key")), *sorted(folder.keys.glob("tokens.*"))):
        if _mode(path) & _OTHERS:
            yield f"others may read the private file {path.name}: chmod 600 it"
    for path in (folder.path, folder.log, folder.keys, folder.segments, folder.issued.path):
        if path.exists() and _mode(path) & _OTHERS_WRITE:
            yield f"others may write to {path.name}: chmod go-w it"


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def _contracts(log: Reading) -> Iterator[str]:
    for document in log.documents("contract"):
        number = int(document.data)
        contract = contract_of(next(log.leaves(number, number + 1)))
        if contract.name != document.key:
            yield f"leaf {number} is not contract {document.key}"


def _receipts(store: OpenStore, log: Reading) -> Iterator[str]:
    keys = store.folder.verify_keys()
    for issue in (issue for run in _runs(log) for issue in issues(log, run)):
        yield from _receipt(log, issue, keys)


def _runs(log: Reading) -> list[str]:
    """Name the runs that receipts were issued for."""
    return sorted({document.key.partition("@")[2] for document in log.documents("issue")})


def _receipt(log: Reading, issue: Issue, keys: Any) -> Iterator[str]:
    name = f"receipt {issue.revision} of {issue.run}"
    envelope = log.document("receipt", issue.payload)
    if envelope is None:
        yield f"{name} is gone"
        return
    statement = verify_receipt(envelope, keys)
    if statement.payload_digest != issue.payload:
        yield f"{name} is another one than was issued"


def _ledger(log: Reading) -> Iterator[str]:
    """Check that the ledger is what the receipts post, no more and no less."""
    posted = {entry.id: entry for entry in read_ledger(log).entries}
    for entry in (entry for run in _runs(log) for entry in _entries(log, run)):
        found = posted.pop(entry.id, None)
        if found is None:
            yield f"entry {entry.id} is not posted"
        elif found.postings != entry.postings:
            yield f"entry {entry.id} is not what its receipt posts"
    for name in posted:
        yield f"entry {name} follows from no receipt"


def _entries(log: Reading, run: str) -> Iterator[Entry]:
    """Make the entries of all receipts of a run again."""
    previous: Posted | None = None
    for issue in issues(log, run):
        envelope = log.document("receipt", issue.payload)
        if envelope is None:
            return
        receipt = open_receipt(envelope).receipt
        customer = issue.customer
        entries, _ = entries_of(
            receipt, issue.payload, customer=customer, recorded_us=0, previous=previous
        )
        yield from entries
        previous = Posted(receipt, issue.payload, customer)


def _segments(store: OpenStore) -> Iterator[str]:
    folder = SegmentFolder(store.folder.segments)
    for segment in list_segments(store):
        if segment.is_dropped:
            continue
        found = file_sha256(folder.place(segment.digest))
        if found is None:
            yield f"segment {segment.digest[:19]} is missing"
        elif found != segment_sha256(segment.digest):
            yield f"segment {segment.digest[:19]} was altered"


def _remarks(log: Reading) -> Iterator[tuple[str, str]]:
    steps = clock_steps_back(log)
    if steps:
        yield (
            "clock",
            f"the clock stepped back {steps} times; order is by number, so nothing is lost",
        )
    evidence = admit_leaves(log.leaves(0, log.size))
    for gap in evidence.sequence_gaps:
        yield "sequence", f"{gap.missing} records of {gap.producer!a} never came"
    yield from contradictions(evidence)
    yield from clocks_of_producers(log.leaves(0, log.size))


def _strays(store: OpenStore) -> Iterator[tuple[str, str]]:
    """Tell of files that no record names: harmless, and in the way of nobody."""
    folder = SegmentFolder(store.folder.segments)
    named = {segment.digest for segment in list_segments(store)}
    unnamed = sum(digest not in named for digest in folder.digests())
    if unnamed:
        yield "segments", f"{unnamed} files are named by no record: they may be deleted"
    unfinished = sum(1 for _ in folder.unfinished())
    if unfinished:
        yield "segments", f"{unfinished} files were never finished: they may be deleted"
