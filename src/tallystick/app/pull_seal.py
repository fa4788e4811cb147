"""Sealing rows into a segment of a store: the file first, then the record that names it.

The bytes follow from the rows alone, so rows that are pulled again are the same segment.
"""

import io
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tallystick.app.admit import clock_us
from tallystick.app.store import OpenStore
from tallystick.collectors.pull.devices import Table
from tallystick.core.instant import format_instant
from tallystick.stores.delivery import write_own
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
    folder = SegmentFolder(store.folder.segments)
    digest = folder.add(io.BytesIO(segment_bytes(table)))
    from_us, to_us = int(table.times_us.min()), int(table.times_us.max())
    body = {
        "segment": digest,
        "path": f"segments/{folder.place(digest).name}",
        "rows": len(table.times_us),
        "from": format_instant(from_us),
        "to": format_instant(to_us),
        "gpus": table.gpus,
        "cadence_us": cadence_us,
        "metric": table.metric,
    }
    with store.log.writing() as log:
        before = log.size
        write_own(log, "telemetry.samples", body, clock_us())
        is_new = log.size > before
    rows, gpus = len(table.times_us), len(table.gpus)
    return Sealed(digest, table.metric, rows, from_us, to_us, gpus, is_new)


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
