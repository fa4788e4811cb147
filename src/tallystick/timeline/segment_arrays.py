"""Windows of segments as columns for the array form, and what it found as plain values.

``Found`` of a segment is the normal form of ``episode_arrays``, window by window.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tallystick.timeline.episode_arrays import Partial
from tallystick.timeline.segments import Found, SeriesWindow
from tallystick.timeline.windows import Windows


class WindowColumns(NamedTuple):
    """Windows of one series, and the UUID that each GPU code stands for."""

    windows: Windows
    uuids: tuple[str, ...]


def window_columns(windows: Sequence[SeriesWindow]) -> WindowColumns:
    """Lay out windows as columns, in their order."""
    uuids = tuple(dict.fromkeys(window.gpu for window in windows))
    codes = {uuid: code for code, uuid in enumerate(uuids)}
    rows = [(codes[each.gpu], each.start_us, each.end_us, each.reach_us) for each in windows]
    columns = np.array(rows, np.int64).reshape(-1, 4).T.copy()
    return WindowColumns(Windows(*columns), uuids)


def found_in(partial: Partial, windows: Sequence[SeriesWindow]) -> dict[SeriesWindow, Found]:
    """Give what was found of each window, also where it is nothing."""
    places = np.arange(len(windows) + 1)
    episode_at = np.searchsorted(partial.window, places).tolist()
    blank_at = np.searchsorted(partial.blank_window, places).tolist()
    firsts, lasts, blanks = (
        column.tolist() for column in (partial.first_us, partial.last_us, partial.blank_us)
    )
    impossible = set(partial.impossible_window.tolist())
    found = {}
    for place, window in enumerate(windows):
        low, high = episode_at[place], episode_at[place + 1]
        found[window] = Found(
            episodes=tuple(zip(firsts[low:high], lasts[low:high], strict=True)),
            blank_us=tuple(blanks[blank_at[place] : blank_at[place + 1]]),
            has_impossible=place in impossible,
        )
    return found
