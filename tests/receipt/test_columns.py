"""Text in columns: it fits, it is seen, and two names never look alike."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallystick.receipt.columns import (
    PAGE_COLUMNS,
    Column,
    fit,
    labelled,
    pad,
    table,
    visible,
    visible_json,
    width,
    wrap,
)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("run-7", "run-7"),
        ("a\nb", "a\\u{a}b"),
        ("\x1b[31m", "\\u{1b}[31m"),
        ("a\u202eb", "a\\u{202e}b"),
        ("e\u0301", "e\\u{301}"),
        ("a\\b", "a\\\\b"),
        ("\u00fcber \u6f22", "\u00fcber \u6f22"),
    ],
)
def test_what_cannot_be_seen_is_spelled_out(text: str, shown: str) -> None:
    """Control, format and combining characters become escapes; letters stay."""
    assert visible(text, ascii_only=False) == shown


def test_a_plain_terminal_gets_escapes() -> None:
    """Where only ASCII can be written, letters beyond it are spelled out too."""
    assert visible("\u00fcber", ascii_only=True) == "\\u{fc}ber"


@given(st.text(), st.text(), st.booleans())
def test_two_texts_never_look_alike(one: str, other: str, ascii_only: bool) -> None:  # noqa: FBT001
    """Escapes keep different names different."""
    shown = visible(one, ascii_only=ascii_only), visible(other, ascii_only=ascii_only)

    assert (shown[0] == shown[1]) == (one == other)


def test_only_texts_of_a_value_are_spelled_out() -> None:
    """Numbers, nulls and keys of JSON stay as they are."""
    value = {"a": ["\n", 1, None, True], "b": {"c": "x"}}

    shown = visible_json(value, ascii_only=True)

    assert shown == {"a": ["\\u{a}", 1, None, True], "b": {"c": "x"}}


@given(st.text(), st.integers(0, 30))
def test_a_text_is_cut_until_it_fits(text: str, columns: int) -> None:
    """Whatever the text, it takes no more columns than there are."""
    shown = fit(visible(text, ascii_only=False), columns)

    assert width(shown) <= columns


@given(st.text(), st.integers(1, 30), st.sampled_from(["left", "right"]))
def test_a_padded_text_fills_its_columns(text: str, columns: int, side: str) -> None:
    """Wide characters count for two, so columns stay straight."""
    assert width(pad(visible(text, ascii_only=False), columns, side)) == columns


def test_a_long_id_keeps_both_of_its_ends() -> None:
    """The middle of an id says least."""
    assert fit("GPU-0000000a-1111-4222-8333-00000000000a", 17) == "GPU-000...000000a"


@given(st.lists(st.text(min_size=1), max_size=8), st.integers(4, 20))
def test_words_are_set_into_rows(words: list[str], columns: int) -> None:
    """Every row fits, and no short word is lost."""
    shown = [visible(word, ascii_only=True) for word in words]

    rows = wrap(shown, columns)

    assert all(width(row) <= columns for row in rows)
    assert " ".join(rows) == " ".join(fit(word, columns) for word in shown)


def test_a_label_stands_beside_its_first_row_only() -> None:
    """Later rows of a text are indented under the first."""
    rows = labelled("says", "word " * 30)

    assert rows[0].startswith("  says         word")
    assert rows[1].startswith("               word")
    assert max(map(len, rows)) <= PAGE_COLUMNS


def test_a_label_without_text_has_no_space_behind_it() -> None:
    """Nothing is written as nothing."""
    assert labelled("says", "") == ["  says"]


def test_a_column_is_as_wide_as_it_needs_to_be() -> None:
    """Narrow columns shrink, and wide cells are cut at the column's limit."""
    columns = (Column("id", 8), Column("amount", 10, "right"))

    rows = table(columns, [("a", "1.00"), ("0123456789", "-0.27")])

    assert rows == ["  id        amount", "  a           1.00", "  012...89   -0.27"]
