"""One proof for many leaves: it holds, it is the audit path in small, and nothing can lie."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallystick.tree.errors import MalformedSelectionError, TreeError
from tallystick.tree.merkle import (
    EMPTY_ROOT,
    TREE_SIZE_MAX,
    check_inclusion,
    inclusion_path,
    leaf_hash,
    root_of,
    tree_root,
)
from tallystick.tree.selection import (
    paths_from_selection,
    root_from_selection,
    selection_proof,
)
from tests.tree.trees import leaves, tree


@st.composite
def selections(draw: st.DrawFn, size_max: int = 200) -> tuple[int, list[int]]:
    """Draw a size and some indices in it."""
    size = draw(st.integers(1, size_max))
    indices = draw(st.sets(st.integers(0, size - 1), min_size=1, max_size=size))
    return size, sorted(indices)


def chosen(indices: list[int], size: int) -> list[tuple[int, bytes]]:
    """Give index and hash of each selected leaf."""
    hashes = leaves(size)
    return [(index, hashes[index]) for index in indices]


@pytest.mark.parametrize("size", range(1, 8))
def test_every_selection_of_a_small_tree_leads_to_its_root(size: int) -> None:
    """Each of the 2^n - 1 ways to choose leaves has a proof that gives the root."""
    stored, root = tree(size), root_of(leaves(size))

    for mask in range(1, 2**size):
        indices = [index for index in range(size) if mask >> index & 1]
        hashes = selection_proof(indices, size, stored)

        assert root_from_selection(chosen(indices, size), size, hashes) == root


@given(selections())
def test_a_selection_leads_to_the_root(selection: tuple[int, list[int]]) -> None:
    """Whatever is chosen, proof and leaves give the root of the tree."""
    size, indices = selection

    hashes = selection_proof(indices, size, tree(size))

    assert root_from_selection(chosen(indices, size), size, hashes) == root_of(leaves(size))


@pytest.mark.parametrize("size", range(1, 41))
def test_the_proof_of_one_leaf_is_its_audit_path(size: int) -> None:
    """For one leaf the hashes are those of the RFC's path, from left to right."""
    for index in range(size):
        hashes = selection_proof([index], size, tree(size))

        assert sorted(hashes) == sorted(inclusion_path(index, size, tree(size)))


def test_the_proof_of_all_leaves_is_empty() -> None:
    """Who has every leaf needs nothing else."""
    assert selection_proof(range(40), 40, tree(40)) == ()


def test_the_proof_has_the_fewest_hashes() -> None:
    """What lies between two leaves comes as the largest subtrees of the RFC's own tree."""
    stored = tree(7)

    hashes = selection_proof([0, 3], 7, stored)

    assert hashes == (
        stored(1, 2),
        stored(2, 3),
        root_of(leaves(7)[4:]),  # Not [4, 6) and [6, 7): this is one node of the tree.
    )


@given(selections())
def test_each_leaf_of_a_selection_has_its_ordinary_path(selection: tuple[int, list[int]]) -> None:
    """From a proof of many follows the RFC's audit path of each."""
    size, indices = selection
    stored = tree(size)
    selected = chosen(indices, size)
    hashes = selection_proof(indices, size, stored)

    paths = paths_from_selection(indices, selected, size, hashes)

    assert list(paths) == [inclusion_path(index, size, stored) for index in indices]
    for (index, leaf), path in zip(selected, paths, strict=True):
        check_inclusion(leaf, index, size, path, tree_root(size, stored))


def test_paths_are_given_for_the_wanted_leaves_only() -> None:
    """One leaf of many can be asked for alone."""
    hashes = selection_proof([1, 4, 9], 12, tree(12))

    paths = paths_from_selection([4], chosen([1, 4, 9], 12), 12, hashes)

    assert paths == (inclusion_path(4, 12, tree(12)),)


@given(st.data(), selections())
def test_nothing_in_a_selection_can_be_changed(
    data: st.DataObject, selection: tuple[int, list[int]]
) -> None:
    """Another leaf or hash gives another root."""
    size, indices = selection
    selected = chosen(indices, size)
    hashes = list(selection_proof(indices, size, tree(size)))
    changed = data.draw(st.integers(0, len(selected) + len(hashes) - 1))
    if changed < len(selected):
        selected[changed] = (selected[changed][0], leaf_hash(b"changed"))
    else:
        hashes[changed - len(selected)] = leaf_hash(b"changed")

    assert root_from_selection(selected, size, hashes) != root_of(leaves(size))


@given(st.data(), selections())
def test_a_leaf_cannot_be_moved(data: st.DataObject, selection: tuple[int, list[int]]) -> None:
    """With another index for one leaf the proof has no sense, or gives another root."""
    size, indices = selection
    selected = chosen(indices, size)
    hashes = selection_proof(indices, size, tree(size))
    position = data.draw(st.integers(0, len(selected) - 1))
    elsewhere = data.draw(st.integers(-1, size).filter(lambda index: index != indices[position]))
    selected[position] = (elsewhere, selected[position][1])

    try:
        root = root_from_selection(selected, size, hashes)
    except TreeError:
        return
    assert root != root_of(leaves(size))


@given(st.data(), selections())
def test_a_leaf_cannot_be_left_out_or_a_hash_put_in(
    data: st.DataObject, selection: tuple[int, list[int]]
) -> None:
    """The number of hashes follows from the indices; one more or one less is refused."""
    size, indices = selection
    selected = chosen(indices, size)
    hashes = list(selection_proof(indices, size, tree(size)))
    place = data.draw(st.integers(0, len(hashes)))

    with pytest.raises(MalformedSelectionError):
        root_from_selection(selected, size, [*hashes[:place], EMPTY_ROOT, *hashes[place:]])
    if hashes:
        del hashes[place % len(hashes)]
        with pytest.raises(MalformedSelectionError):
            root_from_selection(selected, size, hashes)


@given(
    st.lists(st.tuples(st.integers(-1, 2**64), st.binary(min_size=31, max_size=32)), max_size=8),
    st.integers(-1, 2**64),
    st.lists(st.binary(min_size=32, max_size=32), max_size=80),
)
def test_no_numbers_make_a_selection_fail_in_another_way(
    selected: list[tuple[int, bytes]], size: int, hashes: list[bytes]
) -> None:
    """Whatever is claimed, the outcome is a root or one of our errors."""
    try:
        root = root_from_selection(selected, size, hashes)
    except TreeError:
        return
    assert len(root) == 32


def test_the_largest_tree_is_walked_without_trouble() -> None:
    """The deepest proof has one hash a level, and needs no more of the stack than that."""
    root = root_from_selection([(0, EMPTY_ROOT)], TREE_SIZE_MAX, [EMPTY_ROOT] * 63)

    assert len(root) == 32


LEAF = leaf_hash(b"entry 0")


@pytest.mark.parametrize(
    ("selected", "size", "hashes", "code", "reason"),
    [
        ([], 1, [], "bad_selection", "at least one"),
        ([(1, LEAF), (0, LEAF)], 2, [], "bad_selection", "ascending"),
        ([(0, LEAF), (0, LEAF)], 2, [], "bad_selection", "ascending"),
        ([(0, LEAF), (3, LEAF), (1, LEAF)], 2, [], "bad_selection", "ascending"),
        ([(0, LEAF)], 2, [], "bad_selection", "0 hashes are too few"),
        ([(0, LEAF)], 1, [LEAF], "bad_selection", "1 hashes are too many"),
        ([(1, LEAF)], 1, [], "leaf_not_in_tree", "got 1"),
        ([(-1, LEAF)], 1, [], "leaf_not_in_tree", "got -1"),
        ([(-1, LEAF), (0, LEAF)], 2, [], "leaf_not_in_tree", "got -1"),
        ([(0, LEAF), (2, LEAF)], 2, [], "leaf_not_in_tree", "got 2"),
        ([(0, LEAF)], 0, [], "leaf_not_in_tree", "0 leaves"),
        ([(0, LEAF)], 2**63, [], "bad_tree_size", "got"),
        ([(0, b"")], 1, [], "bad_tree_hash", "got 0"),
        ([(0, LEAF)], 2, [b""], "bad_tree_hash", "got 0"),
    ],
)
def test_a_selection_without_sense_is_refused(
    selected: list[tuple[int, bytes]], size: int, hashes: list[bytes], code: str, reason: str
) -> None:
    """Leaves are there, in order and in the tree, and the hashes are as many as they need."""
    with pytest.raises(TreeError) as refused:
        root_from_selection(selected, size, hashes)

    assert refused.value.code == code
    assert reason in str(refused.value)


def test_no_proof_is_made_for_nothing() -> None:
    """A proof of no leaf would prove nothing."""
    with pytest.raises(MalformedSelectionError):
        selection_proof([], 3, tree(3))


def test_no_path_is_given_for_a_leaf_that_the_proof_is_not_about() -> None:
    """An unselected leaf is hidden inside a hash."""
    hashes = selection_proof([1], 3, tree(3))

    with pytest.raises(MalformedSelectionError) as refused:
        paths_from_selection([2], chosen([1], 3), 3, hashes)

    assert "wanted leaf" in str(refused.value)


@pytest.mark.parametrize("wanted", [[], [4, 1], [1, 1]])
def test_wanted_leaves_are_in_order(wanted: list[int]) -> None:
    """Whoever wants paths names leaves as the proof does: ascending, each once, at least one."""
    hashes = selection_proof([1, 4], 5, tree(5))

    with pytest.raises(MalformedSelectionError):
        paths_from_selection(wanted, chosen([1, 4], 5), 5, hashes)
