"""Arrays of values are judged as rule 21 judges each of them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallystick.timeline.sample_values import (
    Values,
    dark_places,
    impossible_values,
    valid_values,
)
from tallystick.timeline.values import Reading, read_value

METRICS = ("DCGM_FI_DEV_GPU_UTIL", "sm_active", "power_usage", "total_Energy_mj", "util_bytes")
EDGES = (-1, 0, 1, 2, 99, 100, 101, 2**31 - 17, 2**31 - 16, 2**31 - 1, 2**47 - 1, 2**47, 2**63 - 1)


def readings(values: Values, metric: str) -> list[Reading]:
    """Judge an array."""
    valid, impossible = valid_values(values, metric), impossible_values(values, metric)
    assert not (valid & impossible).any()
    kinds = np.array([Reading.BLANK, Reading.IMPOSSIBLE, Reading.USABLE])
    judged: list[Reading] = kinds[impossible + 2 * valid].tolist()
    return judged


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float64])
def test_thresholds_fall_where_the_rule_puts_them(metric: str, dtype: type[np.generic]) -> None:
    """Each side of every threshold is judged as the rule says, whatever the type."""
    fit = [edge for edge in EDGES if dtype is not np.int32 or edge < 2**31]
    values = np.array(fit, dtype)

    judged = readings(values, metric)

    assert judged == [read_value(str(value), metric) for value in values.tolist()]


@given(st.lists(st.floats()), st.sampled_from(METRICS))
def test_floats_are_judged_as_their_decimal_string(values: list[float], metric: str) -> None:
    """NaN and both infinities are blank, fractions stand where they stand."""
    judged = readings(np.array(values, np.float64), metric)

    assert judged == [read_value(str(value), metric) for value in values]


@given(st.lists(st.integers(-(2**63), 2**63 - 1)), st.sampled_from(METRICS))
def test_integers_are_judged_as_their_decimal_string(values: list[int], metric: str) -> None:
    """All 64 bits count."""
    judged = readings(np.array(values, np.int64), metric)

    assert judged == [read_value(str(value), metric) for value in values]


@given(st.lists(st.sampled_from([5, 50, -1, 101]), max_size=40), st.booleans())
def test_dark_places_are_those_of_what_is_not_valid(numbers: list[int], few: bool) -> None:  # noqa: FBT001
    """However many they are, and however many values there are."""
    values = np.array([5] * (40 if few else 0) + numbers, np.int32)

    places = dark_places(values, "gpu_util")

    assert places.tolist() == np.flatnonzero(~valid_values(values, "gpu_util")).tolist()
