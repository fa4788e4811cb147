"""Escaping: one form for each text, and nothing in it that other programs act on."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallystick.ledger.escape import escape, unescape
from tests.ledger.samples import customers


@given(customers())
def test_an_escaped_text_is_read_back(text: str) -> None:
    """Escaping loses nothing."""
    assert unescape(escape(text)) == text


@given(customers())
def test_an_escaped_text_holds_no_syntax(text: str) -> None:
    """It is ASCII on one line, without colon, semicolon, bracket or two spaces, and trimmed."""
    escaped = escape(text)

    assert re.fullmatch(r"[A-Za-z0-9 %&'()+,./@_-]+", escaped)
    assert "  " not in escaped
    assert escaped == escaped.strip()


@given(st.text(alphabet="aA9%2F0 é", max_size=8))
def test_a_text_has_one_escaped_form(text: str) -> None:
    """What is read at all is the very text that escaping gives."""
    name = unescape(text)

    assert name is None or escape(name) == text


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("Smith & Sons, Inc. (UK)", "Smith & Sons, Inc. (UK)"),
        ("a:b;c%d", "a%3Ab%3Bc%25d"),
        (" a   b ", "%20a %20%20b%20"),
        ("M\u00fcller\n", "M%C3%BCller%0A"),
        ("\u682a", "%E6%A0%AA"),
        ("\ud800", "%ED%A0%80"),
        ("", ""),
    ],
)
def test_how_texts_are_escaped(text: str, escaped: str) -> None:
    """Plain names stay as they are; the rest becomes the bytes of its UTF-8."""
    assert escape(text) == escaped
    assert unescape(escaped) == text


@pytest.mark.parametrize("text", ["a:b", "%3a", "%41", "%FF", "\u00e4", "a  b", " a", "%", "%2"])
def test_what_escaping_never_gives_is_not_read(text: str) -> None:
    """A second spelling of a name is none."""
    assert unescape(text) is None
