"""What a log sends to a witness: one form, and what it has to show."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallystick.tree.errors import (
    MalformedUpdateError,
    OlderHeadError,
    OversizedTextError,
    SplitViewError,
    TreeError,
    UnprovenHeadError,
)
from tallystick.tree.head import TreeHead
from tallystick.tree.merkle import consistency_path, leaf_hash, root_of, subtrees_of
from tallystick.tree.update import (
    UPDATE_BYTES_MAX,
    HeadUpdate,
    check_extends,
    parse_update,
    update_bytes,
)

LEAVES = [leaf_hash(b"%d" % number) for number in range(40)]
HASH = "A" * 43 + "="
NOT_PROVEN: tuple[type[TreeError], str] = (UnprovenHeadError, "head_not_proven")


def head(size: int, leaves: list[bytes] = LEAVES, origin: str = "log.example") -> TreeHead:
    """Give the head of the first leaves of a log."""
    return TreeHead(origin, size, root_of(leaves[:size]))


def path(old: int, new: int, leaves: list[bytes] = LEAVES) -> tuple[bytes, ...]:
    """Prove that a log goes on."""
    return consistency_path(old, new, subtrees_of(leaves[:new]))


@given(st.integers(0, 2**62), st.lists(st.binary(min_size=32, max_size=32), max_size=63))
def test_an_update_reads_back(old_size: int, hashes: list[bytes]) -> None:
    """Whatever size and hashes it has, and the head verbatim."""
    update = HeadUpdate(old_size, tuple(hashes), b"text\n\n\xe2\x80\x94 name blob\n")

    assert parse_update(update_bytes(update)) == update


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"old 1",
        b"old 1\n",
        b"old 01\n\nhead",
        b"old -1\n\nhead",
        b"old 9223372036854775808\n\nhead",
        b"new 1\n\nhead",
        b"old 1\nAAAA\n\nhead",
        b"old 1\nx\n\nhead",
        b"old 1\n" + HASH.encode() + b" \n\nhead",
        b"old 1\n" + (HASH.encode() + b"\n") * 64 + b"\nhead",
        "old 1\n\u00e9\n\nhead".encode(),
    ],
)
def test_anything_else_is_refused(data: bytes) -> None:
    """Sizes have one spelling, hashes have 32 bytes, and there are few."""
    with pytest.raises(MalformedUpdateError) as refused:
        parse_update(data)

    assert refused.value.code == "bad_update"


def test_an_update_is_bounded() -> None:
    """What is too long is not looked at."""
    with pytest.raises(OversizedTextError):
        parse_update(b"x" * (UPDATE_BYTES_MAX + 1))


def test_what_cannot_be_read_back_is_not_written() -> None:
    """A hash of another length would be no proof."""
    with pytest.raises(MalformedUpdateError):
        update_bytes(HeadUpdate(0, (b"short",), b"head"))


@given(st.integers(0, 40), st.integers(0, 40))
def test_every_head_goes_on_from_every_earlier_one(old: int, new: int) -> None:
    """With the proof of that size, and from nothing with none."""
    old, new = sorted((old, new))

    check_extends(head(old), head(new), old, path(old, new))
    check_extends(None, head(new), 0, ())


@given(st.integers(1, 39), st.integers(1, 40), st.integers(0, 39))
def test_a_log_with_one_other_leaf_is_found_out(old: int, new: int, changed: int) -> None:
    """Nobody can go on from a head with a history that is not its own."""
    old, new = sorted((old, new))
    other = list(LEAVES)
    other[changed % old] = leaf_hash(b"another")

    expected = (SplitViewError, "split_view") if old == new else NOT_PROVEN
    with pytest.raises(expected[0]) as refused:
        check_extends(head(old), head(new, other), old, path(old, new, other))

    assert refused.value.code == expected[1]


def test_a_smaller_head_is_no_going_on() -> None:
    """A log cannot become shorter."""
    with pytest.raises(OlderHeadError) as refused:
        check_extends(head(7), head(5), 7, ())

    assert refused.value.code == "head_is_older"


def test_a_wrong_proof_from_anybody_accuses_nobody() -> None:
    """The heads are of one history; only what should show it is wrong."""
    with pytest.raises(UnprovenHeadError):
        check_extends(head(7), head(9), 7, tuple(b"x" * 32 for _ in path(7, 9)))


@pytest.mark.parametrize(
    ("known", "old_size", "hashes"),
    [
        (head(7, origin="other.example"), 7, path(7, 9)),
        (head(7), 6, path(6, 9)),
        (head(7), 7, ()),
        (head(7), 7, (*path(7, 9), b"x" * 32)),
    ],
)
def test_a_proof_has_to_be_the_right_one(
    known: TreeHead, old_size: int, hashes: tuple[bytes, ...]
) -> None:
    """Of the same log, from the size that is known, with as many hashes as that takes."""
    with pytest.raises(TreeError):
        check_extends(known, head(9), old_size, hashes)
