"""The algebra of half-open intervals, against sets of whole microseconds."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallystick.core.errors import EmptyIntervalError
from tallystick.core.interval import Interval, complement, cut, interval, total_us, union

Pair = tuple[int, int]

moments = st.integers(-20, 20)
pairs = st.tuples(moments, moments)
pair_lists = st.lists(pairs, max_size=8)


def cells(some: list[Pair] | tuple[Interval, ...]) -> set[int]:
    """Name each microsecond that lies in one of some intervals by its start."""
    return {at for start, end in some for at in range(start, end)}


def is_set(some: tuple[Interval, ...]) -> bool:
    """Whether intervals are in order, not empty, and none meets the next."""
    return all(start < end for start, end in some) and all(
        one.end_us < other.start_us for one, other in pairwise(some)
    )


def test_an_interval_knows_its_length() -> None:
    """The end is not inside, so the length is the difference."""
    assert interval(3, 10).duration_us == 7


@pytest.mark.parametrize("end_us", [5, 4])
def test_an_empty_interval_cannot_be_made(end_us: int) -> None:
    """An interval ends after its start."""
    with pytest.raises(EmptyIntervalError) as caught:
        interval(5, end_us)

    assert caught.value.code == "interval_must_not_be_empty"


@given(pair_lists)
def test_a_union_is_a_set_of_the_same_moments(some: list[Pair]) -> None:
    """Nothing is invented or lost, and no two intervals meet."""
    joined = union(some)

    assert cells(joined) == cells(some)
    assert is_set(joined)


@given(st.permutations([(0, 3), (3, 4), (6, 9), (7, 8), (12, 12), (15, 14)]))
def test_a_union_does_not_depend_on_order(some: list[Pair]) -> None:
    """Any order of the same intervals gives the same set."""
    assert union(some) == ((0, 4), (6, 9))


@given(pair_lists)
def test_a_union_of_a_set_is_the_set(some: list[Pair]) -> None:
    """Joining what is joined changes nothing."""
    assert union(union(some)) == union(some)


@given(pair_lists, st.integers(0, 5))
def test_a_bridge_joins_what_lies_at_most_so_far_apart(some: list[Pair], bridge_us: int) -> None:
    """With a bridge exactly the holes of at most its length are filled."""
    plain = union(some)
    short = [
        (one.end_us, other.start_us)
        for one, other in pairwise(plain)
        if other.start_us - one.end_us <= bridge_us
    ]

    assert union(some, bridge_us=bridge_us) == union([*plain, *short])


@given(pairs, pair_lists)
def test_a_complement_is_what_the_holes_leave(within: Pair, some: list[Pair]) -> None:
    """Together with the holes inside it makes up the whole, and it has no moment in common."""
    left = complement(within, union(some))

    assert cells(left) == cells([within]) - cells(some)
    assert is_set(left)


@given(pairs, pair_lists)
def test_a_complement_conserves_time(within: Pair, some: list[Pair]) -> None:
    """The complement of the complement is what the holes cover of the whole."""
    holes = complement(within, union(some))

    covered = complement(within, holes)

    assert total_us(holes) + total_us(covered) == max(0, within[1] - within[0])


@given(pairs.filter(lambda pair: pair[0] < pair[1]), st.lists(moments))
def test_a_cut_partitions(within: Pair, at_us: list[int]) -> None:
    """The parts follow each other from start to end, cut at each moment inside."""
    parts = cut(within, at_us)

    bounds = [parts[0].start_us, *(part.end_us for part in parts)]
    inside = {at for at in at_us if within[0] < at < within[1]}
    assert bounds == sorted({*within, *inside})


@given(st.lists(pairs, max_size=5))
def test_lengths_add_up(some: list[Pair]) -> None:
    """The total of a set is the number of its moments."""
    assert total_us(union(some)) == len(cells(some))
