"""A store in memory: the contract in the fewest words, for tests and for one-off work."""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from tallystick.stores.errors import (
    DocumentConflictError,
    DuplicateLeafError,
    NoSuchLeafError,
    StoreBusyError,
)
from tallystick.stores.protocol import Document, NewLeaf, Shelf


@dataclass(slots=True)
class _Held:
    """Leaves and documents at one moment; a writing has a copy of its own."""

    _leaves: list[NewLeaf] = field(default_factory=list)
    _numbers: dict[bytes, int] = field(default_factory=dict)
    _documents: dict[Shelf, dict[str, bytes]] = field(default_factory=dict)

    def copy(self) -> "_Held":
        documents = {shelf: dict(held) for shelf, held in self._documents.items()}
        return _Held(list(self._leaves), dict(self._numbers), documents)

    @property
    def size(self) -> int:
        return len(self._leaves)

    def leaves(self, start: int, stop: int) -> Iterator[bytes]:
        return (leaf.data for leaf in self._range(start, stop))

    def hashes(self, start: int, stop: int) -> Iterator[bytes]:
        return (leaf.hash for leaf in self._range(start, stop))

    def _range(self, start: int, stop: int) -> list[NewLeaf]:
        if not 0 <= start <= stop <= self.size:
            raise NoSuchLeafError(stop - 1 if start <= stop else start, self.size)
        return self._leaves[start:stop]

    def find(self, keys: Sequence[bytes]) -> dict[bytes, int]:
        return {key: self._numbers[key] for key in keys if key in self._numbers}

    def document(self, shelf: Shelf, key: str) -> bytes | None:
        return self._documents.get(shelf, {}).get(key)

    def documents(self, shelf: Shelf) -> Iterator[Document]:
        held = list(self._documents.get(shelf, {}).items())
        return (Document(key, data) for key, data in held)

    def append(self, leaves: Sequence[NewLeaf]) -> int:
        keys = {leaf.key for leaf in leaves}
        if len(keys) < len(leaves) or not keys.isdisjoint(self._numbers):
            raise DuplicateLeafError
        first = self.size
        self._leaves += leaves
        self._numbers |= {leaf.key: first + place for place, leaf in enumerate(leaves)}
        return first

    def put(self, shelf: Shelf, key: str, data: bytes) -> None:
        if self._documents.setdefault(shelf, {}).setdefault(key, data) != data:
            raise DocumentConflictError(shelf, key)


@dataclass(slots=True)
class MemoryStore:
    """A store that is gone with its process."""

    origin: str
    wait_s: int = 60
    _held: _Held = field(default_factory=_Held)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @contextmanager
    def reading(self) -> Iterator[_Held]:
        """Look at the store as it is now."""
        yield self._held

    @contextmanager
    def writing(self) -> Iterator[_Held]:
        """Write to a copy, which takes the store's place when the block ends without an error."""
        if not self._lock.acquire(timeout=self.wait_s):
            raise StoreBusyError(self.origin, self.wait_s)
        try:
            draft = self._held.copy()
            yield draft
            self._held = draft
        finally:
            self._lock.release()

    def close(self) -> None:
        """Do nothing: there is nothing to let go of."""
