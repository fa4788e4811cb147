"""Lanes in text: unknown wins every mark, and nothing else is drawn like it."""

from hypothesis import given
from hypothesis import strategies as st

from tallystick.receipt.lanes import (
    ALLOCATION_MARKS,
    MARKS,
    OBSERVED_MARK,
    PROGRESS_MARKS,
    ROWS_MAX,
    UNKNOWN_MARK,
    allocation_row,
    coverage_row,
    gpu_groups,
    progress_row,
)
from tallystick.receipt.reader import Gap, GpuCoverage, Lanes, LaneSpan, Moment


def lane(*spans: tuple[str, int]) -> tuple[LaneSpan, ...]:
    """Make a lane of classes and their lengths."""
    at, made = 0, []
    for name, length in spans:
        made.append(LaneSpan(Moment(at), Moment(at + length), name))
        at += length
    return tuple(made)


def lanes(allocation: tuple[LaneSpan, ...], progress: tuple[LaneSpan, ...]) -> Lanes:
    """Make the lanes of an attempt."""
    return Lanes("a", allocation, progress)


def covered(gpu: str | None, *gaps: tuple[int, int]) -> GpuCoverage:
    """Make the coverage of one GPU."""
    made = tuple(Gap(Moment(start), Moment(end), "late_watch") for start, end in gaps)
    return GpuCoverage("a", gpu, "0.000000", made)


def test_a_lane_has_one_mark_for_each_stretch() -> None:
    """Lengths are drawn in proportion."""
    drawn = progress_row(lanes((), lane(("starting", 100), ("advancing", 400), ("saving", 100))))

    assert drawn == "." * 10 + ">" * 40 + "S" * 10


def test_a_kind_of_waiting_is_waiting() -> None:
    """What an attempt waited for does not change its mark."""
    drawn = progress_row(lanes((), lane(("waiting:data", 1))))

    assert drawn == "w" * MARKS


def test_a_class_of_a_later_version_is_drawn_as_unknown() -> None:
    """What this version has no mark for is not drawn as something else."""
    drawn = progress_row(lanes((), lane(("dreaming", 1), ("advancing", 1))))

    assert drawn == "?" * 30 + ">" * 30


def test_only_unknown_is_drawn_with_its_mark() -> None:
    """Every class of every lane has a mark of its own, and the marks of a lane differ."""
    allocation, progress = list(ALLOCATION_MARKS.values()), list(PROGRESS_MARKS.values())

    assert len(set(allocation)) == len(allocation)
    assert len(set(progress)) == len(progress)
    assert UNKNOWN_MARK not in {*allocation, *progress[:-1], OBSERVED_MARK}


@given(st.integers(0, 10**12 - 1))
def test_no_unknown_is_too_short_to_be_seen(start: int) -> None:
    """A microsecond of unknown time in eleven days takes a whole mark."""
    whole = 10**12
    spans = [("advancing", start), ("unknown", 1), ("advancing", whole - start - 1)]

    drawn = progress_row(lanes((), lane(*[span for span in spans if span[1]])))

    assert drawn.count("?") == 1
    assert len(drawn) == MARKS


def test_a_suspension_hides_what_meets_it() -> None:
    """Where classes meet within one mark, the one that must not be overlooked is drawn."""
    drawn = allocation_row(lanes(lane(("held", 59), ("suspended", 1), ("notice", 60)), ()))

    assert drawn == "=" * 29 + "-" + "!" * 30


def test_a_gap_outside_the_attempt_is_not_drawn() -> None:
    """Coverage is drawn over the time of the allocation only."""
    (group,) = gpu_groups([covered("g", (-60, 10), (50, 90))])

    drawn = coverage_row(group, lanes(lane(("held", 60)), ()))

    assert drawn == "?" * 10 + "#" * 40 + "?" * 10


def test_gpus_that_were_seen_alike_share_a_row() -> None:
    """Groups keep the order in which the receipt lists the GPUs."""
    groups = gpu_groups([covered("a"), covered("b", (0, 1)), covered("c"), covered(None)])

    assert [group.gpus for group in groups] == [("a", "c", None), ("b",)]


def test_many_groups_end_in_one_that_hides_no_gap() -> None:
    """The last row stands for all further GPUs and has the gaps of each."""
    coverage = [covered(f"g{n:02}", (n, n + 1)) for n in range(20)]

    groups = gpu_groups(coverage)

    assert len(groups) == ROWS_MAX
    assert sum(len(group.gpus) for group in groups) == 20
    assert [gap.start for gap in groups[-1].gaps] == list(range(7, 20))
