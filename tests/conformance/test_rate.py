"""Every published case of `tallystick rate`: as written, and in any order and number."""

import importlib.util
import json
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tallystick.cli.main import cli

HERE = Path(__file__).parent
CASES = tuple(sorted(path.parent for path in (HERE / "cases").glob("*/expected.json")))
ANY_ORDER = tuple(case for case in CASES if not (case / "ordered").exists())
SEEDS = (7, 20260101)


def _load_difference() -> Callable[[Any, Any], str | None]:
    """Take the comparison from the published checker, so that there is one meaning of it."""
    spec = importlib.util.spec_from_file_location("check", HERE / "check.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    difference: Callable[[Any, Any], str | None] = module.difference
    return difference


difference = _load_difference()


def rate(evidence: list[Path], contracts: list[Path]) -> tuple[Any, int]:
    """Rate files through the command; give what it printed and its exit status."""
    arguments = ["rate", "--evidence", *evidence, "--contract", *contracts, "--json"]
    result = CliRunner().invoke(cli, [str(part) for part in arguments], catch_exceptions=False)
    return json.loads(result.stdout), result.exit_code


def inputs(case: Path) -> tuple[list[Path], list[Path]]:
    """Give the evidence and contract files of a case."""
    return sorted(case.glob("evidence*.jsonl")), sorted(case.glob("contract*.toml"))


def shuffled(evidence: list[Path], seed: int, target: Path) -> Path:
    """Write every record one to three times, in another order, to one file."""
    rng = random.Random(seed)  # noqa: S311 (an order to test with, not a secret)
    lines = [
        line
        for path in evidence
        for line in path.read_bytes().split(b"\n")
        if line.strip()
        for _ in range(rng.randint(1, 3))
    ]
    rng.shuffle(lines)
    target.write_bytes(b"\n".join(lines) + b"\n")
    return target


def name(case: Path) -> str:
    """Name a case in the test report."""
    return case.name


def test_the_published_cases_are_all_here() -> None:
    """There are 31 cases, so a lost folder cannot pass for success."""
    expected = 31

    assert len(CASES) == expected


@pytest.mark.parametrize("case", CASES, ids=name)
def test_a_case_holds(case: Path) -> None:
    """The output of a case contains what the case expects."""
    expected = json.loads((case / "expected.json").read_bytes())

    output, status = rate(*inputs(case))

    assert difference(expected, output) is None
    assert status == (0 if output["receipts"] else 1)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("case", ANY_ORDER, ids=name)
def test_order_and_number_of_deliveries_change_no_receipt(
    case: Path, seed: int, tmp_path: Path
) -> None:
    """Shuffled and repeated records give the same receipts, byte for byte."""
    evidence, contracts = inputs(case)
    again = shuffled(evidence, seed, tmp_path / "shuffled.jsonl")

    first, _ = rate(evidence, contracts)
    second, _ = rate([again], contracts)

    assert json.dumps(second["receipts"]) == json.dumps(first["receipts"])


def test_the_published_checker_agrees() -> None:
    """The checker, run as published against a separate process, finds the case to hold."""
    case = HERE / "cases" / "022-flagship"
    command = str(Path(sys.executable).parent / "tallystick")

    done = subprocess.run(
        [sys.executable, HERE / "check.py", "--cmd", command, "--shuffle", "3", case],
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.stdout == "1 of 1 cases hold\n"
    assert done.returncode == 0
