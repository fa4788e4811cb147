"""The plain form of episodes: chains within reach, and what they observe of a window."""

from fractions import Fraction

import pytest

from tallystick.timeline.episodes import REACH_MAX_US, episodes_of, joined, observed_of, reach_of


def test_reach_is_the_gap_factor_times_the_cadence_rounded_down() -> None:
    """Distances are whole microseconds, so a fraction of one adds nothing."""
    reach_us = reach_of(15_000_001, Fraction(5, 2))

    assert reach_us == 37_500_002


def test_reach_is_never_longer_than_the_calendar_needs() -> None:
    """An absurd cadence does not leave the 64 bits of the array form."""
    reach_us = reach_of(2**53, Fraction(10**6))

    assert reach_us == REACH_MAX_US


@pytest.mark.parametrize(
    ("times", "episodes"),
    [
        ([], ()),
        ([50], ((50, 50),)),
        ([20, 30, 40], ((20, 40),)),
        ([20, 30, 41], ((20, 30), (41, 41))),
        ([20, 20, 30], ((20, 30),)),
        ([9, 19], ((19, 19),)),
        ([10, 20, 90, 100, 110, 111], ((10, 20), (90, 110))),
    ],
    ids=["none", "lonely", "chain", "beyond reach", "twice", "before the window", "both edges"],
)
def test_neighbours_within_reach_form_one_episode(
    times: list[int], episodes: tuple[tuple[int, int], ...]
) -> None:
    """Samples up to one reach outside the window count, those further out do not."""
    found = episodes_of(times, 20, 100, 10)

    assert found == episodes


def test_a_cadence_below_nothing_reaches_nowhere() -> None:
    """A reach is never negative."""
    assert reach_of(-60, Fraction(5, 2)) == 0


@pytest.mark.parametrize(
    ("parts", "whole"),
    [
        ((), ()),
        (((20, 30), (40, 50)), ((20, 50),)),
        (((20, 30), (41, 50)), ((20, 30), (41, 50))),
        (((40, 40), (20, 30), (60, 60), (50, 50)), ((20, 60),)),
        (((20, 90), (30, 40), (95, 99)), ((20, 99),)),
        (((20, 30), (20, 30)), ((20, 30),)),
    ],
    ids=["none", "within reach", "beyond", "lonely ones", "inside another", "twice"],
)
def test_episodes_of_parts_give_those_of_the_whole(
    parts: tuple[tuple[int, int], ...], whole: tuple[tuple[int, int], ...]
) -> None:
    """What lies within reach is one, however it was divided and ordered."""
    assert joined(parts, 10) == whole


@pytest.mark.parametrize(
    ("episodes", "observed"),
    [
        ((), ()),
        (((30, 90),), ((20, 100),)),
        (((31, 89),), ((31, 89),)),
        (((50, 50),), ()),
        (((25, 25),), ((20, 25),)),
        (((10, 20), (100, 110)), ()),
        (((10, 110),), ((20, 100),)),
        (((20, 40), (60, 60), (80, 99)), ((20, 40), (80, 100))),
    ],
    ids=["none", "edges", "no edge", "lonely", "lonely at edge", "outside", "through", "several"],
)
def test_edges_within_reach_of_a_sample_inside_are_observed(
    episodes: tuple[tuple[int, int], ...], observed: tuple[tuple[int, int], ...]
) -> None:
    """The edge rules look at the first and last sample inside the half-open window only."""
    found = observed_of(episodes, 20, 100, 10)

    assert found == observed
