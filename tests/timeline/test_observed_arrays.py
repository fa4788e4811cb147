"""What episodes of arrays observe: edges, cuts and blanks, one small story each."""

import numpy as np
import pytest

from tallystick.timeline.episode_arrays import merge, partial
from tallystick.timeline.observed_arrays import observed
from tallystick.timeline.windows import Windows

GAPS = list[tuple[int, int, bool]]


@pytest.mark.parametrize(
    ("valid", "blank", "seen_us", "gaps"),
    [
        ([], [], 0, [(100, 200, False)]),
        ([], [150], 0, [(100, 200, True)]),
        ([150], [], 0, [(100, 150, False), (150, 200, False)]),
        ([150], [120, 150], 0, [(100, 150, True), (150, 200, False)]),
        ([110, 190], [150], 20, [(110, 190, True)]),
        ([95, 205], [], 0, [(100, 200, False)]),
        ([95, 105, 200], [], 5, [(105, 200, False)]),
        ([*range(100, 200, 10)], [104], 100, []),
        ([*range(105, 200, 10)], [102], 100, []),
        ([150, 195], [197], 5, [(100, 150, False), (150, 195, False)]),
        ([150], [100, 200], 0, [(100, 150, True), (150, 200, False)]),
        ([100, 110, 140, 150], [], 20, [(110, 140, False), (150, 200, False)]),
    ],
    ids=[
        "nothing",
        "only blank",
        "lonely sample cuts",
        "blank beside a sample",
        "edges reached",
        "samples outside are no edges",
        "sample at the end is outside",
        "no gap",
        "blank where the edge is observed",
        "blank behind a gap",
        "blanks at the bounds",
        "gap between chains",
    ],
)
def test_a_window_is_observed_where_samples_reach(
    valid: list[int], blank: list[int], seen_us: int, gaps: GAPS
) -> None:
    """One window [100, 200) of reach 10, and the samples in and about it."""
    windows = Windows(*np.array([[0, 100, 200, 10]], np.int64).T.copy())
    at_us = np.array([*valid, *blank], np.int64)
    gpu, dark = np.zeros(len(at_us), np.int32), np.arange(len(valid), len(at_us))

    seen = observed(partial(gpu, at_us, windows, dark=dark), windows)

    columns = (seen.gap_start_us, seen.gap_end_us, seen.gap_blank)
    assert list(zip(*(column.tolist() for column in columns), strict=True)) == gaps
    assert seen.observed_us.tolist() == [seen_us]


def test_a_blank_marks_no_gap_of_another_window() -> None:
    """The gap of the window before spans the blank's time, but is not its own."""
    windows = Windows(*np.array([[0, 100, 200, 10], [1, 145, 155, 10]], np.int64).T.copy())
    at_us = np.array([152, 147], np.int64)
    gpu, dark = np.ones(2, np.int32), np.array([1])

    seen = observed(partial(gpu, at_us, windows, dark=dark), windows)

    assert seen.observed_us.tolist() == [0, 10]
    assert seen.gap_blank.tolist() == [False]


def test_no_windows_have_no_gaps() -> None:
    """Nothing asked is nothing answered."""
    windows = Windows(*np.empty((4, 0), np.int64))

    seen = observed(merge((), windows), windows)

    assert [len(column) for column in seen] == [0] * 5
