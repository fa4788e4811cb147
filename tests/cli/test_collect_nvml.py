"""``tallystick collect nvml``: options, streams, exit codes, and what a receipt makes of it."""

import json
import os
import signal
import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tallystick.app.store import init_store
from tallystick.cli.collect import collect
from tallystick.collectors.nvml.errors import NvmlUnusableError
from tests.app.stores import ORIGIN
from tests.collectors.nvml.boards import (
    BOARD,
    LIBRARY,
    NO_DRIVER,
    NO_PERMISSION,
    OTHER,
    build,
    say,
    use,
)
from tests.evidence.records import Json

SHORT = ("--every", "0.01", "--for", "0.02", "--node", "n1")
TALLYSTICK = (sys.executable, "-m", "tallystick")
METRICS = 4


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the library that stands in for the driver's."""
    return build(tmp_path_factory.mktemp("nvml"))


@pytest.fixture
def node(library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a node with two boards, and the folder in which they can be changed."""
    use(library, tmp_path, monkeypatch)
    say(tmp_path, BOARD, OTHER)
    return tmp_path


def sampled(*options: str) -> Result:
    """Run the command in this process."""
    return CliRunner().invoke(collect, ["nvml", *SHORT, *options], catch_exceptions=False)


def kinds(records: list[Json]) -> dict[str, int]:
    """Count the records of each kind."""
    found = [each["kind"] for each in records]
    return {kind: found.count(kind) for kind in sorted(set(found))}


@pytest.mark.usefixtures("node")
def test_a_dry_run_prints_records() -> None:
    """One JSON object a line, the first batch at once and the rest at the end."""
    result = sampled("--dry-run", "--json")

    records = [json.loads(line) for line in result.stdout.splitlines()]
    assert (result.exit_code, result.stderr) == (0, "")
    assert kinds(records) == {
        "device.inventory": 1,
        "telemetry.points": 2 * 2 * METRICS,
        "telemetry.watch": 1,
    }
    assert {each["producer"]["name"] for each in records} == {"nvml/n1"}


@pytest.mark.usefixtures("node")
def test_the_engine_is_named_by_driver_and_boot() -> None:
    """Counters go on over neither."""
    result = sampled("--dry-run", "--json")

    watch = next(
        json.loads(line) for line in result.stdout.splitlines() if "telemetry.watch" in line
    )
    name, driver, boot = watch["body"]["engine"].split(" ")
    assert (name, driver, bool(boot)) == ("nvml", "580.65.06", True)


def test_a_store_takes_every_batch(node: Path) -> None:
    """And the counts are those of all of them."""
    init_store(node / "store", ORIGIN)

    result = sampled("--store", str(node / "store"), "--json")

    counts = json.loads(result.stdout)
    assert (result.exit_code, counts["accepted"]) == (0, 2 + 2 * 2 * METRICS)
    assert (counts["refused"], counts["findings"]) == (0, [])


def test_what_may_not_be_seen_is_told(node: Path) -> None:
    """On standard error, and in the log as a finding of the collector."""
    say(node, BOARD._replace(uuid=NO_PERMISSION), OTHER)
    init_store(node / "store", ORIGIN)

    result = sampled("--store", str(node / "store"))

    assert "board_unreadable: board 0: insufficient permissions" in result.stderr
    assert result.exit_code == 0


@pytest.mark.usefixtures("node")
def test_records_go_somewhere() -> None:
    """A call that neither stores nor prints is misuse."""
    result = sampled()

    assert result.exit_code == 2
    assert "expected --store DIR to keep the records, or --dry-run" in result.stderr


@pytest.mark.parametrize("missing", ["--every", "--node"])
def test_cadence_and_node_are_needed(missing: str) -> None:
    """Neither is guessed."""
    options = {"--every": "1", "--node": "n1"}
    del options[missing]

    result = CliRunner().invoke(
        collect, ["nvml", "--dry-run", *(word for pair in options.items() for word in pair)]
    )

    assert result.exit_code == 2
    assert missing in result.stderr


def test_a_node_without_a_driver_is_an_error(node: Path) -> None:
    """In one line."""
    say(node, down=NO_DRIVER)

    with pytest.raises(NvmlUnusableError):
        sampled("--dry-run")


@pytest.mark.usefixtures("node")
def test_help_has_an_example() -> None:
    """As every command."""
    result = CliRunner().invoke(collect, ["nvml", "--help"])

    assert "tallystick collect nvml --every 10 --node n1 --store DIR" in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 80


@pytest.mark.usefixtures("node")
def test_the_driver_is_let_go_of() -> None:
    """Else its module could not be unloaded."""
    sampled("--dry-run")

    pynvml: Any = import_module("pynvml")
    with pytest.raises(pynvml.NVMLError):
        pynvml.nvmlDeviceGetCount()


@pytest.fixture
def environment(library: Path, tmp_path: Path) -> dict[str, str]:
    """Have a process of its own load the stand-in as it would the driver's library."""
    say(tmp_path, BOARD, OTHER)
    assert library.name == LIBRARY
    return {
        **os.environ,
        "LD_LIBRARY_PATH": str(library.parent),
        "TALLYSTICK_STAND_IN": str(tmp_path),
    }


def test_a_signal_ends_it_well(environment: dict[str, str]) -> None:
    """What was read until then is handed on, and the exit is 0."""
    words = ("collect", "nvml", "--every", "0.05", "--node", "n1", "--dry-run", "--json")
    process = subprocess.Popen((*TALLYSTICK, *words), env=environment, stdout=subprocess.PIPE)
    assert process.stdout is not None, "it was asked for"

    with process.stdout as pipe:
        first = [json.loads(pipe.readline()) for _ in range(2 + 2 * METRICS)]
        time.sleep(0.2)  # Another round or two.
        process.send_signal(signal.SIGTERM)
        rest = [json.loads(line) for line in pipe]
    process.wait()

    assert process.returncode == 0
    assert kinds(first)["telemetry.points"] == 2 * METRICS
    assert set(kinds(rest)) <= {"telemetry.points"}


def test_without_the_library_it_says_so(tmp_path: Path) -> None:
    """One line, one code, exit 2 and nothing else."""
    (tmp_path / LIBRARY).write_bytes(b"no library")
    environment = {**os.environ, "LD_LIBRARY_PATH": str(tmp_path)}

    ran = subprocess.run(
        (*TALLYSTICK, "collect", "nvml", *SHORT, "--dry-run"),
        env=environment,
        capture_output=True,
        check=False,
        text=True,
    )

    assert ran.stderr.count("\n") == 1
    assert "cannot ask NVML: nvml shared library not found" in ran.stderr
    assert (ran.returncode, ran.stdout) == (2, "")
