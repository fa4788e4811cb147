"""Windows as columns for the arrays, and back again as plain values."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tallystick.timeline.episode_arrays import partial
from tallystick.timeline.segment_arrays import found_in, window_columns
from tallystick.timeline.segments import Found, SeriesWindow
from tests.timeline.segment_samples import found_of

GOOD, BLANK, IMPOSSIBLE = "50", None, "150"

windows = st.lists(
    st.builds(
        lambda gpu, start, length, reach: SeriesWindow(
            gpu, "gpu_util", 1, start, start + length, reach
        ),
        st.sampled_from(["g1", "g2", "g3"]),
        st.integers(10, 50),
        st.integers(1, 30),
        st.integers(0, 12),
    ),
    max_size=6,
    unique=True,
)
samples = st.lists(
    st.tuples(
        st.sampled_from(["g1", "g2"]),
        st.integers(0, 70),
        st.sampled_from([GOOD, GOOD, BLANK, IMPOSSIBLE]),
    ),
    max_size=40,
)


@given(samples, windows)
def test_arrays_find_what_each_window_holds(
    rows: list[tuple[str, int, str | None]], asked: list[SeriesWindow]
) -> None:
    """The same as looking at the samples of a window one by one, also where there are none."""
    columns = window_columns(asked)
    rows = [row for row in rows if row[0] in columns.uuids]
    gpu = np.array([columns.uuids.index(uuid) for uuid, _, _ in rows], np.int64)
    at_us = np.array([at_us for _, at_us, _ in rows], np.int64)
    values = np.array([value or "" for _, _, value in rows])

    found = partial(
        gpu,
        at_us,
        columns.windows,
        dark=np.flatnonzero(values != GOOD),
        impossible=np.flatnonzero(values == IMPOSSIBLE),
    )

    assert found_in(found, asked) == {window: found_of(rows, window) for window in asked}


def test_nothing_found_is_said_of_every_window() -> None:
    """A window that was asked about has an answer, and its values are plain ones."""
    window = SeriesWindow("g1", "m", 1, 0, 10, 2)
    columns = window_columns([window])

    found = found_in(
        partial(np.empty(0, np.int64), np.empty(0, np.int64), columns.windows), [window]
    )

    assert found == {window: Found((), (), has_impossible=False)}
