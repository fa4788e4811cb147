"""Leaves and proofs as members: each has one spelling."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallystick.evidence.leaf import leaf_bytes
from tallystick.receipt.bundle.contents import (
    LeafProof,
    leaves_before,
    read_consistency,
    read_leaves,
    read_proof,
    write_consistency,
    write_leaves,
    write_proof,
)
from tallystick.receipt.bundle.errors import MalformedMemberError
from tallystick.tree.spelling import base64_text
from tests.evidence import records as r
from tests.receipt.bundle.bundles import record_of, story

LEAVES = story().leaves()
LEAF = LEAVES[1]
HASH = base64_text(bytes(32))
HASHES = st.lists(st.binary(min_size=32, max_size=32), max_size=4).map(tuple)


def refuse(data: bytes) -> MalformedMemberError:
    """Give the error with which the bytes of one leaf are refused."""
    with pytest.raises(MalformedMemberError) as refused:
        read_leaves(data, [7])
    return refused.value


def test_leaves_are_read_as_they_were_written() -> None:
    """Each has its number, its bytes and its record."""
    numbers = range(3, 3 + len(LEAVES))

    found = read_leaves(write_leaves(LEAVES), numbers)

    assert [(each.number, each.data, each.record) for each in found] == [
        (number, leaf, record_of(leaf)) for number, leaf in zip(numbers, LEAVES, strict=True)
    ]


def test_the_leaves_of_a_beginning_are_those_of_lower_numbers() -> None:
    """A size is a number of leaves, so the leaf of that number is not among them."""
    found = read_leaves(write_leaves(LEAVES[:3]), [0, 4, 9])

    assert [each.number for each in leaves_before(found, 4)] == [0]


RECORD = LEAF[10:-42]
UNSORTED = json.dumps(dict(reversed(json.loads(RECORD).items())), separators=(",", ":")).encode()


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "expected 1 lines, got 0"),
        (LEAF, "0 and"),
        (LEAF + b"\n\n", "expected 1 lines, got 2"),
        (b"\n", "leaf 7: not a leaf"),
        (RECORD + b"\n", "leaf 7: not a leaf"),
        (LEAF[:-3] + b'z"}\n', "leaf 7: expected a time"),
        (LEAF[:-3] + b'\xff"}\n', "leaf 7"),
        (LEAF.replace(b"2026", b"2O26") + b"\n", "leaf 7: expected a time"),
        (leaf_bytes(b"{}", 0) + b"\n", "leaf 7: schema"),
        (leaf_bytes(RECORD + b" ", 0) + b"\n", "leaf 7: expected canonical bytes"),
        (leaf_bytes(UNSORTED, 0) + b"\n", "leaf 7: expected canonical bytes"),
        (leaf_bytes(RECORD.replace(b'"kind"', b'"\\u006bind"'), 0) + b"\n", "canonical bytes"),
        (leaf_bytes(b"[" * 10_000, 0) + b"\n", "leaf 7"),
    ],
)  # fmt: skip
def test_a_line_that_is_no_leaf_is_refused(data: bytes, reason: str) -> None:
    """A log writes each leaf in one way; the message names its number."""
    assert reason in str(refuse(data))


def test_a_leaf_may_hold_any_text() -> None:
    """Canonical bytes are UTF-8, and only a control character or a quote is escaped."""
    odd = r.record("x", None, {"text": '\u00e4\U0001f600\x7f\u2028\n"\\ \x00'})
    log = story()
    log.deliver(odd)

    assert len(read_leaves(write_leaves(log.leaves()[-1:]), [7])) == 1


@given(st.lists(st.integers(0, 2**53 - 1), max_size=4).map(tuple), HASHES)
def test_a_proof_is_read_as_it_was_written(
    indices: tuple[int, ...], hashes: tuple[bytes, ...]
) -> None:
    """Reading and writing are inverse."""
    assert read_proof(write_proof(LeafProof(indices, hashes))) == LeafProof(indices, hashes)
    assert read_consistency(write_consistency(hashes)) == hashes


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b"\xff",
        b"[" * 100_000,
        b'{"hashes":[]}',
        b'{"hashes":[],"indices":[1.0]}',
        b'{"hashes":[],"indices":[-1]}',
        b'{"hashes":[],"indices":[9007199254740992]}',
        b'{"hashes":[],"indices":[true]}',
        b'{"hashes":[],"indices":["1"]}',
        b'{"hashes":[],"indices":[],"more":1}',
        b'{"hashes":[],"hashes":[],"indices":[]}',
        b'{"indices":[],"hashes":[]}',
        b'{"hashes":[],"indices":[ ]}',
        b'{"hashes":[],"indices":[]}\n',
        b'{"hashes":["x"],"indices":[]}',
        b'{"hashes":["AA=="],"indices":[]}',
        b'{"hashes":["\\ud800"],"indices":[]}',
        b'{"hashes":["' + HASH.replace("A=", "B=").encode() + b'"],"indices":[]}',
    ],
)
def test_a_proof_has_one_spelling(data: bytes) -> None:
    """What is not the canonical bytes of numbers and hashes is refused."""
    with pytest.raises(MalformedMemberError):
        read_proof(data)


@pytest.mark.parametrize(
    "data", [b"", b"{}", b'{"hashes":[],"indices":[]}', b'{"hashes":["x"]}', b'{"hashes": []}']
)
def test_a_consistency_proof_has_one_spelling(data: bytes) -> None:
    """So is what shows that a log went on."""
    with pytest.raises(MalformedMemberError):
        read_consistency(data)


def test_no_consistency_proof_is_read_as_none() -> None:
    """Whether there has to be one is decided elsewhere."""
    assert read_consistency(None) is None
