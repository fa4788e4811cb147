"""Made-up telemetry for the coverage benchmark: the same bytes from the same seed.

Every GPU is sampled once in 15 s, at a moment of its own and with some jitter, to the
microsecond. Rows stand in the order of their arrival. Single samples are lost and there are
outages; some values are null, a sentinel or impossible; some rows come twice, and some come
minutes to hours late. Windows are what a scheduler would allocate: several per GPU, aligned
to seconds, with idle time between, and some that overlap as shared GPUs do.
"""

import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from tallystick.timeline.windows import Windows

DATA = Path(__file__).resolve().parent / "data"
METRIC = "DCGM_FI_DEV_GPU_UTIL"
CADENCE_US = 15_000_000
REACH_US = 37_500_000
START_US = 1_767_225_600_000_000
TICKS = 10_000
WINDOWS = 20_000
ROWS_PER_GROUP = 1_000_000
SENTINEL = 2_147_483_632
SEED = 20_260_101
VERSION = 1

Ints = npt.NDArray[np.int64]


class Rows(NamedTuple):
    """Samples in columns; a value of -1 stands for null."""

    gpu: npt.NDArray[np.int32]
    at_us: Ints
    value: npt.NDArray[np.int32]
    arrival_us: Ints

    def take(self, places: Ints | npt.NDArray[np.bool_]) -> "Rows":
        """Choose rows."""
        gpu, at_us, value, arrival_us = self
        return Rows(gpu[places], at_us[places], value[places], arrival_us[places])


class Fleet(NamedTuple):
    """A number of GPUs, each sampled 10,000 times."""

    name: str
    gpus: int

    @property
    def path(self) -> Path:
        """Where its samples lie."""
        return DATA / f"coverage-{self.name}-v{VERSION}.parquet"


FLEETS = {fleet.name: fleet for fleet in (Fleet("10m", 1_000), Fleet("100m", 10_000))}


def uuids(fleet: Fleet) -> list[str]:
    """Name the GPUs of a fleet."""
    draw = np.random.default_rng([SEED, fleet.gpus, 0])
    return [f"GPU-{uuid.UUID(bytes=draw.bytes(16))}" for _ in range(fleet.gpus)]


def windows(fleet: Fleet) -> Windows:
    """Allocate the GPUs of a fleet; every tenth window begins before the last one ended."""
    draw = np.random.default_rng([SEED, fleet.gpus, 1])
    each = WINDOWS // fleet.gpus
    span_s = TICKS * CADENCE_US // 1_000_000
    bounds_s = np.sort(draw.integers(0, span_s, (fleet.gpus, each + 1)), axis=1)
    room_s = np.diff(bounds_s)
    start_s = bounds_s[:, :-1] + room_s * draw.integers(-3, 27, room_s.shape) // 100
    end_s = np.maximum(bounds_s[:, 1:], start_s + 60)
    return Windows(
        gpu=np.repeat(np.arange(fleet.gpus), each),
        start_us=START_US + start_s.ravel() * 1_000_000,
        end_us=START_US + end_s.ravel() * 1_000_000,
        reach_us=np.full(WINDOWS, REACH_US),
    )


def make(fleet: Fleet) -> None:
    """Write the samples of a fleet, unless they lie there already."""
    if fleet.path.exists():
        return
    DATA.mkdir(exist_ok=True)
    names = pa.array(uuids(fleet))
    unfinished = fleet.path.with_suffix(".part")
    schema = pa.schema(
        {
            "gpu": pa.dictionary(pa.int32(), pa.string()),
            "at_us": pa.int64(),
            "value": pa.int32(),
        }
    )
    with pq.ParquetWriter(unfinished, schema, compression="zstd") as writer:
        for rows in _arrivals(fleet):
            columns = [
                pa.DictionaryArray.from_arrays(rows.gpu, names),
                pa.array(rows.at_us),
                pa.array(rows.value, mask=rows.value == -1),
            ]
            writer.write_table(pa.table(columns, schema=schema), row_group_size=len(rows.gpu))
    unfinished.rename(fleet.path)


def _arrivals(fleet: Fleet) -> Iterator[Rows]:
    """Give the rows of each row group; those that are late go into a later one."""
    draw = np.random.default_rng([SEED, fleet.gpus, 2])
    phase_us = draw.integers(0, CADENCE_US - 100_000, fleet.gpus)
    outages = _outages(fleet, draw)
    ticks = ROWS_PER_GROUP // fleet.gpus
    late: list[Rows] = []
    for tick in range(0, TICKS, ticks):
        rows = _sampled(draw, phase_us, outages[tick : tick + ticks], tick)
        end_us = START_US + (tick + ticks) * CADENCE_US
        arrived = _together(*late, rows)
        waits = (arrived.arrival_us >= end_us) & (tick + ticks < TICKS)
        late = [arrived.take(waits)]
        here = arrived.take(~waits)
        yield here.take(np.argsort(here.arrival_us, kind="stable"))


def _outages(fleet: Fleet, draw: np.random.Generator) -> npt.NDArray[np.bool_]:
    """Mark by tick and GPU where nothing was collected: about one outage per GPU, and losses."""
    begun = np.zeros((TICKS + 1, fleet.gpus), np.int8)
    gpu = draw.integers(0, fleet.gpus, fleet.gpus)
    first = draw.integers(0, TICKS, fleet.gpus)
    last = np.minimum(first + draw.integers(3, 120, fleet.gpus), TICKS)
    np.add.at(begun, (first, gpu), 1)
    np.add.at(begun, (last, gpu), -1)
    out: npt.NDArray[np.bool_] = np.cumsum(begun[:-1], axis=0, dtype=np.int8) > 0
    return out


def _sampled(
    draw: np.random.Generator, phase_us: Ints, outage: npt.NDArray[np.bool_], tick: int
) -> Rows:
    """Sample every GPU at some ticks, with all that goes wrong."""
    shape = outage.shape
    at_us = START_US + (tick + np.arange(shape[0])[:, None]) * CADENCE_US + phase_us
    at_us += draw.integers(0, 100_000, shape)
    value = draw.integers(0, 101, shape, dtype=np.int32)
    luck = draw.integers(0, 10_000, shape, dtype=np.int16)
    for low, high, wrong in ((0, 10, -1), (10, 20, SENTINEL), (20, 23, 127)):
        value[(luck >= low) & (luck < high)] = wrong
    delay_us = np.zeros(shape, np.int64)
    is_late = luck >= 9_995  # One row in 2,000.
    delay_us[is_late] = draw.integers(60, 4 * 3_600, int(is_late.sum())) * 1_000_000
    taken = ~outage & ((luck < 30) | (luck >= 80))  # One in 200 is lost for itself.
    gpu = np.broadcast_to(np.arange(shape[1], dtype=np.int32), shape)
    rows = Rows(gpu[taken], at_us[taken], value[taken], (at_us + delay_us)[taken])
    again = rows.take(luck[taken] // 10 == 500)  # One in 1,000 comes twice.
    again = again._replace(arrival_us=again.arrival_us + 5_000_000)
    return _together(rows, again)


def _together(*parts: Rows) -> Rows:
    return Rows(*(np.concatenate(column) for column in zip(*parts, strict=True)))
