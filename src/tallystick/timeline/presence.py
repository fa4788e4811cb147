"""Which samples of a batch can decide anything, found without sorting them.

Time is divided into slots of half a reach and every GPU into cells, one per slot. Samples in
neighbouring cells are always within reach of one another, so only a cell beside an empty one
can hold an end of an episode, and only the cells at the bounds of a window can hold the first
and last sample that it reaches. All other samples, nearly all of them, are passed over.
"""

from typing import NamedTuple

import numpy as np

from tallystick.timeline.windows import Codes, Ints, Mask, Places, Windows

# With more cells than this per sample the cells cost more than sorting does.
_CELLS_PER_SAMPLE_MAX = 4
_CELLS_MAX = (1 << 31) - 1
# Slots are laid over all but a hundredth of the samples on each side, and a little further,
# so that a few that come hours late do not stretch them.
_TRIMMED = 100
_TRIM_SAMPLES = 1024
# Blocks that stay in the cache of a processor while they are worked on.
_BLOCK_ROWS = 1 << 16


class Deciding(NamedTuple):
    """Places of the samples that can decide, and the stretch that each lies in.

    Two of them that are neighbours in time on one GPU and share a stretch have no break
    between them. Those of different stretches have no other sample between them.
    """

    place: Places
    stretch: Ints


class _Slots(NamedTuple):
    """``inner`` slots of one width from ``base_us``; all other times share one more."""

    base_us: int
    width_us: int
    inner: int

    def cells(self, gpu: Codes, at_us: Ints) -> Ints:
        """Number the cell of each sample, GPU after GPU."""
        cell = np.empty(len(at_us), np.int64)
        for begin in range(0, len(at_us), _BLOCK_ROWS):
            block = slice(begin, begin + _BLOCK_ROWS)
            slot = np.subtract(at_us[block], self.base_us, out=cell[block])
            slot //= self.width_us
            # Without its sign bit a slot before the first is above every other.
            unsigned = slot.view(np.uint64)
            np.minimum(unsigned, np.uint64(self.inner), out=unsigned)
            slot += np.multiply(gpu[block], self.inner + 1, dtype=np.int32)
        return cell


def deciding(gpu: Codes, at_us: Ints, dark: Places, windows: Windows, *, gpus: int) -> Deciding:
    """Find the samples that can decide what the windows observe.

    Args:
        gpu: GPU code of each sample, from 0 to ``gpus`` - 1.
        at_us: Time of each sample.
        dark: Places of the samples to pass over.
        windows: The windows, at least one.
        gpus: How many GPUs there may be.
    """
    reach_us = int(windows.reach_us.min())
    slots = _lay_slots(at_us, reach_us)
    cells = (gpus + 1) * (slots.inner + 1)
    # Without a reach not even neighbouring moments, and so no two cells, are within it.
    if not reach_us or cells > min(_CELLS_PER_SAMPLE_MAX * len(at_us), _CELLS_MAX):
        lit = np.ones(len(at_us), np.bool_)
        lit[dark] = False
        place = np.flatnonzero(lit)
        return Deciding(place, place)
    cell = slots.cells(gpu, at_us)
    cell[dark] = cells - 1  # The cells after the last GPU are nobody's.
    empty = np.ones(cells, np.bool_)
    empty[cell] = False
    empty[slots.inner :: slots.inner + 1] = True  # The last slot of each GPU is no span of time.
    near = _beside(empty, slots, windows)
    near[gpus * (slots.inner + 1) :] = False
    place = np.flatnonzero(near.take(cell, mode="wrap"))
    cell = cell[place]
    stretch = np.cumsum(empty, dtype=np.int32)[cell].astype(np.int64)
    outside = np.flatnonzero(cell % (slots.inner + 1) == slots.inner)
    stretch[outside] = -1 - outside
    return Deciding(place, stretch)


def _lay_slots(at_us: Ints, reach_us: int) -> _Slots:
    """Choose slots so that samples in neighbouring ones are within reach of one another."""
    some = np.sort(at_us[:: max(1, len(at_us) // _TRIM_SAMPLES)])
    trimmed = len(some) // _TRIMMED
    low_us, high_us = int(some[trimmed]), int(some[-1 - trimmed])
    margin_us = (high_us - low_us) // _TRIMMED * 3
    width_us = max(1, reach_us // 2)
    span_us = high_us - low_us + 2 * margin_us
    return _Slots(low_us - margin_us, width_us, span_us // width_us + 1)


def _beside(empty: Mask, slots: _Slots, windows: Windows) -> Mask:
    """Mark the cells that touch an empty one or a bound of what a window reaches."""
    near = empty.copy()
    near[0] = True  # Before the first cell there is no span of time either.
    near[1:] |= empty[:-1]
    near[:-1] |= empty[1:]
    first = slots.cells(windows.gpu, windows.start_us - windows.reach_us)
    last = slots.cells(windows.gpu, windows.end_us + windows.reach_us)
    for cell in (first, first + 1, last, last - 1):
        near[cell] = True
    return near
