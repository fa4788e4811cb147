"""Canonical bytes: those of RFC 8785, for the values that we let in."""

import hashlib
from typing import Any

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from tallystick.core.canonical import (
    INTEGER_MAX,
    canonical_bytes,
    check_canonical,
    is_plain_key,
    is_unicode,
    sha256_digest,
)
from tallystick.core.errors import NotCanonicalError

keys = st.text(st.characters(min_codepoint=0x20, max_codepoint=0x7E), max_size=8)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
scalars = st.none() | st.booleans() | st.integers(-INTEGER_MAX, INTEGER_MAX) | texts
plain = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4),
    max_leaves=12,
)
outside = st.sampled_from(
    [
        0.0,
        1.5,
        float("nan"),
        INTEGER_MAX + 1,
        -INTEGER_MAX - 1,
        "\ud800",
        "a\udfffb",
        b"bytes",
        {1, 2},
        object,
        {"é": 1},
        {"\x1f": 1},
        {"\x7f": 1},
        {1: 1},
        {None: 1},
    ]
)


@given(plain)
def test_bytes_are_those_of_rfc_8785(value: Any) -> None:
    """Inside the profile the fast serialiser and the reference library agree."""
    check_canonical(value)

    assert canonical_bytes(value) == rfc8785.dumps(value)


@given(outside, st.lists(st.sampled_from(["list", "object", "tuple"]), max_size=3))
def test_what_lies_outside_is_refused_at_any_depth(value: Any, depth: list[str]) -> None:
    """Floats, large integers, other keys, lone surrogates, other types: none has a form."""
    for level in depth:
        wrapped = {"list": [0, value], "object": {"a": 0, "key": value}, "tuple": (value,)}
        value = wrapped[level]

    with pytest.raises(NotCanonicalError) as caught:
        check_canonical(value)

    assert caught.value.code == "not_canonical"


@pytest.mark.parametrize("value", [INTEGER_MAX, -INTEGER_MAX, True, (), {" ~": "\U0010ffff"}])
def test_the_bounds_are_inside(value: Any) -> None:
    """The profile ends after 2^53-1, after the tilde, and at the last code point."""
    assert check_canonical(value) is None  # type: ignore[func-returns-value]


@pytest.mark.parametrize(
    ("key", "is_plain"), [("", True), (" ~", True), ("\t", False), ("\x7f", False), ("ä", False)]
)
def test_a_plain_key_is_printable_ascii(key: str, is_plain: bool) -> None:  # noqa: FBT001
    """Characters U+0020 to U+007E only."""
    assert is_plain_key(key) is is_plain


@pytest.mark.parametrize(("text", "whole"), [("", True), ("\U0001f600", True), ("\ude00", False)])
def test_half_of_a_pair_is_no_unicode(text: str, whole: bool) -> None:  # noqa: FBT001
    """A lone surrogate stands for nothing."""
    assert is_unicode(text) is whole


def test_a_digest_names_its_algorithm() -> None:
    """SHA-256 in lower-case hexadecimal, with its name before it."""
    assert sha256_digest(b"abc") == "sha256:" + hashlib.sha256(b"abc").hexdigest()
