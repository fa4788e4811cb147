"""Inline points and segments of one series are one (rule 22), in any split."""

from collections import defaultdict
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallystick.core.instant import format_instant
from tallystick.timeline.coverage import GpuCoverage
from tests.evidence.records import Json, clock, ended, minutes, moment_us, points, record, started
from tests.timeline.segment_samples import Drawn, instant, rows_of, segment
from tests.timeline.timelines import codes

HOUR = (started(), ended())


def coverage_of(drawn: Drawn, answers: object) -> list[GpuCoverage]:
    """Give the coverage of all attempts, apart from which records decided."""
    runs = drawn.draw(answers)  # type: ignore[arg-type]
    return [
        gpu._replace(digests=())
        for run in runs
        for attempt in run.attempts
        for gpu in attempt.coverage
    ]


def gaps_with(drawn: Drawn, rows: dict[str, str]) -> list[str]:
    """Give the gaps of the first GPU once segments were read: ``00:10-00:20 blank``."""
    answers = drawn.read({name: rows_of(times) for name, times in rows.items()})
    covered = coverage_of(drawn, answers)[0]
    return [
        f"{clock(format_instant(start_us))}-{clock(format_instant(end_us))} {reason}"
        for start_us, end_us, reason in covered.gaps
    ]


def test_a_segment_alone_observes_like_points() -> None:
    """Samples that stand elsewhere are samples."""
    times = minutes("00:00", "00:59")

    assert gaps_with(Drawn(*HOUR, segment("a", rows_of(times))), {"a": times}) == []


@pytest.mark.parametrize(
    ("inline", "one", "two"),
    [
        ("00:00 00:02:30", "00:05 00:07", minutes("00:09", "00:59")),
        ("00:02 00:06", "00:00 00:04 00:08", minutes("00:10", "00:59")),
        ("00:30", minutes("00:00", "00:29"), minutes("00:31", "00:59")),
    ],
    ids=["in turn", "interleaved", "bridge"],
)
def test_parts_of_a_series_bridge_each_other(inline: str, one: str, two: str) -> None:
    """Neighbours are those of the whole series, wherever each of them stands (rule 22)."""
    segments = segment("a", rows_of(one)), segment("b", rows_of(two))

    assert gaps_with(Drawn(*HOUR, points(inline), *segments), {"a": one, "b": two}) == []


@pytest.mark.parametrize("other", [{"metric": "power"}, {"cadence_s": 61}])
def test_segments_of_another_series_bridge_nothing(other: dict[str, int | str]) -> None:
    """Another metric or cadence is another series (rule 22)."""
    one, two = minutes("00:00", "00:10"), minutes("00:12", "00:59")
    apart = segment("b", rows_of(two), **other)  # type: ignore[arg-type]

    gaps = gaps_with(Drawn(*HOUR, segment("a", rows_of(one)), apart), {"a": one, "b": two})

    assert gaps == ["00:10-00:12 unexplained"]


def test_samples_just_outside_count_as_they_do_inline() -> None:
    """A segment that only lies within reach can bracket an attempt (rule 24)."""
    short = (started("00:10"), ended("00:11"))
    drawn = Drawn(*short, segment("a", rows_of("00:09")), segment("b", rows_of("00:11:30")))

    assert gaps_with(drawn, {"a": "00:09", "b": "00:11:30"}) == []


@pytest.mark.parametrize(
    ("inline", "times", "gaps"),
    [
        ("00:10", "00:30=null", ["00:00-00:10 late_watch", "00:10-01:00 blank"]),
        ("00:10 00:30=null", "00:30", ["00:00-00:10 late_watch", "00:10-00:30 unexplained"]),
        ("00:10 00:30", "00:30=null", ["00:00-00:10 late_watch", "00:10-00:30 unexplained"]),
        ("00:10=null", "00:30=150", ["00:00-01:00 blank"]),
        ("00:10=null", "00:30", ["00:00-00:30 blank", "00:30-01:00 lost_tail"]),
    ],
    ids=["blank in the segment", "valid in the segment", "valid inline", "both", "blank inline"],
)
def test_a_blank_counts_where_no_part_has_a_value(inline: str, times: str, gaps: list[str]) -> None:
    """A valid sample at the same time, wherever it stands, leaves no blank (rule 26)."""
    drawn = Drawn(*HOUR, points(inline), segment("a", rows_of(times)))

    assert gaps_with(drawn, {"a": times})[: len(gaps)] == gaps


def test_a_blank_beside_a_value_of_another_series_is_none() -> None:
    """As with points, any series of the GPU will do (rule 26)."""
    drawn = Drawn(
        *HOUR,
        segment("a", rows_of("00:30=null")),
        segment("b", rows_of("00:30"), metric="power"),
    )

    gaps = gaps_with(drawn, {"a": "00:30=null", "b": "00:30"})

    assert gaps == ["00:00-00:30 late_watch", "00:30-01:00 lost_tail"]


@pytest.mark.parametrize(("at", "found"), [("00:30", True), ("01:00", False)])
def test_an_impossible_value_in_a_segment_is_a_finding(at: str, found: bool) -> None:  # noqa: FBT001
    """Of the attempt in which it lies, as with points (rule 21)."""
    times = f"{minutes('00:00', '00:59')} {at}=150"
    drawn = Drawn(*HOUR, segment("a", rows_of(times)))

    (run,) = drawn.draw(drawn.read({"a": rows_of(times)}))

    assert codes(run.findings) == ([("impossible_value", "a")] if found else [])


def test_the_record_of_a_segment_is_evidence_of_coverage() -> None:
    """It decided, and so it is named beside the points that did."""
    drawn = Drawn(*HOUR, points("00:10"), segment("a", rows_of("00:20")))

    (run,) = drawn.draw(drawn.read({"a": rows_of("00:20")}))

    named = {each.digest for each in drawn.grouping.devices}
    assert set(run.attempts[0].coverage[0].digests) == named


def test_a_segment_that_was_not_read_changes_nothing() -> None:
    """Without a store, coverage is that of the points alone (rule 20)."""
    alone = Drawn(*HOUR, points("00:10 00:11"))
    drawn = Drawn(*HOUR, points("00:10 00:11"), segment("a", rows_of("00:20")))

    assert coverage_of(drawn, None) == coverage_of(alone, None)


values = st.sampled_from(["50", "50", "50", None, "150", "2147483648"])
samples = st.lists(
    st.tuples(
        st.sampled_from(["g1", "g2"]),
        st.integers(0, 90),
        values,
        st.sampled_from([("sm_util", 4), ("power", 4), ("sm_util", 7), ("sm_util", 0)]),
        st.integers(0, 3),
    ),
    max_size=60,
)


@given(samples, st.integers(20, 50), st.integers(1, 30), st.sampled_from(["5/2", "1", "1/3"]))
def test_any_split_over_segments_and_points_gives_the_same(
    told: list[tuple[str, int, str | None, tuple[str, int], int]],
    start_s: int,
    length_s: int,
    gap_factor: str,
) -> None:
    """Part 0 stands inline, the others in segments of their own."""
    held = tuple(f"02:{at // 60:02}:{at % 60:02}" for at in (start_s, start_s + length_s))
    attempt = (started(held[0], gpus="g1 g2"), ended(held[1]))
    parts: dict[tuple[str, tuple[str, int]], list[tuple[str, int, str | None]]] = defaultdict(list)
    every: list[Json] = []
    inline: list[Json] = []
    for gpu, at_s, value, series, part in told:
        row = (gpu, moment_us("02:00") + at_s * 1_000_000, value)
        every.append(_point(row, series))
        if part:
            parts[f"{part}{series[0]}{series[1]}", series].append(row)
        else:
            inline.append(every[-1])
    segments = [
        segment(name, rows, metric=metric, cadence_s=cadence_s)
        for (name, (metric, cadence_s)), rows in parts.items()
    ]
    drawn = Drawn(*attempt, *inline, *segments, gap_factor=Fraction(gap_factor))

    found = coverage_of(drawn, drawn.read({name: rows for (name, _), rows in parts.items()}))

    whole = Drawn(*attempt, *every, gap_factor=Fraction(gap_factor))
    assert found == coverage_of(whole, None)


def _point(row: tuple[str, int, str | None], series: tuple[str, int]) -> Json:
    gpu, at_us, value = row
    body: Json = {"gpu": gpu, "metric": series[0], "cadence_us": series[1] * 1_000_000}
    return record("telemetry.points", None, body | {"points": [[instant(at_us), value]]})
