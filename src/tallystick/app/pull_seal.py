"""Sealing rows into a segment of a store: the file first, then the record that names it.

The bytes follow from the rows alone, so rows that are pulled again are the same segment.
"""

import io
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tallystick.app.store import OpenStore
from tallystick.app.stored_segments import Extent, name_segment
from tallystick.collectors.pull.devices import Table
from tallystick.stores.segments import SegmentFolder


class Sealed(NamedTuple):
    """A segment that a pull sealed, and whether the log had not named it before."""

    digest: str
    metric: str
    rows: int
    from_us: int
    to_us: int
    gpus: int
    is_new: bool


def seal(store: OpenStore, table: Table, cadence_us: int) -> Sealed:
    """Keep rows as a segment, and name it in the log.

    Raises:
        StoreWriteError: it cannot be kept.
    """
    digest = SegmentFolder(store.folder.segments).add(io.BytesIO(segment_bytes(table)))
    extent = Extent(
        rows=len(table.times_us),
        from_us=int(table.times_us.min()),
        to_us=int(table.times_us.max()),
        gpus=table.gpus,
    )
    is_new = name_segment(store, digest, extent, metric=table.metric, cadence_us=cadence_us)
    return Sealed(
        digest, table.metric, extent.rows, extent.from_us, extent.to_us, len(extent.gpus), is_new
    )


def segment_bytes(table: Table) -> bytes:
    """Write rows as Parquet, the same bytes for the same rows."""
    codes = np.repeat(np.arange(len(table.gpus), dtype=np.int32), table.lengths)
    columns = {
        "gpu": pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(table.gpus, pa.string())),
        "at_us": pa.array(table.times_us),
        "value": pa.array(table.values, mask=np.isnan(table.values)),
    }
    stream = io.BytesIO()
    pq.write_table(
        pa.table(columns),
        stream,
        compression="zstd",
        use_dictionary=["gpu", "value"],
        column_encoding={"at_us": "DELTA_BINARY_PACKED"},
    )
    return stream.getvalue()
