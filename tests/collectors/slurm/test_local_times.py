"""Rule r7: local times, and the hours that a clock repeats or skips."""

from collections.abc import Callable
from typing import Any

import pytest

Collect = Callable[..., Any]
Table = Callable[..., str]


def chicago(submit: str, start: str, end: str, elapsed: str, **more: str) -> dict[str, str]:
    """Write a row of 2 November 2025, when 01:00 to 02:00 came twice in Chicago."""
    times = {"Submit": submit, "Start": start, "End": end}
    stamped = {k: f"2025-11-02T{v}" if v[0].isdigit() else v for k, v in times.items()}
    return {**stamped, "ElapsedRaw": elapsed, **more}


def test_elapsed_and_suspended_time_decide_together(collect: Collect, table: Table) -> None:
    """r7: 01:40 to 01:50 with 40 minutes run and 30 suspended crosses the fold."""
    row = chicago("00:10:00", "01:40:00", "01:50:00", "2400", Suspended="00:30:00")

    story = collect(table(row), timezone="America/Chicago")

    assert story.times("allocation.started") == {"slurm:c7:1:1762060200": "06:40:00"}
    assert story.times("allocation.ended") == {"slurm:c7:1:1762060200": "07:50:00"}
    assert story.codes == ["suspended_times_unknown"]


def test_the_printed_elapsed_time_serves_without_the_raw_one(
    collect: Collect, table: Table
) -> None:
    """r7: else Elapsed, days included."""
    row = chicago("00:10:00", "01:40:00", "01:50:00", "", Elapsed="1-01:10:00")
    row["End"] = "2025-11-03T01:50:00"

    story = collect(table(row), timezone="America/Chicago")

    assert story.times("allocation.started") == {"slurm:c7:1:1762060200": "06:40:00"}


@pytest.mark.parametrize(
    ("start", "end", "elapsed"),
    [
        ("01:10:00", "01:40:00", "1800"),  # Both hours fit.
        ("01:10:00", "01:40:00", "60"),  # None fits.
        ("01:10:00", "01:40:00", ""),  # Nothing is stated that could decide.
        ("01:10:00", "Unknown", "1800"),  # It still runs, so nothing decides either.
    ],
)
def test_what_nothing_decides_is_absent(
    collect: Collect, table: Table, start: str, end: str, elapsed: str
) -> None:
    """r7: start and end are withheld with one finding, and the row stays."""
    story = collect(table(chicago("00:10:00", start, end, elapsed)), timezone="America/Chicago")

    assert (story.kinds, story.codes) == (["row"], ["ambiguous_time"])


def test_an_ambiguous_submit_time_is_decided_by_the_start(collect: Collect, table: Table) -> None:
    """r7: it cannot lie after the start, so 01:50 before a 01:10 is the first one."""
    row = chicago("01:50:00", "01:10:00", "03:10:00", "7200")

    story = collect(table(row), timezone="America/Chicago")

    assert story.times("allocation.started") == {"slurm:c7:1:1762066200": "07:10:00"}


@pytest.mark.parametrize(
    "row",
    [
        chicago("01:10:00", "03:00:00", "04:00:00", "3600"),
        chicago("01:10:00", "Unknown", "Unknown", "0", State="PENDING"),
        chicago("01:10:00", "01:20:00", "01:30:00", "600"),
        chicago("01:10:00", "03:00:00", "04:00:00", "60"),
    ],
)
def test_a_row_whose_submit_time_stays_ambiguous_is_bad(
    collect: Collect, table: Table, row: dict[str, str]
) -> None:
    """r7: without a submit time the attempt has no key."""
    story = collect(table(row), timezone="America/Chicago")

    assert (story.codes, story.records) == (["bad_row"], [])


def test_times_outside_the_fold_are_taken_at_their_word(collect: Collect, table: Table) -> None:
    """r7 looks at repeated hours only: a wrong elapsed time elsewhere decides nothing."""
    row = {"Submit": "2026-06-01T00:00:00", "Start": "2026-06-01T01:00:00"}
    row |= {"End": "2026-06-01T02:00:00", "ElapsedRaw": "5"}

    story = collect(table(row), timezone="America/Chicago")

    assert (story.kinds, story.codes) == (["row", "started", "ended"], [])


@pytest.mark.parametrize("offset", ["-0500", "-05:00"])
def test_a_stated_offset_leaves_nothing_to_decide(
    collect: Collect, table: Table, offset: str
) -> None:
    """A time with its offset is one moment, whatever the zone."""
    row = chicago("01:10:00", f"01:40:00{offset}", f"01:50:00{offset}", "600")
    row["Submit"] += offset

    story = collect(table(row), timezone="America/Chicago")

    assert story.times("allocation.ended") == {"slurm:c7:1:1762063800": "06:50:00"}


@pytest.mark.parametrize("name", ["Submit", "Start", "End"])
@pytest.mark.parametrize(
    "text",
    [
        "2026-03-08T02:30:00",  # Skipped in Chicago.
        "2026-02-30T00:00:00",
        "2026-02-03T24:00:00",
        "2026-02-03T00:00:60",
        "2026-02-03T00:00:00-0",
        "yesterday",
        "1770000000.5",
        "-5",
        "999999999999",
        "9" * 5000,
    ],
)
def test_a_time_that_does_not_exist_makes_a_bad_row(
    collect: Collect, table: Table, name: str, text: str
) -> None:
    """Skipped hours, impossible days, cut offsets and numbers beyond the calendar."""
    story = collect(table({name: text}), timezone="America/Chicago")

    assert (story.codes, story.records) == (["bad_row"], [])


def test_a_clock_that_goes_back_half_an_hour_is_read_too(collect: Collect, table: Table) -> None:
    """Lord Howe repeats 30 minutes: 01:45 to 01:40 with 25 minutes run."""
    row = {"Submit": "2026-04-05T01:00:00", "Start": "2026-04-05T01:45:00"}
    row |= {"End": "2026-04-05T01:40:00", "ElapsedRaw": "1500"}

    story = collect(table(row), timezone="Australia/Lord_Howe")

    assert story.times("allocation.started") == {"slurm:c7:1:1775311200": "14:45:00"}
    assert story.times("allocation.ended") == {"slurm:c7:1:1775311200": "15:10:00"}
