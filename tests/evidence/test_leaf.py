"""Leaves: made once around a record's canonical bytes, and cut open without being read."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallystick.core.canonical import canonical_bytes
from tallystick.core.instant import format_instant
from tallystick.evidence.leaf import (
    BadLeafError,
    identity_key,
    leaf_bytes,
    leaf_record,
    leaf_recorded,
)
from tests.evidence.records import Json, step

STEP = step("00:10", 7)
MOMENTS = st.integers(-62_135_596_800_000_000, 253_402_300_799_999_999)
LEAF = b'{"record":{},"recorded":"2026-03-01T00:00:00.000000Z"}'
A_RECORD = st.dictionaries(
    st.text("abc", max_size=2),
    st.recursive(
        st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text("ab"), inner),
        max_leaves=5,
    ),
    max_size=4,
)


def test_a_leaf_is_a_record_and_its_time() -> None:
    """In this order, without blanks."""
    assert leaf_bytes(b"{}", 1_772_323_200_000_000) == LEAF


@given(one=A_RECORD, at_us=MOMENTS)
def test_a_leaf_is_canonical(one: Json, at_us: int) -> None:
    """As if it had been serialised whole."""
    leaf = leaf_bytes(canonical_bytes(one), at_us)

    assert leaf == canonical_bytes({"record": one, "recorded": format_instant(at_us)})
    assert b"\n" not in leaf


@given(one=A_RECORD, at_us=MOMENTS)
def test_what_went_into_a_leaf_comes_out(one: Json, at_us: int) -> None:
    """Byte for byte."""
    leaf = leaf_bytes(canonical_bytes(one), at_us)

    assert leaf_record(leaf) == canonical_bytes(one)
    assert leaf_recorded(leaf) == format_instant(at_us)


def test_a_record_may_look_like_the_end_of_a_leaf() -> None:
    """The last time of all is that of the leaf."""
    inner = {"recorded": "2026-01-01T00:00:00.000000Z"}

    leaf = leaf_bytes(leaf_bytes(canonical_bytes(inner), 0), 1)

    assert leaf_record(leaf) == leaf_bytes(canonical_bytes(inner), 0)
    assert leaf_recorded(leaf) == format_instant(1)
    assert json.loads(leaf)["record"]["record"] == inner


@pytest.mark.parametrize(
    "other",
    [
        b"",
        b"{}",
        canonical_bytes(STEP),
        LEAF[:-1],
        LEAF[:-1] + b"]",
        LEAF[:-2] + b"0}",
        LEAF[1:],
        LEAF + b"\n",
        b" " + LEAF,
        LEAF.replace(b"record", b"Record", 1),
        LEAF.replace(b"recorded", b"Recorded"),
        LEAF.replace(b"000000Z", b"000Z"),
        LEAF.replace(b'","', b'", "').replace(b',"recorded":', b',"recorded": '),
        b'{"record":,"recorded":"2026-03-01T00:00:00.00000Z"}',
        b'{"recorded":"2026-03-01T00:00:00.000000Z","record":{}}',
        b'{"record":"recorded":"2026-03-01T00:00:00.000000Z"}',
    ],
)
def test_bytes_of_another_shape_are_no_leaf(other: bytes) -> None:
    """A record alone, a leaf cut short, other names, another order, blanks."""
    with pytest.raises(BadLeafError) as refused:
        leaf_record(other)

    assert refused.value.code == "bad_leaf"
    assert str(refused.value).startswith("not a leaf of an evidence log: expected a record")


def test_an_identity_has_16_bytes() -> None:
    """The same for the same producer and id, on any machine."""
    assert identity_key("p", "i").hex() == "f9ddfeb1106676414988131babbcca65"


@given(st.tuples(st.text(), st.text()), st.tuples(st.text(), st.text()))
def test_two_identities_have_two_keys(one: tuple[str, str], other: tuple[str, str]) -> None:
    """Wherever the producer ends and the id begins."""
    assert (identity_key(*one) == identity_key(*other)) == (one == other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("ab", "c"), ("a", "bc")),
        (("", "1:a"), ("1", ":a")),
        (("é", "x"), ("e", "\u0301x")),
        (("1:", ""), ("", "1:")),
        (("a", "A"), ("A", "a")),
    ],
)
def test_names_that_look_alike_have_two_keys(one: tuple[str, str], other: tuple[str, str]) -> None:
    """The length of the producer's name is part of it."""
    assert identity_key(*one) != identity_key(*other)
