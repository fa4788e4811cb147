"""Every published case of `tallystick collect`, each collected twice in processes of its own."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

HERE = Path(__file__).parent
CASES = tuple(sorted(path.parent for path in (HERE / "collect").glob("*/expected.json")))
COMMAND = [sys.executable, "-m", "tallystick"]
TIMEOUT_S = 60


def _load_checker() -> ModuleType:
    """Take the published checker as it is, so that there is one meaning of a case."""
    spec = importlib.util.spec_from_file_location("check_collect", HERE / "check_collect.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


checker = _load_checker()


def holds(case: Path) -> str:
    """Give why a case does not hold, an empty text if it does."""
    try:
        checker.check_case(case, COMMAND, TIMEOUT_S, twice=True)
    except checker.CaseFailed as failure:
        return str(failure)
    return ""


def test_the_published_cases_are_all_here() -> None:
    """There are 18 cases, so a lost folder cannot pass for success."""
    expected = 18

    assert len(CASES) == expected


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_case_holds_and_holds_again(case: Path) -> None:
    """A case gives what it expects, and a second collection gives the same records."""
    assert holds(case) == ""


def test_the_checker_can_fail(tmp_path: Path) -> None:
    """A case that expects something else does not hold, so the checks above say something."""
    (tmp_path / "cmd").write_text("collect progress events.jsonl --dry-run --json")
    (tmp_path / "events.jsonl").write_text("{}\n")
    (tmp_path / "expected.json").write_text('{"counts": {"progress.step": 1}, "max_exit": 1}')

    reason = holds(tmp_path)

    assert reason == "1 x progress.step expected, got 0"
