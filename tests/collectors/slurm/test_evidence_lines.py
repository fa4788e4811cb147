"""Evidence lines among the inputs are handed on as they stand."""

import json
from collections.abc import Callable
from typing import Any

Collect = Callable[..., Any]
Table = Callable[..., str]

INVENTORY = {
    "schema": "tallystick.evidence/1",
    "id": "inventory-1",
    "producer": {"name": "look/g1", "boot": "b", "seq": 4},
    "kind": "device.inventory",
    "at": "2026-02-02T02:00:00.000000Z",
    "observed": "2026-02-02T02:00:00.000000Z",
    "body": {"node": "g1", "devices": [{"uuid": "GPU-1", "index": 0}]},
}
LINE = json.dumps(INVENTORY)


def test_a_record_is_handed_on_unchanged_and_once(collect: Collect, table: Table) -> None:
    """Also if it was delivered twice, with another number."""
    again = json.dumps({**INVENTORY, "producer": {"name": "look/g1", "boot": "b", "seq": 5}})

    story = collect(f"{LINE}\n\n{again}\n", table({}), LINE)

    assert [record for record in story.records if record["id"] == "inventory-1"] == [INVENTORY]
    assert story.codes == []


def test_the_first_of_two_contents_stays(collect: Collect) -> None:
    """r2: two records of one call never share producer and id."""
    other = json.dumps({**INVENTORY, "at": None, "kind": "unknown.kind"})

    story = collect(f"{LINE}\n{other}")

    assert story.records == [INVENTORY]
    assert story.codes == ["record_conflict"]


def test_a_line_that_is_no_evidence_is_a_finding(collect: Collect) -> None:
    """With the code and the line that admission would give it."""
    story = collect(f'{LINE}\n{{"schema": "tallystick.evidence/1", "x": 1.5}}\nnonsense\n')

    assert story.records == [INVENTORY]
    assert [(each.code, each.line) for each in story.findings] == [
        ("float_refused", 2),
        ("bad_json", 3),
    ]


def test_jobs_that_quote_evidence_are_jobs(collect: Collect) -> None:
    """A comment is no record."""
    document = {"meta": {}, "jobs": [{"comment": {"job": '"tallystick.evidence/1"'}}]}

    assert collect(json.dumps(document)).codes == ["bad_row"]
