"""The one text form of a time (rule 5)."""

from calendar import isleap
from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallystick.core.errors import BadInstantError
from tallystick.core.instant import (
    DAY_US,
    HOUR_US,
    are_instants,
    format_instant,
    parse_instant,
)

FIRST_US = parse_instant("0001-01-01T00:00:00.000000Z")
LAST_US = parse_instant("9999-12-31T23:59:59.999999Z")
A_TEXT = st.one_of(
    st.integers(FIRST_US, LAST_US).map(format_instant),
    st.sampled_from(
        [
            *("", "Z", "\n", "2026-01-01", "T00:00:00.000000Z", "2026-02-29T00:00:00.000000Z"),
            "2026-01-01T00:00:00.000000Z\n2026-01-01T00:00:00.000000Z",
            *("2026-01-01T00:00:00.000000Z\n", "\n2026-01-01T00:00:00.000000Z"),
            *("2026-01-01T00:00:00.00000", "0Z2026-01-01T00:00:00.000000Z"),
        ]
    ),
)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@given(st.integers(FIRST_US, LAST_US))
def test_a_moment_is_written_and_read_back(at_us: int) -> None:
    """Every microsecond of the calendar has one text, which names it."""
    text = format_instant(at_us)

    assert parse_instant(text) == at_us
    moment = EPOCH + timedelta(microseconds=at_us)
    assert text == moment.replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def test_the_epoch_is_zero() -> None:
    """Time is counted from the Unix epoch."""
    assert parse_instant("1970-01-01T00:00:00.000000Z") == 0


def test_a_moment_before_the_epoch_is_negative() -> None:
    """The last microsecond of 1969 is -1."""
    assert parse_instant("1969-12-31T23:59:59.999999Z") == -1


def test_february_has_a_29th_in_leap_years_only() -> None:
    """2024-02-29 is the day before 2024-03-01."""
    leap_day_us = parse_instant("2024-02-29T12:00:00.000000Z")

    assert leap_day_us + DAY_US - 12 * HOUR_US == parse_instant("2024-03-01T00:00:00.000000Z")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2026-01-01",
        "2026-01-01T00:00:00Z",
        "2026-01-01T00:00:00.000Z",
        "2026-01-01T00:00:00.0000000Z",
        "2026-01-01T00:00:00,000000Z",
        "2026-01-01T00:00:00.000000",
        "2026-01-01T00:00:00.000000z",
        "2026-01-01t00:00:00.000000Z",
        "2026-01-01 00:00:00.000000Z",
        "2026-01-01T00:00:00.000000+00:00",
        "2026-01-01T24:00:00.000000Z",
        "2026-01-01T23:60:00.000000Z",
        "2016-12-31T23:59:60.000000Z",
        "2026-02-29T00:00:00.000000Z",
        "2026-13-01T00:00:00.000000Z",
        "2026-00-01T00:00:00.000000Z",
        "2026-01-00T00:00:00.000000Z",
        "0000-01-01T00:00:00.000000Z",
        "-2026-01-01T00:00:00.000000Z",
        "+2026-01-01T00:00:00.000000Z",
        "2026-1-1T00:00:00.000000Z",
        " 2026-01-01T00:00:00.000000Z",
        "2026-01-01T00:00:00.000000Z ",
        "2026-01-01T00:00:00.000000Z\n",
        "２026-01-01T00:00:00.000000Z",  # noqa: RUF001 (a digit that is not ASCII)
        "2026-W01-1T00:00:00.000000Z",
    ],
)
def test_any_other_form_is_refused(text: str) -> None:
    """Six fractional digits, upper case, Z, and a moment that the calendar has."""
    with pytest.raises(BadInstantError):
        parse_instant(text)


def is_instant(text: str) -> bool:
    """Tell whether a text can be read."""
    try:
        parse_instant(text)
    except BadInstantError:
        return False
    return True


@pytest.mark.parametrize("year", [1, 4, 100, 400, 1900, 2000, 2023, 2024, 2100, 9999])
def test_a_year_has_the_days_of_the_calendar(year: int) -> None:
    """Each day that some month has, and no other."""
    texts = [f"{year:04}-{month:02}-{day:02}" for month in range(14) for day in range(33)]
    first = date(year, 1, 1).toordinal()
    days = {str(date.fromordinal(first + place)) for place in range(365 + isleap(year))}

    assert {text for text in texts if is_instant(f"{text}T00:00:00.000000Z")} == days


@given(st.lists(A_TEXT, min_size=1, max_size=5))
def test_texts_are_instants_if_each_is_one(texts: list[str]) -> None:
    """However they might be cut when they are looked at together."""
    assert are_instants(texts) == all(map(is_instant, texts))


@given(
    st.integers(FIRST_US, LAST_US), st.integers(0, 26), st.characters() | st.sampled_from("0123456")
)
def test_no_two_texts_name_one_moment(at_us: int, place: int, character: str) -> None:
    """A time with one character changed is another moment or is refused."""
    text = format_instant(at_us)
    changed = text[:place] + character + text[place + 1 :]

    try:
        read = format_instant(parse_instant(changed))
    except BadInstantError as error:
        read = error.args[0]

    assert read == changed
