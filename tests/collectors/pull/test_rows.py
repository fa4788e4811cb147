"""Rows of a GPU: in order, each once, contradictions kept and told."""

import numpy as np
import pytest

from tallystick.collectors.pull.rows import (
    Gathered,
    Part,
    Stretch,
    is_among,
    nulls,
    ordered,
    within,
)
from tallystick.collectors.pull.wire import TooMuchError

NAN = float("nan")


def part(*pairs: tuple[int, float]) -> Part:
    """Give samples."""
    times_us, values = zip(*pairs, strict=True)
    return Part(np.array(times_us, np.int64), np.array(values, np.float64))


def test_rows_are_in_order_and_stand_once() -> None:
    """However samples were cut up, the rows are the same."""
    rows = ordered([part((3, 1), (4, NAN)), part((1, 5), (3, 1), (4, NAN))])

    assert rows.times_us.tolist() == [1, 3, 4]
    np.testing.assert_equal(rows.values, [5.0, 1.0, NAN])
    assert rows.conflicts_us.tolist() == []


def test_two_values_of_a_moment_are_both_kept_and_a_conflict() -> None:
    """Neither value is preferred."""
    rows = ordered([part((1, 5), (2, 7)), part((1, 6), (2, 7))])

    assert rows.values.tolist() == [5.0, 6.0, 7.0]
    assert rows.conflicts_us.tolist() == [1]


def test_a_null_beside_a_value_is_no_conflict() -> None:
    """A label set ended (r33)."""
    rows = ordered([part((1, NAN)), part((1, 5))])

    np.testing.assert_equal(rows.values, [5.0, NAN])
    assert rows.conflicts_us.tolist() == []


def test_minus_zero_is_zero() -> None:
    """The same number gives the same bytes."""
    rows = ordered([part((1, -0.0))])

    assert not np.signbit(rows.values[0])


def test_more_rows_than_can_be_held_are_too_much() -> None:
    """The bound is on all metrics of a query together."""
    gathered = Gathered(rows_max=2)
    gathered.add("a", "g", {}, part((1, 1)))

    with pytest.raises(TooMuchError):
        gathered.add("b", "g", {}, part((1, 1), (2, 2)))


def test_a_stretch_has_its_start_and_not_its_end() -> None:
    """So that neighbours share no sample."""
    inside = within(part((999, 1), (1000, 2), (1999, 3), (2000, 4)), Stretch(1, 2))

    assert inside.values.tolist() == [2.0, 3.0]


def test_a_millisecond_cannot_be_cut() -> None:
    """A stretch is cut in the middle, as long as it has one."""
    assert Stretch(4, 7).halves() == (Stretch(4, 5), Stretch(5, 7))
    assert Stretch(4, 5).halves() is None


def test_blanks_are_not_numbers() -> None:
    """A blank is NaN until it is written."""
    assert np.isnan(nulls(np.array([1, 2])).values).all()


@pytest.mark.parametrize(
    ("others", "expected"),
    [
        ([], [False] * 3),
        ([1, 2, 3], [True] * 3),
        ([2], [False, True, False]),
        ([0, 9], [False] * 3),
    ],
)
def test_times_are_found_among_others(others: list[int], expected: list[bool]) -> None:
    """Wherever they stand, before, between or after."""
    found = is_among(np.array([1, 2, 3]), np.array(others, np.int64))

    assert found.tolist() == expected


def test_a_label_set_is_remembered_once() -> None:
    """However many lines a server cuts it into."""
    gathered = Gathered()

    gathered.add("m", "g", {"job": "a"}, part((1, 1)))
    gathered.add("m", "g", {"job": "a"}, part((2, 1)))

    assert gathered.labels == {("m", "g"): [{"job": "a"}]}
    assert gathered.rows == 2
