"""Reading telemetry segments: Parquet files of samples, scanned into episodes.

A segment has the columns ``gpu`` (UUID), ``at_us`` (int64) and ``value``. It is read batch by
batch on a few threads, each of which keeps no more than its own batch and the episodes so far,
so memory does not grow with the number of samples.
"""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tallystick.app.errors import UnreadableFileError
from tallystick.timeline.episode_arrays import Partial, merge, partial
from tallystick.timeline.sample_values import valid_values
from tallystick.timeline.windows import Ints, Mask, Windows

_TYPES = {
    "gpu": (pa.string(),),
    "at_us": (pa.int64(),),
    "value": (pa.int32(), pa.int64(), pa.float64()),
}
COLUMNS = list(_TYPES)
BATCH_ROWS_MAX = 1 << 20

# Partial results wait until together they have this many rows, so that joining them is rare.
_PENDING_ROWS_MAX = 1 << 18


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
) -> Partial:
    """Find the episodes and blanks of all samples in segments of one metric.

    Args:
        paths: The segments, in any order.
        windows: The windows to look at.
        gpus: UUIDs by the code that windows give them.
        metric: Name of what was sampled; it decides which values are possible.
        threads: How many row groups are read at a time.

    Raises:
        UnreadableFileError: a segment cannot be read or lacks a column.
    """
    waiting: SimpleQueue[RowGroup] = SimpleQueue()
    for row_group in row_groups(paths):
        waiting.put(row_group)
    uuids = pa.array(gpus, pa.string())

    def work(_: int) -> Partial:
        coder = _Coder(uuids)
        found: list[Partial] = []
        pending = settled = 0
        while (row_group := _next(waiting)) is not None:
            for batch in read_batches(row_group):
                found.append(partial(*_samples(batch, coder, metric), windows))
                pending += len(found[-1].window) + len(found[-1].blank_us)
                del batch  # So that the next one can have its memory.
            if pending > max(_PENDING_ROWS_MAX, settled):
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


class _Coder:
    """Gives the GPUs of batches their codes; what one batch needed, the next one uses again."""

    def __init__(self, uuids: pa.Array) -> None:
        self._uuids = uuids
        self._dictionary: pa.Array | None = None
        self._codes = np.empty(0, np.int32)
        self._given = np.empty(BATCH_ROWS_MAX, np.int32)

    def codes(self, gpu: pa.DictionaryArray) -> npt.NDArray[np.int32]:
        """Give the code of each row, valid until the next call; -1 for all other GPUs and none."""
        if self._dictionary is None or not gpu.dictionary.equals(self._dictionary):
            known = pc.fill_null(pc.index_in(gpu.dictionary, value_set=self._uuids), -1)
            self._dictionary = gpu.dictionary
            self._codes = np.append(known.to_numpy(), np.int32(-1))
        number = gpu.indices.fill_null(-1).to_numpy()  # Counted from the end, that is the -1.
        return self._codes.take(number, mode="wrap", out=self._given[: len(number)])


def _samples(
    batch: pa.RecordBatch, coder: _Coder, metric: str
) -> tuple[npt.NDArray[np.int32], Ints, Mask]:
    """Give code, time and validity of each row that states its time."""
    if batch.column("at_us").null_count:
        batch = batch.filter(batch.column("at_us").is_valid())
    gpu, at_us, value = (batch.column(name) for name in COLUMNS)
    valid = valid_values(value.fill_null(-1).to_numpy(), metric)  # Below zero counts never.
    return coder.codes(gpu), at_us.to_numpy(), valid


def row_groups(paths: Sequence[Path]) -> Iterator[RowGroup]:
    """List the row groups of segments.

    Raises:
        UnreadableFileError: a segment cannot be read or lacks a column.
    """
    for path in paths:
        try:
            metadata = pq.read_metadata(path)
        except (OSError, pa.ArrowException) as error:
            raise UnreadableFileError(str(path), _reason(error)) from error
        _check_columns(path, metadata.schema.to_arrow_schema())
        for place in range(metadata.num_row_groups):
            yield RowGroup(path, metadata, place)


def _check_columns(path: Path, schema: pa.Schema) -> None:
    for name, types in _TYPES.items():
        if name not in schema.names:
            raise UnreadableFileError(str(path), f"expected a column {name}, found none")
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
