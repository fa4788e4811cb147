"""Whether the values of an array are measurements: ``values`` for a column of numbers.

A value is a sample if it is neither blank nor impossible (rule 21). NaN and the infinities are
blank, as they are no plain decimal numbers.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from tallystick.timeline.values import blank_from, possible_max

Values = npt.NDArray[np.int32] | npt.NDArray[np.int64] | npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
Places = npt.NDArray[np.int64]

_EIGHT_VALID = np.ones(8, np.bool_).view(np.uint64)[0]
_UNSIGNED: dict[Any, tuple[Any, int]] = {
    np.dtype(np.int32): (np.uint32, 2**31 - 1),
    np.dtype(np.int64): (np.uint64, 2**63 - 1),
}


def valid_values(values: Values, metric: str) -> Mask:
    """Mark the values that are samples: neither blank nor impossible."""
    highest = possible_max(metric)
    if values.dtype in _UNSIGNED:
        unsigned, largest = _UNSIGNED[values.dtype]
        limit = min(blank_from(metric) - 1 if highest is None else highest, largest)
        # Read without its sign bit a negative number lies above the limit: one comparison does.
        return np.asarray(values.view(unsigned) <= limit)
    below = values < blank_from(metric) if highest is None else values <= highest
    return np.asarray((values >= 0) & below)


def dark_places(values: Values, metric: str) -> Places:
    """Find the values that are no samples, in order; where they are few, eight at a time."""
    valid = valid_values(values, metric)
    eights = valid[: len(valid) // 8 * 8].view(np.uint64)
    mixed = np.flatnonzero(eights != _EIGHT_VALID)
    near = (mixed[:, np.newaxis] * 8 + np.arange(8)).reshape(-1)
    near = np.concatenate([near, np.arange(len(eights) * 8, len(valid))])
    return np.asarray(near[~valid[near]])


def impossible_values(values: Values, metric: str) -> Mask:
    """Mark the values that the source stated and that the metric cannot have."""
    stated = np.isfinite(values) & (values < blank_from(metric))
    return np.asarray(stated & ~valid_values(values, metric))
