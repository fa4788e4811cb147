"""What a run is told of segments that are missing, altered or dropped, or were not read."""

import pytest

from tallystick.timeline.segments import Answer, SegmentStatus
from tests.evidence.records import ended, of, started
from tests.timeline.segment_samples import Drawn, rows_of, segment, sha256

HOUR = (started(), ended())
STATUSES = [SegmentStatus.MISSING, SegmentStatus.ALTERED, SegmentStatus.DROPPED]


def messages(drawn: Drawn, status: SegmentStatus) -> list[tuple[str, str, str | None]]:
    """Give the findings of the first run once all segments are in a state."""
    answers = {asked.segment.digest: Answer(status, {}) for asked in drawn.asked()}
    return [(each.code, each.message, each.attempt) for each in drawn.draw(answers)[0].findings]


def test_a_missing_segment_is_named() -> None:
    """By its hash, which is the same on every machine."""
    found = messages(Drawn(*HOUR, segment("a", rows_of("00:30"))), SegmentStatus.MISSING)

    message = f"samples could not be read: 1 segment is missing, {sha256('a')}"
    assert found == [("segment_missing", message, None)]


def test_an_altered_segment_is_named() -> None:
    """Nothing of it counts, and the run is told."""
    found = messages(Drawn(*HOUR, segment("a", rows_of("00:30"))), SegmentStatus.ALTERED)

    message = f"samples were not used: 1 segment is not as recorded, {sha256('a')}"
    assert found == [("segment_altered", message, None)]


def test_a_dropped_segment_is_named_with_what_was_not_recorded() -> None:
    """An attempt that ended later than when it was dropped is one that it says nothing of."""
    records = (started(gpus="g1 g2"), ended(), *of("b", started("02:00"), ended("03:00")))
    rows = [*rows_of("00:30 02:30", "g1"), *rows_of("00:30", "g2")]

    found = messages(Drawn(*records, segment("a", rows)), SegmentStatus.DROPPED)

    message = (
        f"raw samples are gone: 1 segment was dropped, {sha256('a')}; coverage is what was"
        " recorded of them then, and nothing was recorded for 3 GPUs of attempts as they are now"
    )
    assert found == [("segment_dropped", message, None)]


def test_a_dropped_segment_that_still_tells_says_so() -> None:
    """Raw samples are gone, and coverage is what it was."""
    rows = rows_of("00:30")
    drawn = Drawn(*HOUR, segment("a", rows))
    answers = drawn.read({"a": rows})
    kept = {key: answer._replace(status=SegmentStatus.DROPPED) for key, answer in answers.items()}

    (run,) = drawn.draw(kept)

    assert [(each.code, each.message.endswith("then")) for each in run.findings] == [
        ("segment_dropped", True)
    ]


@pytest.mark.parametrize("status", STATUSES)
def test_several_segments_are_one_finding(status: SegmentStatus) -> None:
    """With their number, and the first three of them by name."""
    names = ["a", "b", "c", "d", "e"]
    drawn = Drawn(*HOUR, *(segment(name, rows_of("00:30")) for name in names))

    ((_, message, _),) = messages(drawn, status)

    assert "5 segments" in message
    assert f"{sha256('a')} {sha256('b')} {sha256('c')} and 2 more" in message


def test_two_records_of_one_segment_count_once() -> None:
    """The segment is missing, not its records."""
    records = (segment("a", rows_of("00:30")), segment("a", rows_of("00:30 00:31")))

    ((_, message, _),) = messages(Drawn(*HOUR, *records), SegmentStatus.MISSING)

    assert "1 segment is missing" in message


def test_a_name_that_is_no_hash_is_quoted() -> None:
    """Whatever a record calls a segment, it stays a text in the message."""
    odd = segment("a", rows_of("00:30"))
    odd["body"]["segment"] = "../\n"

    ((_, message, _),) = messages(Drawn(*HOUR, odd), SegmentStatus.MISSING)

    assert message == r"samples could not be read: 1 segment is missing, '../\n'"


def test_other_runs_are_not_told() -> None:
    """A segment that could not have told of a run is none of its business."""
    other = of("b", started(run="z", gpus="g9"), ended())
    drawn = Drawn(*HOUR, *other, segment("a", rows_of("00:30")))
    answers = {each.segment.digest: Answer(SegmentStatus.MISSING, {}) for each in drawn.asked()}

    told = [[each.code for each in run.findings] for run in drawn.draw(answers)]

    assert told == [["segment_missing"], []]


def test_a_segment_that_only_touches_the_reach_is_told_too() -> None:
    """Its samples could have bracketed the attempt (rule 24)."""
    drawn = Drawn(started("00:10"), ended("00:20"), segment("a", rows_of("00:08")))

    assert [code for code, _, _ in messages(drawn, SegmentStatus.MISSING)] == ["segment_missing"]


def test_a_segment_that_was_read_is_no_finding() -> None:
    """Also if it says nothing of the attempt."""
    rows = rows_of("00:30")
    drawn = Drawn(*HOUR, segment("a", rows))

    (run,) = drawn.draw(drawn.read({"a": rows}))

    assert run.findings == ()


@pytest.mark.parametrize("answers", [{}, "for another run"])
def test_a_question_that_nobody_asked_is_not_an_answer(answers: object) -> None:
    """A scan for one run leaves the segments of others unread, and they say so."""
    rows = rows_of("00:30")
    drawn = Drawn(*HOUR, segment("a", rows))
    read = {key: answer._replace(found={}) for key, answer in drawn.read({"a": rows}).items()}

    (run,) = drawn.draw(read if answers else {})

    assert [each.code for each in run.findings] == ["segment_not_read"]
