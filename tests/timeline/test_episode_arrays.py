"""The array form of episodes: any batching gives what the rules say about the whole."""

import random
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tallystick.timeline.episode_arrays import Partial, merge, partial
from tallystick.timeline.episodes import episodes_of, observed_of
from tallystick.timeline.observed_arrays import Observed, observed
from tallystick.timeline.windows import TIME_MAX_US, Windows, WindowsOutOfRangeError


class Sample(NamedTuple):
    """One row of a segment."""

    gpu: int
    at_us: int
    valid: bool
    impossible: bool = False


class Window(NamedTuple):
    """One row of windows."""

    gpu: int
    start_us: int
    end_us: int
    reach_us: int


Gap = tuple[int, int, bool]


def columns(windows: Sequence[Window]) -> Windows:
    """Turn rows into windows."""
    return Windows(*np.array(windows, np.int64).reshape(-1, 4).T.copy())


def batch(samples: Sequence[Sample], windows: Windows) -> Partial:
    """Give the partial result of rows."""
    gpu, at_us, valid, impossible = np.array(samples, np.int64).reshape(-1, 4).T.copy()
    dark, wrong = np.flatnonzero(valid == 0), np.flatnonzero(impossible)
    return partial(gpu, at_us, windows, dark=dark, impossible=wrong)


def rows(table: Partial | Observed) -> list[list[int]]:
    """Make tables of arrays comparable."""
    return [column.tolist() for column in table]


def gaps_of(seen: Observed, window: int) -> list[Gap]:
    """Give the gaps of one window as rows."""
    columns = (seen.gap_start_us, seen.gap_end_us, seen.gap_blank)
    of_window = seen.gap_window == window
    return list(zip(*(column[of_window].tolist() for column in columns), strict=True))


def gaps_by_the_rules(samples: Sequence[Sample], window: Window) -> list[Gap]:
    """Find the gaps of a window moment by moment, from the words of rules 24 and 26."""
    gpu, start_us, end_us, reach_us = window
    times = sorted({at for of, at, valid, _ in samples if of == gpu and valid})
    dark = {at for of, at, valid, _ in samples if of == gpu and not valid} - set(times)
    near = [at for at in times if start_us - reach_us <= at <= end_us + reach_us]
    seen = {at for a, b in pairwise(near) if b - a <= reach_us for at in range(a, b)}
    inside = [at for at in times if start_us <= at < end_us]
    if inside and inside[0] - start_us <= reach_us:
        seen |= set(range(start_us, inside[0]))
    if inside and end_us - inside[-1] <= reach_us:
        seen |= set(range(inside[-1], end_us))
    gaps: list[Gap] = []
    for at in range(start_us, end_us):
        if at in seen:
            continue
        first_us, blank = at, False
        if gaps and gaps[-1][1] == at and at not in times:
            first_us, _, blank = gaps.pop()
        gaps.append((first_us, at + 1, blank or at in dark))
    return gaps


sample_rows = st.lists(
    st.builds(
        lambda gpu, at_us, kind: Sample(gpu, at_us, *kind),
        st.integers(-1, 3),
        st.integers(0, 70),
        st.sampled_from([(True, False), (True, False), (False, False), (False, True)]),
    ),
    max_size=40,
)
window_rows = st.lists(
    st.builds(
        lambda gpu, start, length, reach: Window(gpu, start, start + length, reach),
        st.integers(0, 2),
        st.integers(10, 50),
        st.integers(1, 30),
        st.integers(0, 12),
    ),
    max_size=5,
)


@given(sample_rows, window_rows)
def test_arrays_find_the_gaps_that_the_rules_describe(
    samples: list[Sample], windows: list[Window]
) -> None:
    """The result equals a count of single moments, blanks and overlapping windows included."""
    table = columns(windows)

    seen = observed(batch(samples, table), table)

    expected = [gaps_by_the_rules(samples, window) for window in windows]
    assert [gaps_of(seen, window) for window in range(len(windows))] == expected
    assert seen.observed_us.tolist() == [
        window.end_us - window.start_us - sum(b - a for a, b, _ in gaps)
        for window, gaps in zip(windows, expected, strict=True)
    ]


@given(sample_rows, window_rows, st.integers(1, 6), st.randoms(use_true_random=False))
def test_any_batching_gives_the_result_of_one_batch(
    samples: list[Sample], windows: list[Window], batches: int, chance: random.Random
) -> None:
    """Rows may be shuffled, dealt out over batches, repeated, and merged in any grouping."""
    table = columns(windows)
    parts: list[list[Sample]] = [[] for _ in range(batches)]
    for sample in samples:
        for part in chance.sample(parts, chance.randint(1, min(2, batches))):
            part.append(sample)
    for part in parts:
        chance.shuffle(part)
    partials = [batch(part, table) for part in parts]

    early = merge(partials[: batches // 2], table)
    merged = merge([*partials[batches // 2 :], early, partials[0]], table)

    assert rows(merged) == rows(batch(samples, table))


@given(sample_rows, window_rows)
def test_both_forms_agree(samples: list[Sample], windows: list[Window]) -> None:
    """The plain form finds the same episodes and the same observed time as the arrays."""
    table = columns(windows)

    found = batch(samples, table)

    pairs = list(zip(*(column.tolist() for column in found[:3]), strict=True))
    seen_us = observed(found, table).observed_us.tolist()
    for place, (gpu, *bounds) in enumerate(windows):
        times = sorted({at for of, at, valid, _ in samples if of == gpu and valid})
        episodes = episodes_of(times, *bounds)
        assert [pair[1:] for pair in pairs if pair[0] == place] == list(episodes)
        assert seen_us[place] == sum(b - a for a, b in observed_of(episodes, *bounds))


@given(sample_rows, window_rows)
def test_windows_with_an_impossible_value_are_named(
    samples: list[Sample], windows: list[Window]
) -> None:
    """A value inside the half-open window counts, also beside a valid one at its time."""
    found = batch(samples, columns(windows))

    assert found.impossible_window.tolist() == [
        place
        for place, window in enumerate(windows)
        if any(
            each.impossible and each.gpu == window.gpu
            for each in samples
            if window.start_us <= each.at_us < window.end_us
        )
    ]


@given(st.lists(st.integers(0, 12), min_size=1, max_size=60), st.integers(0, 1))
def test_without_a_reach_neighbouring_moments_stay_apart(times: list[int], reach_us: int) -> None:
    """However dense the samples are, a microsecond is more than nothing."""
    table = columns([Window(0, 0, 12, reach_us)])

    found = batch([Sample(0, at, valid=True) for at in times], table)

    expected = episodes_of(sorted(set(times)), 0, 12, reach_us)
    pairs = zip(found.first_us.tolist(), found.last_us.tolist(), strict=True)
    assert tuple(pairs) == expected


@settings(max_examples=25)
@given(sample_rows, window_rows, st.integers(2**16 - 2, 2**16 + 2), st.integers(-1, 1))
def test_more_gpus_than_16_bits_and_the_ends_of_the_calendar_change_nothing(
    samples: list[Sample], windows: list[Window], gpus: int, side: int
) -> None:
    """Only places shift if codes and times do."""
    shift_us = side * (TIME_MAX_US - 200)
    near, far = (
        columns(windows),
        columns(
            [
                Window(w.gpu + gpus, w.start_us + shift_us, w.end_us + shift_us, w.reach_us)
                for w in windows
            ]
        ),
    )

    found = batch([s._replace(gpu=s.gpu + gpus, at_us=s.at_us + shift_us) for s in samples], far)

    there = batch(samples, near)
    assert rows(found) == rows(
        there._replace(
            first_us=there.first_us + shift_us,
            last_us=there.last_us + shift_us,
            blank_us=there.blank_us + shift_us,
        )
    )


def test_a_span_too_long_for_one_line_is_halved() -> None:
    """The whole calendar on nine GPUs passes 64 bits, and none takes the samples of another."""
    low_us, high_us = -TIME_MAX_US, TIME_MAX_US - 1
    table = columns(
        [Window(gpu, at, at + 50, 10) for gpu in range(9) for at in (low_us, high_us - 50)]
    )
    samples = [Sample(0, at, valid=True) for at in (high_us, low_us, low_us + 5, high_us - 30)]
    both = [*samples, *(sample._replace(gpu=8) for sample in samples)]

    found, found_both = batch(samples, table), batch(both, table)

    episodes = [[low_us, high_us - 30, high_us], [low_us + 5, high_us - 30, high_us]]
    assert rows(found) == [[0, 1, 1], *episodes, [], [], []]
    assert rows(found_both) == [[0, 1, 1, 16, 17, 17], *(2 * each for each in episodes), [], [], []]


def test_a_batch_between_windows_has_nothing() -> None:
    """Samples that lie within the span of all windows may still be in reach of none."""
    table = columns([Window(0, 0, 10, 1), Window(0, 100, 110, 1)])

    found = batch([Sample(0, 50, valid=True), Sample(0, 60, valid=False)], table)

    assert rows(found) == [[]] * 6


def test_a_window_without_samples_takes_none_of_its_neighbours() -> None:
    """The last sample of one GPU and the first of the next are no neighbours."""
    table = columns([Window(0, 90, 300, 5), Window(1, 90, 95, 5)])

    found = batch(
        [Sample(0, 100, valid=True), Sample(0, 200, valid=True), Sample(1, 101, valid=True)], table
    )

    assert rows(found) == [[0, 0], [100, 200], [100, 200], [], [], []]


def test_blanks_count_from_the_start_and_not_at_the_end() -> None:
    """A window is half-open for blanks as for everything else."""
    table = columns([Window(0, 10, 20, 3), Window(0, 19, 30, 3)])

    found = batch([Sample(0, at, valid=False) for at in (9, 10, 19, 20)], table)

    assert rows(found) == [[], [], [], [0, 0, 1, 1], [10, 19, 19, 20], []]


def test_samples_out_of_all_reach_are_passed_over() -> None:
    """Times that the arithmetic could not hold, and foreign GPUs, do no harm."""
    table = columns([Window(0, 0, 100, 10)])
    extremes = np.iinfo(np.int64)
    samples = [
        Sample(0, extremes.min, valid=True),
        Sample(0, extremes.max, valid=True),
        Sample(extremes.max, 50, valid=True),
        Sample(-1, 50, valid=False),
        Sample(0, 60, valid=True),
    ]

    found = batch(samples, table)

    assert rows(found) == [[0], [60], [60], [], [], []]


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.int32, np.int64])
def test_codes_may_be_of_any_integer_type(dtype: type[np.integer]) -> None:
    """The width of the codes does not limit the span of time."""
    table = columns([Window(200, 0, 10**15, 10)])
    at_us = np.array([10**15, 5, 12], np.int64)

    found = partial(np.full(3, 200, dtype), at_us, table)

    assert rows(found)[:3] == [[0, 0], [5, 10**15], [12, 10**15]]


def test_a_blank_beside_a_valid_value_is_not_kept() -> None:
    """A time counts if any value at it is valid, whichever batch holds it."""
    table = columns([Window(0, 0, 100, 10)])
    blank = batch([Sample(0, 50, valid=False), Sample(0, 70, valid=False)], table)

    found = merge([blank, batch([Sample(0, 50, valid=True)], table)], table)

    assert rows(found) == [[0], [50], [50], [0], [70], []]


@pytest.mark.parametrize(
    "window",
    [
        Window(-1, 0, 1, 0),
        Window(0, 1, 1, 0),
        Window(0, 0, 1, -1),
        Window(0, 0, 1, TIME_MAX_US + 1),
        Window(0, -TIME_MAX_US - 1, 1, 0),
        Window(0, 0, TIME_MAX_US + 1, 0),
    ],
)
def test_windows_that_the_arithmetic_cannot_hold_are_refused(window: Window) -> None:
    """A bad window is a bad call, and the error counts them."""
    with pytest.raises(WindowsOutOfRangeError, match="got 1 of another kind"):
        columns([Window(0, 0, 1, 0), window])
