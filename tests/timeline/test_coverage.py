"""The second lane: what of a GPU's time was observed (sections 3 and 5, rules 21 to 29).

With a cadence of a minute and a gap factor of 5/2, samples reach 2 minutes and 30 seconds.
"""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.evidence.records import Json, ended, minutes, moment_us, points, started, watch
from tests.timeline.timelines import codes_of, draw_attempt, gaps_of

HOUR = (started(), ended())
SECOND_US = 1_000_000


def test_steady_samples_observe_everything() -> None:
    """The edge rule reaches from the last sample to the end."""
    assert gaps_of(*HOUR, points(minutes("00:00", "00:59"))) == []


@pytest.mark.parametrize(
    ("times", "gaps"),
    [
        ("00:00 00:02:30", []),
        ("00:00 00:02:30.000001", ["00:00-00:02:30.000001 unexplained"]),
        ("00:02:30", []),
        ("00:02:30.000001", ["00:00-00:02:30.000001 late_watch"]),
    ],
)
def test_what_lies_between_is_observed_if_it_is_short(times: str, gaps: list[str]) -> None:
    """Exactly the reach is short enough, a microsecond more is not (section 5)."""
    assert gaps_of(*HOUR, points(f"{times} 00:04 {minutes('00:06', '00:59')}")) == gaps


@pytest.mark.parametrize(
    ("last", "gaps"), [("00:57:30", []), ("00:57:29.999999", ["00:57:29.999999-01:00 lost_tail"])]
)
def test_the_last_sample_reaches_to_the_end(last: str, gaps: list[str]) -> None:
    """The tail is observed if the end is near enough."""
    assert gaps_of(*HOUR, points(f"{minutes('00:00', '00:56')} {last}")) == gaps


def test_samples_around_an_attempt_bracket_it() -> None:
    """Neighbours just outside both ends observe what lies between them (rule 24)."""
    short = (started("00:10"), ended("00:11"))

    assert gaps_of(*short, points("00:09 00:11:30")) == []


@pytest.mark.parametrize("times", ["00:09", "00:11", "00:09 00:12"])
def test_an_edge_is_reached_from_inside_only(times: str) -> None:
    """A sample before the start, or at the very end, observes nothing by itself (rule 24)."""
    short = (started("00:10"), ended("00:11"))

    assert gaps_of(*short, points(times)) == ["00:10-00:11 no_samples"]


def test_a_lonely_sample_has_a_gap_on_each_side() -> None:
    """It observes a moment, which has no length (rule 24)."""
    gaps = gaps_of(*HOUR, points("00:30"))

    assert gaps == ["00:00-00:30 late_watch", "00:30-01:00 lost_tail"]


def test_a_gap_is_cut_at_every_valid_sample() -> None:
    """Each part is a gap of its own (rule 24)."""
    gaps = gaps_of(*HOUR, points("00:10 00:20"), watch("00:00"))

    assert gaps == ["00:00-00:10 unexplained", "00:10-00:20 unexplained", "00:20-01:00 lost_tail"]


def test_a_sample_at_the_start_or_end_cuts_nothing() -> None:
    """There is no part of no length."""
    assert gaps_of(*HOUR, points("00:00 01:00")) == ["00:00-01:00 lost_tail"]


def test_chunks_of_a_series_are_one_series() -> None:
    """All points of one GPU, metric and cadence go together, over all records (rule 22)."""
    chunks = (points("00:00 00:02:30"), points("00:05 " + minutes("00:06", "00:59")))

    assert gaps_of(*HOUR, *chunks) == []


@pytest.mark.parametrize("other", [{"metric": "power"}, {"cadence_s": 61}])
def test_two_series_do_not_bridge_each_other(other: dict[str, int | str]) -> None:
    """Neighbours are those of one series; another metric or cadence is another (rule 22)."""
    one = points(minutes("00:00", "00:10"))
    two = points(minutes("00:12", "00:59"), **other)  # type: ignore[arg-type]

    assert gaps_of(*HOUR, one, two) == ["00:10-00:12 unexplained"]


def test_coverage_is_the_union_over_series() -> None:
    """All metrics count alike (section 3)."""
    one = points(minutes("00:00", "00:30"))
    two = points(minutes("00:30", "00:59"), metric="power")

    assert gaps_of(*HOUR, one, two) == []


def test_the_cadence_is_the_series_own() -> None:
    """That of a watch is not used (rule 22)."""
    sparse = points("00:00 00:20 00:40", cadence_s=600)

    assert gaps_of(*HOUR, sparse, watch("00:00", cadence_us=1_000_000)) == []


@pytest.mark.parametrize("cadence_s", [0, -60])
def test_a_cadence_of_nothing_reaches_nowhere(cadence_s: int) -> None:
    """Samples of such a series observe their own moments, which have no length."""
    records = (*HOUR, points("00:10 00:20", cadence_s=cadence_s), watch("00:00"))

    assert draw_attempt(*records).coverage[0].observed_us == 0
    assert len(gaps_of(*records)) == 3


def test_a_wider_gap_factor_reaches_farther() -> None:
    """The contract may set it (rule 23)."""
    sparse = (*HOUR, points("00:00 00:20 00:40", cadence_s=300))

    assert gaps_of(*sparse, gap_factor=Fraction(4)) == []
    assert len(gaps_of(*sparse, gap_factor=Fraction(399, 100))) == 3


def test_a_time_counts_if_any_value_at_it_is_valid() -> None:
    """A blank beside a value does not take it away (rule 22)."""
    values = points(minutes("00:00", "00:59") + " 00:30=null 00:31=150")

    assert gaps_of(*HOUR, values) == []


def test_a_sentinel_is_no_sample() -> None:
    """Values that mean "no value" observe nothing (section 5)."""
    blanks = " ".join(f"{at}=2147483632" for at in minutes("00:10", "00:20").split())

    gaps = gaps_of(
        *HOUR, points(f"{minutes('00:00', '00:09')} {blanks} {minutes('00:21', '00:59')}")
    )

    assert gaps == ["00:09-00:21 blank"]


@pytest.mark.parametrize(
    ("at", "found"),
    [("00:00", True), ("00:59:59.999999", True), ("01:00", False), ("23:00", False)],
)
def test_an_impossible_value_is_a_finding_of_its_attempt(at: str, found: bool) -> None:  # noqa: FBT001
    """It is not used, and is told once if it lies in the attempt (rule 21)."""
    values = points(f"{minutes('00:00', '00:59')} {at}=150 {at}=101")

    assert codes_of(*HOUR, values) == ([("impossible_value", "a")] if found else [])


def test_gpus_without_uuid_have_no_samples() -> None:
    """Each has one gap, and they stand after the others (rule 28)."""
    coverage = draw_attempt(
        started(gpus="g1", gpu_count=3), ended(), points(minutes("00:00", "00:59"))
    ).coverage

    seen = [(each.gpu.uuid, [gap.reason for gap in each.gaps]) for each in coverage]
    assert seen == [("g1", []), (None, ["no_samples"]), (None, ["no_samples"])]


def test_samples_belong_to_the_gpu_and_not_to_the_attempt() -> None:
    """The next attempt on the GPU uses them too, and another GPU does not."""
    coverage = draw_attempt(
        started(gpus="g1 g2"), ended(), points(minutes("00:00", "00:59"), gpu="g2")
    ).coverage

    observed_s = [each.observed_us // SECOND_US for each in coverage]
    assert observed_s == [0, 3600]


@given(
    st.lists(st.integers(-300, 3900), max_size=40),
    st.sampled_from([1, 7, 60, 400]),
    st.sampled_from([Fraction(5, 2), Fraction(1), Fraction(1, 3)]),
)
def test_observed_and_gaps_make_up_the_attempt(
    seconds: list[int], cadence_s: int, gap_factor: Fraction
) -> None:
    """Whatever the samples are, no moment is lost, and gaps are in order and apart."""
    start_us, end_us = moment_us("02:00"), moment_us("03:00")
    readings = (
        f"{at // 3600:02}:{at // 60 % 60:02}:{at % 60:02}" for at in (s + 7200 for s in seconds)
    )
    records: tuple[Json, ...] = (
        started("02:00"),
        ended("03:00"),
        points(" ".join(readings), cadence_s=cadence_s),
    )

    covered = draw_attempt(*records, gap_factor=gap_factor).coverage[0]

    lost_us = sum(gap.end_us - gap.start_us for gap in covered.gaps)
    assert covered.observed_us + lost_us == end_us - start_us
    bounds = [edge for gap in covered.gaps for edge in gap[:2]]
    assert bounds == sorted(bounds)
    assert all(start_us <= edge <= end_us for edge in bounds)
    assert all(gap.start_us < gap.end_us for gap in covered.gaps)
