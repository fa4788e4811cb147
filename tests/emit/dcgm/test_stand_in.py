"""The stand-in for dcgmi prints what the real one does, and our reader reads it."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from tallystick.emit.dcgm.report import read_report
from tests.emit.dcgm.stories import STAND_IN

FIXTURES = Path(__file__).parents[2] / "fixtures" / "dcgm"
UUID = "GPU-0000000{}-5a5a-4b4b-8c8c-00000000000{}"
START_S = 1_770_001_200  # 2026-02-02 03:00:00 UTC
HOUR_S = 3600


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Make the engine of the captures: two jobs, of which one was never watched."""
    places = ((3, 4), (0, 1), (1, 2))
    lines = [f"{index} {UUID.format(n, n)}\n" for index, n in places]
    (tmp_path / "boards").write_text("".join(lines))
    span = {"start": START_S, "end": START_S + 4500}
    watch = {"interval_ms": 30_000, "keep_s": 10**10, "since": START_S}
    state = {
        "next": 5,
        "groups": {"2": {"gpus": ["1"]}, "3": {"gpus": ["0"]}, "4": {"gpus": ["1", "3"]}},
        "jobs": {"77": {"group": "2", **span}, "78": {"group": "3", **span}},
        "watches": {"1": watch, "3": watch},
    }
    (tmp_path / "state.json").write_text(json.dumps(state))
    return tmp_path


def ask(home: Path, *words: str, zone: str = "UTC0") -> tuple[int, str]:
    """Run the stand-in; give its exit status and what it printed."""
    env = {**os.environ, "TALLYSTICK_STAND_IN": str(home), "TZ": zone}
    ran = subprocess.run([STAND_IN, *words], env=env, capture_output=True, check=False)
    assert ran.stderr == b""
    return ran.returncode, ran.stdout.decode()


@pytest.mark.parametrize(
    ("words", "capture"),
    [
        (("stats", "-v", "-j", "77"), "gpu1.txt"),
        (("stats", "-v", "-j", "78"), "nothing-sampled.txt"),
        (("discovery", "-l"), "gpus.txt"),
    ],
)
def test_a_print_is_that_of_the_capture(home: Path, words: tuple[str, ...], capture: str) -> None:
    """Byte for byte, apart from the empty lines at the end."""
    status, text = ask(home, *words)

    assert status == 0
    assert text.rstrip("\n") == (FIXTURES / capture).read_text().rstrip("\n")


def test_a_summary_adds_boards_up(home: Path) -> None:
    """Energy and power are sums, like those of the capture."""
    state = json.loads((home / "state.json").read_text())
    state["jobs"]["77"]["group"] = "4"
    (home / "state.json").write_text(json.dumps(state))
    own = {"power": [300, 310, 290], "energy_w": 300, "processes": 0}
    (home / "values.json").write_text(json.dumps({"3": own}))

    _, text = ask(home, "stats", "-j", "77")

    assert text.rstrip("\n") == (FIXTURES / "summary.txt").read_text().rstrip("\n")


@pytest.mark.parametrize(
    ("words", "status", "text"),
    [
        (("stats", "-j", "0"), 242, "Unable to retrieve job statistics. Return: No data is avail"),
        (("stats", "-x", "0"), 242, "Error: Job 0 was not found."),
        (("stats", "-r", "0"), 242, "Error: Job 0 was not found."),
        (
            ("stats", "-g", "2", "-s", "77"),
            230,
            "This Job Id is in use. Please use another job Id.",
        ),
        (("stats", "-g", "9", "-e"), 251, "The Group is not found."),
        (
            ("group", "-d", "9"),
            251,
            "Error: Cannot destroy group 9. Return: The Group is not found",
        ),
        (("group", "-c", "a", "-a", "7"), 255, "The GPU was not found or is already in the group."),
    ],
)
def test_errors_stand_on_standard_output(
    home: Path, words: tuple[str, ...], status: int, text: str
) -> None:
    """With the exit status of their code."""
    ended, printed = ask(home, *words)

    assert (ended, text in printed) == (status, True)


def test_an_engine_that_is_down_is_not_reached(home: Path) -> None:
    """Exit status 235, whatever was asked."""
    (home / "down").touch()

    status, text = ask(home, "discovery", "-l")

    assert status == 235
    assert text == ("Error: unable to establish a connection to the specified host: localhost\n")


def test_times_are_those_of_the_callers_zone(home: Path) -> None:
    """Without the name of a zone, and a day of one digit padded with a space."""
    _, text = ask(home, "stats", "-v", "-j", "77", zone="EST5")

    assert read_report(text).blocks[0].rows["Start Time"] == "Sun Feb  1 22:00:00 2026"


def test_long_values_are_cut(home: Path) -> None:
    """To 36 characters and three dots, as a column of 39 has room for."""
    own = {"power": [247.541, 247.541, 247.5412345]}
    (home / "values.json").write_text(json.dumps({"1": own}))

    _, text = ask(home, "stats", "-v", "-j", "77")

    power = read_report(text).blocks[0].rows["Power Usage (Watts)"]
    assert power == "Avg: 247.541, Max: 247.541, Min: 247..."


def test_a_second_stop_moves_the_end(home: Path) -> None:
    """With success, as the real engine does."""
    before = json.loads((home / "state.json").read_text())["jobs"]["77"]["end"]

    status, text = ask(home, "stats", "-x", "77")

    after = json.loads((home / "state.json").read_text())["jobs"]["77"]["end"]
    assert (status, text) == (0, "Successfully stopped recording stats for 77.\n")
    assert after > before
