"""Our own cases of `tallystick collect`, rule by rule, read by the published checker.

The published cases run in processes of their own; there are many of these, so they run in this
one and everything else about a case is the same.
"""

import shlex
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tallystick.cli.main import cli
from tests.conformance.test_collect import checker, holds

CASES = tuple(sorted(path.parent for path in Path(__file__).parent.glob("collect-ours/*/cmd")))

Outcome = tuple[list[dict[str, Any]], list[dict[str, Any]], int]


def run_here(_command: list[str], case: Path, _timeout: float) -> Outcome:
    """Collect in this process: records, findings and the exit code."""
    arguments = shlex.split((case / "cmd").read_text(encoding="utf-8"))
    result = CliRunner().invoke(cli, arguments, catch_exceptions=False)
    records = checker.read_records(result.stdout_bytes)
    return records, checker.read_findings(result.stderr), result.exit_code


@pytest.fixture
def in_this_process(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Have the checker call the command in this process."""
    monkeypatch.setattr(checker, "run", run_here)
    return monkeypatch


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_case_of_ours_holds(case: Path, in_this_process: pytest.MonkeyPatch) -> None:
    """A case gives what the rules decide, and a second collection gives the same records."""
    in_this_process.chdir(case)

    assert holds(case) == ""


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_case_of_ours_says_what_it_is_about(case: Path) -> None:
    """Each case names itself and where its twist comes from."""
    text = (case / "case.md").read_text(encoding="utf-8")

    assert text.startswith("# ")
    assert "Origin: " in text


def test_a_case_of_ours_can_fail(in_this_process: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Where a record is missing the case does not hold, so the checks above say something."""
    (tmp_path / "cmd").write_text("collect progress events.jsonl --dry-run --json")
    (tmp_path / "events.jsonl").write_text("{}\n")
    (tmp_path / "expected.json").write_text('{"counts": {"progress.step": 1}, "max_exit": 1}')
    in_this_process.chdir(tmp_path)

    assert holds(tmp_path) == "1 x progress.step expected, got 0"
