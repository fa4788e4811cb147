"""The smallest evidence that provokes each finding of `rate`, and nothing besides it."""

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from tallystick.contract.parse import parse_contract
from tallystick.contract.versions import ContractVersions
from tallystick.evidence.admission import admit
from tallystick.receipt.assemble import asked_of, prepare, receipts_in, receipts_of, with_scanned
from tallystick.timeline.segments import Answer, Scanned, SegmentStatus

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))

import finding_codes  # noqa: E402 (a script, found through the line above)

CONTRACT = b"""
schema = "tallystick.contract/1"
id = "plain"
version = 1
currency = "USD"
effective_from = 2026-01-01T00:00:00Z
[parties]
provider = "Example Cloud"
customer = "Acme"
[[rate]]
clause = "1"
gpu_type = "H100"
per_hour = "3.60"
"""
GPU = "GPU-00000001-1111-4222-8333-000000000001"


def at(minute: int, year: int = 2026) -> str:
    """Write a moment of the story."""
    return f"{year}-03-01T{minute // 60:02}:{minute % 60:02}:00.000000Z"


def record(kind: str, when: str | None, **body: Any) -> dict[str, Any]:
    """Make a record whose id is its content."""
    return {
        "schema": "tallystick.evidence/1",
        "id": json.dumps([kind, when, body]),
        "producer": {"name": "story"},
        "kind": kind,
        "at": when,
        "observed": at(0),
        "body": body,
    }


def started(minute: int = 0, attempt: str = "a", year: int = 2026, **body: Any) -> dict[str, Any]:
    """Start an attempt of one GPU."""
    stated = {
        "attempt": attempt,
        "run": "r",
        "scheduler": "slurm",
        "cluster": "c",
        "job_id": "1",
        "nodes": ["n"],
        "gpus": [{"uuid": GPU, "node": "n"}],
        "gpu_type": "H100",
        "capacity": "spot",
    }
    return record("allocation.started", at(minute, year), **(stated | body))


def ended(minute: int = 10, attempt: str = "a", year: int = 2026, **body: Any) -> dict[str, Any]:
    """End an attempt."""
    stated = {"attempt": attempt, "ended_by": "completed"}
    return record("allocation.ended", at(minute, year), **(stated | body))


def points(metric: str, value: str) -> dict[str, Any]:
    """Give one sample of the GPU."""
    series = {"gpu": GPU, "metric": metric, "cadence_us": 60_000_000}
    return record("telemetry.points", None, **series, points=[[at(5), value]])


def numbered(fact: dict[str, Any], seq: int) -> dict[str, Any]:
    """Number a record within the boot of its producer."""
    return fact | {"producer": {"name": "story", "boot": "b", "seq": seq}}


def resolution(**body: Any) -> dict[str, Any]:
    """Decide about held time of the attempt."""
    stated = {"run": "r", "attempt": "a", "from": at(0), "to": at(10), "gpus": None}
    judged = {"clause": "9", "disposition": "charge", "by": "both", "note": "agreed"}
    return record("decision.resolution", at(20), **(stated | judged | body))


SAMPLES = {
    "segment": "0" * 64,
    "path": "samples.parquet",
    "rows": 1,
    "from": at(0),
    "to": at(10),
    "gpus": [GPU],
    "cadence_us": 60_000_000,
    "metric": "power",
}
ADJUSTMENT = {"run": "r", "amount": "1.00", "clause": "9", "by": "both", "note": "agreed"}
ACCEPTED = {"run": "r", "by": "evaluator", "criterion": "loss"}

ON_A_RECEIPT: dict[str, list[dict[str, Any]]] = {
    "attempt_after_accept": [
        started(),
        ended(),
        record("output.accepted", at(10), **ACCEPTED),
        started(20, "b"),
        ended(30, "b"),
    ],
    "attempt_without_start": [record("attempt.linked", None, run="r", attempt="a")],
    "currency_mismatch": [
        started(),
        ended(),
        record("decision.adjustment", at(20), **ADJUSTMENT, currency="EUR"),
    ],
    "end_disagreement": [started(), ended(10), ended(11)],
    "event_outside_attempt": [
        started(),
        ended(),
        record("progress.step", at(11), attempt="a", step=1, every=1),
    ],
    "gpu_count_mismatch": [started(gpu_count=2), ended()],
    "impossible_value": [started(), ended(), points("gpu_util", "101")],
    "no_contract": [started(year=2025), ended(year=2025)],
    "no_rate": [started(gpu_type="A100"), ended()],
    "open_attempt": [started(), record("progress.started", at(10), attempt="a", writer="w")],
    "overlapping_attempts": [started(), ended(), started(9, "b"), ended(19, "b")],
    "resolution_unused": [started(), ended(), resolution()],
    "restart_loop": [
        *(started(), record("progress.started", at(1), attempt="a", writer="w")),
        ended(ended_by="provider"),
        *(started(20, "b"), record("progress.started", at(21), attempt="b", writer="w")),
        ended(30, "b", ended_by="provider"),
    ],
    "restored_ahead": [
        *(started(), record("progress.step", at(5), attempt="a", step=10, every=1)),
        ended(ended_by="provider"),
        started(20, "b"),
        record("checkpoint.restored", at(21), attempt="b", checkpoint="c", step=11),
        ended(30, "b"),
    ],
    "reversed_interval": [started(10), ended(9)],
    "run_disagreement": [
        record("attempt.linked", None, run="r", attempt="a"),
        started(run="another"),
        ended(),
    ],
    "segment_not_read": [started(), ended(), record("telemetry.samples", None, **SAMPLES)],
    "sequence_gap": [numbered(started(), 1), numbered(ended(), 3)],
    "start_disagreement": [started(0), started(1), ended()],
    "unpaired_resume": [started(), record("allocation.resumed", at(5), attempt="a"), ended()],
}

CONFLICT = {"id": "one id"}

OF_RECORDS: dict[str, list[dict[str, Any]]] = {
    "alias_conflict": [
        *(started(), ended(), started(20, "b"), ended(30, "b")),
        record("attempt.same", None, attempt="a", same_as="b"),
        record("attempt.same", None, attempt="b", same_as="a"),
    ],
    "record_conflict": [started() | CONFLICT, ended() | CONFLICT],
    "unknown_attempt": [record("progress.started", at(1), attempt="nobody", writer="w")],
    "unknown_run": [record("output.accepted", at(1), **(ACCEPTED | {"run": "nobody"}))],
}

WHOLE = json.dumps(ended())


def changed(old: str, new: str) -> bytes:
    """Change one thing of a line that would be admitted."""
    assert old in WHOLE
    return WHOLE.replace(old, new).encode()


OF_LINES: dict[str, bytes] = {
    "bad_json": b"{",
    "not_an_object": b"[]",
    "duplicate_key": changed('"kind"', '"at": null, "kind"'),
    "bad_key": changed('"ended_by"', '"\\u00e9": 1, "ended_by"'),
    "bad_string": changed('"observed"', '"note": "\\ud800", "observed"'),
    "float_refused": changed('"observed"', '"note": 1.0, "observed"'),
    "integer_out_of_range": changed('"observed"', '"note": 9007199254740992, "observed"'),
    "bad_record": changed('"schema"', '"scheme"'),
    "bad_time": changed('"observed": "2026-03-01T', '"observed": "2026-02-29T'),
    "bad_body": changed('"ended_by": "completed"}', '"ended_by": "done"}'),
    "time_missing": changed(f'"at": "{at(10)}"', '"at": null'),
}


def rate(lines: Iterable[bytes]) -> tuple[list[str], list[str]]:
    """Rate lines; give the codes on receipts and those beside them."""
    contracts = ContractVersions((parse_contract(CONTRACT),))
    rated = receipts_of(admit([lines]), contracts)
    found = [each["code"] for predicate in rated.predicates for each in predicate["findings"]]
    return found, [finding.code for finding in rated.findings]


def encoded(records: Iterable[dict[str, Any]]) -> list[bytes]:
    """Write records as lines."""
    return [json.dumps(each).encode() for each in records]


OF_SEGMENTS = {
    "segment_missing": SegmentStatus.MISSING,
    "segment_altered": SegmentStatus.ALTERED,
    "segment_dropped": SegmentStatus.DROPPED,
}


def test_every_code_of_rate_is_provoked_here() -> None:
    """No finding code of lines or receipts is without its smallest input."""
    assert set(ON_A_RECEIPT) | set(OF_SEGMENTS) == set(finding_codes.RECEIPTS)
    assert set(OF_RECORDS) | set(OF_LINES) == set(finding_codes.LINES)


def test_a_plain_run_has_no_finding() -> None:
    """An attempt that started and ended gives no finding, so the inputs here show their own."""
    assert rate(encoded([started(), ended()])) == ([], [])


@pytest.mark.parametrize("code", ON_A_RECEIPT)
def test_a_receipt_carries_its_finding(code: str) -> None:
    """The smallest evidence for a code gives that code on the receipt, once, and no other."""
    assert rate(encoded(ON_A_RECEIPT[code])) == ([code], [])


@pytest.mark.parametrize("code", OF_SEGMENTS)
def test_a_receipt_tells_what_became_of_a_segment(code: str) -> None:
    """A segment that a store was asked for and could not give is a finding, once."""
    evidence = admit([encoded(ON_A_RECEIPT["segment_not_read"])])
    case = prepare(evidence, ContractVersions((parse_contract(CONTRACT),)))
    answer = Answer(OF_SEGMENTS[code], {})
    scanned = Scanned({asked.segment.digest: answer for asked in asked_of(case)})

    (predicate,) = receipts_in(with_scanned(case, scanned)).predicates

    assert [each["code"] for each in predicate["findings"]] == [code]


@pytest.mark.parametrize("code", OF_RECORDS)
def test_records_that_do_not_fit_are_found(code: str) -> None:
    """The smallest set of records for a code gives that code beside the receipts."""
    _, beside = rate(encoded(OF_RECORDS[code]))

    assert set(beside) == {code}


@pytest.mark.parametrize("code", OF_LINES)
def test_a_line_is_refused_by_name(code: str) -> None:
    """The smallest wrong line gives its code, and the rest is rated."""
    on_receipts, beside = rate([*encoded([started(), ended()]), OF_LINES[code]])

    assert (on_receipts, beside) == ([], [code])
