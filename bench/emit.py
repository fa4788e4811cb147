"""What a step costs the training loop that reports it, and how fast reports come home.

The floor of a step is one ``write`` of as many bytes to a file on the same disk, in the same
loop and in turns. Growth shows whether a long run pays more for its millionth step than for its
first. The shipper's figure is records of a journal into a store on the same disk.
"""

import argparse
import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tallystick.app.ship import store_sender
from tallystick.app.store import init_store, open_store
from tallystick.emit.progress.attach import attach
from tallystick.emit.ship import Shipper

SIZES = (10_000, 100_000, 1_000_000)
SHIPPED = 100_000


def times_ns(call: Callable[[int], object], first: int, count: int) -> list[int]:
    """Time calls one by one."""
    taken = []
    for number in range(first, first + count):
        before_ns = time.perf_counter_ns()
        call(number)
        taken.append(time.perf_counter_ns() - before_ns)
    return taken


def percentile_us(taken_ns: list[int], share: int) -> float:
    """Give a percentile in microseconds."""
    return statistics.quantiles(taken_ns, n=100)[share - 1] / 1000


def steps(folder: Path, count: int) -> tuple[dict[str, float], Path]:
    """Report steps and write as many plain lines, in turns of a thousand."""
    spool = folder / f"spool-{count}"
    run = attach("bench", attempt="bench", spool=spool)
    assert run.problem is None, run.problem
    line = b"s %d %d %d 1\n" % (time.time_ns() // 1000, time.monotonic_ns() // 1000, count)
    floor = os.open(folder / "floor", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    reported: list[int] = []
    written: list[int] = []
    for first in range(1, count + 1, 1000):
        reported += times_ns(run.step, first, 1000)
        written += times_ns(lambda _: os.write(floor, line), first, 1000)
    os.close(floor)
    run.close()
    assert run.problem is None, run.problem
    figures = {
        "p50_us": percentile_us(reported, 50),
        "p99_us": percentile_us(reported, 99),
        "write_p50_us": percentile_us(written, 50),
        "ratio": percentile_us(reported, 50) / percentile_us(written, 50),
    }
    return figures, spool


def shipped_per_s(folder: Path, spool: Path) -> float:
    """Send the reports of a journal into a store."""
    init_store(folder / "store", origin="bench.example/emit")
    with open_store(folder / "store", notice=lambda _: None) as store:
        before_s = time.perf_counter()
        counts = Shipper(spool, "bench", ()).ship(store_sender(store.log)).counts
        taken_s = time.perf_counter() - before_s
    assert counts == {"accepted": SHIPPED + 2}, counts
    return SHIPPED / taken_s


def main() -> None:
    """Print a row for each size, and keep the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path)
    out: Path | None = parser.parse_args().out
    figures: dict[str, float] = {}
    with tempfile.TemporaryDirectory(prefix="tallystick-bench-") as name:
        folder = Path(name)
        for size in SIZES:
            found, spool = steps(folder, size)
            print(f"{size:>9,} steps  " + "  ".join(f"{k} {v:.2f}" for k, v in found.items()))
            if size == SHIPPED:
                figures["emit_step_p50_us"] = round(found["p50_us"], 2)
                figures["emit_step_p99_us"] = round(found["p99_us"], 2)
                figures["emit_step_vs_write"] = round(found["ratio"], 2)
                per_s = shipped_per_s(folder, spool)
                print(f"shipper into a store: {per_s:,.0f} records/s")
    if out is not None:
        out.write_text(json.dumps(figures), encoding="utf-8")


if __name__ == "__main__":
    main()
