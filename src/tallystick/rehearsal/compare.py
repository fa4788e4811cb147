"""Comparing two results: bit for bit, or number by number within a tolerance.

Differences of numbers are exact. Floating point only finds out which of many pairs can be the
furthest apart; their difference is then taken in fractions.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

READ_BYTES: Final = 1 << 20
_ARRAY_SUFFIXES: Final = frozenset({".npy", ".npz"})
_SLACK: Final = 1 - 2.0**-50
"""A difference is rounded by at most 2^-53 of itself, so the furthest pair stays above this."""

_Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two results beside each other."""

    digest: str
    other_digest: str
    is_equal: bool
    difference: Fraction | None
    """Largest difference of any two numbers; None where not all of them can be compared."""


def compare_results(path: Path, other: Path, tolerance: Fraction) -> Comparison:
    """Compare two files.

    Args:
        path: A result.
        other: The result that it should be.
        tolerance: 0 asks for the same bytes; more, for numbers that are no further apart in
            ``.npy`` and ``.npz`` files, whose arrays have to match in names, shapes and types.

    Raises:
        OSError: a file cannot be read.
    """
    digest, other_digest = _digest(path), _digest(other)
    if digest == other_digest:
        return Comparison(digest, other_digest, is_equal=True, difference=Fraction(0))
    difference = None
    if path.suffix in _ARRAY_SUFFIXES and path.suffix == other.suffix:
        difference = _difference_of_all(_arrays(path), _arrays(other))
    is_equal = difference is not None and tolerance > 0 and difference <= tolerance
    return Comparison(digest, other_digest, is_equal, difference)


def _digest(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while data := file.read(READ_BYTES):
            digest.update(data)
    return f"sha256:{digest.hexdigest()}"


def _arrays(path: Path) -> dict[str, _Array] | None:
    """Read the arrays of a file; None if it holds anything else."""
    try:
        with path.open("rb") as file:
            # Objects would be code: they are not loaded.
            loaded = np.load(file, allow_pickle=False)
            if isinstance(loaded, np.ndarray):
                return {"": loaded}
            with loaded:
                return {name: loaded[name] for name in loaded.files}
    except Exception:  # noqa: BLE001 (zip, zlib, numpy: damaged files raise what they like)
        return None


def _difference_of_all(
    ours: Mapping[str, _Array] | None, theirs: Mapping[str, _Array] | None
) -> Fraction | None:
    if ours is None or theirs is None or set(ours) != set(theirs):
        return None
    furthest = Fraction(0)
    for name, array in ours.items():
        difference = difference_of(array, theirs[name])
        if difference is None:
            return None
        furthest = max(furthest, difference)
    return furthest


def difference_of(ours: _Array, theirs: _Array) -> Fraction | None:
    """Give the largest difference of two arrays; None if they cannot be compared.

    A number that is no number, or infinite, compares only with the same.
    """
    if ours.dtype != theirs.dtype or ours.shape != theirs.shape:
        return None
    if ours.dtype.kind in "biu":
        differ = ours != theirs
        pairs = zip(ours[differ].tolist(), theirs[differ].tolist(), strict=True)
        return max((Fraction(abs(int(a) - int(b))) for a, b in pairs), default=Fraction(0))
    if ours.dtype.kind != "f" or ours.dtype.itemsize > 8:
        return None
    left, right = ours.astype(np.float64).ravel(), theirs.astype(np.float64).ravel()
    is_finite = np.isfinite(left) & np.isfinite(right)
    is_same = (left == right) | (np.isnan(left) & np.isnan(right))
    if not np.all(is_finite | is_same):
        return None
    differ = is_finite & ~is_same
    return _furthest(left[differ], right[differ])


def _furthest(left: NDArray[np.float64], right: NDArray[np.float64]) -> Fraction:
    if not left.size:
        return Fraction(0)
    with np.errstate(over="ignore"):  # Infinite is far, too.
        rounded = np.abs(left - right)
    candidates = rounded >= rounded.max() * _SLACK
    pairs = zip(left[candidates].tolist(), right[candidates].tolist(), strict=True)
    return max(abs(Fraction(a) - Fraction(b)) for a, b in pairs)
