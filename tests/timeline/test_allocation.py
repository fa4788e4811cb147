"""The first lane: held, suspended, or under notice (rules 30 to 32)."""

import pytest

from tests.evidence.records import Json, ended, notice, resumed, started, suspended
from tests.timeline.timelines import allocation_of, codes_of


@pytest.mark.parametrize(
    ("events", "lane"),
    [
        ([], "00:00 held 01:00"),
        ([suspended("00:10"), resumed("00:20")], "00:00 held 00:10 suspended 00:20 held 01:00"),
        ([suspended("00:10")], "00:00 held 00:10 suspended 01:00"),
        (
            [suspended("00:10"), suspended("00:15"), resumed("00:20")],
            "00:00 held 00:10 suspended 00:20 held 01:00",
        ),
        (
            [suspended("00:10"), resumed("00:20"), suspended("00:30"), resumed("00:40")],
            "00:00 held 00:10 suspended 00:20 held 00:30 suspended 00:40 held 01:00",
        ),
        ([suspended("00:10"), resumed("00:10")], "00:00 held 01:00"),
        ([suspended("00:00"), resumed("01:00")], "00:00 suspended 01:00"),
        ([suspended("01:00")], "00:00 held 01:00"),
        ([notice("00:50")], "00:00 held 00:50 notice 01:00"),
        ([notice("00:50"), notice("00:40", by="scheduler")], "00:00 held 00:40 notice 01:00"),
        ([notice("00:00")], "00:00 notice 01:00"),
        ([notice("01:00")], "00:00 held 01:00"),
        (
            [notice("00:30"), suspended("00:20"), resumed("00:40")],
            "00:00 held 00:20 suspended 00:40 notice 01:00",
        ),
    ],
)
def test_suspended_goes_before_notice_before_held(events: list[Json], lane: str) -> None:
    """A pause lasts to the next resume or the end, a notice to the end."""
    assert allocation_of(started(), *events, ended()) == lane


def test_events_outside_the_attempt_do_not_draw() -> None:
    """A notice before the start is no notice of this allocation (rules 16 and 32)."""
    records = (
        started("00:10"),
        notice("00:05"),
        suspended("00:05"),
        resumed("01:05"),
        ended("01:00"),
    )

    assert allocation_of(*records) == "00:10 held 01:00"
    assert codes_of(*records) == [("event_outside_attempt", "a")]


def test_a_notice_draws_whoever_ended_the_attempt() -> None:
    """A run that completes under notice was under notice (rule 32)."""
    lane = allocation_of(started(), notice("00:50"), ended(by_whom="completed"))

    assert lane == "00:00 held 00:50 notice 01:00"


@pytest.mark.parametrize(
    ("events", "unpaired"),
    [
        ([resumed("00:10")], True),
        ([resumed("00:10"), suspended("00:20"), resumed("00:30")], True),
        ([suspended("00:10"), resumed("00:20"), resumed("00:30")], True),
        ([suspended("00:10"), resumed("00:10")], False),
        ([suspended("00:10"), suspended("00:15"), resumed("00:20")], False),
    ],
)
def test_a_resume_without_a_pause_is_a_finding(events: list[Json], unpaired: bool) -> None:  # noqa: FBT001
    """It has no other effect; at one moment the pause comes first (rule 31)."""
    expected = [("unpaired_resume", "a")] if unpaired else []

    assert codes_of(started(), *events, ended()) == expected
