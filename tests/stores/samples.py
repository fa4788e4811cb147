"""Leaves for tests, and all that a store shows at one moment, to be compared at once."""

import hashlib
from collections.abc import Iterable
from typing import NamedTuple, get_args

from tallystick.core.keys import SigningKey
from tallystick.stores.protocol import Document, NewLeaf, Reading, Shelf, Store
from tallystick.tree.merkle import leaf_hash

SHELVES: tuple[Shelf, ...] = get_args(Shelf)
ORIGIN = "log.example/acme"
LOG = SigningKey(ORIGIN, bytes(range(32)))


class Content(NamedTuple):
    """What a reading shows."""

    leaves: list[bytes]
    hashes: list[bytes]
    documents: dict[Shelf, list[Document]]


def leaf(number: int, data: bytes | None = None) -> NewLeaf:
    """Give the leaf of a number; its identity depends on the number only."""
    data = b"leaf %d" % number if data is None else data
    return NewLeaf(data, leaf_hash(data), key(number))


def leaves(*numbers: int) -> list[NewLeaf]:
    """Give the leaves of some numbers."""
    return [leaf(number) for number in numbers]


def key(number: int) -> bytes:
    """Give the identity of a leaf."""
    return hashlib.sha256(b"%d" % number).digest()[:16]


def keys(*numbers: int) -> list[bytes]:
    """Give the identities of some leaves."""
    return [key(number) for number in numbers]


def data_of(appended: Iterable[NewLeaf]) -> list[bytes]:
    """Give the bytes of some leaves."""
    return [each.data for each in appended]


def content(log: Reading) -> Content:
    """Give all that there is."""
    return Content(
        list(log.leaves(0, log.size)),
        list(log.hashes(0, log.size)),
        {shelf: list(log.documents(shelf)) for shelf in SHELVES},
    )


def content_now(store: Store) -> Content:
    """Give all that there is now."""
    with store.reading() as log:
        return content(log)


def append(store: Store, *appended: NewLeaf) -> int:
    """Append leaves in a transaction of their own."""
    with store.writing() as log:
        return log.append(appended)


def put(store: Store, shelf: Shelf, name: str, data: bytes) -> None:
    """Keep a document in a transaction of its own."""
    with store.writing() as log:
        log.put(shelf, name, data)
