"""What the kernel makes of the reports of a job: its receipt, as ``tallystick rate`` gives it."""

import json
from pathlib import Path
from typing import Any

from tallystick.app.rate import rate_files
from tallystick.core.instant import parse_instant
from tallystick.evidence.draft import draft_record
from tests.emit.progress.jobs import told

Json = dict[str, Any]

CONTRACT = """
schema = "tallystick.contract/1"
id = "c"
version = 1
currency = "USD"
effective_from = 2020-01-01T00:00:00Z
[parties]
provider = "p"
customer = "c"
[calendar]
time_zone = "UTC"
[[rate]]
clause = "1"
per_hour = "1.00"
"""


STARTED: Json = {
    "scheduler": "local",
    "cluster": "c",
    "job_id": "1",
    "nodes": ["n"],
    "gpu_count": 1,
    "gpu_type": "H100",
    "capacity": "spot",
}


def receipt(folder: Path, spool: Path, **ended_by: str) -> Json:
    """Rate the reports in a spool; each attempt held one GPU from its first word to its last.

    Args:
        folder: Where files may be written.
        spool: Where the reports are.
        ended_by: Who ended each attempt, in their order.
    """
    records = told(spool)
    for attempt, who in ended_by.items():
        own = [each for each in records if each["body"].get("attempt") == attempt]
        times_us = [parse_instant(each["at"]) for each in own if each["at"] is not None]
        records.append(_allocation("started", min(times_us), attempt, **STARTED))
        records.append(_allocation("ended", max(times_us) + 1, attempt, ended_by=who))
    evidence, contract = folder / "evidence.jsonl", folder / "contract.toml"
    evidence.write_text("".join(f"{json.dumps(each)}\n" for each in records))
    contract.write_text(CONTRACT)
    (made,) = rate_files([str(evidence)], [str(contract)]).receipts
    return made


def _allocation(what: str, at_us: int, attempt: str, **body: Any) -> Json:
    told_of = {"attempt": attempt, **body}
    kind = f"allocation.{what}"
    return draft_record(kind, told_of, producer="p", at_us=at_us, observed_us=at_us)
