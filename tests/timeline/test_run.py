"""Findings about a run as a whole, and lanes that share an attempt out (rules 16, 17, 20)."""

import pytest

from tests.evidence.records import Json, ended, of, samples, started, step
from tests.timeline.timelines import codes_of, draw


@pytest.mark.parametrize(
    ("segment", "missed"),
    [
        (samples("g1", "00:10", "00:20"), True),
        (samples("g9 g1", "23:00", "23:30"), False),
        (samples("g1", "01:00", "02:00"), False),
        (samples("g1", "00:59:59", "02:00"), True),
        (samples("g9", "00:10", "00:20"), False),
        (samples("", "00:10", "00:20"), False),
        (samples("g1", "00:00", "00:00"), True),
        (samples("g1", "01:00", "01:00"), False),
    ],
)
def test_a_segment_that_was_not_read_is_a_finding(segment: Json, missed: bool) -> None:  # noqa: FBT001
    """It names a GPU of the run, and its time overlaps an attempt (rule 20)."""
    expected = [("segment_not_read", None)] if missed else []

    assert codes_of(started(), ended(), segment) == expected


def test_a_segment_is_told_once_a_run() -> None:
    """Several segments and several attempts are one finding (rule 20)."""
    records = (
        *(started(), ended(), *of("b", started("02:00"), ended("03:00"))),
        *(samples("g1", "00:10", "00:20"), samples("g1", "02:10", "02:20")),
    )

    assert [each.code for each in draw(*records).findings] == ["segment_not_read"]


def test_events_outside_are_told_once_an_attempt() -> None:
    """However many they are (rule 16)."""
    records = (started(), ended(), step("02:00", 1), step("03:00", 2))

    assert [each.code for each in draw(*records).findings] == ["event_outside_attempt"]


@pytest.mark.parametrize(
    ("times", "outside"),
    [
        (["00:10", "00:30", "01:00"], False),
        (["00:10", "00:30", "01:00:00.000001"], True),
        (["00:09:59.999999", "00:30", "01:00"], True),
    ],
)
def test_one_event_outside_is_enough(times: list[str], outside: bool) -> None:  # noqa: FBT001
    """Start and end are inside, whatever lies between them (rule 16)."""
    steps = [step(at, number) for number, at in enumerate(times)]

    found = codes_of(started("00:10"), *steps, ended())

    assert found == ([("event_outside_attempt", "a")] if outside else [])
