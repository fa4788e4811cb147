"""Admit records to a log, against plain appends of the same bytes; then prove them.

Ours is the whole way: lines read and checked, identities looked up, leaves hashed, one SQLite
transaction a batch, durable when it returns, and at the end the head signed, for which every
leaf is read and hashed again and the tree is built. The floor writes the same lines to a file
and calls ``fdatasync`` after each batch. Both in turns on the same disk; medians of the ratios.

Beside it stands what the store alone takes for leaves that were read before (``store_*``).
With ``--growth N`` a log grows to N records, and the rates on the way are kept.
"""

import argparse
import json
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
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

HERE = Path(__file__).resolve().parent
RECORDS = {1: 2_000, 100: 20_000, 1000: 50_000}
PAIRS = 5
PROOFS = 2_000
STEP = 1_000_000
RUN_RECORDS = 109


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


def pair(folder: Path, number: int, batch: int) -> Measured:
    """Time the floor, admission and the store with the same lines, on fresh files."""
    count = RECORDS[batch]
    lines = take(lines_from(0), count)
    leaves = [leaf_of(line) for line in lines]
    floor_us = us_each(lambda: append_plainly(folder / "floor", lines, batch), count)
    stores = [folder / f"{name}-{batch}-{number}" for name in ("ours", "alone")]
    for path in stores:
        init_store(path, "example.com/bench")
    with open_store(stores[0]) as store:
        ours_us = us_each(lambda: admit(store, lines, batch), count)
    with open_store(stores[1]) as store:
        store_us = us_each(lambda: append_leaves(store, leaves, batch), count)
    return Measured(floor_us, ours_us, store_us)


def compare(folder: Path, batch: int) -> dict[str, float | int]:
    """Measure pairs of one batch size, print them, and give the medians."""
    pairs = [pair(folder, number, batch) for number in range(PAIRS)]
    ours = sorted(each.ours_us / each.floor_us for each in pairs)
    alone = sorted(each.store_us / each.floor_us for each in pairs)
    floor_us, ours_us, _ = map(statistics.median, zip(*pairs, strict=True))
    print(
        f"batches of {batch:4}: {1e6 / ours_us:7.0f} records/s, {ours_us:6.1f} us each;"
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


def grow(folder: Path, records: int) -> dict[str, float | int]:
    """Let a log grow, and give the rate of its last part at each million."""
    figures: dict[str, float | int] = {}
    lines = lines_from(0)
    init_store(folder / "store", "example.com/bench")
    with open_store(folder / "store") as store:
        for size in range(STEP, records + 1, STEP):
            spent_us = 0.0
            for _ in range(STEP // 50_000):
                some = take(lines, 50_000)
                spent_us += us_each(lambda some=some: admit(store, some, 1000), 1)  # type: ignore[misc]
            per_s = round(STEP / spent_us * 1e6)
            print(f"{size:9} records: {per_s} a second in the last million", flush=True)
            figures[f"admit_1000_per_s_at_{size // STEP}m"] = per_s
        figures[f"proofs_per_s_at_{records // STEP}m"] = proofs_per_s(store)
    size_mb = (folder / "store" / "log.db").stat().st_size / 1e6
    figures[f"log_mb_at_{records // STEP}m"] = round(size_mb)
    return figures


def main() -> int:
    """Measure, print, and write the figures to the file that was named."""
    parser = argparse.ArgumentParser(description="Admit records to a log, and prove them.")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--growth", type=int, metavar="N", help="Let a log grow to N records.")
    options = parser.parse_args()
    figures: dict[str, float | int] = {}
    with tempfile.TemporaryDirectory(dir=HERE / "data") as name:
        folder = Path(name)
        if options.growth:
            figures = grow(folder, options.growth)
        else:
            for batch in RECORDS:
                figures |= compare(folder, batch)
            init_store(folder / "proofs", "example.com/bench")
            with open_store(folder / "proofs") as store:
                admit(store, take(lines_from(0), 100_000), 1000)
                figures["proofs_per_s_at_100k"] = proofs_per_s(store)
    options.out.write_text(json.dumps(figures), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
