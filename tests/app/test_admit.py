"""Collecting into a store: every line answered, findings kept, numbers counted."""

import json
from pathlib import Path

from tallystick.app.admit import Answered, admit_collected, admit_files
from tallystick.collectors.collected import Collected
from tallystick.core.finding import InputFinding
from tallystick.evidence.admission import admit, admit_leaves
from tests.app.stores import new_store
from tests.evidence.records import as_line, ended, numbered, started, step


def test_every_line_of_every_file_is_answered(tmp_path: Path) -> None:
    """In order, with the place of what was refused; blank lines are none."""
    changed = started() | {"body": started()["body"] | {"zone": "z"}}
    (tmp_path / "a").write_bytes(as_line(started()) + b"\n\n" + as_line(started()) + b"\n")
    (tmp_path / "b").write_bytes(as_line(changed) + b"\n{\n" + as_line(ended()))
    seen: list[Answered] = []

    with new_store(tmp_path) as store:
        admission = admit_files(store.log, [str(tmp_path / "a"), str(tmp_path / "b")], seen.extend)

    words = [each.answer.word for each in seen]
    assert words == ["accepted", "exists", "conflict", "refused", "accepted"]
    assert [(each.line.file, each.line.number) for each in seen][2:] == [(2, 1), (2, 2), (2, 3)]
    assert [(each.code, each.file, each.line) for each in admission.findings] == [
        ("record_conflict", 2, 1),
        ("bad_json", 2, 2),
    ]
    assert admission.to_json()["accepted"] == 2
    assert admission.size == 4


def test_the_log_alone_gives_the_evidence_of_the_files(tmp_path: Path) -> None:
    """Records, findings and gaps in the numbers, copies included, are those of the lines."""
    lines = [numbered(started(), 1), numbered(started(), 2), numbered(step("00:10", 1), 5)]
    data = [as_line(each) for each in lines] + [b"not json"]
    (tmp_path / "a").write_bytes(b"\n".join(data))

    with new_store(tmp_path) as store:
        admit_files(store.log, [str(tmp_path / "a")], lambda _: None)
        with store.log.reading() as log:
            found = admit_leaves(log.leaves(0, log.size))

    expected = admit([data])
    own = {"delivery.repeated", "delivery.refused"}
    assert [each for each in found.records if each.kind not in own] == list(expected.records)
    assert found.sequence_gaps == expected.sequence_gaps
    assert [each.code for each in found.findings] == [each.code for each in expected.findings]


def test_findings_of_a_collector_are_kept_once_without_names_of_files(tmp_path: Path) -> None:
    """What it could not read stands in the log, whoever's folder it was in."""
    finding = InputFinding("bad_row", "a row is odd", line=3, file=1, source="/home/me/sacct.psv")
    collected = Collected([started()], [finding])

    with new_store(tmp_path) as store:
        for _ in range(2):
            admission = admit_collected(store.log, collected, "slurm", lambda _: None)
        with store.log.reading() as log:
            leaves = list(log.leaves(0, log.size))

    said = [json.loads(leaf)["record"] for leaf in leaves]
    assert [each["kind"] for each in said] == ["allocation.started", "collect.finding"]
    assert said[1]["body"] == {
        "code": "bad_row",
        "collector": "slurm",
        "line": 3,
        "message": "a row is odd",
    }
    assert admission.findings == [finding]
