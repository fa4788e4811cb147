"""Kept hashes of the tree: any subtree is that of the definition, whichever of them are there."""

from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tallystick.stores import tiles
from tallystick.stores.errors import NoSuchLeafError
from tallystick.stores.memory import MemoryStore
from tallystick.stores.protocol import Document, Reading, Shelf, Writing
from tallystick.stores.tiles import keep_nodes, kept_leaves, node_name, subtree_reader
from tallystick.tree.merkle import root_of, subtrees_of, tree_root
from tests.stores.samples import ORIGIN, append, leaf
from tests.tree.trees import mth

SIZE = 1_500
LEAVES = [leaf(number) for number in range(SIZE)]
HASHES = [each.hash for each in LEAVES]
TREE = subtrees_of(HASHES)


def log_of(size: int) -> MemoryStore:
    """Give a log of that many leaves, of which no hash is kept."""
    store = MemoryStore(ORIGIN)
    append(store, *LEAVES[:size])
    return store


def complete_subtrees(size: int) -> Iterator[tuple[int, int]]:
    """Give the range of every complete subtree of a tree."""
    width = 1
    while width <= size:
        yield from ((start, start + width) for start in range(0, size - width + 1, width))
        width *= 2


def nodes_of(size: int, bits: int) -> dict[str, bytes]:
    """Give the nodes that a log of that size has at most, by the definition."""
    nodes = {}
    level, width = 1, 1 << bits
    while width <= size:
        for place in range(size // width):
            nodes[node_name(level, place)] = TREE(place * width, (place + 1) * width)
        level, width = level + 1, width << bits
    return nodes


def kept_nodes(store: MemoryStore) -> dict[str, bytes]:
    """Give the nodes that a log has."""
    with store.reading() as log:
        return {document.key: document.data for document in log.documents("node")}


@contextmanager
def narrow(bits: int) -> Iterator[None]:
    """Make tiles of fewer hashes, so that a small tree has many levels of them."""
    with patch.multiple(tiles, TILE_BITS=bits, TILE_HASHES=1 << bits):
        yield


class Blind:
    """A reading that shows no leaf hashes."""

    def __init__(self, log: Reading) -> None:
        self.size = log.size
        self.document = log.document

    def leaves(self, start: int, stop: int) -> Iterator[bytes]:
        """Refuse."""
        raise AssertionError((start, stop))

    hashes = leaves

    def find(self, keys: object) -> dict[bytes, int]:
        """Refuse."""
        raise AssertionError(keys)

    def documents(self, shelf: Shelf) -> Iterator[Document]:
        """Refuse."""
        raise AssertionError(shelf)


def test_the_reference_is_the_definition() -> None:
    """The tree that is compared with below has the roots of RFC 6962, section 2.1."""
    data = [each.data for each in LEAVES]

    for size in (1, 2, 3, 7, 8, 255, 256, 257, SIZE):
        assert tree_root(size, TREE) == mth(data[:size])


@pytest.mark.parametrize("size", [1, 2, 3, 255, 256, 257, 511, 512, 513, 1024, 1280, SIZE])
@pytest.mark.parametrize("keeps", [False, True])
def test_every_subtree_is_that_of_the_definition(size: int, keeps: bool) -> None:  # noqa: FBT001
    """Of any size, with all nodes kept and with none."""
    store = log_of(size)
    if keeps:
        with store.writing() as log:
            keep_nodes(log, 0, log.hashes(0, size))

    with store.reading() as log:
        subtree = subtree_reader(log)
        assert all(subtree(*each) == TREE(*each) for each in complete_subtrees(size))
        assert tree_root(size, subtree) == root_of(HASHES[:size])


@settings(max_examples=40)
@given(data=st.data(), bits=st.integers(1, 3), size=st.integers(1, 300))
def test_whatever_nodes_are_kept_the_tree_is_the_same(
    data: st.DataObject, bits: int, size: int
) -> None:
    """A node that is not there is made from what is below it, on any level."""
    nodes = nodes_of(size, bits)
    kept = data.draw(st.sets(st.sampled_from(sorted(nodes)))) if nodes else set()
    store = log_of(size)
    with store.writing() as log:
        for name in kept:
            log.put("node", name, nodes[name])

    with narrow(bits), store.reading() as log:
        subtree = subtree_reader(log)
        assert all(subtree(*each) == TREE(*each) for each in complete_subtrees(size))


def test_a_reader_reads_a_writing_while_it_grows() -> None:
    """A tile that became complete meanwhile is read, too."""
    store = MemoryStore(ORIGIN)

    with narrow(2), store.writing() as log:
        subtree = subtree_reader(log)
        for size in range(1, 70):
            log.append([LEAVES[size - 1]])
            keep_nodes(log, kept_leaves(log, size), log.hashes(kept_leaves(log, size), size))
            assert tree_root(size, subtree) == tree_root(size, TREE)


def test_a_subtree_beyond_the_end_is_a_wrong_call() -> None:
    """There are no leaves for it."""
    with log_of(300).reading() as log, pytest.raises(NoSuchLeafError):
        subtree_reader(log)(256, 512)


# -- keeping -------------------------------------------------------------------------------


def keep_all(log: Writing) -> None:
    """Keep what is new, as it is done before a head is signed."""
    start = kept_leaves(log, log.size)
    keep_nodes(log, start, log.hashes(start, log.size))


@settings(max_examples=40)
@given(st.integers(1, 3), st.lists(st.integers(0, 90), max_size=6))
def test_every_full_tile_is_kept_in_whatever_steps_a_log_grows(bits: int, steps: list[int]) -> None:
    """On all levels, and nothing else."""
    store = MemoryStore(ORIGIN)

    with narrow(bits):
        for step in steps:
            with store.writing() as log:
                log.append(LEAVES[log.size : log.size + step])
                keep_all(log)

    assert kept_nodes(store) == nodes_of(sum(steps), bits)


def test_what_is_kept_already_may_be_kept_again() -> None:
    """It is the same."""
    store = log_of(700)

    for _ in range(2):
        with store.writing() as log:
            keep_nodes(log, 0, log.hashes(0, 700))

    assert kept_nodes(store) == nodes_of(700, 8)


def test_a_large_log_keeps_one_node_for_each_256_and_65536_leaves() -> None:
    """And its root is read from these few."""
    size = 65_536 + 256 + 3
    store = MemoryStore(ORIGIN)
    appended = [leaf(number) for number in range(size)]
    append(store, *appended)

    with store.writing() as log:
        keep_all(log)

    expected = {f"1/{place}" for place in range(257)} | {"2/0"}
    assert set(kept_nodes(store)) == expected
    with store.reading() as log:
        assert tree_root(size, subtree_reader(log)) == root_of(each.hash for each in appended)


def test_with_all_nodes_kept_no_leaf_of_a_full_tile_is_read() -> None:
    """So a large log is signed at the cost of its last leaves."""
    with narrow(2):
        store = log_of(256)
        with store.writing() as log:
            keep_all(log)
        with store.reading() as log:
            assert tree_root(256, subtree_reader(Blind(log))) == tree_root(256, TREE)


@pytest.mark.parametrize(
    ("kept", "size", "expected"),
    [
        (0, 0, 0),
        (0, 255, 0),
        (0, 1000, 0),
        (256, 255, 0),
        (256, 256, 256),
        (256, 511, 256),
        (256, 1000, 256),
        (1000, 1000, 768),
        (1000, 700, 512),
    ],
)
def test_leaves_are_kept_up_to_the_last_full_tile(kept: int, size: int, expected: int) -> None:
    """Of those that are asked about."""
    store = log_of(1000)
    with store.writing() as log:
        keep_nodes(log, 0, log.hashes(0, kept))

    with store.reading() as log:
        assert kept_leaves(log, size) == expected
