"""Segments for tests: a store of them in a folder, and the records that name them."""

import hashlib
import io
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from tallystick.app.segment_scan import scan_case
from tallystick.core.instant import format_instant
from tallystick.evidence.leaf import LOG_PRODUCER
from tallystick.receipt.assemble import Case
from tallystick.timeline.dropped import condense, said_by_segment
from tallystick.timeline.segments import segment_sha256
from tests.evidence.records import Json, moment_us, record

MINUTE_US = 60_000_000
METRIC = "sm_util"


class Row(NamedTuple):
    """One row of a segment."""

    gpu: str | None
    at_us: int | None
    value: float | None


class SegmentFolder:
    """Segments in a folder, found by their SHA-256."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.files: dict[str, Path] = {}

    def keep(
        self,
        rows: Sequence[Row],
        *,
        metric: str = METRIC,
        cadence_us: int = MINUTE_US,
        per_group: int = 1000,
        otherwise: Json | None = None,
    ) -> Json:
        """Keep rows as a segment, and give the record that names it.

        ``otherwise`` are fields of the record that say something else than the truth.
        """
        gpus, times, values = zip(*rows, strict=True) if rows else ((), (), ())
        columns = [
            pa.array(gpus, pa.string()),
            pa.array(times, pa.int64()),
            pa.array(values, pa.float64()),
        ]
        table = pa.table(columns, names=["gpu", "at_us", "value"])
        sha256 = self.keep_table(table, per_group=per_group)
        stated_us = [at_us for at_us in times if at_us is not None] or [0]
        body: Json = {
            "segment": f"sha256:{sha256}",
            "path": f"segments/{sha256}.parquet",
            "rows": len(rows),
            "from": format_instant(min(stated_us)),
            "to": format_instant(max(stated_us)),
            "gpus": sorted({gpu for gpu in gpus if gpu is not None}),
            "cadence_us": cadence_us,
            "metric": metric,
        }
        return record("telemetry.samples", None, body | (otherwise or {}))

    def keep_table(self, table: pa.Table, *, per_group: int = 1000) -> str:
        """Keep a table as a segment, and give its SHA-256."""
        stream = io.BytesIO()
        pq.write_table(table, stream, row_group_size=per_group)
        return self.keep_bytes(stream.getvalue())

    def keep_bytes(self, data: bytes) -> str:
        """Keep bytes as a segment, and give their SHA-256."""
        sha256 = hashlib.sha256(data).hexdigest()
        self.files[sha256] = self.folder / f"{sha256}.parquet"
        self.files[sha256].write_bytes(data)
        return sha256

    def file_of(self, one: Json) -> Path:
        """Give the file of a segment by the record that names it."""
        return self.files[segment_sha256(one["body"]["segment"])]


def rows_at(times: str, gpu: str = "g1") -> list[Row]:
    """Sample a GPU: ``00:10 00:11=150 00:12=null``; a time without a value has a good one."""
    pairs = [each.partition("=") for each in times.split()]
    return [
        Row(gpu, moment_us(at), None if value == "null" else float(value or 50))
        for at, _, value in pairs
    ]


def drops_of(
    case: Case, files: Mapping[str, Path], names: Iterable[str], **options: int
) -> list[Json]:
    """Drop segments by policy: give the records that the log keeps instead of them."""
    scanned = scan_case(case, files.get)
    return [
        record("telemetry.dropped", "20:00", body, producer=LOG_PRODUCER)
        for name in names
        for body in condense(
            name,
            "keep 90 days",
            said_by_segment(name, case.telemetry.catalogue, scanned),
            **options,
        )
    ]
