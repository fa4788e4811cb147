"""Further steps of the workload: runs, their receipts and postings, segments, bundles.

What they need lies beside the store: a contract, and files of samples.
"""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tallystick.app.admit import clock_us
from tallystick.app.store import OpenStore
from tallystick.app.stored_bundles import bundle_run
from tallystick.app.stored_contracts import publish_contracts
from tallystick.app.stored_ledger import read_ledger
from tallystick.app.stored_receipts import issue_receipt
from tallystick.app.stored_segments import StoredSegment, add_segments, drop_segments
from tallystick.core.canonical import canonical_bytes
from tallystick.tree.note import note_bytes
from tests.evidence.records import adjustment, declared, ended, minutes, moment_us, started
from tests.faults.promises import Promise
from tests.faults.workload import LOG_STEPS, Step, Work, admit_lines

SEGMENTS = 3
_CADENCE_US = 60_000_000
_CONTRACT = """
schema = "tallystick.contract/1"
id = "faults"
version = 1
currency = "USD"
effective_from = 2026-01-01T00:00:00Z

[parties]
provider = "Example Cloud"
customer = "Acme"

[[rate]]
clause = "2.1"
gpu_type = "H100"
capacity = "spot"
per_hour = "2.50"
"""


def lay_out(folder: Path) -> None:
    """Put beside a store what the steps need."""
    (folder / "contract.toml").write_text(_CONTRACT, encoding="utf-8")
    for number in range(SEGMENTS):
        times_us = [moment_us(at) for at in minutes("00:00", "00:30").split()]
        columns = {
            "gpu": pa.array([_gpu(number)] * len(times_us), pa.string()),
            "at_us": pa.array(times_us, pa.int64()),
            "value": pa.array([number + 50.0] * len(times_us), pa.float64()),
        }
        pq.write_table(pa.table(columns), folder / _segment(number))


def add_segment(store: OpenStore, folder: Path, number: int) -> tuple[StoredSegment, ...]:
    """Keep one of the files of samples that lie in a folder."""
    path = str(folder / _segment(number))
    return add_segments(store, [path], metric="sm_util", cadence_us=_CADENCE_US)


def _gpu(number: int) -> str:
    return f"g{number}"


def _segment(number: int) -> str:
    return f"samples-{number}.parquet"


def _beside(at: Work, name: str) -> str:
    return str(at.store.folder.path.with_name(name))


def _run(at: Work, number: int) -> str:
    return f"{at.name}/{number}"


# -- steps ---------------------------------------------------------------------------------


def publish(at: Work) -> None:
    """Publish the contract, or find it published."""
    for each in publish_contracts(at.store.log, [_beside(at, "contract.toml")]):
        at.say(Promise("contract", each.contract.name))


def run(at: Work) -> None:
    """Have a run from its beginning to its end."""
    name = _run(at, at.runs)
    gpus = _gpu(at.chance.randrange(SEGMENTS))
    records = [
        declared(name),
        started("00:05", attempt=name, run=name, gpus=gpus),
        ended("00:25", attempt=name),
    ]
    at.runs += 1
    admit_lines(at, [canonical_bytes(record) for record in records])


def adjust(at: Work) -> None:
    """Take something off a run, which changes its receipt."""
    if at.runs:
        name, amount = _run(at, at.chance.randrange(at.runs)), f"-0.{at.chance.randint(10, 99)}"
        admit_lines(at, [canonical_bytes(adjustment(amount, run=name))])


def issue(at: Work) -> None:
    """Issue the receipt of a run, and post it."""
    if not at.runs:
        return
    publish(at)
    issued = issue_receipt(at.store, _run(at, at.chance.randrange(at.runs)))
    payload = issued.issue.payload
    with at.store.log.reading() as log:
        lines = [entry.line for entry in read_ledger(log).entries if entry.receipt == payload]
    at.say(Promise("receipt", [payload, issued.envelope.decode(), lines]))


def bundle(at: Work) -> None:
    """Bundle the run whose receipt is issued now: its head is as good as any other."""
    if at.runs:
        publish(at)
        issued = issue_receipt(at.store, _run(at, at.runs - 1))
        made = bundle_run(at.store, issued.issue.run)
        at.say(Promise("head", note_bytes(made.verified.head.note).decode()))


def add(at: Work) -> None:
    """Keep a segment of samples."""
    folder = at.store.folder.path.parent
    for each in add_segment(at.store, folder, at.chance.randrange(SEGMENTS)):
        at.say(Promise("segment", each.digest))


def drop(at: Work) -> None:
    """Drop all segments, since they are old."""
    publish(at)
    dropping = drop_segments(
        at.store, older_than_days=1, policy="faults", now_us=clock_us(), is_dry=False
    )
    for each in dropping.dropped:
        at.say(Promise("dropped", each.digest))


POSTING_STEPS: tuple[Step, ...] = (*LOG_STEPS, run, adjust, issue, issue)
"""What touches the log, its head, receipts and the ledger, and no other files."""

STEPS: tuple[Step, ...] = (*POSTING_STEPS, bundle, add, add, drop)
