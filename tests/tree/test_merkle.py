"""The Merkle tree: published vectors, the RFC as a reference, and every proof that lies."""

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallystick.tree.errors import (
    ConsistencyError,
    InclusionError,
    LeafIndexError,
    MalformedFrontierError,
    MalformedHashError,
    PathLengthError,
    TreeError,
    TreeSizeError,
)
from tallystick.tree.merkle import (
    EMPTY_ROOT,
    Frontier,
    check_consistency,
    check_inclusion,
    consistency_path,
    inclusion_path,
    leaf_hash,
    node_hash,
    root_from_inclusion,
    root_of,
    subtrees_of,
    tree_root,
)
from tests.tree import trees
from tests.tree.trees import entries, leaves, tree

SIZES = range(41)

# The entries and results that the tests of Certificate Transparency have used from the start.
CT_ENTRIES = [
    bytes.fromhex(each)
    for each in (
        "",
        "00",
        "10",
        "2021",
        "3031",
        "40414243",
        "5051525354555657",
        "606162636465666768696a6b6c6d6e6f",
    )
]
CT_ROOTS = [
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
]
CT_PATHS = {
    (0, 1): [],
    (0, 8): [
        "96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7",
        "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
        "6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4",
    ],
    (5, 8): [
        "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
        "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
        "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    ],
    (2, 3): ["fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125"],
    (1, 5): [
        "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
        "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
        "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
    ],
}
CT_CONSISTENCY = {
    (1, 1): [],
    (1, 8): [
        "96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7",
        "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
        "6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4",
    ],
    (6, 8): [
        "0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a",
        "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
        "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    ],
    (2, 5): [
        "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
        "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
    ],
}
CT_TREE = subtrees_of(leaf_hash(entry) for entry in CT_ENTRIES)


def flipped(data: bytes, bit: int) -> bytes:
    """Change one bit."""
    changed = bytearray(data)
    changed[bit // 8 % len(data)] ^= 1 << bit % 8
    return bytes(changed)


def test_the_empty_tree_has_the_hash_of_nothing() -> None:
    """RFC 6962 defines the root over no entries."""
    assert hashlib.sha256(b"").digest() == EMPTY_ROOT
    assert tree_root(0, tree(0)) == Frontier().root() == root_of([]) == EMPTY_ROOT


@pytest.mark.parametrize("size", range(1, 9))
def test_the_published_roots_are_ours(size: int) -> None:
    """The first entries of the published list have the published root."""
    expected = bytes.fromhex(CT_ROOTS[size - 1])

    assert root_of(leaf_hash(entry) for entry in CT_ENTRIES[:size]) == expected
    assert tree_root(size, CT_TREE) == expected


@pytest.mark.parametrize(("index", "size"), CT_PATHS)
def test_the_published_audit_paths_are_ours(index: int, size: int) -> None:
    """An entry of the published list has the published path, which leads to the root."""
    path = inclusion_path(index, size, CT_TREE)

    assert [each.hex() for each in path] == CT_PATHS[index, size]
    root = root_from_inclusion(leaf_hash(CT_ENTRIES[index]), index, size, path)
    assert root.hex() == CT_ROOTS[size - 1]


@pytest.mark.parametrize(("old", "new"), CT_CONSISTENCY)
def test_the_published_consistency_proofs_are_ours(old: int, new: int) -> None:
    """Two sizes of the published list have the published proof, and it holds."""
    path = consistency_path(old, new, CT_TREE)

    assert [each.hex() for each in path] == CT_CONSISTENCY[old, new]
    check_consistency(
        old, bytes.fromhex(CT_ROOTS[old - 1]), new, bytes.fromhex(CT_ROOTS[new - 1]), path
    )


@pytest.mark.parametrize("size", SIZES)
def test_every_root_is_that_of_the_definition(size: int) -> None:
    """Appended one by one, at once, and read from a store, a tree has the defined root."""
    one_by_one = Frontier()
    for leaf in leaves(size):
        one_by_one = one_by_one.append(leaf)

    expected = trees.mth(entries(size))

    assert one_by_one.root() == root_of(leaves(size)) == tree_root(size, tree(40)) == expected


@pytest.mark.parametrize("size", SIZES)
def test_every_audit_path_is_that_of_the_definition(size: int) -> None:
    """Each entry has the defined path, made from the larger tree, and it holds."""
    data = entries(size)
    stored, root = tree(40), trees.mth(data)

    for index, leaf in enumerate(leaves(size)):
        path = inclusion_path(index, size, stored)

        assert list(path) == trees.path(index, data)
        check_inclusion(leaf, index, size, path, root)


@pytest.mark.parametrize("new", SIZES)
def test_every_consistency_proof_is_that_of_the_definition(new: int) -> None:
    """Each older size has the defined proof, and it holds."""
    data = entries(new)
    stored, root = tree(40), trees.mth(data)

    for old in range(1, new + 1):
        path = consistency_path(old, new, stored)

        assert list(path) == trees.proof(old, data)
        check_consistency(old, trees.mth(data[:old]), new, root, path)


@pytest.mark.parametrize("size", SIZES)
def test_every_tree_begins_with_nothing(size: int) -> None:
    """From the empty tree there is nothing to show, whatever the size."""
    path = consistency_path(0, size, tree(size))

    assert path == ()
    check_consistency(0, EMPTY_ROOT, size, trees.mth(entries(size)), path)


@pytest.mark.parametrize("size", range(1, 41))
def test_no_leaf_holds_at_another_index(size: int) -> None:
    """A path proves one place only, in a tree of equal leaves too."""
    stored, root = tree(size), tree_root(size, tree(size))

    for index, leaf in enumerate(leaves(size)):
        path = inclusion_path(index, size, stored)
        for other in range(size):
            if other != index:
                with pytest.raises((InclusionError, PathLengthError)):
                    check_inclusion(leaf, other, size, path, root)


@pytest.mark.parametrize("new", range(1, 41))
def test_no_consistency_proof_holds_for_another_old_size(new: int) -> None:
    """A proof shows one beginning only."""
    stored, root = tree(new), tree_root(new, tree(new))

    for old in range(1, new):
        path = consistency_path(old, new, stored)
        for other in range(new + 1):
            if other != old:
                with pytest.raises((ConsistencyError, PathLengthError)):
                    check_consistency(other, tree_root(old, stored), new, root, path)


def test_a_frontier_continues_from_its_state() -> None:
    """Size and hashes are all that a tree needs to grow."""
    before = Frontier().extend(leaves(13))
    restored = Frontier(before.size, before.hashes)

    grown = restored.extend(leaves(40)[13:])

    assert grown.root() == root_of(leaves(40))
    assert len(grown.hashes) == 2  # 40 = 32 + 8


def test_appending_leaves_the_tree_before_as_it_was() -> None:
    """A frontier is a value: a batch that was not committed is forgotten by dropping it."""
    before = Frontier().extend(leaves(5))

    after = before.append(leaves(6)[5])

    assert (before.size, after.size) == (5, 6)
    assert before.root() == root_of(leaves(5))


sizes = st.integers(1, 300)


@given(st.data(), st.integers(0, 10**6))
def test_no_bit_of_an_audit_path_can_be_changed(data: st.DataObject, bit: int) -> None:
    """With another bit anywhere in leaf, path or root, the proof is refused."""
    size = data.draw(sizes)
    index = data.draw(st.integers(0, size - 1))
    stored = tree(size)
    parts = [leaves(size)[index], tree_root(size, stored), *inclusion_path(index, size, stored)]
    changed = data.draw(st.integers(0, len(parts) - 1))
    parts[changed] = flipped(parts[changed], bit)

    with pytest.raises(InclusionError):
        check_inclusion(parts[0], index, size, parts[2:], parts[1])


@given(st.data(), sizes, sizes)
def test_no_audit_path_holds_for_another_size(data: st.DataObject, size: int, other: int) -> None:
    """A path does not lead to the root of its tree if the tree had another size and root."""
    index = data.draw(st.integers(0, min(size, other) - 1))
    stored = tree(max(size, other))
    path = inclusion_path(index, size, stored)

    if size == other:
        check_inclusion(leaves(size)[index], index, size, path, tree_root(size, stored))
    else:
        with pytest.raises((InclusionError, PathLengthError)):
            check_inclusion(leaves(size)[index], index, other, path, tree_root(other, stored))


@given(st.data(), sizes, sizes, st.integers(0, 10**6))
def test_no_bit_of_a_consistency_proof_can_be_changed(
    data: st.DataObject, left: int, right: int, bit: int
) -> None:
    """With another bit anywhere in path or roots, the proof is refused."""
    old, new = sorted((left, right))
    stored = tree(new)
    parts = [tree_root(old, stored), tree_root(new, stored), *consistency_path(old, new, stored)]
    changed = data.draw(st.integers(0, len(parts) - 1))
    parts[changed] = flipped(parts[changed], bit)

    with pytest.raises(ConsistencyError):
        check_consistency(old, parts[0], new, parts[1], parts[2:])


@given(st.lists(st.binary(max_size=4), max_size=60), st.lists(st.binary(max_size=4), max_size=60))
def test_a_tree_is_consistent_with_whatever_is_appended(
    before: list[bytes], appended: list[bytes]
) -> None:
    """Every log proves its own beginning, whatever its entries."""
    hashes = [leaf_hash(entry) for entry in before + appended]
    old, new = len(before), len(hashes)
    stored = subtrees_of(hashes)

    path = consistency_path(old, new, stored)

    check_consistency(old, root_of(hashes[:old]), new, root_of(hashes), path)


@given(st.data(), st.integers(2, 60))
def test_a_rewritten_log_cannot_prove_its_beginning(data: st.DataObject, new: int) -> None:
    """If an old entry differs, no proof of the new tree leads to the old root."""
    old = data.draw(st.integers(1, new))
    rewritten = leaves(new)
    rewritten[data.draw(st.integers(0, old - 1))] = leaf_hash(b"rewritten")
    stored = subtrees_of(rewritten)

    with pytest.raises(ConsistencyError):
        check_consistency(
            old,
            root_of(leaves(old)),
            new,
            root_of(rewritten),
            consistency_path(old, new, stored),
        )


@given(
    st.integers(-2, 2**64),
    st.integers(-2, 2**64),
    st.lists(st.binary(min_size=32, max_size=32), max_size=70),
)
def test_no_numbers_make_a_verifier_fail_in_another_way(
    first: int, second: int, path: list[bytes]
) -> None:
    """Whatever is asked, the answer is one of our errors, and it comes at once."""
    with pytest.raises(TreeError):
        check_inclusion(EMPTY_ROOT, first, second, path, EMPTY_ROOT)
    with pytest.raises(TreeError):
        check_consistency(first, leaf_hash(b"a"), second, leaf_hash(b"b"), path)


def test_a_path_of_the_largest_tree_has_as_many_hashes_as_the_size_has_bits() -> None:
    """Sizes go up to 2^63 - 1, the largest that verifiers of others read."""
    path = [EMPTY_ROOT] * 63

    assert len(root_from_inclusion(EMPTY_ROOT, 0, 2**63 - 1, path)) == 32
    with pytest.raises(TreeSizeError) as refused:
        root_from_inclusion(EMPTY_ROOT, 0, 2**63, path)

    assert str(refused.value) == f"tree size: expected 0 to {2**63 - 1}, got {2**63}"


LEAF = leaf_hash(b"entry 0")
PAIR = node_hash(LEAF, leaf_hash(b"entry 1"))


@pytest.mark.parametrize(
    ("index", "size", "path", "code"),
    [
        (0, 0, [], "leaf_not_in_tree"),
        (-1, 1, [], "leaf_not_in_tree"),
        (1, 1, [], "leaf_not_in_tree"),
        (0, -1, [], "bad_tree_size"),
        (0, 2**63, [], "bad_tree_size"),
        (0, 1, [LEAF], "bad_path_length"),
        (0, 2, [], "bad_path_length"),
        (0, 2, [LEAF, LEAF], "bad_path_length"),
        (2, 3, [], "bad_path_length"),
        (2, 3, [LEAF, LEAF], "bad_path_length"),
        (0, 2, [LEAF[1:]], "bad_tree_hash"),
        (0, 2, [LEAF], "leaf_not_included"),
    ],
)
def test_an_audit_path_without_sense_is_refused(
    index: int, size: int, path: list[bytes], code: str
) -> None:
    """Index, size and number of hashes have to fit each other."""
    with pytest.raises(TreeError) as refused:
        check_inclusion(LEAF, index, size, path, PAIR)

    assert refused.value.code == code
    assert refused.value.exit_status == 1


@pytest.mark.parametrize(
    ("old", "new", "path", "code"),
    [
        (2, 1, [], "bad_tree_size"),
        (-1, 1, [], "bad_tree_size"),
        (0, 2**63, [], "bad_tree_size"),
        (0, 1, [], "tree_not_consistent"),
        (0, 1, [LEAF], "bad_path_length"),
        (1, 1, [LEAF], "bad_path_length"),
        (1, 1, [], "tree_not_consistent"),
        (1, 2, [], "bad_path_length"),
        (1, 2, [LEAF, LEAF], "bad_path_length"),
        (3, 5, [], "bad_path_length"),
        (3, 4, [LEAF], "bad_path_length"),
        (1, 2, [LEAF + LEAF], "bad_tree_hash"),
        (1, 2, [LEAF], "tree_not_consistent"),
    ],
)
def test_a_consistency_proof_without_sense_is_refused(
    old: int, new: int, path: list[bytes], code: str
) -> None:
    """Sizes and number of hashes have to fit each other, and both roots have to come out."""
    with pytest.raises(TreeError) as refused:
        check_consistency(old, LEAF, new, PAIR, path)

    assert refused.value.code == code


def test_an_empty_tree_has_one_root_only() -> None:
    """A tree of no leaves with the root of something is refused, be it old or new."""
    with pytest.raises(ConsistencyError):
        check_consistency(0, LEAF, 0, LEAF, ())


def test_roots_have_to_be_hashes() -> None:
    """A root of another length is an error of its own, not a mismatch."""
    with pytest.raises(MalformedHashError) as refused:
        check_inclusion(LEAF, 0, 1, (), b"")

    assert str(refused.value) == "expected a hash of 32 bytes, got 0"


@pytest.mark.parametrize(
    ("size", "hashes", "code"),
    [
        (1, (), "bad_frontier"),
        (0, (LEAF,), "bad_frontier"),
        (2, (LEAF, LEAF), "bad_frontier"),
        (1, (b"",), "bad_tree_hash"),
        (-1, (LEAF,), "bad_tree_size"),
    ],
)
def test_a_frontier_without_sense_is_refused(
    size: int, hashes: tuple[bytes, ...], code: str
) -> None:
    """A tree has one complete subtree for each one-bit of its size."""
    with pytest.raises(TreeError) as refused:
        Frontier(size, hashes)

    assert refused.value.code == code


@pytest.mark.parametrize("unhashed", [[b"entry 0"], [b"entry 0", b"entry 1"]])
def test_only_leaf_hashes_are_appended(unhashed: list[bytes]) -> None:
    """An entry that was not hashed is refused, unless it happens to have 32 bytes."""
    with pytest.raises(MalformedHashError):
        Frontier().extend(unhashed)
    with pytest.raises(MalformedHashError):
        subtrees_of(unhashed)


@pytest.mark.parametrize("size", range(1, 41))
def test_a_store_is_asked_for_complete_subtrees_only(size: int) -> None:
    """A reader gets ranges of a power of two of leaves, aligned to it, inside the tree."""
    asked: set[tuple[int, int]] = set()
    stored = tree(size)

    def subtree(start: int, end: int) -> bytes:
        asked.add((start, end))
        return stored(start, end)

    tree_root(size, subtree)
    for index in range(size):
        inclusion_path(index, size, subtree)
        consistency_path(index, size, subtree)

    widths = {(start, end): end - start for start, end in asked}
    assert all(width > 0 and width.bit_count() == 1 for width in widths.values())
    assert all(start % width == 0 for (start, _), width in widths.items())
    assert all(start >= 0 and end <= size for start, end in asked)


def test_no_path_is_made_for_what_is_not_there() -> None:
    """A leaf beyond the tree has no path, and a larger tree is no beginning."""
    with pytest.raises(LeafIndexError):
        inclusion_path(3, 3, tree(3))
    with pytest.raises(TreeSizeError):
        consistency_path(4, 3, tree(4))
    with pytest.raises(TreeSizeError):
        consistency_path(0, 2**63, tree(4))
    with pytest.raises(TreeSizeError):
        tree_root(-1, tree(4))


def test_messages_say_what_was_expected() -> None:
    """Each error names the numbers that do not fit."""
    assert str(MalformedFrontierError(3, 2, 1)) == "frontier of 3 leaves: expected 2 hashes, got 1"
    assert str(TreeSizeError(9, 0, 5)) == "tree size: expected 0 to 5, got 9"
    assert str(LeafIndexError(3, 3)) == "expected the index of one of 3 leaves, got 3"
    assert str(PathLengthError(2, 0)).startswith("path: 0 hashes are too many or too few")
    assert str(InclusionError(1, b"\x01", b"\x02")) == "leaf 1: expected root 01, got 02"
    assert str(ConsistencyError(1, b"\x01", b"\x02")) == (
        "tree of 1 leaves: expected root 01, got 02"
    )
