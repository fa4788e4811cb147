"""``tallystick rehearse``: from its arguments to its exit status, and to its death."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tallystick.cli.main import cli
from tallystick.rehearsal.read_plan import read_plan
from tests.app.test_rehearse import plan_file
from tests.rehearsal.rehearsals import TRAINER, plan_text, processes_with, python_job

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "rehearsal" / "plan.toml"
MARK = "TALLYSTICK_TEST_MARK"
PATIENCE_S = 120.0
DIFFERS = """
import os
from pathlib import Path
Path("result").write_text(os.environ["TALLYSTICK_RUN_ID"])
"""
CLINGS = """
import os, signal, subprocess, sys, time
from pathlib import Path
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    signal.signal(number, signal.SIG_IGN)
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        Path("ready").touch()
        time.sleep(600)
    os._exit(0)
time.sleep(600)
"""


def call(*args: object) -> Result:
    """Call the command."""
    return CliRunner().invoke(cli, ["rehearse", *map(str, args)])


def test_the_example_shows_what_it_would_do() -> None:
    """It starts nothing, and says so; its commands and signals are there."""
    result = call(EXAMPLE)

    assert result.exit_code == 0
    assert "run rehearsal-1.uninterrupted\n" in result.stdout
    assert " 1. attempt 1, in the middle of the save of step 30;" in result.stdout
    assert result.stdout.endswith("Nothing was started. With --run this is done.\n")
    assert not EXAMPLE.with_name("plan.rehearsal").exists()


def test_the_example_recovers(tmp_path: Path) -> None:
    """Run from a clone it ends well, with a packet."""
    result = call(EXAMPLE, "--run", "--out", tmp_path / "out")

    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.startswith("OK: result equal to the uninterrupted one\n")
    assert (tmp_path / "out" / "packet.md").exists()


def test_json_is_one_object(tmp_path: Path) -> None:
    """Of what would be done, and of what was."""
    plan = plan_file(tmp_path, plan_text(job=TRAINER.replace("12", "6")))

    shown = json.loads(call(plan, "--json").stdout)
    result = call(plan, "--run", "--json")

    told = json.loads(result.stdout)
    assert sorted(shown) == [
        *("contract", "digest", "faults", "limits", "never", "out", "plan"),
        *("route", "runs", "tolerance"),
    ]
    assert result.exit_code == 0
    assert (told["ok"], told["equal"], told["difference"], told["findings"]) == (
        *(True, True, "0"),
        [],
    )
    assert told["digest"] == told["uninterrupted_digest"]


def test_another_result_is_a_failed_check(tmp_path: Path) -> None:
    """The findings are told, the packet is there, and the exit status is 1."""
    faults = '[[fault]]\nwhen = "time"\nafter_s = "600"\n'
    plan = plan_file(tmp_path, plan_text(job=python_job(tmp_path, DIFFERS), faults=faults))

    result = call(plan, "--run")

    assert result.exit_code == 1
    assert result.stdout.startswith("NOT OK: result another one\n")
    assert "rehearsal_fault_missed: " in result.stderr
    assert "rehearsal_result_differs: the results differ: they cannot be" in result.stderr
    assert (tmp_path / "plan.rehearsal" / "packet.html").exists()


def test_a_bad_plan_is_misuse(tmp_path: Path) -> None:
    """As the shell sees it: one code, every mistake, exit 2."""
    plan = plan_file(tmp_path, b'schema = "x"\nrun = "\\u001b[2J"\n')

    ended = subprocess.run(
        [sys.executable, "-m", "tallystick", "rehearse", str(plan), "--run"],
        capture_output=True,
        text=True,
        check=False,
    )

    assert ended.returncode == 2
    assert ended.stderr.startswith(f"tallystick: bad_plan: {plan}: ")
    assert "\x1b" not in ended.stderr


def test_what_a_plan_says_cannot_write_to_the_terminal(tmp_path: Path) -> None:
    """A command with control characters is shown escaped."""
    job = '[job]\ncommand = ["a\\u001b[2J\\nb"]\nresult = "r"\n'

    result = call(plan_file(tmp_path, plan_text(job=job)))

    assert result.exit_code == 0
    assert "\x1b" not in result.stdout


def test_the_example_is_what_the_page_says() -> None:
    """Both are in the repository, and the plan has no mistakes."""
    plan = read_plan(EXAMPLE.read_bytes())

    assert (plan.route, len(plan.faults)) == ("local", 2)


def marked(mark: str) -> set[int]:
    """Find every process that descends from a rehearsal, keepers too."""
    return set(processes_with(MARK, mark))


@pytest.mark.parametrize(
    "number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL], ids=lambda n: n.name
)
@pytest.mark.parametrize("moment", ["log", "ready"])
def test_nothing_outlives_a_rehearsal(tmp_path: Path, number: signal.Signals, moment: str) -> None:
    """However it is ended, early or late: the job, its daemons and its keeper are gone, too."""
    plan = plan_file(tmp_path, plan_text(job=python_job(tmp_path, CLINGS)))
    out = tmp_path / "plan.rehearsal"
    awaited = {
        "log": out / "logs" / "uninterrupted" / "attempt-1.log",
        "ready": out / "work" / "uninterrupted" / "ready",
    }
    mark = str(tmp_path)
    argv = [sys.executable, "-m", "tallystick", "rehearse", str(plan), "--run"]
    with subprocess.Popen(
        argv, env={**os.environ, MARK: mark}, stderr=subprocess.PIPE, text=True
    ) as command:
        while not awaited[moment].exists():
            assert command.poll() is None
            time.sleep(0.005)
        command.send_signal(number)
        _, said = command.communicate()

    until_s = time.monotonic() + PATIENCE_S
    while marked(mark) and time.monotonic() < until_s:
        time.sleep(0.01)
    assert marked(mark) == set()
    if number in {signal.SIGINT, signal.SIGTERM}:
        assert command.returncode == 1
        assert said.startswith("tallystick: rehearsal_stopped: ")
    else:
        assert command.returncode == -number
