"""Time the coverage kernel over millions of samples, beside only scanning the same columns.

The floor reads the same row groups of the same file with pyarrow on two threads and drops
them; the kernel also finds what every window observed and its gaps. Each measurement is a
process of its own, floor and kernel in turn, so that a busy machine slows both alike; the
median of the ratios counts. Starting Python and importing is left out of both times.

A DuckDB query, written from the rules and not from the kernel, must give the same digest.
"""

import argparse
import hashlib
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from coverage_data import FLEETS, METRIC, WINDOWS, Fleet, make, uuids, windows

from tallystick.app.segments import RowGroup, read_batches, row_groups, scan_segments
from tallystick.timeline.observed_arrays import Observed, observed
from tallystick.timeline.windows import Windows

THREADS = 2
ROUNDS = {"10m": 7, "100m": 5}


class Measured(NamedTuple):
    """What one process did."""

    result: str
    wall_s: float
    cpu_s: float
    peak_mb: float


class Question(NamedTuple):
    """What all are asked: the samples, the windows, and the UUIDs by code."""

    path: Path
    windows: Windows
    uuids: list[str]


def scan(asked: Question) -> str:
    """Read the columns and drop them: the floor."""
    with ThreadPoolExecutor(THREADS) as pool:
        return f"{sum(pool.map(_count, row_groups([asked.path])))} rows"


def _count(row_group: RowGroup) -> int:
    return sum(len(batch) for batch in read_batches(row_group))


def kernel(asked: Question) -> str:
    """Find what every window observed, and its gaps."""
    path, table, names = asked
    found = scan_segments([path], table, names, metric=METRIC, threads=THREADS)
    return digest(observed(found, table))


def duckdb(asked: Question) -> str:
    """Ask DuckDB for the same: a gap is a step between valid samples that is too long."""
    import duckdb as engine  # noqa: PLC0415  # The other processes do without it.

    path, table, names = asked
    gpu = np.array(names)[table.gpu]
    columns = [np.arange(len(table)), gpu, table.start_us, table.end_us, table.reach_us]
    with engine.connect(config={"threads": THREADS}) as connection:
        connection.register("windows", pa.table(columns, names=["w", "gpu", "s", "e", "g"]))
        connection.execute(SQL.format(path=path))
        gaps = connection.execute("SELECT w, a, b, dark FROM gaps ORDER BY w, a").fetchnumpy()
        sums = connection.execute(
            "SELECT e - s - coalesce(sum(b - a), 0)::BIGINT AS seen "
            "FROM windows LEFT JOIN gaps USING (w) GROUP BY w, s, e ORDER BY w"
        ).fetchnumpy()
    return digest(Observed(sums["seen"], gaps["w"], gaps["a"], gaps["b"], gaps["dark"]))


SQL = """
CREATE VIEW samples AS SELECT gpu, at_us AS t, value BETWEEN 0 AND 100 AS ok
FROM read_parquet('{path}');
CREATE TABLE valid AS SELECT DISTINCT w, s, e, g, t FROM samples JOIN windows USING (gpu)
WHERE ok AND t BETWEEN s - g AND e + g;
-- Without a sample inside, a window is dark unless the samples around it are close enough.
CREATE TABLE hollow AS SELECT w,
    coalesce(min(t) FILTER (t >= e) - max(t) FILTER (t < s) <= g, false) AS bridged
FROM windows LEFT JOIN valid USING (w, s, e, g) GROUP BY w, g
HAVING count(*) FILTER (t >= s AND t < e) = 0;
CREATE TABLE steps AS SELECT * FROM (
    SELECT w, g, t AS a, lead(t) OVER (PARTITION BY w ORDER BY t) AS b FROM (
        SELECT w, g, t FROM valid WHERE t > s AND t < e
        UNION ALL SELECT w, g, s FROM windows UNION ALL SELECT w, g, e FROM windows))
WHERE b IS NOT NULL;
CREATE TABLE blanks AS SELECT DISTINCT w, t FROM samples JOIN windows USING (gpu)
WHERE ok IS NOT TRUE AND t >= s AND t < e;
CREATE TABLE alone AS SELECT w, t FROM blanks ANTI JOIN valid USING (w, t);
CREATE TABLE bare AS SELECT w, a, b FROM steps LEFT JOIN hollow USING (w)
WHERE CASE WHEN hollow.bridged IS NULL THEN b - a > g ELSE NOT hollow.bridged END;
CREATE TABLE gaps AS SELECT bare.w, a, b, count(t) > 0 AS dark
FROM bare LEFT JOIN alone ON alone.w = bare.w AND t >= a AND t < b GROUP BY bare.w, a, b;
"""


def digest(seen: Observed) -> str:
    """Hash a result as little-endian integers."""
    hashed = hashlib.sha256()
    for column in seen:
        hashed.update(np.ascontiguousarray(column, "<i8").tobytes())
    return hashed.hexdigest()[:16]


def peak_mb() -> float:
    """Give the most memory that this process has held, in units of 10^6 bytes."""
    status = Path("/proc/self/status")
    if status.exists():  # Unlike getrusage this leaves out what the parent held.
        line = next(row for row in status.read_text().splitlines() if row.startswith("VmHWM"))
        return int(line.split()[1]) * 1024 / 1e6
    import resource  # noqa: PLC0415  # Not on every system.

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


MODES = {mode.__name__: mode for mode in (scan, kernel, duckdb)}


def child(mode: str, fleet: Fleet) -> Measured:
    """Do one thing in this process, with everything imported and the question at hand."""
    asked = Question(fleet.path, windows(fleet), uuids(fleet))
    wall_ns, cpu_ns = time.perf_counter_ns(), time.process_time_ns()
    result = MODES[mode](asked)
    wall_s, cpu_s = time.perf_counter_ns() - wall_ns, time.process_time_ns() - cpu_ns
    return Measured(result, wall_s / 1e9, cpu_s / 1e9, peak_mb())


def measure(mode: str, fleet: Fleet) -> Measured:
    """Do one thing in a process of its own.

    Raises:
        subprocess.CalledProcessError: it failed; its own message is on standard error.
    """
    command = [sys.executable, __file__, "--child", mode, fleet.name]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE)
    return Measured(**json.loads(done.stdout))


def compare(fleet: Fleet, *, rounds: int, is_checked: bool) -> dict[str, float]:
    """Measure floor and kernel in turn, print them, and give the figures.

    Raises:
        SystemExit: the second implementation found something else.
    """
    make(fleet)
    floors, kernels = zip(
        *[(measure("scan", fleet), measure("kernel", fleet)) for _ in range(rounds)], strict=True
    )
    ratios = sorted(one.wall_s / floor.wall_s for floor, one in zip(floors, kernels, strict=True))
    ratio, spread = statistics.median(ratios), f"[{ratios[0]:.2f} to {ratios[-1]:.2f}]"
    print(f"{fleet.name}: {floors[0].result}, {fleet.gpus} GPUs, {WINDOWS} windows")
    print("           wall s    cpu s  peak MB")
    for name, side in (("scan", floors), ("kernel", kernels)):
        print(f"  {name:7}{_medians(side)}")
    print(f"  kernel ÷ scan: {ratio:.2f} {spread} of wall time, on {THREADS} threads", flush=True)
    if is_checked:
        second = measure("duckdb", fleet)
        print(f"  duckdb {_medians([second])}")
        if {second.result} != {one.result for one in kernels}:
            raise SystemExit(f"{fleet.name}: expected {second.result}, got {kernels[0].result}")
        print(f"  both give {second.result}", flush=True)
    cpu = statistics.median(one.cpu_s for one in kernels) / statistics.median(
        floor.cpu_s for floor in floors
    )
    return {
        "vs_scan": round(ratio, 2),
        "cpu_vs_scan": round(cpu, 2),  # What a busy machine disturbs less.
        "peak_mb": round(max(one.peak_mb for one in kernels)),
    }


def _medians(side: Sequence[Measured]) -> str:
    wall_s, cpu_s, peak = (
        statistics.median(column) for column in list(zip(*side, strict=True))[1:]
    )
    return f"{wall_s:10.3f} {cpu_s:8.3f} {peak:8.0f}"


def main() -> int:
    """Measure, print, and write the figures to the file that was named."""
    parser = argparse.ArgumentParser(description="Time the coverage kernel.")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--only", choices=FLEETS, help="measure one fleet")
    parser.add_argument("--duckdb-100m", action="store_true", help="check 100 million too (slow)")
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.child:
        mode, name = asked.child
        print(json.dumps(child(mode, FLEETS[name])._asdict()))
        return 0
    figures: dict[str, float] = {}
    for name, rounds in ROUNDS.items():
        if asked.only in {None, name}:
            is_checked = name == "10m" or asked.duckdb_100m
            found = compare(FLEETS[name], rounds=rounds, is_checked=is_checked)
            figures |= {f"coverage_{name}_{key}": value for key, value in found.items()}
    if asked.out:
        asked.out.write_text(json.dumps(figures), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
