"""``tallystick demo``: what it shows follows from its inputs, each figure worked out by hand.

Clock times below are seconds after 19:49:00. Attempt 1 is [4, 25), 21 s of four GPUs; attempt 2
is [37, 77), 40 s of four GPUs; that is what accounting states. A GPU-second costs 3.60 / 3600
= 0.001, so quantities read as amounts.
"""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from click.testing import CliRunner, Result

from tallystick.app.demo import KEY_FILES
from tallystick.app.keys import load_verify_keys
from tallystick.cli.demo import HINTS, RUN, SCENES, Scene, command_rows
from tallystick.cli.main import cli
from tallystick.receipt.errors import MalformedEnvelopeError
from tallystick.receipt.verify import verify_receipt

ROOT = Path(__file__).resolve().parents[2]
CAPTURED = ROOT / "tests" / "fixtures" / "slurm"
BIN = Path(sys.executable).parent

ATTEMPT_1 = "slurm:testc:2:1796068143"
ATTEMPT_2 = "slurm:testc:2:1796068169"
GPUS = tuple(f"GPU-2b7e{n}c40-6a1d-4f08-9c35-0d5e8a71f6{n}2" for n in range(4))


class Demo(NamedTuple):
    """A demo that was run: its folder and what it printed."""

    folder: Path
    page: str

    def receipt(self, name: str) -> dict[str, Any]:
        """Give the predicate of one of its receipts, verified with its key."""
        keys = load_verify_keys([str(self.folder / "provider.key.vkey")])
        return verify_receipt((self.folder / name).read_bytes(), keys).predicate


def run_demo(folder: Path, *options: str) -> Result:
    """Run the command in this process."""
    return CliRunner().invoke(cli, ["demo", "--out", str(folder), *options])


def shell(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a command line as somebody types it."""
    env = {"PATH": f"{BIN}:/usr/bin:/bin", "PYTHONPATH": str(ROOT / "src")}
    return subprocess.run(
        ["bash", "-c", command], cwd=folder, env=env, capture_output=True, text=True, check=False
    )


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Demo:
    """Run the demo once."""
    folder = tmp_path_factory.mktemp("demo") / "out"
    result = run_demo(folder)
    assert result.exit_code == 0, result.output
    return Demo(folder, result.output)


def test_the_attempts_are_those_of_the_cluster(demo: Demo) -> None:
    """Two attempts of one run, with the times that accounting states.

    Attempt 1 ended at 25 with notice at 8 (17 s before); attempt 2 began at 37 (12 s after).
    """
    receipt = demo.receipt(f"{RUN}.receipt")

    one, two = receipt["attempts"]
    common = {"gpus": 4, "gpu_uuids": list(GPUS), "gpu_type": "h100", "capacity": "spot"}
    assert one == common | {
        "attempt": ATTEMPT_1,
        "start": "2026-11-30T19:49:04.000000Z",
        "end": "2026-11-30T19:49:25.000000Z",
        "ended_by": "scheduler",
        "notice_seconds": "17.000000",
        "replacement_wait_seconds": "12.000000",
    }
    assert two == common | {
        "attempt": ATTEMPT_2,
        "start": "2026-11-30T19:49:37.000000Z",
        "end": "2026-11-30T19:50:17.000000Z",
        "ended_by": "completed",
        "notice_seconds": None,
        "replacement_wait_seconds": None,
    }


def test_the_coverage_has_the_gaps_of_the_samples(demo: Demo) -> None:
    """What samples and statistics leave is a gap with its reason.

    Samples come at n.218, 1 s apart; up to 2.5 s between two count as observed. In attempt 1
    the one at 9.218 is followed by the one at 19.218: 10 s dark, 21 - 10 = 11 s observed. In
    attempt 2 the last one is at 64.218. DCGM's statistics cover [37, 77) of GPUs 0 to 2, and
    nothing of GPU 3, whose zeros are blank: 77 - 64.218 = 12.782 s dark, 27.218 s observed.
    """
    receipt = demo.receipt(f"{RUN}.receipt")

    down = {
        "start": "2026-11-30T19:49:09.218000Z",
        "end": "2026-11-30T19:49:19.218000Z",
        "reason": "collector_down",
    }
    blank = {
        "start": "2026-11-30T19:50:04.218000Z",
        "end": "2026-11-30T19:50:17.000000Z",
        "reason": "blank",
    }
    expected = [(ATTEMPT_1, gpu, "11.000000", [down]) for gpu in GPUS]
    expected += [(ATTEMPT_2, gpu, "40.000000", []) for gpu in GPUS[:3]]
    expected += [(ATTEMPT_2, GPUS[3], "27.218000", [blank])]
    keys = ("attempt", "gpu", "observed_seconds", "gaps")
    assert [tuple(entry[key] for key in keys) for entry in receipt["coverage"]] == expected


def test_the_lost_steps_are_bounded(demo: Demo) -> None:
    """Lost and replayed steps, and the GPU time of each class.

    Attempt 1 reported step 40 last, every 5 steps, and step 20 was restored: 40 - 20 = 20 lost
    at least, 4 more at most. The checkpoint of step 20 was the last valid one: 0 avoidable.
    Attempt 2 ran steps 21 to 40 again: 20 replayed.

    In seconds of four GPUs: starting [4,6) and [37,41) = 6; advancing [6,14) and 20 of attempt
    2, which are [49,57) to step 60, [58,74) to step 100, so 8 + 8 + 16 = 32; replaying [41,49)
    = 8; discarded [15,23) = 8; saving [14,15), [57,58), [74,76) = 4; unknown [23,25) and
    [76,77) = 3. Together 61 = 21 + 40. Times four: 24, 128, 32, 32, 16, 12. Lost: the 32
    discarded, and at most the [23,25) after the last report more, 8.
    """
    receipt = demo.receipt(f"{RUN}.receipt")

    progress = receipt["progress"]
    assert progress["interruptions"] == [
        {
            "attempt": ATTEMPT_1,
            "last_step": 40,
            "restored_step": 20,
            "lost_steps": {"at_least": 20, "at_most": 24},
            "avoidable_lost_steps": 0,
        }
    ]
    assert progress["replayed_steps"] == 20
    assert progress["steps_completed"] == 100
    assert progress["gpu_seconds"] == {
        "starting": "24.000000",
        "advancing": "128.000000",
        "replaying": "32.000000",
        "discarded": "32.000000",
        "saving": "16.000000",
        "waiting": "0.000000",
        "mixed": "0.000000",
        "unknown": "12.000000",
    }
    assert progress["lost_gpu_seconds"] == {"at_least": "32.000000", "at_most": "40.000000"}


def test_the_lines_are_those_of_the_contract(demo: Demo) -> None:
    """Each GPU-second is on the line of the first rule that matches it.

    Attempt 1, 21 x 4 = 84: 2 x 4 = 8 starting, excluded; 10 x 4 = 40 dark, held; the rest,
    36, is charged, and a quarter is given back, for 17 s of notice are fewer than 30.
    Attempt 2, 40 x 4 = 160: 4 x 4 = 16 excluded; 12.782 held; 8 x 4 = 32 replayed at one half;
    the rest, 160 - 16 - 12.782 - 32 = 99.218, charged.
    """
    receipt = demo.receipt(f"{RUN}.receipt")

    keys = ("attempt", "disposition", "rule_clause", "quantity", "amount", "credit", "at_most")
    assert [tuple(line.get(key) for key in keys) for line in receipt["lines"]] == [
        (ATTEMPT_1, "credit", "6.1", "36.000000", "0.0360", "0.0090", None),
        (ATTEMPT_1, "hold", "4.2", "40.000000", None, None, "0.0400"),
        (ATTEMPT_1, "exclude", "3.1", "8.000000", "0.0000", None, None),
        (ATTEMPT_2, "charge", None, "99.218000", "0.0992", None, None),
        (ATTEMPT_2, "share", "7.1", "32.000000", "0.0160", None, None),
        (ATTEMPT_2, "hold", "4.2", "12.782000", None, None, "0.0128"),
        (ATTEMPT_2, "exclude", "3.1", "16.000000", "0.0000", None, None),
    ]


def test_usage_and_totals_add_up(demo: Demo) -> None:
    """Metered 84 + 160 = 244, of which 40 + 12.782 held; the net amount is a range.

    Net billed 99.218 + 32 = 131.218, credited 36, excluded 8 + 16 = 24. Charged 0.0360 +
    0.0992 + 0.0160 = 0.1512, less 0.0090 back = 0.1422; held at most 0.0400 + 0.0128 = 0.0528.
    """
    receipt = demo.receipt(f"{RUN}.receipt")

    assert receipt["usage"] == {
        "metered": "244.000000",
        "net_billed": "131.218000",
        "credited": "36.000000",
        "excluded": "24.000000",
        "held": "52.782000",
        "unit": "gpu_seconds",
    }
    assert receipt["totals"] == {
        "currency": "USD",
        "charged": "0.1512",
        "credits": "0.0090",
        "adjustments": "0.0000",
        "held_at_most": "0.0528",
        "net": {"at_least": "0.1422", "at_most": "0.1950"},
    }


def test_late_statistics_narrow_the_range(demo: Demo) -> None:
    """DCGM's statistics of attempt 1 cover its dark 40 GPU-seconds, which are now credited.

    36 + 40 = 76 at a quarter back: 0.0760 and 0.0190. Charged 0.1912, held 0.0128, net 0.1912 -
    0.0190 = 0.1722 to 0.1850. The seconds of attempt 2 are as before.
    """
    late = demo.receipt("late.receipt")

    assert [line["quantity"] for line in late["lines"]] == [
        *("76.000000", "8.000000"),
        *("99.218000", "32.000000", "12.782000", "16.000000"),
    ]
    assert late["totals"] == {
        "currency": "USD",
        "charged": "0.1912",
        "credits": "0.0190",
        "adjustments": "0.0000",
        "held_at_most": "0.0128",
        "net": {"at_least": "0.1722", "at_most": "0.1850"},
    }


def test_the_sources_disagree_about_moments_only(demo: Demo) -> None:
    """Hooks and accounting state other moments, which is found; nothing else is."""
    receipt = demo.receipt(f"{RUN}.receipt")

    assert [(finding["code"], finding["attempt"]) for finding in receipt["findings"]] == [
        ("end_disagreement", ATTEMPT_1),
        ("end_disagreement", ATTEMPT_2),
        ("start_disagreement", ATTEMPT_1),
        ("start_disagreement", ATTEMPT_2),
    ]


def test_the_page_says_what_the_commands_found(demo: Demo) -> None:
    """The receipt is verified and replayed, line 2 is explained, and the change is shown."""
    rows = demo.page.splitlines()

    assert f"IDENTICAL: run {RUN}" in rows
    assert "  (9) time is conserved, and lines, usage and totals add up" in rows
    assert "LINE 2 of 7: held, at most USD 0.0400" in rows
    assert "    held_at_most           0.0528 -> 0.0128" in rows
    assert [row for row in rows if len(row) > 80 and not row.startswith("$ cd ")] == []


def test_typed_commands_do_the_same(demo: Demo, tmp_path: Path) -> None:
    """In a shell the commands and the hints end as the demo says and write the same files."""
    assert run_demo(tmp_path).exit_code == 0
    for name in (*KEY_FILES, "evidence.jsonl", "late.jsonl", f"{RUN}.receipt", "late.receipt"):
        (tmp_path / name).unlink()
    shutil.rmtree(tmp_path / "store")
    (tmp_path / "store.head").unlink()

    ended = [shell("\n".join(command_rows(s.command))[2:], tmp_path) for s in (*SCENES, *HINTS)]

    assert [done.returncode for done in ended] == [scene.status for scene in (*SCENES, *HINTS)]
    assert Demo(tmp_path, "").receipt("late.receipt") == demo.receipt("late.receipt")
    settled = Demo(tmp_path, "").receipt("settled.receipt")
    assert settled["totals"]["net"] == "0.1722"


def test_the_commands_stand_on_the_page(demo: Demo) -> None:
    """Each command and each hint is shown as it can be typed."""
    shown = ["\n".join(command_rows(scene.command)) for scene in (*SCENES, *HINTS)]

    missing = [rows for rows in shown if f"\n{rows}\n" not in demo.page]

    assert missing == []


def test_a_second_demo_in_the_folder_differs_in_its_key_alone(demo: Demo) -> None:
    """Payloads are the same; only the key and what names it are new, until a log is begun."""
    key = re.compile(r"provider\+[0-9a-f]{8}(\+\S+)?")

    again = run_demo(demo.folder)

    before, after = (page.partition("-- 9. ")[0] for page in (demo.page, again.output))
    assert key.sub("", after) == key.sub("", before)
    assert after != before
    assert again.output.count("\n") == demo.page.count("\n")


def test_json_gives_one_object(tmp_path: Path) -> None:
    """Folder and scenes, each with its command, exit status and output."""
    result = run_demo(tmp_path, "--json")

    told = json.loads(result.stdout)
    assert told["folder"] == str(tmp_path)
    assert [(each["command"], each["status"]) for each in told["scenes"]] == [
        (scene.command, scene.status) for scene in SCENES
    ]
    assert told["scenes"][0]["output"] == "records: 27, findings: 0\n"


def test_an_error_of_a_command_is_that_of_the_demo(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It goes on to whoever called, and no later command is run."""
    fails = Scene("It cannot.", "tallystick receipt diff contract.toml contract.toml")
    monkeypatch.setattr("tallystick.cli.demo.SCENES", (fails, SCENES[0]))

    result = run_demo(tmp_path)

    assert isinstance(result.exception, MalformedEnvelopeError)
    assert SCENES[0].says not in result.output


def test_a_command_that_ends_otherwise_ends_the_demo(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it printed is shown, the demo exits with 1, and no later command is run."""
    same = Scene("They should differ.", SCENES[0].command, status=1)
    monkeypatch.setattr("tallystick.cli.demo.SCENES", (same, SCENES[-1]))

    result = run_demo(tmp_path)

    assert result.exit_code == 1
    assert result.output.endswith("records: 27, findings: 0\n")


def test_the_captured_files_are_as_captured() -> None:
    """Those that the tests have too are the same bytes."""
    inputs = ROOT / "src" / "tallystick" / "demo_data" / "inputs"
    hooks = CAPTURED / "hooks"
    pairs = {
        "slurm/sacct.psv": CAPTURED / "b4_sacct_D_final.psv",
        "slurm/prolog-1.env": hooks / "1796068144.121716754.Prolog.job2.n1.3300",
        "slurm/epilog-1.env": hooks / "1796068169.825967449.Epilog.job2.n1.5395",
        "slurm/prolog-2.env": hooks / "1796068177.593961208.Prolog.job2.n1.5942",
        "slurm/epilog-2.env": hooks / "1796068217.186167171.Epilog.job2.n1.7576",
        "quoted/scontrol.txt": CAPTURED / "b2_scontrol_spot_grace.txt",
    }

    other = [
        name for name, path in pairs.items() if (inputs / name).read_bytes() != path.read_bytes()
    ]

    assert other == []


def test_the_readme_says_of_each_file_what_it_is(demo: Demo) -> None:
    """No input is without its row among the captured or the made ones."""
    readme = (demo.folder / "README.md").read_text(encoding="utf-8")
    data = ROOT / "src" / "tallystick" / "demo_data"

    unnamed = [path.name for path in data.rglob("*.*") if f"{path.name}`" not in readme]

    assert unnamed == ["README.md"]


def test_the_walkthrough_quotes_the_demo(demo: Demo) -> None:
    """Every row of the blocks in docs/demo.md stands on the page, in that order."""
    text = (ROOT / "docs" / "demo.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```text\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    quoted = [row for block in blocks for row in block.splitlines() if row != "..."]
    rows = iter(demo.page.splitlines())

    missing = [row for row in quoted if row not in rows]  # The iterator goes on behind each.

    assert quoted
    assert missing == []
