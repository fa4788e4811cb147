"""What a dropped segment said, written down and read back: the same to the microsecond."""

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallystick.core.canonical import check_canonical
from tallystick.evidence.bodies import SegmentDropped
from tallystick.evidence.codec import read_line
from tallystick.evidence.leaf import LOG_PRODUCER
from tallystick.timeline.dropped import condense, restored, said_by_segment
from tallystick.timeline.episodes import REACH_MAX_US
from tallystick.timeline.seen import Seen
from tallystick.timeline.segments import Answer, Found, Scanned, SegmentStatus, SeriesWindow
from tests.evidence.records import Json, as_line, ended, moment_us, record, started
from tests.timeline.segment_samples import Drawn, rows_of, segment, sha256

DAY_US = moment_us("00:00")
CALENDAR_US = (-62_135_596_800_000_000, 253_402_300_799_999_999)
WINDOW = SeriesWindow("g1", "m", 60, DAY_US, DAY_US + 10, 150)
NOTHING = Found((), (), has_impossible=False)
HOUR = (started(), ended())


def drop(body: dict[str, Any], *, producer: str = LOG_PRODUCER) -> Json:
    """Have the log say that a segment was dropped."""
    return record("telemetry.dropped", "20:00", body, producer=producer)


def read_back(bodies: Iterable[dict[str, Any]], *windows: SeriesWindow) -> Answer:
    """Write bodies as lines of evidence, read them, and restore what they hold of windows."""
    records = []
    for body in bodies:
        read = read_line(as_line(drop(body)))
        assert isinstance(read.body, SegmentDropped)
        records.append(Seen(0, read.digest, read.body))
    return restored(records, windows)


times = st.integers(*CALENDAR_US)
windows = st.builds(
    lambda gpu, metric, cadence_us, bounds, reach_us: SeriesWindow(
        gpu, metric, cadence_us, min(bounds), max(bounds), reach_us
    ),
    st.sampled_from(["g1", "g2"]),
    st.text(st.characters(codec="utf-8"), max_size=3),
    st.integers(-(2**53) + 1, 2**53 - 1),
    st.tuples(times, times),
    st.integers(0, REACH_MAX_US),
)
founds = st.builds(
    lambda pairs, blank_us, has_impossible: Found(
        tuple((min(pair), max(pair)) for pair in pairs), tuple(sorted(blank_us)), has_impossible
    ),
    st.lists(st.tuples(times, times), max_size=3),
    st.sets(times, max_size=3),
    st.booleans(),
)


@given(st.dictionaries(windows, founds, max_size=5), st.integers(1, 60))
def test_what_was_written_down_is_read_back_whole(
    said: dict[SeriesWindow, Found], moments_max: int
) -> None:
    """Every window, in however many records, within what JSON carries exactly."""
    bodies = condense("sha256:00", "policy", said, moments_max=moments_max)

    for body in bodies:
        check_canonical(body)
    assert read_back(bodies, *said).found == said


def test_a_body_reads_like_this() -> None:
    """Times are text, a reach is a decimal string, and the windows are in order."""
    found = Found(((DAY_US, DAY_US + 5),), (DAY_US + 7,), has_impossible=True)

    (body,) = condense("sha256:00", "keep 90 days", {WINDOW: found})

    assert body == {
        "segment": "sha256:00",
        "policy": "keep 90 days",
        "windows": [
            {
                "gpu": "g1",
                "metric": "m",
                "cadence_us": 60,
                "start": "2026-03-01T00:00:00.000000Z",
                "end": "2026-03-01T00:00:00.000010Z",
                "reach_us": "150",
                "episodes": [["2026-03-01T00:00:00.000000Z", "2026-03-01T00:00:00.000005Z"]],
                "blank": ["2026-03-01T00:00:00.000007Z"],
                "impossible": True,
            }
        ],
    }


def test_a_segment_that_was_asked_nothing_is_dropped_by_one_record() -> None:
    """That it is gone has to be said all the same."""
    assert [body["windows"] for body in condense("sha256:00", "policy", {})] == [[]]


def test_windows_are_dealt_out_and_never_divided() -> None:
    """A record holds as many as fit, and at least one."""
    long = Found((), tuple(range(DAY_US, DAY_US + 50)), has_impossible=False)
    said = {WINDOW._replace(gpu=gpu): long if gpu == "b" else NOTHING for gpu in "abcd"}

    bodies = condense("sha256:00", "policy", said, moments_max=24)

    assert [[window["gpu"] for window in body["windows"]] for body in bodies] == [
        ["a"],
        ["b"],
        ["c", "d"],
    ]


@pytest.mark.parametrize(
    "other",
    [
        {"gpu": "g2"},
        {"metric": "n"},
        {"cadence_us": 61},
        {"start_us": DAY_US + 1},
        {"end_us": DAY_US + 11},
        {"reach_us": 151},
    ],
    ids=lambda change: next(iter(change)),
)
def test_another_window_was_not_recorded(other: dict[str, Any]) -> None:
    """What was asked is what was kept, and nothing is derived from it."""
    bodies = condense("sha256:00", "policy", {WINDOW: NOTHING})

    answer = read_back(bodies, WINDOW, WINDOW._replace(**other))

    assert answer.status is SegmentStatus.DROPPED
    assert answer.found == {WINDOW: NOTHING}


def test_of_two_records_of_a_window_the_first_counts() -> None:
    """And only what counts is named as evidence (rule 7)."""
    other = NOTHING._replace(has_impossible=True)
    bodies = [
        *condense("sha256:00", "first", {WINDOW: NOTHING}),
        *condense("sha256:00", "second", {WINDOW: other}),
    ]

    answer = read_back(bodies, WINDOW)

    assert answer.found == {WINDOW: NOTHING}
    assert answer.kept_by == (read_line(as_line(drop(bodies[0]))).digest,)


def test_all_records_of_a_segment_tell_what_it_said() -> None:
    """Two metrics may have been kept in one file; segments of other names are left out."""
    one, two = segment("a", rows_of("00:10")), segment("a", rows_of("00:10"), metric="power")
    drawn = Drawn(*HOUR, one, two, segment("b", rows_of("00:20")))
    answers = drawn.read({"a": rows_of("00:10"), "b": rows_of("00:20")})

    said = said_by_segment(sha256("a"), drawn.telemetry.catalogue, Scanned(answers))

    assert sorted(window.metric for window in said) == ["power", "sm_util"]
    assert said_by_segment("elsewhere", drawn.telemetry.catalogue, Scanned(answers)) == {}
    assert said_by_segment(sha256("a"), drawn.telemetry.catalogue, Scanned({})) == {}


@pytest.mark.parametrize(("producer", "known"), [(LOG_PRODUCER, 1), ("p", 0)])
def test_only_the_log_says_what_was_dropped(producer: str, known: int) -> None:
    """Whoever else could say so would replace samples by words."""
    (body,) = condense(sha256("a"), "policy", {})

    telemetry = Drawn(*HOUR, drop(body, producer=producer)).telemetry

    assert len(telemetry.catalogue.dropped) == known


def test_the_record_that_kept_a_window_is_evidence_of_coverage() -> None:
    """It stands for the samples, beside the record of the segment."""
    rows = rows_of("00:10 00:11")
    drawn = Drawn(*HOUR, segment("a", rows))
    (answer,) = drawn.read({"a": rows}).values()
    (body,) = condense(sha256("a"), "policy", answer.found)
    after = Drawn(*HOUR, segment("a", rows), drop(body))
    (asked,) = after.asked()
    kept = restored(after.telemetry.catalogue.dropped[sha256("a")[7:]], asked.windows)

    (run,) = after.draw({asked.segment.digest: kept})

    named = {each.digest for each in after.grouping.devices}
    assert set(run.attempts[0].coverage[0].digests) == named
