"""Verify and replay a bundle of 10,000 records: what a third party waits for.

The run has one attempt, its GPUs are summed up once, and the rest are reports of steps, in a
log with ten times as many records of other runs. Floor: hashing the leaves and decoding them
as JSON, which nobody who checks them can leave out. Verifying is the whole call: signatures,
container, members, leaves, proof, receipt and contracts.
"""

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
from story import CONTRACT, Run, evidence_of

from tallystick.app.admit import clock_us
from tallystick.app.bundles import replay_verified
from tallystick.app.store import OpenStore, init_store, open_store
from tallystick.app.stored_bundles import bundle_run
from tallystick.app.stored_contracts import publish_contracts
from tallystick.app.stored_receipts import issue_receipt
from tallystick.core.keys import VerifyKey
from tallystick.receipt.bundle.verify import verify_bundle
from tallystick.stores.delivery import deliver
from tallystick.tree.merkle import leaf_hash

RECORDS = 10_000
OTHER_RUNS = 900
ROUNDS = 7
RUN = "bench-run"


def long_run(records: int) -> Iterator[bytes]:
    """Tell the story of one long attempt in so many lines of evidence."""
    run = Run(1_000_000)
    attempt = "slurm:c1:1000000:1772323200"
    yield run.line(
        "allocation.started",
        0,
        "slurm",
        attempt=attempt,
        run=RUN,
        scheduler="slurm",
        cluster="c1",
        job_id="1000000",
        nodes=[run.node],
        gpus=[{"uuid": uuid, "node": run.node} for uuid in run.gpus],
        gpu_type="H100",
        capacity="spot",
    )
    for step in range(1, records - 1):
        yield run.line("progress.step", 30 * step, "job", attempt=attempt, step=step, every=1)
    yield run.line("allocation.ended", 30 * records, "slurm", attempt=attempt, ended_by="completed")


def made(store: OpenStore, folder: Path) -> tuple[bytes, tuple[VerifyKey, ...]]:
    """Fill a store, issue the receipt of the long run and bundle it."""
    contract = folder / "contract.toml"
    contract.write_bytes(CONTRACT)
    publish_contracts(store.log, [str(contract)])
    others = [line for number in range(OTHER_RUNS) for line in evidence_of(number)]
    lines = [*others, *long_run(RECORDS)]
    for start in range(0, len(lines), 1000):
        deliver(store.log, lines[start : start + 1000], clock_us)
    issue_receipt(store, RUN)
    return bundle_run(store, RUN).data, store.folder.verify_keys()


def median_ms(work: Callable[[], object]) -> float:
    """Time some rounds of a call, and give the median."""
    times = []
    for _ in range(ROUNDS):
        started_s = time.perf_counter()
        work()
        times.append((time.perf_counter() - started_s) * 1e3)
    return statistics.median(times)


def main() -> int:
    """Make the bundle once, time what is done with it, and write the figures."""
    parser = argparse.ArgumentParser(description="Verify and replay a bundle of 10,000 records.")
    parser.add_argument("--out", type=Path, required=True)
    out: Path = parser.parse_args().out
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        init_store(folder / "store", "example.com/bench")
        with open_store(folder / "store") as store:
            data, keys = made(store, folder)
    verified = verify_bundle(data, keys)
    leaves = [leaf.data for leaf in verified.leaves]
    decoder = msgspec.json.Decoder()
    verify_ms = median_ms(lambda: verify_bundle(data, keys))
    replay_ms = median_ms(lambda: replay_verified(verified))
    floor_ms = median_ms(lambda: [(leaf_hash(leaf), decoder.decode(leaf)) for leaf in leaves])
    print(
        f"{len(leaves)} records, {len(data) / 1e6:.1f} MB: verified in {verify_ms:.0f} ms,"
        f" replayed in {replay_ms:.0f} ms; hashing and decoding alone {floor_ms:.0f} ms"
    )
    figures = {
        "verify_bundle_10k_ms": round(verify_ms),
        "verify_bundle_vs_hash_and_decode": round(verify_ms / floor_ms, 1),
        "replay_bundle_10k_ms": round(replay_ms),
    }
    out.write_text(json.dumps(figures), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
