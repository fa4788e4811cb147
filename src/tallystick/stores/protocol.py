"""What every store does: the one contract, kept by SQLite and in memory alike.

A store holds two things. The **log** is a sequence of leaves, numbered from 0, that only
grows. **Documents** are bytes kept once under a name on a shelf: signed heads, receipts,
ledger entries, hashes of the tree. Nothing in a store is ever changed or removed.

- *Durability.* When the block of ``writing()`` has ended without an error, all that was
  written in it survives a kill and a power loss. When it ended with one, none of it is there.
- *Order.* Leaves are numbered in the order of ``append``; documents of a shelf are listed in
  the order of ``put``. A leaf's number never changes.
- *Concurrency.* Any number of processes may hold a store. One writes at a time; the others
  wait, and ``StoreBusyError`` ends the wait. A reading sees the store as it was when its
  block began, whatever is written meanwhile.
- *Idempotency.* The store does not judge: it refuses an identity that it has
  (``DuplicateLeafError``), and leaves ``exists`` and ``conflict`` to ``stores.delivery``.
  ``put`` of the same bytes under the same name changes nothing; of other bytes it is a
  ``DocumentConflictError``.
- *Absence.* What may be absent is None (``document``, ``find``); a leaf beyond the end is a
  call that cannot be right (``NoSuchLeafError``).
- *Failure.* After a failed write or sync (``StoreWriteError``) the store refuses to write
  until it is opened again, since nobody knows what the disk holds.
"""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Literal, NamedTuple, Protocol

Shelf = Literal["head", "receipt", "issue", "entry", "contract", "rotation", "node"]
"""``head``: signed notes by size and key. ``receipt``: envelopes by payload digest. ``issue``:
payload digests by run and revision. ``entry``: ledger entries by receipt and line.
``contract``: numbers of leaves by id and version. ``rotation``: numbers of leaves by the key
that was succeeded. ``node``: hashes of complete subtrees by level and place."""


class NewLeaf(NamedTuple):
    """A leaf to append: its bytes, their leaf hash, and the key of the record's identity.

    The bytes are one line of JSON, so they hold no LF; hash and key have 32 and 16 bytes.
    """

    data: bytes
    hash: bytes
    key: bytes


class Document(NamedTuple):
    """Bytes and the name that they are kept under."""

    key: str
    data: bytes


class Reading(Protocol):
    """A view of a store at one moment."""

    @property
    def size(self) -> int:
        """How many leaves there are."""
        ...

    def leaves(self, start: int, stop: int) -> Iterator[bytes]:
        """Give the leaves ``[start, stop)`` in order.

        Raises:
            NoSuchLeafError: the log ends before ``stop``.
        """
        ...

    def hashes(self, start: int, stop: int) -> Iterator[bytes]:
        """Give the leaf hashes ``[start, stop)`` as they were computed at admission.

        Raises:
            NoSuchLeafError: the log ends before ``stop``.
        """
        ...

    def find(self, keys: Sequence[bytes]) -> dict[bytes, int]:
        """Give the numbers of the leaves that have these identities, of those that there are."""
        ...

    def document(self, shelf: Shelf, key: str) -> bytes | None:
        """Give a document, or None if there is none of that name."""
        ...

    def documents(self, shelf: Shelf) -> Iterator[Document]:
        """Give all documents of a shelf, in the order in which they were put there."""
        ...


class Writing(Reading, Protocol):
    """A reading that sees its own writes, which count when its block ends."""

    def append(self, leaves: Sequence[NewLeaf]) -> int:
        """Append leaves and give the number of the first.

        Raises:
            DuplicateLeafError: an identity is there already, or twice in ``leaves``.
        """
        ...

    def put(self, shelf: Shelf, key: str, data: bytes) -> None:
        """Keep a document.

        Raises:
            DocumentConflictError: there is another one of that name.
        """
        ...


class Store(Protocol):
    """A store that is open."""

    @property
    def origin(self) -> str:
        """The log's name, which is also that of the key that signs its heads."""
        ...

    def reading(self) -> AbstractContextManager[Reading]:
        """Look at the store as it is now."""
        ...

    def writing(self) -> AbstractContextManager[Writing]:
        """Write to the store: all of the block or nothing of it.

        Raises:
            StoreBusyError: others kept writing for too long.
            StoreWriteError: the disk is full, or a write or sync failed.
        """
        ...

    def close(self) -> None:
        """Let go of the store; what was written stays."""
        ...
