"""Samples that cannot decide anything are passed over, whatever the batch looks like."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallystick.timeline.episode_arrays import partial
from tallystick.timeline.episodes import episodes_of
from tallystick.timeline.presence import deciding
from tallystick.timeline.windows import Places, Windows

NONE: Places = np.empty(0, np.int64)


def one_window(start_us: int, end_us: int, reach_us: int) -> Windows:
    """Make one window of GPU 0."""
    return Windows(*np.array([[0, start_us, end_us, reach_us]], np.int64).T.copy())


def test_steady_samples_decide_only_at_the_ends() -> None:
    """Of a long chain only what touches the ends of the batch and of the window is kept."""
    at_us = np.arange(0, 150_000, 15)

    kept = deciding(np.zeros(10_000, np.int32), at_us, NONE, one_window(60_000, 90_000, 37), gpus=1)

    assert kept.place[0] == 0
    assert kept.place[-1] == 9_999
    assert len(kept.place) < 20


def test_the_samples_beside_a_hole_decide() -> None:
    """Where cells are empty the samples next to them are kept, and their stretches differ."""
    at_us = np.delete(np.arange(0, 150_000, 15), range(5_000, 5_010))

    kept = deciding(np.zeros(9_990, np.int32), at_us, NONE, one_window(0, 150_000, 37), gpus=1)

    stretch = dict(zip(kept.place.tolist(), kept.stretch.tolist(), strict=True))
    assert stretch[4_999] != stretch[5_000]


def test_a_late_row_does_not_hide_the_end_of_the_others() -> None:
    """Rows far from the rest have no cell of their own, and join nothing to it."""
    at_us = np.append(np.arange(0, 20_000, 10), 1_000_000)

    kept = deciding(np.zeros(2_001, np.int32), at_us, NONE, one_window(0, 9, 10_000), gpus=1)

    stretch = dict(zip(kept.place.tolist(), kept.stretch.tolist(), strict=True))
    assert stretch[1_999] != stretch[2_000]


@pytest.mark.parametrize("shift", range(0, 40, 3))
def test_a_window_may_begin_and_end_anywhere_in_a_steady_series(shift: int) -> None:
    """The first and last sample in reach are kept wherever the bounds fall in their cells."""
    at_us = np.arange(0, 15_000, 15)
    bounds = (5_000 + shift, 9_000 + 2 * shift, 37)
    # Others reach both ends of the batch, so that no sample is out of all reach.
    three = [(0, 0, 9, 37), (0, *bounds), (0, 14_990, 15_000, 37)]

    found = partial(np.zeros(1_000, np.int32), at_us, Windows(*np.array(three, np.int64).T.copy()))

    middle = (int(found.first_us[1]), int(found.last_us[1]))
    assert (middle,) == episodes_of(at_us.tolist(), *bounds)


def test_too_few_samples_for_cells_are_all_kept() -> None:
    """Scattered samples are left to sorting, except those that do not count."""
    at_us = np.arange(0, 10**9, 10**7)

    kept = deciding(
        np.zeros(100, np.int32), at_us, np.array([3, 7]), one_window(0, 10**9, 2), gpus=5
    )

    assert kept.place.tolist() == [place for place in range(100) if place not in {3, 7}]


@given(
    seed=st.integers(0, 2**32),
    ticks=st.integers(20, 400),
    reach_us=st.integers(0, 60),
    lost=st.sampled_from([0.0, 0.05, 0.5]),
    late=st.integers(0, 12),
)
def test_dense_batches_give_the_episodes_of_the_plain_form(
    seed: int, ticks: int, reach_us: int, lost: float, late: int
) -> None:
    """Thousands of samples, some lost, blank, or far from the others, in any order."""
    draw = np.random.default_rng(seed)
    gpus = 3
    at_us = (np.arange(ticks)[:, None] * 20 + draw.integers(0, 20, (ticks, gpus))).ravel()
    gpu = np.tile(np.arange(gpus, dtype=np.int32), ticks)
    at_us[draw.integers(0, len(at_us), late)] += draw.choice([-50_000, 50_000], late)
    kept = draw.permutation(len(at_us))[: int(len(at_us) * (1 - lost)) + 1]
    gpu, at_us, valid = gpu[kept], at_us[kept], draw.random(len(kept)) < 0.9
    start_us = draw.integers(-100, ticks * 20, 8) - draw.integers(0, 2, 8) * 51_000
    end_us = start_us + draw.integers(1, ticks * 20, 8) + draw.integers(0, 2, 8) * 102_000
    reaches = reach_us + draw.integers(0, 2, 8) * draw.integers(0, 30)
    windows = Windows(draw.integers(0, gpus, 8), start_us, end_us, reaches)

    found = partial(gpu, at_us, windows, dark=np.flatnonzero(~valid))

    pairs = list(zip(*(column.tolist() for column in found[:3]), strict=True))
    for window in range(8):
        times = np.unique(at_us[valid & (gpu == windows.gpu[window])]).tolist()
        bounds = [int(column[window]) for column in (start_us, end_us, reaches)]
        expected = episodes_of(times, *bounds)
        assert tuple(pair[1:] for pair in pairs if pair[0] == window) == expected
