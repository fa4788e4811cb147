"""Times of a host's clock, with the hour that is repeated and the one that is skipped."""

from datetime import UTC, datetime
from decimal import Decimal
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallystick.collectors.dcgm.ctime import instants_us, pairs_that_last
from tallystick.core.instant import parse_instant

BERLIN = ZoneInfo("Europe/Berlin")
LORD_HOWE = ZoneInfo("Australia/Lord_Howe")


def at(text: str) -> int:
    """Give microseconds of a UTC time without fraction."""
    return parse_instant(f"{text}.000000Z")


def test_a_day_below_ten_is_padded_with_a_space() -> None:
    """Ctime pads the day with a space."""
    assert instants_us("Mon Feb  2 03:00:00 2026", BERLIN) == (at("2026-02-02T02:00:00"),)


def test_the_repeated_hour_has_two_readings() -> None:
    """In autumn one hour is shown twice."""
    moments = instants_us("Sun Oct 26 02:30:00 2025", BERLIN)

    assert moments == (at("2025-10-26T00:30:00"), at("2025-10-26T01:30:00"))


def test_the_skipped_hour_has_no_reading() -> None:
    """In spring one hour is never shown."""
    assert instants_us("Sun Mar 30 02:30:00 2025", BERLIN) == ()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Still Running",
        "Has Not Started",
        "Mon Feb 30 03:00:00 2026",
        "Mon Foo  2 03:00:00 2026",
        "Mon Feb  2 03:00:60 2026",
        "Mon Feb  2 24:00:00 2026",
        "Mon Feb  2 03:00:00",
        "2026-02-02T03:00:00",
        "Mon Jan  1 00:00:00 0000",
    ],
)
def test_what_is_no_time_has_no_reading(text: str) -> None:
    """A word, a cut text and a time that does not exist have no reading."""
    assert instants_us(text, BERLIN) == ()


def test_the_first_day_of_the_calendar_does_not_overflow() -> None:
    """A time that is before the calendar in UTC has no reading instead of a crash."""
    assert instants_us("Mon Jan  1 00:00:00 0001", BERLIN) == ()


def test_the_duration_decides_a_repeated_hour() -> None:
    """02:40 to 02:20 in forty minutes starts in the first hour and ends in the second."""
    starts = instants_us("Sun Oct 26 02:40:00 2025", BERLIN)
    ends = instants_us("Sun Oct 26 02:20:00 2025", BERLIN)

    pairs = pairs_that_last(starts, ends, Decimal(2400))

    assert pairs == ((at("2025-10-26T00:40:00"), at("2025-10-26T01:20:00")),)


def test_a_fold_of_half_an_hour_is_decided_too() -> None:
    """On Lord Howe Island the clock goes back by thirty minutes only."""
    starts = instants_us("Sun Apr  6 01:10:00 2025", LORD_HOWE)
    ends = instants_us("Sun Apr  6 01:50:00 2025", LORD_HOWE)

    pairs = pairs_that_last(starts, ends, Decimal(4200))

    assert pairs == ((at("2025-04-05T14:10:00"), at("2025-04-05T15:20:00")),)


def test_a_duration_that_fits_two_readings_decides_nothing() -> None:
    """Twenty minutes within the repeated hour may be the first or the second of them."""
    starts = instants_us("Sun Oct 26 02:20:00 2025", BERLIN)
    ends = instants_us("Sun Oct 26 02:40:00 2025", BERLIN)

    pairs = pairs_that_last(starts, ends, Decimal(1200))

    assert len(pairs) == 2


def test_a_repeated_hour_without_duration_is_undecided() -> None:
    """Without a duration no reading is preferred."""
    starts = instants_us("Sun Oct 26 02:20:00 2025", BERLIN)

    pairs = pairs_that_last(starts, (at("2025-10-26T03:00:00"),), None)

    assert len(pairs) == 2


def test_a_fraction_and_six_digits_are_near_enough() -> None:
    """Both ends are cut to seconds and a long duration to six digits: 1.23457e+06 s."""
    starts = instants_us("Sun Oct 12 00:03:13 2025", BERLIN)
    ends = instants_us("Sun Oct 26 02:59:39 2025", BERLIN)

    pairs = pairs_that_last(starts, ends, Decimal("1.22379e+06"))

    assert pairs == ((at("2025-10-11T22:03:13"), at("2025-10-26T01:59:39")),)


@given(st.datetimes(min_value=datetime(1990, 1, 1), max_value=datetime(2035, 1, 1)))  # noqa: DTZ001
def test_what_a_clock_shows_is_read_back(moment: datetime) -> None:
    """Every moment is among the readings of what a clock in Berlin shows then."""
    real = moment.replace(microsecond=0, tzinfo=UTC)
    shown = real.astimezone(BERLIN)

    moments = instants_us(shown.strftime("%a %b %e %H:%M:%S %Y"), BERLIN)

    assert at(real.strftime("%Y-%m-%dT%H:%M:%S")) in moments
