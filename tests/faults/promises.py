"""What a store promised by acknowledging it, and whether a store found after a fault keeps it.

A promise is a word and what it is about. Whoever adds a step to the workload adds a word here:
``KEEPERS`` has for each the function that looks it up. Nothing is asserted here: a breach is a
sentence, so that a test can also demand that faults are found.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from tallystick.app.doctor import check_store
from tallystick.app.store import OpenStore
from tallystick.app.stored_ledger import read_ledger
from tallystick.app.stored_receipts import issues, stored_envelope
from tallystick.app.stored_segments import list_segments
from tallystick.core.errors import TallystickError
from tallystick.evidence.leaf import LOG_PRODUCER, identity_key, leaf_record
from tallystick.receipt.posting import Posted, entries_of
from tallystick.receipt.verify import open_receipt
from tallystick.stores.protocol import Reading
from tallystick.stores.tiles import subtree_reader
from tallystick.tree.errors import TreeError
from tallystick.tree.head import TreeHead, open_head
from tallystick.tree.merkle import (
    Frontier,
    SubtreeHash,
    check_consistency,
    consistency_path,
    leaf_hash,
)

BATCH_KIND = "fault.tried"
"""The records of a batch say in ``batch`` which it is, and in ``of`` how many it has."""


class Promise(NamedTuple):
    """Something that was acknowledged: a word and what it is about, both of JSON."""

    word: str
    about: Any

    def line(self) -> bytes:
        """Write it as one line."""
        return json.dumps(list(self)).encode() + b"\n"


def read_promises(path: Path) -> list[Promise]:
    """Read the lines that a process wrote; one that a kill cut short promises nothing."""
    whole, _, _ = path.read_bytes().rpartition(b"\n")
    return [Promise(*json.loads(line)) for line in whole.splitlines()]


@dataclass(slots=True)
class Found:
    """All that is in a store, read once; ``said`` is what the log says, by kind and digest."""

    store: OpenStore
    leaves: list[bytes]
    hashes: list[bytes]
    records: list[dict[str, Any]] = field(default_factory=list)
    said: set[tuple[str, str]] = field(default_factory=set)


def breaches(store: OpenStore, promises: Iterable[Promise]) -> list[str]:
    """Tell what a store no longer has of its promises, and where it contradicts itself.

    A new head is signed on the way: a store that cannot go on is in breach, too.
    """
    broken = [f"{check}: {damage}" for check, damage in check_store(store).damages]
    broken += _half_posted(store)
    with store.log.reading() as log:
        found = Found(store, list(log.leaves(0, log.size)), list(log.hashes(0, log.size)))
        broken += _read(log, found)
    promised: dict[str, list[Any]] = defaultdict(list)
    for word, about in promises:
        promised[word].append(about)
    for word, all_about in promised.items():
        broken += KEEPERS[word](found, all_about)
    return [*broken, *_heads(found, promised["head"])]


def _read(log: Reading, found: Found) -> Iterator[str]:
    """Read the records; check hashes, identities, and that batches are whole."""
    batches: dict[str, list[int]] = defaultdict(list)
    sizes: dict[str, int] = {}
    keys = []
    for number, (leaf, hashed) in enumerate(zip(found.leaves, found.hashes, strict=True)):
        if leaf_hash(leaf) != hashed:
            yield f"leaf {number} is not the one that was admitted"
        record = json.loads(leaf_record(leaf))
        found.records.append(record)
        keys.append(identity_key(record["producer"]["name"], record["id"]))
        if record["producer"]["name"] == LOG_PRODUCER:
            found.said.add((record["kind"], str(record["body"].get("digest"))))
        if record["kind"] == BATCH_KIND:
            batches[record["body"]["batch"]].append(number)
            sizes[record["body"]["batch"]] = record["body"]["of"]
    if log.find(keys) != {key: number for number, key in enumerate(keys)}:
        yield "a leaf is not found by the identity of its record"
    for batch, numbers in batches.items():
        if numbers != list(range(numbers[0], numbers[0] + sizes[batch])):
            yield f"batch {batch} is there in part: {len(numbers)} of {sizes[batch]}"


def _half_posted(store: OpenStore) -> Iterator[str]:
    """Compute again what each receipt posts: all of its lines are there, and no others."""
    with store.log.reading() as log:
        posted: dict[str, set[str]] = defaultdict(set)
        for entry in read_ledger(log).entries:
            posted[entry.receipt].add(entry.line)
        runs = [document.key.partition("@")[2] for document in log.documents("issue")]
        for run in dict.fromkeys(runs):
            before: Posted | None = None
            for issue in issues(log, run):
                receipt = open_receipt(stored_envelope(log, issue.payload)).receipt
                entries, _ = entries_of(
                    receipt,
                    issue.payload,
                    customer=issue.customer,
                    recorded_us=0,
                    previous=before,
                )
                if {entry.line for entry in entries} != posted.pop(issue.payload, set()):
                    yield f"receipt {issue.payload} is posted in part"
                before = Posted(receipt, issue.payload, issue.customer)
        yield from (f"receipt {payload} is posted and was not issued" for payload in posted)


def _leaves(found: Found, promised: Iterable[tuple[int, str]]) -> Iterator[str]:
    for number, leaf in promised:
        if found.leaves[number : number + 1] != [leaf.encode()]:
            yield f"lost: leaf {number} is not the one that was acknowledged"


def _records(found: Found, promised: Iterable[tuple[int, str]]) -> Iterator[str]:
    for number, record in promised:
        if number >= len(found.leaves) or leaf_record(found.leaves[number]) != record.encode():
            yield f"lost: leaf {number} is not of the record that it was said to be of"


def _remarks(found: Found, promised: Iterable[tuple[str, str]]) -> Iterator[str]:
    for kind, digest in promised:
        if (kind, digest) not in found.said:
            yield f"lost: {kind} of {digest} was not written down"


def _contracts(found: Found, promised: Iterable[str]) -> Iterator[str]:
    with found.store.log.reading() as log:
        for name in promised:
            if log.document("contract", name) is None:
                yield f"lost: contract {name} is not published"


def _receipts(found: Found, promised: Iterable[tuple[str, str, list[str]]]) -> Iterator[str]:
    with found.store.log.reading() as log:
        posted = {(entry.receipt, entry.line) for entry in read_ledger(log).entries}
        for payload, envelope, lines in promised:
            if log.document("receipt", payload) != envelope.encode():
                yield f"lost: receipt {payload} is not the one that was issued"
            for line in lines:
                if (payload, line) not in posted:
                    yield f"lost: line {line} of receipt {payload} is not posted"


def _segments(found: Found, promised: Iterable[str]) -> Iterator[str]:
    stored = {segment.digest: segment for segment in list_segments(found.store)}
    for digest in promised:
        if digest not in stored:
            yield f"lost: segment {digest} is not named"
        elif not (stored[digest].is_there or stored[digest].is_dropped):
            yield f"lost: segment {digest} is missing"


def _dropped(found: Found, promised: Iterable[str]) -> Iterator[str]:
    dropped = {each.digest for each in list_segments(found.store) if each.is_dropped}
    for digest in promised:
        if digest not in dropped:
            yield f"lost: what segment {digest} said when it was dropped"


def _no_heads(found: Found, promised: Iterable[str]) -> Iterator[str]:
    """Leave heads to ``_heads``, which has to see them together."""
    del found, promised
    return iter(())


KEEPERS: dict[str, Callable[[Found, list[Any]], Iterator[str]]] = {
    "leaf": _leaves,  # [number, the leaf's text]
    "record": _records,  # [number, the record's canonical text]
    "remark": _remarks,  # [kind, digest of the content that it is about]
    "contract": _contracts,  # its name
    "receipt": _receipts,  # [payload digest, envelope, lines that were posted]
    "segment": _segments,  # its digest
    "dropped": _dropped,  # its digest
    "head": _no_heads,  # the note's text
}


def _heads(found: Found, promised: Sequence[str]) -> Iterator[str]:
    """Check that every head ever signed is one of this log, and that it can sign another."""
    store = found.store
    try:
        notes = [note.encode() for note in promised]
        notes.append(store.folder.issued.read())
        with store.log.reading() as log:
            notes += [document.data for document in log.documents("head")]
        notes.append(store.issue_head())
        trusted = store.folder.verify_keys()
        heads = [open_head(note, trusted).head for note in dict.fromkeys(notes)]
        newest = open_head(notes[-1], trusted).head
        with store.log.reading() as log:
            yield from _of_one_log(heads, newest, found.hashes, subtree_reader(log))
    except TallystickError as error:
        yield f"no head can be signed: {error.code}: {error}"


def _of_one_log(
    heads: Iterable[TreeHead], newest: TreeHead, hashes: Sequence[bytes], subtree: SubtreeHash
) -> Iterator[str]:
    """Compare heads with the leaves themselves, and prove that the newest goes on from each."""
    if newest.size != len(hashes):
        yield f"the newest head is of {newest.size} leaves, and there are {len(hashes)}"
    frontier = Frontier()
    for head in sorted(set(heads), key=lambda each: each.size):
        if head.size > newest.size:
            yield f"forked: the newest head is of {newest.size} leaves, after one of {head.size}"
            continue
        frontier = frontier.extend(hashes[frontier.size : head.size])
        if frontier.root() != head.root:
            yield f"forked: the head of {head.size} leaves is not of these"
        path = consistency_path(head.size, newest.size, subtree)
        try:
            check_consistency(head.size, head.root, newest.size, newest.root, path)
        except TreeError as error:
            yield f"forked: {error}"
