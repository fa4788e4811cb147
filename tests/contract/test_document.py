"""Bytes that are no contract at all."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallystick.contract.document import CONTRACT_BYTES_MAX
from tallystick.contract.errors import BadContractError
from tallystick.contract.parse import parse_contract


@pytest.mark.parametrize(
    ("data", "line"),
    [
        (b"", None),
        (b"\n\n= 1", 3),
        (b'id = "a"\nid = "b"', 2),
        (b"id = 1\n\x00", 2),
        (b"id = 'a'\nx = '\xff'", 2),
        (b"\xef\xbb\xbfid = 'a'", 1),
        (b"\nx = [", 2),
        (b"x = " + b"[" * 5000, None),
        (b"x = " + b"9" * 5000, None),
        (b"a." * 200_000 + b"a = 1", None),
        (b"['a'" + b" . 'a'" * 100_000 + b"]", None),
        (b"x = 2026-02-30T00:00:00Z", 1),
        (b"#" * (CONTRACT_BYTES_MAX + 1), None),
    ],
    ids=lambda value: repr(value)[:30],
)
def test_what_is_no_toml_is_refused_with_its_line(data: bytes, line: int | None) -> None:
    """The first place that is no UTF-8 or no TOML is named, if there is one."""
    with pytest.raises(BadContractError) as raised:
        parse_contract(data)

    assert raised.value.mistakes[0].line == line


@given(st.binary(max_size=200) | st.text(max_size=200).map(str.encode))
def test_no_bytes_crash_the_reader(data: bytes) -> None:
    """Whatever the file holds, the answer is a contract or its mistakes."""
    with pytest.raises(BadContractError):
        parse_contract(data)
