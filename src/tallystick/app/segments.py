"""Reading telemetry segments: Parquet files of samples, scanned into episodes.

A segment has the columns ``gpu`` (UUID), ``at_us`` (int64) and ``value``. It is read batch by
batch on a few threads, each of which keeps no more than its own batch and the result so far, so
memory grows with the episodes and the blanks that none covers, not with the samples.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tallystick.app.errors import UnreadableFileError
from tallystick.timeline.episode_arrays import Partial, merge, partial, places_among
from tallystick.timeline.sample_values import dark_places, impossible_values
from tallystick.timeline.windows import Mask, Places, Windows

_TYPES = {
    "gpu": (pa.string(),),
    "at_us": (pa.int64(),),
    "value": (pa.int32(), pa.int64(), pa.float64()),
}
COLUMNS = list(_TYPES)
BATCH_ROWS_MAX = 1 << 20


Inspect = Callable[[pa.RecordBatch], None]


class RowGroup(NamedTuple):
    """One row group of a segment, the unit of work of a thread."""

    path: Path
    metadata: pq.FileMetaData
    place: int


def scan_segments(
    paths: Sequence[Path],
    windows: Windows,
    gpus: Sequence[str],
    *,
    metric: str,
    threads: int = 2,
    pending_rows_max: int = 1 << 18,
    inspect: Inspect | None = None,
) -> Partial:
    """Find the episodes and blanks of all samples in segments of one metric.

    Args:
        paths: The segments, in any order.
        windows: The windows to look at.
        gpus: UUIDs by the code that windows give them.
        metric: Name of what was sampled; it decides which values are possible.
        threads: How many row groups are read at a time.
        pending_rows_max: How many rows partial results of a thread may have before it joins them.
        inspect: Is shown every batch as it was read, on the thread that read it.

    Raises:
        UnreadableFileError: a segment cannot be read or lacks a column.
    """
    waiting: SimpleQueue[RowGroup] = SimpleQueue()
    for row_group in row_groups(paths):
        waiting.put(row_group)
    uuids = pa.array(gpus, pa.string())

    def work(_: int) -> Partial:
        found: list[Partial] = []
        pending = settled = 0
        local = _localise(uuids[:0], uuids, windows)
        while (row_group := _next(waiting)) is not None:
            for batch in read_batches(row_group):
                if inspect is not None:
                    inspect(batch)
                if not batch.column("gpu").dictionary.equals(local.dictionary):
                    local = _localise(batch.column("gpu").dictionary, uuids, windows)
                found.append(_partial(batch, local, metric))
                pending += len(found[-1].window) + len(found[-1].blank_us)
                del batch  # So that the next one can have its memory.
            if pending > max(pending_rows_max, settled):
                found = [merge(found, windows)]
                settled, pending = 2 * len(found[0].window), 0
        return merge(found, windows)

    with ThreadPoolExecutor(threads) as pool:
        return merge(pool.map(work, range(threads)), windows)


def _next(waiting: SimpleQueue[RowGroup]) -> RowGroup | None:
    try:
        return waiting.get_nowait()
    except Empty:
        return None


class _Local(NamedTuple):
    """The windows on the GPUs of one dictionary, which neighbouring batches mostly share.

    ``windows`` name a GPU by its place in the dictionary, and ``place`` is where each of them
    stands among all windows. ``is_asked`` tells of each place whether any window is on it.
    """

    dictionary: pa.Array
    windows: Windows
    place: Places
    is_asked: Mask


def _localise(dictionary: pa.Array, uuids: pa.Array, windows: Windows) -> _Local:
    """Find the windows on the GPUs of a dictionary."""
    number = pc.fill_null(pc.index_in(uuids, value_set=dictionary), -1).to_numpy()
    local = number[windows.gpu]
    place = np.flatnonzero(local >= 0)
    here = windows.take(place)
    local = local[place].astype(np.int64)
    is_asked = np.zeros(len(dictionary), np.bool_)
    is_asked[local] = True
    renamed = Windows(local, here.start_us, here.end_us, here.reach_us)
    return _Local(dictionary, renamed, place, is_asked)


def _partial(batch: pa.RecordBatch, local: _Local, metric: str) -> Partial:
    """Find the episodes of one batch; rows without a GPU or a time are passed over."""
    if batch.column("at_us").null_count:
        batch = batch.filter(batch.column("at_us").is_valid())
    gpu, at_us, value = (batch.column(name) for name in COLUMNS)
    codes, times_us = gpu.indices.fill_null(-1).to_numpy(), at_us.to_numpy()
    values = value.fill_null(-1).to_numpy()  # Below zero counts never.
    dark = dark_places(values, metric)
    stated = value.take(pa.array(dark)).is_valid().to_numpy(zero_copy_only=False)
    impossible = dark[impossible_values(values[dark], metric) & stated]
    if 2 * np.count_nonzero(local.is_asked) < len(local.is_asked):
        rows = np.flatnonzero(np.append(local.is_asked, False)[codes])
        codes, times_us = codes[rows], times_us[rows]
        dark, impossible = places_among(dark, rows), places_among(impossible, rows)
    found = partial(codes, times_us, local.windows, dark=dark, impossible=impossible)
    return found._replace(
        window=local.place[found.window],
        blank_window=local.place[found.blank_window],
        impossible_window=local.place[found.impossible_window],
    )


def row_groups(paths: Sequence[Path]) -> Iterator[RowGroup]:
    """List the row groups of segments.

    Raises:
        UnreadableFileError: a segment cannot be read or lacks a column.
    """
    for path in paths:
        try:
            metadata = pq.read_metadata(path)
            schema = metadata.schema.to_arrow_schema()
        except (OSError, pa.ArrowException) as error:
            raise UnreadableFileError(str(path), _reason(error)) from error
        _check_columns(path, schema)
        for place in range(metadata.num_row_groups):
            yield RowGroup(path, metadata, place)


def _check_columns(path: Path, schema: pa.Schema) -> None:
    for name, types in _TYPES.items():
        count = schema.names.count(name)
        if count != 1:
            raise UnreadableFileError(
                str(path), f"expected a column {name}, found {count or 'none'}"
            )
        kind = schema.field(name).type
        kind = kind.value_type if pa.types.is_dictionary(kind) else kind
        if kind not in types:
            expected = " or ".join(map(str, types))
            raise UnreadableFileError(
                str(path), f"expected {expected} in column {name}, found {kind}"
            )


def read_batches(row_group: RowGroup) -> Iterator[pa.RecordBatch]:
    """Read the columns of a row group on the calling thread, the UUIDs as a dictionary.

    Raises:
        UnreadableFileError: the segment cannot be read.
    """
    path, metadata, place = row_group
    try:
        with pq.ParquetFile(path, metadata=metadata, read_dictionary=COLUMNS[:1]) as segment:
            yield from segment.iter_batches(
                BATCH_ROWS_MAX, row_groups=[place], columns=COLUMNS, use_threads=False
            )
    except (OSError, pa.ArrowException) as error:
        raise UnreadableFileError(str(path), _reason(error)) from error


def _reason(error: Exception) -> str:
    return str(getattr(error, "strerror", None) or error).splitlines()[0].lower()
