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

from tallystick.timeline.presence import deciding
from tallystick.timeline.windows import TIME_MAX_US, Codes, Ints, Mask, Places, Windows

_LINE_MAX_US = 1 << 62


class Partial(NamedTuple):
    """What a set of samples says about windows, in its one normal form.

    Episodes by window, then time. Blanks are the times inside ``[start, end)`` at which a
    sample had no usable value and which no episode covers, by window, then time. Last come
    the windows in which a sample had a value that cannot be, whatever else was there.
    """

    window: Ints
    first_us: Ints
    last_us: Ints
    blank_window: Ints
    blank_us: Ints
    impossible_window: Ints


_NO_PLACES: Places = np.empty(0, np.int64)
_NOTHING = Partial(*[_NO_PLACES] * 6)


class _Line(NamedTuple):
    """One line for all times of a batch, GPU after GPU, so that one number orders samples.

    The stretch of each GPU is ``length_us`` long and begins at ``base_us``.
    """

    base_us: int
    length_us: int

    def fits(self, gpus: int) -> bool:
        """Tell whether the line of so many GPUs can be numbered in 64 bits."""
        return gpus * self.length_us <= _LINE_MAX_US

    def place(self, gpu: Codes, at_us: Ints) -> Ints:
        """Give places on the line; a time outside the batch falls on an end of its stretch."""
        along_us = np.clip(at_us - self.base_us, 0, self.length_us)
        return np.multiply(gpu, self.length_us, dtype=np.int64) + along_us

    def time(self, gpu: Ints, place: Ints) -> Ints:
        """Give the times of places."""
        return place - gpu * self.length_us + self.base_us


def _line_over(at_us: Ints) -> _Line:
    base_us = int(at_us.min())
    return _Line(base_us, int(at_us.max()) - base_us + 1)


def partial(
    gpu: Codes,
    at_us: Ints,
    windows: Windows,
    *,
    dark: Places = _NO_PLACES,
    impossible: Places = _NO_PLACES,
) -> Partial:
    """Find the episodes and blanks of one batch of samples.

    Args:
        gpu: GPU code of each sample; those that no window has are passed over.
        at_us: Time of each sample, in any order, duplicates included.
        windows: The windows to look at.
        dark: Places of the samples without a usable value, in order.
        impossible: Places of those of them with a value that cannot be, in order.
    """
    return _partial(_Batch(gpu, at_us, dark, impossible), windows)


class _Batch(NamedTuple):
    """Samples, and the places of those that are dark, and of those that cannot be."""

    gpu: Codes
    at_us: Ints
    dark: Places
    impossible: Places

    def part(self, rows: Mask) -> "_Batch":
        """Choose samples."""
        kept = np.flatnonzero(rows)
        dark, impossible = (places_among(each, kept) for each in (self.dark, self.impossible))
        return _Batch(self.gpu[kept], self.at_us[kept], dark, impossible)


def _partial(batch: _Batch, windows: Windows) -> Partial:
    gpu, at_us, _, _ = batch
    if not len(windows) or not len(at_us):
        return _NOTHING
    gpus, line = int(windows.gpu.max()) + 1, _line_over(at_us)
    top_us = line.base_us + line.length_us - 1
    earliest_us = (windows.start_us - windows.reach_us).min()
    latest_us = (windows.end_us + windows.reach_us).max()
    if line.base_us < earliest_us or top_us > latest_us or gpu.min() < 0 or gpu.max() >= gpus:
        near = (at_us >= earliest_us) & (at_us <= latest_us)
        return _partial(batch.part(near & (gpu >= 0) & (gpu < gpus)), windows)
    if not line.fits(gpus):
        # Halves of the time span join to the same result.
        early = at_us <= line.base_us + line.length_us // 2 - 1
        halves = (_partial(batch.part(half), windows) for half in (early, ~early))
        return merge(halves, windows)
    reached = np.flatnonzero(
        (windows.start_us - windows.reach_us <= top_us)
        & (windows.end_us + windows.reach_us >= line.base_us)
    )
    if not len(reached):
        return _NOTHING
    found = _on_line(batch, line, windows.take(reached), gpus)
    return _normal(
        windows,
        found._replace(
            window=reached[found.window],
            blank_window=reached[found.blank_window],
            impossible_window=reached[found.impossible_window],
        ),
    )


def _on_line(batch: _Batch, line: _Line, windows: Windows, gpus: int) -> Partial:
    """Find what a batch that fits a line says of windows that it reaches, not yet normal."""
    gpu, at_us, dark, impossible = batch
    place, stretch = deciding(gpu, at_us, dark, windows, gpus=gpus)
    window, first_us, last_us = _chains(line, gpu[place], at_us[place], stretch, windows)
    blank_window, blank_us = _blanks(line, gpu[dark], at_us[dark], windows, gpus)
    impossible_window, _ = _blanks(line, gpu[impossible], at_us[impossible], windows, gpus)
    return Partial(window, first_us, last_us, blank_window, blank_us, impossible_window)


def places_among(places: Places, kept: Places) -> Places:
    """Give the new places of rows once only some are kept; both are in order."""
    at = np.searchsorted(kept, places)
    return np.asarray(at[np.append(kept, -1)[at] == places])


def merge(partials: Iterable[Partial], windows: Windows) -> Partial:
    """Join partial results; neither their order nor a repetition matters."""
    columns = zip(_NOTHING, *partials, strict=True)
    return _normal(windows, Partial(*(np.concatenate(column) for column in columns)))


def _chains(
    line: _Line, gpu: Codes, at_us: Ints, stretch: Ints, windows: Windows
) -> tuple[Ints, Ints, Ints]:
    """Find the chains of each window, perhaps cut finer than its own reach would."""
    places = line.place(gpu, at_us)
    order = _order(gpu, places)
    places = places[order]
    low = np.searchsorted(places, line.place(windows.gpu, windows.start_us - windows.reach_us))
    high = np.searchsorted(places, line.place(windows.gpu, windows.end_us + windows.reach_us + 1))
    bounds = _breaks(line, places, stretch[order], windows)
    window, chain = _expand(
        np.searchsorted(bounds, low, side="right") - 1,
        np.where(low < high, np.searchsorted(bounds, high), 0),
    )
    first = places[np.maximum(bounds[chain], low[window])]
    last = places[np.minimum(bounds[chain + 1], high[window]) - 1]
    of = windows.gpu[window]
    return window, line.time(of, first), line.time(of, last)


def _order(gpu: Codes, places: Ints) -> Places:
    """Sort places of GPUs.

    NumPy sorts 16 bits by radix, several times faster than more; grouped by GPU, rows in order
    of time are sorted. What is not, late rows or codes of more bits, a merge sort puts right.
    """
    if _is_ordered(places):
        return np.arange(len(places))
    order = np.argsort(gpu.astype(np.uint16), kind="stable")
    grouped = places[order]
    if _is_ordered(grouped):
        return order
    return order[np.argsort(grouped, kind="stable")]


def _is_ordered(places: Ints) -> bool:
    return bool((places[1:] >= places[:-1]).all())


def _breaks(line: _Line, places: Ints, stretch: Ints, windows: Windows) -> Places:
    """Find where a sample lies further from the one before than the least reach of its GPU.

    The first place and the end count as breaks.
    """
    apart = stretch[1:] != stretch[:-1]
    step_us = np.diff(places)
    if (windows.reach_us == windows.reach_us[0]).all():
        apart &= step_us > windows.reach_us[0]
    else:
        least_us = np.full(int(windows.gpu.max()) + 1, TIME_MAX_US)
        np.minimum.at(least_us, windows.gpu, windows.reach_us)
        apart &= step_us > least_us.take(places[1:] // line.length_us, mode="clip")
    return np.concatenate([[0], np.flatnonzero(apart) + 1, [len(places)]])


def _blanks(line: _Line, gpu: Codes, at_us: Ints, windows: Windows, gpus: int) -> tuple[Ints, Ints]:
    """Find the samples without a usable value inside each window."""
    is_dark = np.zeros(gpus, np.bool_)
    is_dark[gpu] = True
    window = np.flatnonzero(is_dark[windows.gpu])
    places, of = np.unique(line.place(gpu, at_us)), windows.gpu[window]
    owner, number = _expand(
        np.searchsorted(places, line.place(of, windows.start_us[window])),
        np.searchsorted(places, line.place(of, windows.end_us[window])),
    )
    return window[owner], line.time(of[owner], places[number])


def _expand(low: Places, high: Places) -> tuple[Ints, Ints]:
    """List the numbers of every range ``[low, high)`` and which range each is of."""
    count = np.maximum(high - low, 0)
    owner = np.repeat(np.arange(len(count)), count)
    before = np.cumsum(count) - count
    return owner, np.arange(len(owner)) + (low - before)[owner]


def _normal(windows: Windows, found: Partial) -> Partial:
    window, first_us, last_us = _joined(windows, found.window, found.first_us, found.last_us)
    blank_window, blank_us = found.blank_window, found.blank_us
    if len(blank_us):
        asked = np.zeros(len(windows), np.bool_)
        asked[blank_window] = True
        of = asked[window]
        dark = _uncovered(window[of], first_us[of], last_us[of], blank_window, blank_us)
        blank_window, blank_us = blank_window[dark], blank_us[dark]
    impossible_window = np.unique(found.impossible_window)
    return Partial(window, first_us, last_us, blank_window, blank_us, impossible_window)


def _joined(windows: Windows, window: Ints, first_us: Ints, last_us: Ints) -> tuple[Ints, ...]:
    """Join chains that overlap or lie within reach of one another.

    With the firsts and the lasts of a window each in order, a chain ends at the i-th last
    exactly if the next first lies beyond its reach: all that began by then have ended too.
    """
    by_first, by_last = _by_window(window, first_us), _by_window(window, last_us)
    window, first_us, last_us = window[by_first], first_us[by_first], last_us[by_last]
    apart = first_us[1:] - last_us[:-1] > windows.reach_us[window[1:]]
    apart |= window[1:] != window[:-1]
    begins = np.concatenate([np.ones(min(len(window), 1), np.bool_), apart])
    ends = np.concatenate([apart, np.ones(min(len(window), 1), np.bool_)])
    return window[begins], first_us[begins], last_us[ends]


def _by_window(window: Ints, at_us: Ints) -> Places:
    """Order by window, then time."""
    if not len(window):
        return window
    line = _line_over(at_us)
    if line.fits(int(window.max()) + 1):
        return _order(window, line.place(window, at_us))
    return np.lexsort((at_us, window))


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
