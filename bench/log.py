"""Admit records to a log, against plain appends of the same bytes; then prove them.

Ours is the whole way: lines read and checked, identities looked up, leaves hashed, one SQLite
transaction a batch, durable when it returns, and at the end the head signed, for which every
leaf is read and hashed again and the tree is built. The floor writes the same lines to a file
and calls ``fdatasync`` after each batch. Both in turns on the same disk; medians of the ratios.

Beside it stands what the store alone takes for leaves that were read before (``store_*``), and
what other records cost: small ones, large ones, and the evidence of the demo, of which half of
the bytes are rows of accounting and series of samples. With ``--growth N`` a log grows to N
records, and the rates on the way are kept.
"""

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import accumulate, count
from pathlib import Path
from typing import Any, NamedTuple

from story import evidence_of

from tallystick.app.admit import clock_us
from tallystick.app.cycles import no_cycle_collection
from tallystick.app.store import OpenStore, init_store, open_store
from tallystick.evidence.codec import read_delivery
from tallystick.evidence.leaf import identity_key, leaf_bytes
from tallystick.stores.delivery import deliver
from tallystick.stores.protocol import NewLeaf
from tallystick.stores.tiles import subtree_reader
from tallystick.tree.merkle import inclusion_path, leaf_hash

DATA = Path(__file__).resolve().parent / "data"
RECORDS = {1: 2_000, 100: 20_000, 1000: 50_000}
PAIRS = 5
PROOFS = 2_000
GROWTH_STEPS = (10_000, 90_000, 900_000)
STEP = 1_000_000


class Measured(NamedTuple):
    """Microseconds a record: of the floor, of admission, and of the store alone."""

    floor_us: float
    ours_us: float
    store_us: float


def lines_from(run: int) -> Iterator[bytes]:
    """Tell one story after another, from some run on."""
    while True:
        yield from evidence_of(run)
        run += 1


def lines_of(kind: str) -> Iterator[bytes]:
    """Give the records of one kind only, which are alike in size."""
    mark = b',"kind":"%b",' % kind.encode()
    return (line for line in lines_from(0) if mark in line)


def lines_of_demo() -> Iterator[bytes]:
    """Give the evidence of the demo again and again, each time of another cluster."""
    with tempfile.TemporaryDirectory() as folder:
        command = [str(Path(sys.executable).with_name("tallystick")), "demo", "--out", folder]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        files = [Path(folder) / name for name in ("evidence.jsonl", "late.jsonl")]
        told = [line for file in files for line in file.read_bytes().splitlines()]
    for copy in count():
        name = b"c%07d" % copy
        for line in told:
            before, mark, after = line.replace(b"testc", name).rpartition(b',"id":"')
            yield before + mark + name + b"-" + after


def take(lines: Iterator[bytes], count: int) -> list[bytes]:
    """Take so many lines."""
    return [next(lines) for _ in range(count)]


def batches(items: Sequence[Any], size: int) -> Iterator[Any]:
    """Cut a list into batches."""
    return (items[start : start + size] for start in range(0, len(items), size))


def us_each(work: Callable[[], object], count: int) -> float:
    """Time a call, in microseconds for each of some things."""
    with no_cycle_collection():
        started_s = time.perf_counter()
        work()
        return (time.perf_counter() - started_s) / count * 1e6


def append_plainly(path: Path, lines: Sequence[bytes], batch: int) -> None:
    """Write lines to a file, and sync after each batch."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for some in batches(lines, batch):
        os.write(handle, b"\n".join(some) + b"\n")
        os.fdatasync(handle)
    os.close(handle)


def admit(store: OpenStore, lines: Sequence[bytes], batch: int) -> None:
    """Admit lines in batches, and sign the head."""
    for some in batches(lines, batch):
        deliver(store.log, some, clock_us)
    store.issue_head()


def append_leaves(store: OpenStore, leaves: Sequence[NewLeaf], batch: int) -> None:
    """Append leaves that are read and hashed already."""
    for some in batches(leaves, batch):
        with store.log.writing() as log:
            log.find([leaf.key for leaf in some])
            log.append(some)


def leaf_of(line: bytes) -> NewLeaf:
    """Make the leaf of a line."""
    producer, record_id, canonical = read_delivery(line)
    data = leaf_bytes(canonical, 0)
    return NewLeaf(data, leaf_hash(data), identity_key(producer, record_id))


def pair(folder: Path, lines: Sequence[bytes], batch: int) -> Measured:
    """Time the floor, admission and the store with the same lines, on fresh files."""
    records = len(lines)
    leaves = [leaf_of(line) for line in lines]
    with tempfile.TemporaryDirectory(dir=folder) as place:
        floor, *stores = (Path(place) / name for name in ("floor", "ours", "alone"))
        floor_us = us_each(lambda: append_plainly(floor, lines, batch), records)
        for path in stores:
            init_store(path, "example.com/bench")
        with open_store(stores[0]) as store:
            ours_us = us_each(lambda: admit(store, lines, batch), records)
        with open_store(stores[1]) as store:
            store_us = us_each(lambda: append_leaves(store, leaves, batch), records)
    return Measured(floor_us, ours_us, store_us)


def compare(folder: Path, lines: Sequence[bytes], batch: int) -> dict[str, float | int]:
    """Measure pairs of one batch size, print them, and give the medians."""
    measured = [pair(folder, lines, batch) for _ in range(PAIRS)]
    ours = sorted(each.ours_us / each.floor_us for each in measured)
    alone = sorted(each.store_us / each.floor_us for each in measured)
    floor_us, ours_us, _ = map(statistics.median, zip(*measured, strict=True))
    print(
        f"batches of {batch:4}, {sum(map(len, lines)) // len(lines):4} bytes:"
        f" {1e6 / ours_us:6.0f} records/s, {ours_us:5.1f} us each;"
        f" {statistics.median(ours):5.2f} [{ours[0]:.2f}-{ours[-1]:.2f}] x fdatasync"
        f" ({floor_us:.2f} us); the store alone {statistics.median(alone):.2f} x",
        flush=True,
    )
    return {
        f"admit_{batch}_vs_fdatasync": round(statistics.median(ours), 2),
        f"store_{batch}_vs_fdatasync": round(statistics.median(alone), 2),
        f"admit_{batch}_per_s": round(1e6 / ours_us),
    }


def proofs_per_s(store: OpenStore) -> int:
    """Make proofs of random leaves of a store, whose head is signed."""
    store.issue_head()
    with store.log.reading() as log:
        size, subtree = log.size, subtree_reader(log)
        chosen = random.Random(1).choices(range(size), k=PROOFS)  # noqa: S311 (no secret)
        each_us = us_each(lambda: [inclusion_path(n, size, subtree) for n in chosen], PROOFS)
    print(f"{1e6 / each_us:.0f} inclusion proofs/s, random leaves of {size}", flush=True)
    return round(1e6 / each_us)


def other_records(folder: Path) -> dict[str, float | int]:
    """Compare batches of 1,000 for records of other sizes."""
    figures: dict[str, float | int] = {}
    others = {
        "300b": lines_of("progress.step"),
        "1kb": lines_of("allocation.started"),
        "demo": lines_of_demo(),
    }
    for name, lines in others.items():
        found = compare(folder, take(lines, RECORDS[100]), 1000)
        figures[f"admit_1000_{name}_vs_fdatasync"] = found["admit_1000_vs_fdatasync"]
    return figures


def grow(folder: Path, records: int) -> dict[str, float | int]:
    """Let a log grow, and give the rate of its last part on the way."""
    figures: dict[str, float | int] = {}
    lines = lines_from(0)
    steps = [*GROWTH_STEPS, *[STEP] * (records // STEP - 1)]
    init_store(folder / "store", "example.com/bench")
    with open_store(folder / "store") as store:
        for size, step in zip(accumulate(steps), steps, strict=True):
            spent_us = 0.0
            for _ in range(step // GROWTH_STEPS[0]):
                some = take(lines, GROWTH_STEPS[0])
                spent_us += us_each(partial(admit, store, some, 1000), 1)
            per_s = round(step / spent_us * 1e6)
            print(f"{size:9} records: {per_s} a second in the last {step}", flush=True)
            figures[f"admit_1000_per_s_at_{_short(size)}"] = per_s
        figures[f"proofs_per_s_at_{_short(records)}"] = proofs_per_s(store)
    size_mb = (folder / "store" / "log.db").stat().st_size / 1e6
    figures[f"log_mb_at_{_short(records)}"] = round(size_mb)
    return figures


def _short(size: int) -> str:
    return f"{size // STEP}m" if size >= STEP else f"{size // 1000}k"


def main() -> int:
    """Measure, print, and write the figures to the file that was named."""
    parser = argparse.ArgumentParser(description="Admit records to a log, and prove them.")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--growth", type=int, metavar="N", help="Let a log grow to N records.")
    options = parser.parse_args()
    figures: dict[str, float | int] = {}
    DATA.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=DATA) as name:
        folder = Path(name)
        if options.growth:
            figures = grow(folder, options.growth)
        else:
            for batch, records in RECORDS.items():
                figures |= compare(folder, take(lines_from(0), records), batch)
            figures |= other_records(folder)
            init_store(folder / "proofs", "example.com/bench")
            with open_store(folder / "proofs") as store:
                admit(store, take(lines_from(0), 100_000), 1000)
                figures["proofs_per_s_at_100k"] = proofs_per_s(store)
    options.out.write_text(json.dumps(figures), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
