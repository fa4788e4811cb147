"""Episodes of many windows from arrays of samples: a partial result per batch, then a merge.

``partial`` takes one batch of samples in any order, ``merge`` joins partial results. Merging
is associative, commutative and idempotent, and the result depends only on the set of samples:
batches may be cut anywhere, come late, or come twice.

No sample becomes a Python object. What an episode is, and why it is enough, stands in
``episodes``.
"""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tallystick.timeline.windows import Ints, Mask, Windows

Codes = npt.NDArray[np.integer]

_KEY_MAX = 1 << 62
# NumPy sorts integers of up to 16 bits by radix, which is several times faster.
_DIGIT_BITS = 16


class Partial(NamedTuple):
    """What a set of samples says about windows, in its one normal form.

    Episodes by window, then time. Blanks are the times inside ``[start, end)`` at which a
    sample had no usable value and which no episode covers, by window, then time.
    """

    window: Ints
    first_us: Ints
    last_us: Ints
    blank_window: Ints
    blank_us: Ints


_NOTHING = Partial(*[np.empty(0, np.int64)] * 5)


class _Batch(NamedTuple):
    """Samples laid on one line, GPU after GPU, so that one number orders them.

    ``keys`` are the places of the valid samples, in order, and ``dark`` those of the others.
    The stretch of each GPU is ``stride`` long and begins at ``base_us``.
    """

    keys: Ints
    dark: Ints
    base_us: int
    stride: int

    def place(self, gpu: Ints, at_us: Ints) -> Ints:
        """Give places on the line; a time outside the batch falls on an end of its stretch."""
        return gpu * self.stride + np.clip(at_us - self.base_us, 0, self.stride)

    def time(self, gpu: Ints, key: Ints) -> Ints:
        """Give the times of places."""
        return key - gpu * self.stride + self.base_us


def partial(gpu: Codes, at_us: Ints, valid: Mask | None, windows: Windows) -> Partial:
    """Find the episodes and blanks of one batch of samples.

    Args:
        gpu: GPU code of each sample; those that no window has are passed over.
        at_us: Time of each sample, in any order, duplicates included.
        valid: Which samples have a usable value; None if all have.
        windows: The windows to look at.
    """
    gpu, at_us, valid = _within_reach(gpu, at_us, valid, windows)
    if not len(at_us):
        return _NOTHING
    base_us, top_us = int(at_us.min()), int(at_us.max())
    gpus, stride = int(windows.gpu.max()) + 1, top_us - base_us + 1
    if gpus * stride > _KEY_MAX:
        # The line is too long for 64 bits. Halves of the time span join to the same result.
        early = at_us <= base_us + stride // 2 - 1
        halves = [(part, None if valid is None else valid[part]) for part in (early, ~early)]
        return merge((partial(gpu[p], at_us[p], v, windows) for p, v in halves), windows)
    batch = _lay_out(gpu, at_us, valid, base_us, stride)
    reached = np.flatnonzero(
        (windows.start_us - windows.reach_us <= top_us)
        & (windows.end_us + windows.reach_us >= base_us)
    )
    window, first_us, last_us = _chains(batch, windows, reached)
    blank_window, blank_us = _blanks(batch, windows, reached)
    return _normal(windows, Partial(window, first_us, last_us, blank_window, blank_us))


def merge(partials: Iterable[Partial], windows: Windows) -> Partial:
    """Join partial results; neither their order nor a repetition matters."""
    columns = zip(_NOTHING, *partials, strict=True)
    return _normal(windows, Partial(*(np.concatenate(column) for column in columns)))


def _within_reach(
    gpu: Codes, at_us: Ints, valid: Mask | None, windows: Windows
) -> tuple[Codes, Ints, Mask | None]:
    """Drop the samples that no window can reach, whatever times and codes they have."""
    if not len(windows) or not len(at_us):
        return gpu[:0], at_us[:0], None
    earliest_us = (windows.start_us - windows.reach_us).min()
    latest_us = (windows.end_us + windows.reach_us).max()
    highest = windows.gpu.max()
    if (
        earliest_us <= at_us.min()
        and at_us.max() <= latest_us
        and gpu.min() >= 0
        and gpu.max() <= highest
    ):
        return gpu, at_us, valid
    near = (gpu >= 0) & (gpu <= highest) & (at_us >= earliest_us) & (at_us <= latest_us)
    return gpu[near], at_us[near], None if valid is None else valid[near]


def _lay_out(gpu: Codes, at_us: Ints, valid: Mask | None, base_us: int, stride: int) -> _Batch:
    keys = np.multiply(gpu, stride, dtype=np.int64)
    keys += at_us
    keys -= base_us
    if valid is None or valid.all():
        return _Batch(_ordered(gpu, keys), keys[:0], base_us, stride)
    dark = np.unique(keys[~valid])
    return _Batch(_ordered(gpu[valid], keys[valid]), dark, base_us, stride)


def _ordered(gpu: Codes, keys: Ints) -> Ints:
    """Sort keys: by radix over the GPU, which is all that rows in order of time need."""
    if _is_ordered(keys):
        return keys
    order = np.argsort(gpu.astype(np.uint16), kind="stable")
    for shift in range(_DIGIT_BITS, int(gpu.max()).bit_length(), _DIGIT_BITS):
        digit = (gpu >> shift).astype(np.uint16)
        order = order.take(np.argsort(digit.take(order), kind="stable"))
    grouped = keys.take(order)
    if not _is_ordered(grouped):
        grouped.sort(kind="stable")  # A merge sort, so a few late rows cost little.
    return grouped


def _is_ordered(keys: Ints) -> bool:
    return bool((keys[1:] >= keys[:-1]).all())


def _chains(batch: _Batch, windows: Windows, reached: Ints) -> tuple[Ints, Ints, Ints]:
    """Find the chains of each window, perhaps cut finer than its own reach would.

    Gives window, first and last. Which first belongs to which last is left open.
    """
    gpu = windows.gpu[reached]
    reach_us = windows.reach_us[reached]
    low = np.searchsorted(batch.keys, batch.place(gpu, windows.start_us[reached] - reach_us))
    high = np.searchsorted(batch.keys, batch.place(gpu, windows.end_us[reached] + reach_us + 1))
    seen = low < high
    reached, gpu, low, high = reached[seen], gpu[seen], low[seen], high[seen]
    breaks = _breaks(batch, gpu, reach_us[seen])
    owner, place = _expand(
        np.searchsorted(breaks, low, side="right"), np.searchsorted(breaks, high)
    )
    inner = breaks[place]
    member = np.concatenate([np.arange(len(reached)), owner])
    first = batch.keys[np.concatenate([low, inner])]
    last = batch.keys[np.concatenate([high, inner]) - 1]
    gpu = gpu[member]
    return reached[member], batch.time(gpu, first), batch.time(gpu, last)


def _breaks(batch: _Batch, gpu: Ints, reach_us: Ints) -> Ints:
    """Find where a sample lies further from the one before than the least reach of its GPU."""
    if not len(reach_us):
        return reach_us
    step_us = np.diff(batch.keys)
    if (reach_us == reach_us[0]).all():
        return np.flatnonzero(step_us > reach_us[0]) + 1
    least = np.full(int(gpu.max()) + 2, np.iinfo(np.int64).max)
    np.minimum.at(least, gpu, reach_us)
    ends = np.searchsorted(batch.keys, np.arange(1, len(least)) * batch.stride)
    limit = np.repeat(least, np.diff(ends, prepend=0, append=len(batch.keys)))
    return np.flatnonzero(step_us > limit[1:]) + 1


def _blanks(batch: _Batch, windows: Windows, reached: Ints) -> tuple[Ints, Ints]:
    """Find the samples without a usable value inside each window."""
    if not len(batch.dark):
        return batch.dark, batch.dark
    gpu = windows.gpu[reached]
    owner, place = _expand(
        np.searchsorted(batch.dark, batch.place(gpu, windows.start_us[reached])),
        np.searchsorted(batch.dark, batch.place(gpu, windows.end_us[reached])),
    )
    return reached[owner], batch.time(gpu[owner], batch.dark[place])


def _expand(low: npt.NDArray[np.intp], high: npt.NDArray[np.intp]) -> tuple[Ints, Ints]:
    """List the numbers of every range ``[low, high)`` and which range each is of."""
    count = np.maximum(high - low, 0)
    owner = np.repeat(np.arange(len(count)), count)
    before = np.cumsum(count) - count
    return owner, np.arange(len(owner)) + (low - before)[owner]


def _normal(windows: Windows, found: Partial) -> Partial:
    window, first_us, last_us = _joined(windows, found.window, found.first_us, found.last_us)
    blank_window, blank_us = found.blank_window, found.blank_us
    if len(blank_us):
        dark = _uncovered(window, first_us, last_us, blank_window, blank_us)
        blank_window, blank_us = blank_window[dark], blank_us[dark]
    return Partial(window, first_us, last_us, blank_window, blank_us)


def _joined(windows: Windows, window: Ints, first_us: Ints, last_us: Ints) -> tuple[Ints, ...]:
    """Join chains that overlap or lie within reach of one another.

    With the firsts and the lasts of a window each in order, a chain ends at the i-th last
    exactly if the next first lies beyond its reach: all that began by then have ended too.
    """
    by_first = np.lexsort((first_us, window))
    by_last = np.lexsort((last_us, window))
    window, first_us, last_us = window[by_first], first_us[by_first], last_us[by_last]
    apart = first_us[1:] - last_us[:-1] > windows.reach_us[window[1:]]
    apart |= window[1:] != window[:-1]
    begins = np.concatenate([np.ones(min(len(window), 1), np.bool_), apart])
    ends = np.concatenate([apart, np.ones(min(len(window), 1), np.bool_)])
    return window[begins], first_us[begins], last_us[ends]


def _uncovered(
    window: Ints, first_us: Ints, last_us: Ints, blank_window: Ints, blank_us: Ints
) -> Ints:
    """Choose the blanks that no episode covers, each once, by window, then time."""
    chains, blanks = len(window), len(blank_us)
    kind = np.repeat([0, 1, 2], [chains, blanks, chains])  # Order of events at one moment.
    at_us = np.concatenate([first_us, blank_us, last_us])
    order = np.lexsort((kind, at_us, np.concatenate([window, blank_window, window])))
    depth = np.cumsum(1 - kind[order])
    chosen: Ints = order[(depth == 0) & (kind[order] == 1)] - chains
    fresh = np.ones(len(chosen), np.bool_)
    fresh[1:] = np.diff(blank_us[chosen]) != 0
    fresh[1:] |= np.diff(blank_window[chosen]) != 0
    return chosen[fresh]
