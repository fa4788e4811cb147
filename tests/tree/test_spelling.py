"""Numbers and bytes as text: each value has one spelling."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallystick.tree.spelling import base64_text, parse_base64, parse_decimal


@given(st.binary(max_size=80))
def test_bytes_read_back(value: bytes) -> None:
    """Base64 gives the bytes that it was written from."""
    assert parse_base64(base64_text(value)) == value


@given(st.text(alphabet="AQIDgw+/=-_ \n\u00e9", max_size=12))
def test_what_is_read_is_written_the_same(text: str) -> None:
    """No second spelling of any bytes is read."""
    value = parse_base64(text)

    assert value is None or base64_text(value) == text


@pytest.mark.parametrize("text", ["A", "AA", "AA=", "AB==", "AA==\n", " AA==", "-_==", "AA==AA=="])
def test_another_spelling_of_base64_is_refused(text: str) -> None:
    """Padding, its bits and the alphabet are exact, and nothing stands around it."""
    assert parse_base64(text) is None


@given(st.integers(0, 10**19 - 1))
def test_numbers_read_back(value: int) -> None:
    """A decimal number gives the number that it was written from."""
    assert parse_decimal(str(value)) == value


@pytest.mark.parametrize(
    "text", ["", "00", "01", "-1", "+1", "1 ", "1_0", "\u0661", "1" * 20, "1\n"]
)
def test_another_spelling_of_a_number_is_refused(text: str) -> None:
    """No sign, leading zero, separator, other digits or more than 19 of them."""
    assert parse_decimal(text) is None
