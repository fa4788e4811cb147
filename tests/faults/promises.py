"""What a store promised by acknowledging it, and whether a store found after a fault keeps it.

A promise is a word and what it is about. Whoever adds a step to the workload adds a word here:
``KEEPERS`` has for each the function that looks it up. Nothing is asserted here: a breach is a
sentence, so that a test can also demand that faults are found.
"""

import hashlib
import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from tallystick.app.store import OpenStore
from tallystick.core.errors import TallystickError
from tallystick.evidence.leaf import LOG_PRODUCER, identity_key, leaf_record
from tallystick.stores.protocol import Reading
from tallystick.stores.segments import SegmentFolder
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
    broken = list(store.log.check_file())
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


def _segments(found: Found, promised: Iterable[str]) -> Iterator[str]:
    folder = SegmentFolder(found.store.folder.segments)
    for digest in promised:
        try:
            data = folder.place(digest).read_bytes()
        except OSError as error:
            yield f"lost: segment {digest}: {error.strerror}"
            continue
        if f"sha256:{hashlib.sha256(data).hexdigest()}" != digest:
            yield f"segment {digest} has other bytes"


def _no_heads(found: Found, promised: Iterable[str]) -> Iterator[str]:
    """Leave heads to ``_heads``, which has to see them together."""
    del found, promised
    return iter(())


KEEPERS: dict[str, Callable[[Found, list[Any]], Iterator[str]]] = {
    "leaf": _leaves,  # [number, the leaf's text]
    "record": _records,  # [number, the record's canonical text]
    "remark": _remarks,  # [kind, digest of the content that it is about]
    "segment": _segments,  # its digest
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
