"""Event lines of a training job: evidence passes, bare events get their envelope."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallystick.collectors.collected import Collected, Source
from tallystick.collectors.progress import collect_progress
from tallystick.core.canonical import canonical_bytes
from tallystick.evidence.codec import read_line
from tallystick.evidence.draft import draft_record
from tests.emit.progress.jobs import new_run, told

OBSERVED_US = 1_770_000_100_000_000
STEP: dict[str, Any] = {
    "kind": "progress.step",
    "at": "2026-02-02T02:40:00.000000Z",
    "body": {"attempt": "a1", "step": 10, "every": 10},
}


def collect(*texts: str) -> Collected:
    """Collect texts as inputs that are named by their place."""
    sources = [Source(f"input {n}", text.encode()) for n, text in enumerate(texts, start=1)]
    collected = collect_progress(sources, OBSERVED_US)
    for record in collected.records:
        read_line(canonical_bytes(record))
    return collected


def findings(collected: Collected) -> list[tuple[str, int | None]]:
    """Give codes and lines of the findings."""
    return [(finding.code, finding.line) for finding in collected.findings]


def enveloped(**changes: Any) -> dict[str, Any]:
    """Give STEP as a record of a producer that counts."""
    record = draft_record(
        STEP["kind"], STEP["body"], producer="trainer/0", at_us=0, observed_us=OBSERVED_US - 7
    )
    record["producer"] = {"name": "trainer/0", "boot": "b", "seq": 3}
    return record | changes


def test_a_bare_event_gets_an_envelope() -> None:
    """Kind, time and body are those of the line; the rest is ours."""
    (record,) = collect(json.dumps(STEP)).records

    assert {key: record[key] for key in STEP} == STEP
    assert record["producer"] == {"name": "progress"}
    assert record["observed"] == "2026-02-02T02:41:40.000000Z"


def test_a_bare_time_may_have_any_offset() -> None:
    """A job that logs local time with its offset is read as the same moment."""
    (record,) = collect(json.dumps(STEP | {"at": "2026-02-02T03:40:00.5+01:00"})).records

    assert record["at"] == "2026-02-02T02:40:00.500000Z"


def test_an_evidence_line_passes_unchanged() -> None:
    """Producer, boot, number and observation stay those of who saw it."""
    record = enveloped()

    assert collect(json.dumps(record)).records == [record]


def test_equal_lines_are_one_record() -> None:
    """A line that stands twice adds nothing, whether bare or with another number (r2)."""
    again = enveloped(producer={"name": "trainer/0", "boot": "b", "seq": 4})
    lines = [json.dumps(each) for each in (STEP, STEP, enveloped(), again)]

    collected = collect("\n".join(lines), lines[0])

    assert (len(collected.records), collected.findings) == (2, [])


def test_one_identity_with_two_contents_is_a_conflict() -> None:
    """The first stays, the other is a finding, so that no two records share an id (r2)."""
    first, other = enveloped(), enveloped(body={"attempt": "a1", "step": 20, "every": 10})

    collected = collect(json.dumps(first) + "\n" + json.dumps(other))

    assert collected.records == [first]
    assert findings(collected) == [("record_conflict", 2)]


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("progress.started", {"attempt": "a1", "writer": "rank0"}),
        ("progress.waiting", {"attempt": "a1", "reason": "checkpoint_storage"}),
        ("progress.resumed", {"attempt": "a1"}),
        ("checkpoint.begun", {"attempt": "a1", "checkpoint": "c", "step": 10}),
        ("checkpoint.committed", {"attempt": "a1", "checkpoint": "c", "step": 10}),
        ("checkpoint.verified", {"attempt": "a1", "checkpoint": "c", "ok": True}),
        ("checkpoint.restored", {"attempt": "a1", "checkpoint": None, "step": 0}),
        ("run.declared", {"run": "r1"}),
        ("output.accepted", {"run": "r1", "by": "x", "criterion": "loss"}),
        ("output.rejected", {"run": "r1", "by": "x", "criterion": "loss"}),
    ],
)
def test_a_job_may_state_what_it_knows(kind: str, body: dict[str, Any]) -> None:
    """Progress, checkpoints, its run and the verdict on its output may come as bare events."""
    collected = collect(json.dumps(STEP | {"kind": kind, "body": body}))

    assert [record["kind"] for record in collected.records] == [kind]


def test_a_link_needs_no_time() -> None:
    """A kind whose time has no meaning may leave it out."""
    line = {"kind": "attempt.linked", "body": {"run": "r1", "attempt": "a1"}}

    (record,) = collect(json.dumps(line)).records

    assert record["at"] is None


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{", "bad_json"),
        ("\ufeff{}", "bad_json"),
        ('{"kind": NaN}', "bad_record"),
        ("[1]", "not_an_object"),
        ("{}", "bad_record"),
        ('{"kind":"progress.step","kind":"progress.step"}', "duplicate_key"),
        (json.dumps(STEP | {"kind": 7}), "bad_record"),
        (json.dumps(STEP | {"kind": "allocation.ended"}), "bad_record"),
        (json.dumps(STEP | {"kind": "progress.stepp"}), "bad_record"),
        (json.dumps(STEP | {"body": None}), "bad_record"),
        (json.dumps(STEP | {"at": None}), "time_missing"),
        (json.dumps(STEP | {"at": "yesterday"}), "bad_time"),
        (json.dumps(STEP | {"at": "2026-02-30T00:00:00Z"}), "bad_time"),
        (json.dumps(STEP | {"at": 1770000000}), "bad_time"),
        (json.dumps(STEP | {"body": {"attempt": "a1", "step": 10}}), "bad_body"),
        (json.dumps(STEP | {"body": STEP["body"] | {"loss": 0.5}}), "float_refused"),
        (json.dumps(STEP | {"body": STEP["body"] | {"n": 2**53}}), "integer_out_of_range"),
        (json.dumps(STEP | {"body": STEP["body"] | {"x": "\ud800"}}), "bad_string"),
        (json.dumps(STEP | {"body": STEP["body"] | {"\u00e9": 1}}), "bad_key"),
        (json.dumps(enveloped(at="2026-02-02T02:40:00Z")), "bad_time"),
        (json.dumps(enveloped(schema="tallystick.evidence/2")), "bad_record"),
        ("[" * 100_000, "bad_json"),
    ],
)
def test_a_line_that_cannot_be_read_is_a_finding_with_its_line(line: str, reason: str) -> None:
    """The line is named with the reason, and the others go on."""
    collected = collect(f"\n{line}\r\n{json.dumps(STEP)}\r\n")

    (finding,) = collected.findings
    assert (finding.code, finding.line, finding.source) == ("bad_line", 2, "input 1")
    assert finding.message.startswith(f"{reason}: ")
    assert len(collected.records) == 1


def test_bytes_that_are_no_text_are_a_finding() -> None:
    """A line in another encoding is named like any other."""
    collected = collect_progress([Source("x", b"\xff\xfe{\x00}\x00")], OBSERVED_US)

    assert findings(collected) == [("bad_line", 1)]


def test_no_event_at_all_is_a_finding() -> None:
    """An empty input does not end in silence (r3)."""
    assert findings(collect("\n \n")) == [("no_events", None)]


@given(st.permutations(range(5)))
def test_the_order_of_lines_changes_no_record(order: list[int]) -> None:
    """Each line is an event of its own."""
    lines = [json.dumps(STEP | {"body": STEP["body"] | {"step": step}}) for step in range(5)]

    collected = collect("\n".join(lines[place] for place in order))

    ids = {record["id"] for record in collected.records}
    assert ids == {record["id"] for record in collect("\n".join(lines)).records}
    assert len(ids) == 5


def test_a_journal_is_read_as_it_lies_on_the_disk(tmp_path: Path) -> None:
    """Its lines become the records that the shipper would have sent."""
    run = new_run(tmp_path)
    run.restored(None)
    run.step(1)
    run.close()
    (journal,) = tmp_path.rglob("*.journal")
    data = journal.read_bytes() + b"d 2\nnonsense\ns 5 5 7 1\ns 5 5"

    collected = collect_progress([Source("journal", data)], OBSERVED_US)

    assert collected.records[:4] == told(tmp_path)
    assert collected.records[4]["producer"]["seq"] == 7
    assert [(each.code, each.line) for each in collected.findings] == [
        ("bad_line", 7),
        ("bad_line", 9),
    ]
