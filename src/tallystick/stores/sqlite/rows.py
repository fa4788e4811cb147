"""Leaves and documents as rows of a store's tables, within one transaction."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import apsw

from tallystick.stores.errors import DocumentConflictError, DuplicateLeafError, NoSuchLeafError
from tallystick.stores.protocol import Document, NewLeaf, Shelf

HASH_BYTES = 32
KEY_BYTES = 16
BATCH_LEAVES_MAX = 1024
BATCH_BYTES_MAX = 1 << 20
SETTLE_LEAVES = 1 << 15
SETTLE_PART = 32
SETTLE_LEAVES_MAX = 1 << 18

_STATE = """
    SELECT
        coalesce((SELECT first + count FROM batch ORDER BY first DESC LIMIT 1), 0),
        coalesce((SELECT max(leaves) FROM settled), 0)
"""

_APPEND = "INSERT INTO batch (first, count, keys, hashes, leaves) VALUES (?, ?, ?, ?, ?)"


@dataclass(slots=True)
class Tail:
    """The identities of leaves that the table ``identity`` does not have yet, held in memory.

    ``numbers`` has at least those of ``[settled, size)``, as last seen.
    """

    settled: int = 0
    size: int = 0
    numbers: dict[bytes, int] = field(default_factory=dict)


class SqliteReading:
    """A view of the tables as they were when the transaction began."""

    def __init__(self, connection: apsw.Connection, tail: Tail) -> None:
        self._connection = connection
        self._tail = tail
        state: tuple[int, int] = self._row(_STATE)
        self._size, self._settled = state
        self._committed = self._size

    @property
    def size(self) -> int:
        """How many leaves there are."""
        return self._size

    def leaves(self, start: int, stop: int) -> Iterator[bytes]:
        """Give the leaves ``[start, stop)`` in order."""
        for first, joined in self._batches("leaves", start, stop):
            yield from joined.split(b"\n")[max(0, start - first) : stop - first]

    def hashes(self, start: int, stop: int) -> Iterator[bytes]:
        """Give the leaf hashes ``[start, stop)`` as they were computed at admission."""
        for first, joined in self._batches("hashes", start, stop):
            yield from _split(joined, HASH_BYTES)[max(0, start - first) : stop - first]

    def find(self, keys: Sequence[bytes]) -> dict[bytes, int]:
        """Give the numbers of the leaves that have these identities, of those that there are."""
        if not keys:
            return {}
        self._refresh_tail()
        numbers = self._tail.numbers
        found = {
            key: numbers[key] for key in keys if numbers.get(key, self._committed) < self._committed
        }
        if self._tail.settled:
            query = "SELECT i.key, i.leaf FROM carray(?) AS c JOIN identity AS i ON i.key = c.value"
            # In order, so that neighbours are met on one page.
            rows: Any = self._connection.execute(query, (apsw.carray(tuple(sorted(keys))),))
            found.update(rows)
        return found

    def document(self, shelf: Shelf, key: str) -> bytes | None:
        """Give a document, or None if there is none of that name."""
        row = self._row("SELECT data FROM document WHERE shelf = ? AND key = ?", (shelf, key))
        data: bytes | None = None if row is None else row[0]
        return data

    def documents(self, shelf: Shelf) -> Iterator[Document]:
        """Give all documents of a shelf, in the order in which they were put there."""
        rows = self._connection.execute(
            "SELECT key, data FROM document WHERE shelf = ? ORDER BY place", (shelf,)
        )
        return (Document(key, data) for key, data in rows)

    def _row(self, query: str, values: tuple[Any, ...] = ()) -> Any:
        return self._connection.execute(query, values).fetchone()

    def _batches(self, column: str, start: int, stop: int) -> Iterator[tuple[int, bytes]]:
        if not 0 <= start <= stop <= self._size:
            raise NoSuchLeafError(stop - 1 if start <= stop else start, self._size)
        query = f"""
            SELECT first, {column} FROM batch
            WHERE first >= (SELECT max(first) FROM batch WHERE first <= ?) AND first < ?
            ORDER BY first
        """  # noqa: S608 (column is one of ours)
        return self._connection.execute(query, (start, stop))

    def _refresh_tail(self) -> None:
        """Learn the identities that other processes have added since the last look."""
        settled, tail = self._settled, self._tail
        if settled < tail.settled:  # This view is older than what is in memory: it needs its own.
            tail = self._tail = Tail()
        if tail.size >= self._committed:
            return
        if settled > tail.settled:
            tail.numbers = {key: leaf for key, leaf in tail.numbers.items() if leaf >= settled}
            tail.settled = settled
        start = max(tail.size, settled)
        for first, keys in self._batches("keys", start, self._committed):
            for place, key in enumerate(_split(keys, KEY_BYTES), start=first):
                if place >= start:
                    tail.numbers[key] = place
        tail.size = self._committed


class SqliteWriting(SqliteReading):
    """A reading that sees its own writes, which count when the transaction is committed."""

    def __init__(self, connection: apsw.Connection, tail: Tail) -> None:
        super().__init__(connection, tail)
        self._refresh_tail()
        self._own: dict[bytes, int] = {}
        self._settles: int | None = None
        self._absent: set[bytes] = set()

    def find(self, keys: Sequence[bytes]) -> dict[bytes, int]:
        """Give the numbers of the leaves that have these identities, of those that there are."""
        found = super().find(keys)
        if self._own:
            found |= {key: self._own[key] for key in keys if key in self._own}
        self._absent.update(keys if not found else [key for key in keys if key not in found])
        return found

    def append(self, leaves: Sequence[NewLeaf]) -> int:
        """Append leaves and give the number of the first."""
        keys = [leaf.key for leaf in leaves]
        unknown = [key for key in keys if key not in self._absent]
        if len(set(keys)) < len(keys) or (unknown and self.find(unknown)):
            raise DuplicateLeafError
        first = self._size
        for batch in _batches_of(leaves):
            joined = b"\n".join([leaf.data for leaf in batch])
            assert joined.count(b"\n") == len(batch) - 1, "leaves of a row are split at LF"
            self._connection.execute(
                _APPEND,
                (
                    self._size,
                    len(batch),
                    b"".join([leaf.key for leaf in batch]),
                    b"".join([leaf.hash for leaf in batch]),
                    joined,
                ),
            )
            self._size += len(batch)
        self._own |= zip(keys, range(first, self._size), strict=True)
        self._absent.difference_update(keys)
        return first

    def put(self, shelf: Shelf, key: str, data: bytes) -> None:
        """Keep a document."""
        found = self.document(shelf, key)
        if found is None:
            self._connection.execute(
                "INSERT INTO document VALUES"
                " ((SELECT coalesce(max(place), 0) + 1 FROM document), ?, ?, ?)",
                (shelf, key, data),
            )
        elif found != data:
            raise DocumentConflictError(shelf, key)

    def settle(self) -> None:
        """Enter the newest identities into their table, if they have become many.

        The larger the table is, the more must come together, so that some share a page of it.
        """
        settled = self._tail.settled
        due = max(SETTLE_LEAVES, min(settled // SETTLE_PART, SETTLE_LEAVES_MAX))
        if self._size - settled < due:
            return
        rows = sorted([*self._tail.numbers.items(), *self._own.items()])
        new = [row for row in rows if row[1] >= self._tail.settled]
        self._connection.executemany("INSERT INTO identity VALUES (?, ?)", new)
        self._connection.execute("INSERT INTO settled VALUES (?)", (self._size,))
        self._settles = self._size

    def keep_tail(self) -> None:
        """Remember in memory what was committed."""
        tail = self._tail
        if self._settles is None:
            tail.numbers |= self._own
        else:
            tail.numbers, tail.settled = {}, self._settles
        tail.size = self._size


def _batches_of(leaves: Sequence[NewLeaf]) -> Iterator[Sequence[NewLeaf]]:
    """Cut leaves into rows of bounded number and size; a larger leaf has a row to itself."""
    start, size = 0, 0
    for place, leaf in enumerate(leaves):
        size += len(leaf.data)
        if place - start == BATCH_LEAVES_MAX or (size > BATCH_BYTES_MAX and place > start):
            yield leaves[start:place]
            start, size = place, len(leaf.data)
    if leaves:
        yield leaves[start:]


def _split(joined: bytes, width: int) -> list[bytes]:
    return [joined[at : at + width] for at in range(0, len(joined), width)]
