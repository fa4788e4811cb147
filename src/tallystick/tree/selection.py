"""One proof for many leaves of one tree.

The proof is the hashes of the largest subtrees of the RFC 6962 tree that hold none of the
selected leaves, from left to right. Together with the leaves' own hashes they give the root,
and in no other way: which subtrees those are follows from the indices and the size alone.
For one leaf they are the hashes of its audit path, in another order.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import pairwise

from tallystick.tree.errors import MalformedSelectionError
from tallystick.tree.merkle import (
    SubtreeHash,
    check_hashes,
    check_index,
    node_hash,
    range_hash,
    split,
)


def selection_proof(indices: Sequence[int], size: int, subtree: SubtreeHash) -> tuple[bytes, ...]:
    """Give the hashes that prove some leaves of the tree of ``size`` leaves at once.

    Args:
        indices: Of the leaves, ascending, at least one.
        size: The number of leaves of the tree.
        subtree: Reads the stored tree.

    Raises:
        MalformedSelectionError: no leaf is selected, or they are not in ascending order.
        LeafIndexError: the tree has no such leaf.
    """
    _check_indices(indices, size)
    return tuple(range_hash(start, end, subtree) for start, end in _omitted(indices, size))


def root_from_selection(
    leaves: Sequence[tuple[int, bytes]], size: int, hashes: Sequence[bytes]
) -> bytes:
    """Compute the root to which the proof of some leaves leads.

    Args:
        leaves: Index and leaf hash of each, ascending by index, at least one.
        size: The number of leaves of the tree.
        hashes: The proof.

    Raises:
        MalformedSelectionError: leaves are not in order, or hashes are too many or too few.
        TreeError: an index is not in the tree, or a hash has not 32 bytes.
    """
    root, _ = _walked(leaves, size, hashes, ())
    return root


def paths_from_selection(
    wanted: Sequence[int],
    leaves: Sequence[tuple[int, bytes]],
    size: int,
    hashes: Sequence[bytes],
) -> tuple[tuple[bytes, ...], ...]:
    """Give the ordinary audit paths of some of the leaves that a proof is about.

    A path leads to the same root as the proof. Whoever uses it still has to compare that root.

    Args:
        wanted: Indices of leaves, ascending, each one of ``leaves``.
        leaves: Index and leaf hash of each leaf of the proof.
        size: The number of leaves of the tree.
        hashes: The proof.

    Raises:
        MalformedSelectionError: the proof is malformed, or not about a wanted leaf.
        TreeError: an index is not in the tree, or a hash has not 32 bytes.
    """
    _check_indices(wanted, size)
    if not {index for index, _ in leaves}.issuperset(wanted):
        raise MalformedSelectionError("expected it to be about the wanted leaf, it is not")
    _, paths = _walked(leaves, size, hashes, wanted)
    return paths


def _check_indices(indices: Sequence[int], size: int) -> None:
    if not indices:
        raise MalformedSelectionError("expected at least one leaf, got none")
    check_index(indices[0], size)
    check_index(indices[-1], size)
    if any(left >= right for left, right in pairwise(indices)):
        raise MalformedSelectionError("expected indices in ascending order, each once")


def _omitted(indices: Sequence[int], size: int) -> Iterator[tuple[int, int]]:
    """Give the largest subtrees without any of the leaves, from left to right."""
    pending = [(0, size, 0, len(indices))]
    while pending:
        start, end, first, last = pending.pop()
        if first == last:
            yield start, end
        elif last - first < end - start:  # Otherwise every leaf of it is selected.
            middle = split(start, end)
            cut = bisect_left(indices, middle, first, last)
            pending += ((middle, end, cut, last), (start, middle, first, cut))


def _walked(
    leaves: Sequence[tuple[int, bytes]],
    size: int,
    hashes: Sequence[bytes],
    wanted: Sequence[int],
) -> tuple[bytes, tuple[tuple[bytes, ...], ...]]:
    """Compute the root, and on the way the audit paths of the wanted leaves."""
    indices = [index for index, _ in leaves]
    leaf_hashes = [leaf for _, leaf in leaves]
    _check_indices(indices, size)
    check_hashes(leaf_hashes)
    check_hashes(hashes)
    rest = iter(hashes)
    paths: list[list[bytes]] = [[] for _ in wanted]

    def walk(start: int, end: int, first: int, last: int) -> bytes:
        if first == last:
            omitted = next(rest, None)
            if omitted is None:
                raise MalformedSelectionError(f"{len(hashes)} hashes are too few")
            return omitted
        if end - start == 1:
            return leaf_hashes[first]
        middle = split(start, end)
        cut = bisect_left(indices, middle, first, last)
        left = walk(start, middle, first, cut)
        right = walk(middle, end, cut, last)
        if wanted:
            low, high = bisect_left(wanted, start), bisect_left(wanted, end)
            for position in range(low, high):
                paths[position].append(right if wanted[position] < middle else left)
        return node_hash(left, right)

    root = walk(0, size, 0, len(indices))
    if next(rest, None) is not None:
        raise MalformedSelectionError(f"{len(hashes)} hashes are too many")
    return root, tuple(tuple(path) for path in paths)
