"""Rate many runs in one process: receipts a second, and how the cost grows with their number.

A receipt counts when its canonical bytes exist, from records that are already admitted: a
store reads lines once and rates many times. Reading is timed apart. Floor: encoding the same
predicates and nothing else. Each scale keeps its fastest of a few rounds, because other work
on the machine can only add to it.
"""

import argparse
import gc
import json
import sys
import time
from pathlib import Path
from typing import NamedTuple

from story import CONTRACT, evidence_of

from tallystick.app.cycles import no_cycle_collection
from tallystick.contract.parse import parse_contract
from tallystick.contract.versions import ContractVersions
from tallystick.core.canonical import canonical_bytes
from tallystick.evidence.admission import admit
from tallystick.receipt.assemble import prepare, receipt_of

RUNS = 20
SCALES = (1, 10, 100)
ROUNDS = 3


class Timing(NamedTuple):
    """Seconds that some runs took."""

    read_s: float
    rate_s: float
    floor_s: float
    records: int


def timing(runs: int) -> Timing:
    """Rate some runs one by one, then only encode what came out."""
    contracts = ContractVersions((parse_contract(CONTRACT),))
    lines = [line for number in range(runs) for line in evidence_of(number)]
    gc.collect()
    with no_cycle_collection():  # As the command does.
        return _timing(runs, lines, contracts)


def _timing(runs: int, lines: list[bytes], contracts: ContractVersions) -> Timing:
    started_s = time.perf_counter()
    evidence = admit([lines])
    read_s = time.perf_counter() - started_s
    started_s = time.perf_counter()
    case = prepare(evidence, contracts)
    receipts = [canonical_bytes(receipt_of(run, case)) for run in case.grouping.runs]
    rate_s = time.perf_counter() - started_s
    predicates = [json.loads(receipt) for receipt in receipts]
    started_s = time.perf_counter()
    again = [canonical_bytes(predicate) for predicate in predicates]
    floor_s = time.perf_counter() - started_s
    if len(receipts) != runs or evidence.findings or again != receipts:
        message = f"expected {runs} receipts without findings, got {len(receipts)}"
        raise AssertionError(message)
    return Timing(read_s, rate_s, floor_s, len(evidence.records))


def main() -> int:
    """Measure each scale, print it, and write the figures to the file that was named."""
    parser = argparse.ArgumentParser(description="Rate many runs in one process.")
    parser.add_argument("--out", type=Path, required=True)
    out: Path = parser.parse_args().out
    per_s: dict[int, float] = {}
    for scale in SCALES:
        runs = RUNS * scale
        rounds = [timing(runs) for _ in range(ROUNDS)]
        best = min(rounds, key=lambda one: one.rate_s)
        floor_s = min(one.floor_s for one in rounds)
        per_s[scale] = runs / best.rate_s
        print(
            f"{runs:5} runs, {best.records // runs} records each: {per_s[scale]:6.0f} receipts/s,"
            f" {best.rate_s / floor_s:5.1f} x encoding alone;"
            f" reading {best.read_s / runs * 1e3:.2f} ms a run",
            flush=True,
        )
    growth = per_s[SCALES[0]] / per_s[SCALES[-1]]
    print(f"cost of one receipt at {SCALES[-1]} x the runs: {growth:.2f} of that at {SCALES[0]} x")
    figures = {
        "receipts_per_s": round(per_s[SCALES[-1]]),
        "receipts_vs_encoding": round(best.rate_s / floor_s, 1),
        "receipt_cost_growth_100x": round(growth, 2),
    }
    out.write_text(json.dumps(figures), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
