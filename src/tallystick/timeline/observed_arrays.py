"""What episodes observe of many windows, and the gaps they leave: rule 24 on arrays.

The same as ``episodes.observed_of``, for the result of ``episode_arrays.merge``.
"""

from typing import NamedTuple

import numpy as np

from tallystick.timeline.episode_arrays import Partial
from tallystick.timeline.windows import Ints, Mask, Windows


class Observed(NamedTuple):
    """Time observed of each window, and the gaps by window, then time.

    A gap is cut at every valid sample, so a lonely one has a gap on each side. ``gap_blank``
    tells whether a sample without a usable value lies in it.
    """

    observed_us: Ints
    gap_window: Ints
    gap_start_us: Ints
    gap_end_us: Ints
    gap_blank: Mask


def observed(found: Partial, windows: Windows) -> Observed:
    """Measure what each window has seen, edge rules included, and list its gaps."""
    window, start_us, end_us = _spans(found, windows)
    observed_us = np.zeros(len(windows), np.int64)
    np.add.at(observed_us, window, end_us - start_us)
    gap_window, gap_start_us, gap_end_us = _gaps(windows, window, start_us, end_us)
    blank = _with_blank(gap_window, gap_start_us, gap_end_us, found)
    return Observed(observed_us, gap_window, gap_start_us, gap_end_us, blank)


def _spans(found: Partial, windows: Windows) -> tuple[Ints, Ints, Ints]:
    """Clip the episodes to their windows and let them reach the edges."""
    of = found.window
    inside = (found.last_us >= windows.start_us[of]) & (found.first_us < windows.end_us[of])
    window = of[inside]
    low_us, high_us = windows.start_us[window], windows.end_us[window]
    reach_us = windows.reach_us[window]
    start_us = np.maximum(found.first_us[inside], low_us)
    end_us = np.minimum(found.last_us[inside], high_us)
    # Episodes are further apart than the reach, so only the first and the last can do this.
    start_us = np.where(start_us - low_us <= reach_us, low_us, start_us)
    end_us = np.where(high_us - end_us <= reach_us, high_us, end_us)
    return window, start_us, end_us


def _gaps(windows: Windows, window: Ints, start_us: Ints, end_us: Ints) -> tuple[Ints, Ints, Ints]:
    """List what lies before each span, after the last, and all of a window without any."""
    turns = window[1:] != window[:-1]
    lone = np.ones(min(len(window), 1), np.bool_)
    head, tail = np.concatenate([lone, turns]), np.concatenate([turns, lone])
    before_us = np.where(head, windows.start_us[window], np.roll(end_us, 1))
    unseen = np.setdiff1d(np.arange(len(windows)), window)
    gap_window = np.concatenate([window, window[tail], unseen])
    gap_start_us = np.concatenate([before_us, end_us[tail], windows.start_us[unseen]])
    gap_end_us = np.concatenate([start_us, windows.end_us[window[tail]], windows.end_us[unseen]])
    order = np.lexsort((gap_start_us, gap_window))
    order = order[gap_start_us[order] < gap_end_us[order]]
    return gap_window[order], gap_start_us[order], gap_end_us[order]


def _with_blank(gap_window: Ints, gap_start_us: Ints, gap_end_us: Ints, found: Partial) -> Mask:
    """Mark the gaps in which a blank lies, by the gap that began last before each blank."""
    gaps, blanks = len(gap_window), len(found.blank_us)
    marked = np.zeros(gaps, np.bool_)
    if not gaps:
        return marked
    is_blank = np.repeat([False, True], [gaps, blanks])
    at_us = np.concatenate([gap_start_us, found.blank_us])
    window = np.concatenate([gap_window, found.blank_window])
    order = np.lexsort((is_blank, at_us, window))
    latest = np.cumsum(~is_blank[order]) - 1
    of = latest[is_blank[order]]
    at_us, window = found.blank_us, found.blank_window  # In this same order already.
    hit = (of >= 0) & (gap_window[of] == window) & (at_us < gap_end_us[of])
    marked[of[hit]] = True
    return marked
