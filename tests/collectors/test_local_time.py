"""Local times without an offset: the hour that is repeated and the one that is skipped."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallystick.collectors.local_time import epoch_s, moments_s

BERLIN = ZoneInfo("Europe/Berlin")


@pytest.mark.parametrize(
    ("zone", "shown", "moments"),
    [
        ("UTC", "2026-02-02T02:40:00", (1770000000,)),
        ("Europe/Berlin", "2025-10-26T02:30:00", (1761438600, 1761442200)),
        ("Europe/Berlin", "2025-10-26T03:00:00", (1761444000,)),
        ("Europe/Berlin", "2026-03-29T02:30:00", ()),
        ("Australia/Lord_Howe", "2026-04-05T01:40:00", (1775313600, 1775315400)),
        ("Australia/Lord_Howe", "2026-04-05T01:20:00", (1775312400,)),
        ("Pacific/Apia", "2011-12-30T12:00:00", ()),  # The day that Samoa left out.
    ],
)
def test_a_clock_shows_a_time_never_once_or_twice(
    zone: str, shown: str, moments: tuple[int, ...]
) -> None:
    """Every moment at which the clock showed the time, in order."""
    assert moments_s(datetime.fromisoformat(shown), ZoneInfo(zone)) == moments


@pytest.mark.parametrize("shown", ["0001-01-01T00:00:00", "9999-12-31T23:59:59"])
def test_the_ends_of_the_calendar_do_not_overflow(shown: str) -> None:
    """A time that lies outside the calendar in UTC has no moment instead of a crash."""
    zone = ZoneInfo("Europe/Berlin" if shown < "1" else "America/New_York")

    assert moments_s(datetime.fromisoformat(shown), zone) == ()


@given(st.integers(min_value=631_152_000, max_value=2_051_222_400))
def test_what_a_clock_shows_is_read_back(second: int) -> None:
    """Every moment is among those of what a clock in Berlin shows then."""
    moment = datetime.fromtimestamp(second, UTC)
    shown = moment.astimezone(BERLIN).replace(tzinfo=None, fold=0)

    assert second in moments_s(shown, BERLIN)
    assert epoch_s(moment) == second
