"""The Merkle tree of RFC 6962 over SHA-256: roots, inclusion and consistency.

A tree over leaves ``[start, end)`` splits at the largest power of two below its number of
leaves. A *complete* subtree has a power of two of leaves and starts at a multiple of it;
its hash never changes again, so it is what a store keeps and what proofs are made of.
Proofs are checked by the algorithms of RFC 9162 (2.1.3.2, 2.1.4.2), step by step.
"""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Self

from tallystick.tree.errors import (
    ConsistencyError,
    InclusionError,
    LeafIndexError,
    MalformedFrontierError,
    MalformedHashError,
    PathLengthError,
    TreeSizeError,
)

HASH_BYTES = 32
TREE_SIZE_MAX = 2**63 - 1
EMPTY_ROOT = hashlib.sha256(b"").digest()

SubtreeHash = Callable[[int, int], bytes]
"""Reads a stored tree: the hash of the complete subtree over leaves ``[start, end)``."""


def leaf_hash(data: bytes) -> bytes:
    """Hash an entry of the log."""
    return hashlib.sha256(b"\x00" + data).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """Hash two subtrees into the one above them."""
    return hashlib.sha256(b"\x01" + left + right).digest()


@dataclass(frozen=True, slots=True)
class Frontier:
    """What must be remembered of a tree to append to it: its complete subtrees.

    Args:
        size: The number of leaves.
        hashes: Of the complete subtrees, from the largest (leftmost) to the smallest: one for
            each one-bit of ``size``.

    Raises:
        MalformedFrontierError: a tree of this size has another number of them.
        MalformedHashError: one has not 32 bytes.
    """

    size: int = 0
    hashes: tuple[bytes, ...] = ()

    def __post_init__(self) -> None:
        check_size(self.size)
        if len(self.hashes) != self.size.bit_count():
            raise MalformedFrontierError(self.size, self.size.bit_count(), len(self.hashes))
        check_hashes(self.hashes)

    def append(self, leaf: bytes) -> Self:
        """Give the tree with one more leaf, by its hash."""
        return self.extend((leaf,))

    def extend(self, leaves: Iterable[bytes]) -> Self:
        """Give the tree with more leaves, by their hashes."""
        size, hashes = self.size, list(self.hashes)
        for leaf in leaves:
            if len(leaf) != HASH_BYTES:
                raise MalformedHashError(len(leaf))
            node, full = leaf, size
            while full & 1:  # As many subtrees become one as the size has low one-bits.
                node = node_hash(hashes.pop(), node)
                full >>= 1
            hashes.append(node)
            size += 1
        return type(self)(size, tuple(hashes))

    def root(self) -> bytes:
        """Give the root of the tree."""
        return _joined(self.hashes) if self.hashes else EMPTY_ROOT


def root_of(hashes: Iterable[bytes]) -> bytes:
    """Give the root of the tree over these leaf hashes."""
    return Frontier().extend(hashes).root()


def subtrees_of(hashes: Iterable[bytes]) -> SubtreeHash:
    """Hold a whole tree over these leaf hashes in memory, to make proofs from."""
    levels = [list(hashes)]
    check_hashes(levels[0])
    while len(levels[-1]) > 1:
        below = iter(levels[-1])
        levels.append([node_hash(left, right) for left, right in zip(below, below, strict=False)])

    def subtree(start: int, end: int) -> bytes:
        level = (end - start).bit_length() - 1
        return levels[level][start >> level]

    return subtree


def tree_root(size: int, subtree: SubtreeHash) -> bytes:
    """Give the root of the first ``size`` leaves."""
    check_size(size)
    return range_hash(0, size, subtree) if size else EMPTY_ROOT


def inclusion_path(index: int, size: int, subtree: SubtreeHash) -> tuple[bytes, ...]:
    """Give the audit path of a leaf in the tree of ``size`` leaves, from the leaf upwards.

    Raises:
        LeafIndexError: that tree has no such leaf.
    """
    check_index(index, size)
    path: list[bytes] = []
    start, end = 0, size
    while end - start > 1:
        middle = split(start, end)
        if index < middle:
            path.append(range_hash(middle, end, subtree))
            end = middle
        else:
            path.append(range_hash(start, middle, subtree))
            start = middle
    return tuple(reversed(path))


def consistency_path(old: int, new: int, subtree: SubtreeHash) -> tuple[bytes, ...]:
    """Give what shows that the tree of ``new`` leaves begins with that of ``old`` leaves.

    From nothing, or to the same size, there is nothing to show.

    Raises:
        TreeSizeError: the old tree is larger.
    """
    check_size(new)
    check_size(old, most=new)
    if old == 0:
        return ()
    path: list[bytes] = []
    start, end = 0, new
    while old != end:
        middle = split(start, end)
        if old <= middle:
            path.append(range_hash(middle, end, subtree))
            end = middle
        else:
            path.append(range_hash(start, middle, subtree))
            start = middle
    if start > 0:  # Otherwise this subtree is the whole old tree, whose root is known.
        path.append(range_hash(start, end, subtree))
    return tuple(reversed(path))


def root_from_inclusion(leaf: bytes, index: int, size: int, path: Sequence[bytes]) -> bytes:
    """Compute the root to which an audit path leads from the hash of a leaf.

    Raises:
        LeafIndexError: a tree of this size has no such leaf.
        PathLengthError: the path has another length than in such a tree.
        MalformedHashError: a hash has not 32 bytes.
    """
    check_index(index, size)
    check_hashes((leaf, *path))
    node, last, root = index, size - 1, leaf
    for sibling in path:
        if last == 0:
            raise PathLengthError(size, len(path))
        if node & 1 or node == last:
            root = node_hash(sibling, root)
            node, last = _risen(node, last)
        else:
            root = node_hash(root, sibling)
        node, last = node >> 1, last >> 1
    if last != 0:
        raise PathLengthError(size, len(path))
    return root


def check_inclusion(leaf: bytes, index: int, size: int, path: Sequence[bytes], root: bytes) -> None:
    """Check that a leaf, by its hash, is in the tree with this root.

    Raises:
        InclusionError: the path leads to another root.
        TreeError: index, size or path make no sense.
    """
    check_hashes((root,))
    found = root_from_inclusion(leaf, index, size, path)
    if found != root:
        raise InclusionError(index, root, found)


def check_consistency(
    old_size: int, old_root: bytes, new_size: int, new_root: bytes, path: Sequence[bytes]
) -> None:
    """Check that a tree begins with an older one.

    Every tree begins with the empty one, whose root must be ``EMPTY_ROOT``.

    Raises:
        ConsistencyError: the path leads to another root, of the old or of the new tree.
        TreeError: sizes or path make no sense.
    """
    check_size(new_size)
    check_size(old_size, most=new_size)
    check_hashes((old_root, new_root, *path))
    if old_size in {0, new_size}:
        if path:
            raise PathLengthError(new_size, len(path))
        old = EMPTY_ROOT if old_size == 0 else new_root
        new = EMPTY_ROOT if new_size == 0 else new_root
    else:
        old, new = _roots_from_consistency(old_size, old_root, new_size, path)
    if old != old_root:
        raise ConsistencyError(old_size, old_root, old)
    if new != new_root:
        raise ConsistencyError(new_size, new_root, new)


def _roots_from_consistency(
    old_size: int, old_root: bytes, new_size: int, path: Sequence[bytes]
) -> tuple[bytes, bytes]:
    """Compute the roots of both trees, where the old one is smaller and not empty."""
    known = (old_root,) if old_size & (old_size - 1) == 0 else ()
    hashes = (*known, *path)
    if not hashes:
        raise PathLengthError(new_size, len(path))
    node, last = old_size - 1, new_size - 1
    while node & 1:
        node, last = node >> 1, last >> 1
    old = new = hashes[0]
    for sibling in hashes[1:]:
        if last == 0:
            raise PathLengthError(new_size, len(path))
        if node & 1 or node == last:
            old, new = node_hash(sibling, old), node_hash(sibling, new)
            node, last = _risen(node, last)
        else:
            new = node_hash(new, sibling)
        node, last = node >> 1, last >> 1
    if last != 0:
        raise PathLengthError(new_size, len(path))
    return old, new


def _risen(node: int, last: int) -> tuple[int, int]:
    """Rise from a node on the right edge through the levels where it has no sibling."""
    while node and not node & 1:
        node, last = node >> 1, last >> 1
    return node, last


def split(start: int, end: int) -> int:
    """Give where the tree over ``[start, end)``, of two leaves at least, splits."""
    return start + (1 << (end - start - 1).bit_length() - 1)


def range_hash(start: int, end: int, subtree: SubtreeHash) -> bytes:
    """Give the hash of the tree over ``[start, end)``, not empty, from its complete subtrees."""
    hashes: list[bytes] = []
    while start < end:
        width = 1 << (end - start).bit_length() - 1
        hashes.append(subtree(start, start + width))
        start += width
    return _joined(hashes)


def _joined(hashes: Sequence[bytes]) -> bytes:
    """Join complete subtrees, from the largest to the smallest, into one tree."""
    *above, root = hashes
    for left in reversed(above):
        root = node_hash(left, root)
    return root


def check_size(size: int, *, most: int = TREE_SIZE_MAX) -> None:
    """Refuse a size below 0 or above ``most``.

    Raises:
        TreeSizeError: it is one.
    """
    if not 0 <= size <= most:
        raise TreeSizeError(size, 0, most)


def check_index(index: int, size: int) -> None:
    """Refuse an index of no leaf of a tree.

    Raises:
        TreeSizeError: the size is not that of a tree.
        LeafIndexError: the tree has no such leaf.
    """
    check_size(size)
    if not 0 <= index < size:
        raise LeafIndexError(index, size)


def check_hashes(hashes: Iterable[bytes]) -> None:
    """Refuse hashes of another length than 32 bytes.

    Raises:
        MalformedHashError: one is.
    """
    for each in hashes:
        if len(each) != HASH_BYTES:
            raise MalformedHashError(len(each))
