"""Times that people and other programs wrote, with any offset and up to six places."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallystick.core.errors import BadInstantError
from tallystick.core.instant import format_instant, parse_instant, parse_rfc3339

EXPECTED = parse_instant("2026-02-02T04:15:07.500000Z")


@pytest.mark.parametrize(
    "text",
    [
        "2026-02-02T04:15:07.5Z",
        "2026-02-02T04:15:07.500000Z",
        "2026-02-02t04:15:07.50z",
        "2026-02-02T05:15:07.5+01:00",
        "2026-02-01T22:45:07.5-05:30",
        "2026-02-02T04:15:07.5-00:00",
    ],
)
def test_one_moment_has_many_texts(text: str) -> None:
    """Fraction, case and offset are a matter of form."""
    assert parse_rfc3339(text) == EXPECTED


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2026-02-02",
        "2026-02-02T04:15:07",
        "2026-02-02 04:15:07Z",
        "2026-02-02T04:15Z",
        "2026-02-02T04:15:07.Z",
        "2026-02-02T04:15:07.1234567Z",
        "2026-02-02T04:15:60Z",
        "2026-02-02T24:00:00Z",
        "2026-02-30T04:15:07Z",
        "2026-02-02T04:15:07+0100",
        "2026-02-02T04:15:07+24:00",
        "0001-01-01T00:00:00+01:00",
        "9999-12-31T23:59:59-01:00",
        "２026-02-02T04:15:07Z",  # noqa: RUF001 (a digit that is not ASCII)
        "1770000000",
    ],
)
def test_what_is_no_moment_is_refused(text: str) -> None:
    """Without zone, beyond six places or outside the calendar there is no moment."""
    with pytest.raises(BadInstantError):
        parse_rfc3339(text)


@given(st.integers(min_value=-62135596800000000, max_value=253402300799999999))
def test_our_own_text_form_is_read_back(at_us: int) -> None:
    """Every moment that can be written is read as itself."""
    assert parse_rfc3339(format_instant(at_us)) == at_us
