"""Asking through the Python bindings: the same records, with microseconds and a last sample."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tallystick.emit.dcgm import bindings
from tests.emit.dcgm.stories import BOARDS, Story

FAKE = Path(__file__).with_name("fake_bindings") / "pydcgm.py"
MEASURED = {"energy": 1234567, "power": 350.112, "clock": 1710, "sm": 91, "mem": 44, "compute": 1}
BLANK_32, BLANK_64, BLANK_DOUBLE = 2147483632, 9223372036854775792, 140737488355328.0


class Bindings:
    """A folder with the bindings, and the engine that they reach."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        shutil.copy(FAKE, folder)
        boards = {"1": BOARDS[0], "0": BOARDS[1], "2": "GPU-other"}
        self.engine: dict[str, Any] = {
            "boards": boards,
            "groups": {},
            "jobs": {},
            "calls": [],
            "fail": {},
            "values": MEASURED,
            "no_library": False,
        }
        self.change()

    def change(self, **parts: Any) -> None:
        """Change what the engine is like."""
        path = self.folder / "engine.json"
        if path.exists():
            self.engine = json.loads(path.read_text())
        self.engine.update(parts)
        path.write_text(json.dumps(self.engine))

    @property
    def calls(self) -> list[str]:
        """Give the calls that were made."""
        self.change()
        return list(self.engine["calls"])


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bindings:
    """Install the bindings on a node."""
    made = Bindings(tmp_path / "python3")
    monkeypatch.setattr(bindings, "FOLDERS", (made.folder,))
    return made


@pytest.fixture
def story(tmp_path: Path, installed: Bindings) -> Story:
    """Begin a story on a node with bindings."""
    assert installed.folder.exists()
    made = Story(tmp_path)
    made.settings = made.settings._replace(dcgm="auto")
    return made


def test_a_job_is_watched_and_read(story: Story) -> None:
    """Milliwatt seconds come as they are, and both boards are claimed."""
    story.prolog()
    story.epilog()

    stats = story.bodies("telemetry.job_stats")
    assert story.codes == []
    assert [each["gpu"] for each in stats] == list(BOARDS)
    assert {(each["energy_mj"], each["power_w"], each["processes"]) for each in stats} == {
        (1234567, "350.112", 1)
    }


def test_a_last_sample_is_taken_before_the_stop(story: Story, installed: Bindings) -> None:
    """Samples after the stop are not in the window."""
    story.prolog()
    before = len(installed.calls)
    story.epilog()

    calls = [call for call in installed.calls[before:] if call not in {"list", "attributes"}]
    assert calls == ["connect", "update 1", "stop", "read", "remove", "delete"]


def test_a_watch_is_in_microseconds_and_seconds(story: Story, installed: Bindings) -> None:
    """Without a limit on the number of samples."""
    story.prolog()

    assert "watch 10000 86400 0" in installed.calls


def test_a_job_that_the_engine_does_not_know_is_named(story: Story, installed: Bindings) -> None:
    """And its group is left alone."""
    story.prolog()
    installed.change(jobs={})
    story.epilog()

    assert story.codes == ["dcgm_job_unknown"]
    assert installed.calls[-1] == "stop"


def test_a_job_that_is_there_already_is_named(story: Story, installed: Bindings) -> None:
    """The first start stands."""
    installed.change(fail={"start": -26})
    story.prolog()

    assert story.codes == ["dcgm_job_exists"]
    assert len(story.bodies("telemetry.watch")) == 1


@pytest.mark.parametrize(
    ("call", "number", "code"),
    [
        ("connect", -21, "dcgm_engine_down"),
        ("create", -2, "dcgm_failed"),
        ("add", -5, "dcgm_group_gone"),
        ("start", -3, "dcgm_window_refused"),
    ],
)
def test_what_cannot_begin_is_named(
    story: Story, installed: Bindings, call: str, number: int, code: str
) -> None:
    """Nothing is claimed to be watched, and no group stays."""
    installed.change(fail={call: number})
    story.prolog()

    assert story.codes == [code]
    assert story.bodies("telemetry.watch") == []
    installed.change()
    assert installed.engine["groups"] == {}


@pytest.mark.parametrize(
    ("boards", "code"),
    [({}, "dcgm_no_boards"), ({"0": "GPU-other"}, "dcgm_board_missing")],
)
def test_boards_that_are_not_listed_are_not_watched(
    story: Story, installed: Bindings, boards: dict[str, str], code: str
) -> None:
    """Neither some nor none of them."""
    installed.change(boards=boards)
    story.prolog()

    assert story.codes == [code]


def test_a_stop_that_fails_is_named(story: Story, installed: Bindings) -> None:
    """Without a stop the engine gives no end, and so no window."""
    story.prolog()
    installed.change(fail={"stop": -2})
    story.epilog()

    assert story.codes == ["dcgm_not_stopped", "dcgm_window_unreadable"]


def test_no_board_in_the_statistics_is_named(story: Story, installed: Bindings) -> None:
    """As under MIG."""
    story.prolog()
    installed.change(groups={"5": []})
    story.epilog()

    assert story.codes == ["dcgm_no_block"]


def test_a_board_that_is_gone_is_named(story: Story, installed: Bindings) -> None:
    """Its index is nobody's, and the other one is claimed."""
    story.prolog()
    installed.change(boards={"0": BOARDS[1]})
    story.epilog()

    assert story.codes == ["dcgm_board_missing", "dcgm_unmapped"]
    assert [each["gpu"] for each in story.bodies("telemetry.job_stats")] == [BOARDS[1]]


def test_a_library_that_hangs_costs_the_time_that_is_left(
    story: Story, installed: Bindings
) -> None:
    """What was told before is kept."""
    story.prolog()
    installed.change(fail={"read": "hang"})
    story.settings = story.settings._replace(wall_us=1_500_000)
    story.epilog()

    assert story.codes == ["dcgm_hangs"]
    assert len(story.bodies("allocation.ended")) == 1


def test_without_time_nothing_is_asked(story: Story, installed: Bindings) -> None:
    """The library is not even loaded."""
    story.prolog()
    before = installed.calls
    story.settings = story.settings._replace(wall_us=1)
    story.epilog()

    assert story.codes == ["dcgm_no_time"]
    assert installed.calls == before


@pytest.mark.parametrize("step", ["list", "start"])
def test_a_library_that_crashes_at_the_prolog_is_named(
    story: Story, installed: Bindings, step: str
) -> None:
    """It takes its process with it, which says nothing more; nothing is claimed."""
    installed.change(fail={step: "crash"})
    story.prolog()

    assert story.codes == ["dcgm_failed"]
    assert story.bodies("telemetry.watch") == []


def test_a_library_that_crashes_at_the_epilog_is_named(story: Story, installed: Bindings) -> None:
    """Statistics that nobody gave have their reason beside them."""
    story.prolog()
    installed.change(fail={"stop": "crash"})
    story.epilog()

    assert story.codes == ["dcgm_failed"]
    assert story.bodies("telemetry.job_stats") == []


@pytest.mark.parametrize("step", ["update 1", "remove", "delete"])
def test_a_step_around_the_read_refuses_no_statistics(
    story: Story, installed: Bindings, step: str
) -> None:
    """A generic error means a window that ends before it starts only where it is read."""
    story.prolog()
    installed.change(fail={step: -3})
    story.epilog()

    assert len(story.bodies("telemetry.job_stats")) == 2


@pytest.mark.parametrize("harm", ["import", "library"])
def test_bindings_that_do_not_load_are_passed_over(
    story: Story, installed: Bindings, harm: str
) -> None:
    """The program is asked instead, and the epilog asks it too."""
    installed.change(no_library=True)
    if harm == "import":
        (installed.folder / "pydcgm.py").write_text("raise ImportError('no')\n")
    story.prolog()
    story.runs_for()
    story.epilog()

    assert story.codes == ["dcgm_bindings_unusable"]
    assert len(story.bodies("telemetry.job_stats")) == 2
    assert len(story.bodies("telemetry.dcgm_print")) == 3


def test_bindings_that_were_asked_for_have_no_replacement(
    story: Story, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The operator said so."""
    monkeypatch.setattr(bindings, "FOLDERS", (tmp_path / "nothing",))
    story.settings = story.settings._replace(dcgm="bindings")
    story.prolog()

    assert story.codes == ["dcgm_bindings_unusable"]
    assert story.bodies("telemetry.watch") == []


@pytest.mark.parametrize(
    ("values", "expected", "codes"),
    [
        ({"energy": BLANK_64, "power": BLANK_DOUBLE, "clock": 0}, [None] * 5, ["dcgm_blank"]),
        (
            {"energy": BLANK_64 + 1, "sm": BLANK_32, "mem": BLANK_32 + 2, "compute": BLANK_32},
            [None, "350.112", None, None, None],
            ["dcgm_energy_unknown"],
        ),
        ({"energy": 0}, [None, "350.112", 91, 44, 1], ["dcgm_energy_unknown"]),
        ({"energy": 0, "power": 0.0}, [0, "0.000", 91, 44, 1], []),
        (
            {"energy": -5, "power": float("nan")},
            [None, None, 91, 44, 1],
            ["dcgm_energy_unknown"],
        ),
    ],
)
def test_blanks_are_unknown(
    story: Story,
    installed: Bindings,
    values: dict[str, Any],
    expected: list[Any],
    codes: list[str],
) -> None:
    """By threshold, for each width; zeros without any sample are none."""
    installed.change(values=MEASURED | values)
    story.prolog()
    story.epilog()

    names = ("energy_mj", "power_w", "sm_util", "mem_util", "processes")
    first = story.bodies("telemetry.job_stats")[0]
    assert [first[name] for name in names] == expected
    assert story.codes == codes


def test_what_the_api_said_is_kept(story: Story) -> None:
    """As JSON, with the engine's own names."""
    story.prolog()
    story.epilog()

    (kept,) = story.bodies("telemetry.dcgm_print")
    assert (kept["form"], kept["status"]) == ("api", None)
    assert [each["gpuId"] for each in json.loads(kept["text"])] == [1, 0]
