"""Comparing results: bytes, and numbers whose difference is exact."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallystick.rehearsal.compare import Comparison, compare_results, difference_of
from tallystick.rehearsal.facts import decimal_text

FINITE = st.floats(allow_nan=False, allow_infinity=False)


def compared(folder: Path, ours: Any, theirs: Any, tolerance: str = "0") -> Comparison:
    """Compare two arrays as files."""
    paths = (folder / "ours.npy", folder / "theirs.npy")
    for path, array in zip(paths, (ours, theirs), strict=True):
        np.save(path, np.asarray(array))
    return compare_results(*paths, Fraction(tolerance))


def test_the_same_bytes_are_equal(tmp_path: Path) -> None:
    """Of whatever kind the file is."""
    for name in ("a", "b"):
        (tmp_path / name).write_bytes(b"\0anything")

    found = compare_results(tmp_path / "a", tmp_path / "b", Fraction(0))

    assert (found.is_equal, found.difference) == (True, Fraction(0))
    assert found.digest == found.other_digest


def test_other_bytes_are_not_equal_whatever_the_tolerance(tmp_path: Path) -> None:
    """Without numbers there is no difference to speak of."""
    (tmp_path / "a").write_bytes(b"1")
    (tmp_path / "b").write_bytes(b"2")

    found = compare_results(tmp_path / "a", tmp_path / "b", Fraction(10**9))

    assert (found.is_equal, found.difference) == (False, None)


def test_a_tolerance_of_zero_asks_for_every_bit(tmp_path: Path) -> None:
    """0 and -0 are no distance apart, and still not the same result."""
    found = compared(tmp_path, [0.0], [-0.0])

    assert (found.is_equal, found.difference) == (False, Fraction(0))


def test_the_tolerance_itself_is_still_within(tmp_path: Path) -> None:
    """A quarter is within a quarter and not within less."""
    assert compared(tmp_path, [1.0, 2.0], [1.25, 2.0], "0.25").is_equal
    assert not compared(tmp_path, [1.0, 2.0], [1.25, 2.0], "0.24999").is_equal


def test_a_tenth_in_binary_is_not_a_tenth(tmp_path: Path) -> None:
    """0.1 is stored as a little more, so it is not within a tenth of 0."""
    found = compared(tmp_path, [0.1], [0.0], "0.1")

    assert not found.is_equal
    assert decimal_text(found.difference) == (
        "0.1000000000000000055511151231257827021181583404541015625"
    )


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (np.zeros(2), np.zeros(3)),
        (np.zeros(2), np.zeros(2, dtype=np.float32)),
        (np.array([np.nan]), np.array([1.0])),
        (np.array([np.inf]), np.array([-np.inf])),
        (np.array([1 + 1j]), np.array([2 + 1j])),
        (np.array(["a"]), np.array(["b"])),
        (np.zeros(1, dtype=np.longdouble), np.ones(1, dtype=np.longdouble)),
    ],
)
def test_what_is_not_of_a_kind_has_no_difference(ours: Any, theirs: Any) -> None:
    """Shapes, types, no number beside a number, and kinds that are not compared."""
    assert difference_of(ours, theirs) is None


def test_the_same_no_number_is_no_difference() -> None:
    """The rest of the array is compared."""
    ours = np.array([np.nan, np.inf, 1.0])

    assert difference_of(ours, np.array([np.nan, np.inf, 1.5])) == Fraction(1, 2)


def test_integers_are_compared_beyond_what_floats_hold() -> None:
    """2^63 - 1 and 2^63 - 2 are one apart, and so are the ends of a signed byte 255."""
    most = np.array([2**63 - 1])

    assert difference_of(most, most - 1) == 1
    assert difference_of(np.array([127], np.int8), np.array([-128], np.int8)) == 255
    assert difference_of(np.array([True, False]), np.array([False, False])) == 1


def test_the_largest_and_smallest_numbers_are_compared() -> None:
    """Where floating point would overflow, and where it has its least step."""
    most = np.finfo(np.float64).max

    assert difference_of(np.array([most]), np.array([-most])) == 2 * Fraction(float(most))
    assert difference_of(np.array([5e-324]), np.array([0.0])) == Fraction(1, 2**1074)


@given(st.lists(st.tuples(FINITE, FINITE), min_size=1, max_size=8))
def test_the_difference_is_the_largest_one(pairs: list[tuple[float, float]]) -> None:
    """It is the largest of all differences taken in fractions."""
    ours, theirs = (np.array(each) for each in zip(*pairs, strict=True))

    assert difference_of(ours, theirs) == max(abs(Fraction(a) - Fraction(b)) for a, b in pairs)


@given(st.integers(0, 10**30), st.integers(0, 1100))
def test_a_difference_is_written_exactly(number: int, power: int) -> None:
    """Its decimal text is the same number."""
    difference = Fraction(number, 2**power)

    assert Fraction(decimal_text(difference) or "") == difference


def test_archives_are_compared_array_by_array(tmp_path: Path) -> None:
    """Other names, or other shapes, are another result."""
    np.savez(tmp_path / "a.npz", w=np.array([1.0]), b=np.array([1]))
    np.savez(tmp_path / "b.npz", w=np.array([1.5]), b=np.array([1]))
    np.savez(tmp_path / "c.npz", w=np.array([1.5]))
    np.savez(tmp_path / "d.npz", w=np.array([1.5]), b=np.array([1, 2]))

    found = compare_results(tmp_path / "a.npz", tmp_path / "b.npz", Fraction(1))
    others = [
        compare_results(tmp_path / "a.npz", tmp_path / name, Fraction(1))
        for name in ("c.npz", "d.npz")
    ]

    assert (found.is_equal, found.difference) == (True, Fraction(1, 2))
    assert [(other.is_equal, other.difference) for other in others] == [(False, None)] * 2


@pytest.mark.parametrize("damage", [b"", b"PK\x03\x04", b"\x93NUMPY\x01\x00\xff\xff{", b"x" * 99])
@pytest.mark.parametrize("suffix", [".npy", ".npz"])
def test_damaged_arrays_are_not_equal(tmp_path: Path, suffix: str, damage: bytes) -> None:
    """A file that only says that it holds arrays is compared by its bytes."""
    good, bad = tmp_path / f"a{suffix}", tmp_path / f"b{suffix}"
    np.save(tmp_path / "a.npy", np.zeros(1))
    np.savez(tmp_path / "a.npz", np.zeros(1))
    bad.write_bytes(damage)

    found = compare_results(good, bad, Fraction(1))

    assert (found.is_equal, found.difference) == (False, None)


def test_objects_are_not_loaded(tmp_path: Path) -> None:
    """A pickle would be a program."""
    for name in ("a.npy", "b.npy"):
        np.save(tmp_path / name, np.array([name, None], dtype=object), allow_pickle=True)

    found = compare_results(tmp_path / "a.npy", tmp_path / "b.npy", Fraction(1))

    assert (found.is_equal, found.difference) == (False, None)
