"""Times as a program prints them that was run in UTC."""

from datetime import UTC, datetime
from time import asctime, gmtime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallystick.emit.dcgm.printed_time import utc_us


@given(st.integers(min_value=0, max_value=4_000_000_000))
def test_a_time_that_was_printed_is_read(second: int) -> None:
    """For every second, in the form of the C library."""
    assert utc_us(asctime(gmtime(second))) == second * 10**6


def test_a_day_of_one_digit_is_padded() -> None:
    """With a space."""
    expected = datetime(2026, 2, 2, 3, tzinfo=UTC).timestamp() * 10**6

    assert utc_us("Mon Feb  2 03:00:00 2026") == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Still Running",
        "Has Not Started",
        "Mon Feb 30 03:00:00 2026",
        "Mon Foo  2 03:00:00 2026",
    ],
)
def test_what_is_no_time_is_unknown(text: str) -> None:
    """A word, a day that does not exist, a month that does not."""
    assert utc_us(text) is None
