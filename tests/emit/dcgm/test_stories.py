"""Whole stories: hooks, the stand-in for DCGM, and the reasons that a receipt gives."""

import time
from pathlib import Path
from typing import Any

import pytest

from tallystick.core.canonical import canonical_bytes
from tallystick.emit.dcgm import bindings, process
from tallystick.emit.slurm import telemetry
from tallystick.evidence.codec import read_line
from tests.emit.dcgm.stories import BOARDS, Story, fake_engine

WITHOUT_GAPS: dict[str, set[str]] = {uuid: set() for uuid in BOARDS}


def all_gaps(reason: str) -> dict[str, set[str]]:
    """Give one reason for both boards."""
    return {uuid: {reason} for uuid in BOARDS}


@pytest.fixture
def story(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Story:
    """Begin a story on a node whose engine began before it."""
    proc = tmp_path / "proc"
    fake_engine(proc, ticks=1)
    monkeypatch.setattr(process, "PROC", proc)
    return Story(tmp_path)


def test_a_job_that_was_watched_is_observed(story: Story) -> None:
    """From the moment that the watch began to the end, on every board, without a problem."""
    story.prolog()
    story.runs_for()
    story.age()
    story.epilog()

    assert story.gaps() == WITHOUT_GAPS
    assert story.codes == []


def test_statistics_name_boards_by_uuid(story: Story) -> None:
    """The engine's indexes are in another order than the driver's."""
    story.engine.knob("values.json", '{"3": {"energy_w": 100}, "2": {"energy_w": 200}}')
    story.prolog()
    story.runs_for()
    story.age()
    story.epilog()

    watts = {each["gpu"]: each["energy_mj"] // 3_600_000 for each in stats(story)}
    assert watts == {BOARDS[0]: 100, BOARDS[1]: 200}


def stats(story: Story) -> list[dict[str, Any]]:
    """Give the statistics that were told."""
    return story.bodies("telemetry.job_stats")


def test_what_dcgm_printed_is_kept(story: Story) -> None:
    """Both forms and the list of boards, as they were printed."""
    story.prolog()
    story.runs_for()
    story.epilog()

    prints = story.bodies("telemetry.dcgm_print")
    assert [each["form"] for each in prints] == ["summary", "gpus", "devices"]
    assert [each["status"] for each in prints] == [0, 0, 0]
    assert "| Summary  " in prints[0]["text"]


def test_every_record_is_admitted(story: Story) -> None:
    """No line is refused by the log."""
    story.prolog()
    story.runs_for()
    story.epilog()

    kinds = {read_line(canonical_bytes(each)).kind for each in story.records}
    assert kinds >= {"telemetry.watch", "telemetry.job_stats", "telemetry.dcgm_print"}


def test_nothing_is_left_in_the_engine(story: Story) -> None:
    """Job and group are forgotten, so that the engine does not fill up."""
    story.prolog()
    story.epilog()

    assert (story.engine.state["jobs"], story.engine.state["groups"]) == ({}, {})


def test_a_restarted_engine_is_named(story: Story) -> None:
    """It forgot the job (NO_DATA), and another process is there."""
    story.prolog()
    story.age()
    story.engine.restart()
    fake_engine(process.PROC, ticks=200, pid=77)
    story.epilog()

    assert story.gaps() == all_gaps("engine_restart")
    assert story.codes == ["dcgm_engine_restarted", "dcgm_job_unknown"]


def test_groups_of_a_restarted_engine_are_left_alone(story: Story) -> None:
    """A new engine counts from the start, so the number may be somebody else's group."""
    story.prolog()
    story.engine.restart()
    story.engine.remembers({"next": 3, "groups": {"2": {"gpus": []}}, "jobs": {}, "watches": {}})
    story.epilog()

    assert list(story.engine.state["groups"]) == ["2"]


def test_samples_that_were_not_kept_are_named(story: Story) -> None:
    """The engine keeps a minute, the job runs for an hour, and only the tail is observed."""
    story.settings = story.settings._replace(dcgm_keep_us=60_000_000)
    story.prolog()
    story.runs_for()
    story.age()
    story.epilog()

    assert story.gaps() == all_gaps("retention")
    assert {each["keep_us"] for each in stats(story)} == {60_000_000}


def test_an_engine_that_samples_nothing_is_named(story: Story) -> None:
    """XID 119, or an engine whose driver is gone: zeros on every board, none of them measured."""
    story.engine.knob("nosamples")
    story.prolog()
    story.age()
    story.epilog()

    assert story.gaps() == all_gaps("blank")
    assert story.codes == ["dcgm_blank"]


def test_a_board_that_is_lost_is_blank(story: Story) -> None:
    """XID 79: the engine stores blanks for it, and the other one is observed."""
    story.prolog()
    story.runs_for()
    story.age()
    story.engine.knob("blank", "3")
    story.epilog()

    assert story.gaps() == {BOARDS[0]: {"blank"}, BOARDS[1]: set()}


def test_a_board_that_is_no_longer_listed_is_not_claimed(story: Story) -> None:
    """Statistics with an index that no UUID has belong to nobody."""
    story.prolog()
    story.runs_for()
    story.age()
    story.engine.knob("unlisted", "3")
    story.epilog()

    assert story.gaps() == {BOARDS[0]: {"no_samples"}, BOARDS[1]: set()}
    assert story.codes == ["dcgm_board_missing", "dcgm_unmapped"]


def test_a_node_without_dcgm_has_no_samples(story: Story) -> None:
    """And says why."""
    (story.node.bin / "dcgmi").unlink()
    story.settings = story.settings._replace(path=str(story.node.bin))
    story.prolog()
    story.age()
    story.epilog()

    assert story.gaps() == all_gaps("no_samples")
    assert story.codes == ["dcgm_absent"]


def test_an_engine_that_is_down_at_the_prolog_watches_nothing(story: Story) -> None:
    """The tool is there and reaches nobody."""
    story.engine.knob("down")
    story.prolog()
    story.age()
    story.epilog()

    assert story.gaps() == all_gaps("no_samples")
    assert story.codes == ["dcgm_engine_down"]


def test_an_engine_that_is_down_at_the_epilog_is_asked_once(story: Story) -> None:
    """What it knew is not read, and each further question would cost time."""
    story.prolog()
    story.age()
    story.engine.knob("down")
    story.epilog()

    assert story.gaps() == all_gaps("no_samples")
    assert [each["code"] for each in story.bodies("telemetry.problem")] == ["dcgm_engine_down"]


def test_the_program_is_asked_where_bindings_are_not_installed(
    story: Story, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unless the operator says which way."""
    monkeypatch.setattr(bindings, "FOLDERS", ())
    story.settings = story.settings._replace(dcgm="auto")
    story.prolog()

    assert len(story.bodies("telemetry.watch")) == 1


def test_an_engine_whose_start_is_not_known_is_named(story: Story) -> None:
    """It is another one, but no time can be given for its start."""
    story.prolog()
    fake_engine(process.PROC, ticks=200, pid=77)
    (process.PROC / "stat").write_text("")
    story.epilog()

    assert "dcgm_engine_restarted" in story.codes
    assert story.bodies("telemetry.engine_started") == []


def test_dcgm_that_is_switched_off_is_not_asked(story: Story) -> None:
    """Nothing is told, since nothing was tried."""
    story.settings = story.settings._replace(dcgm="off")
    story.prolog()
    story.epilog()

    assert story.codes == []
    assert not (story.engine.home / "state.json").exists()


@pytest.mark.parametrize(
    ("visible", "code"),
    [
        ("MIG-11111111-2222-3333-4444-555555555555", "dcgm_mig"),
        ("", "dcgm_boards_unknown"),
    ],
)
def test_boards_that_are_not_known_are_not_watched(story: Story, visible: str, code: str) -> None:
    """Of MIG instances DCGM keeps nothing, and an index alone is no board."""
    if not visible:
        story.node.tool("nvidia-smi", "exit 9")
    story.prolog(CUDA_VISIBLE_DEVICES=visible)

    assert story.codes == [code]
    assert story.bodies("telemetry.watch") == []


def test_mig_that_was_switched_on_later_leaves_no_block(story: Story) -> None:
    """The statistics are then of no board."""
    story.prolog()
    story.engine.knob("mig")
    story.epilog()

    assert story.codes == ["dcgm_no_block"]
    assert stats(story) == []


def test_an_engine_without_a_driver_lists_nothing(story: Story) -> None:
    """gpu-operator#2854: it runs, and has no boards."""
    story.engine.knob("nodriver")
    story.prolog()

    assert story.codes == ["dcgm_no_boards"]


def test_a_board_that_dcgm_does_not_list_is_not_watched(story: Story) -> None:
    """A group of some of the boards would look whole."""
    story.engine.knob("unlisted", "3")
    story.prolog()

    assert story.codes == ["dcgm_board_missing"]
    assert not (story.engine.home / "state.json").exists()


def old_record(story: Story, seconds: float) -> None:
    """Leave a record of the same name in the engine."""
    started_s = int(time.time()) - seconds
    job = {"group": "9", "start": started_s, "end": started_s + 1}
    key = "tallystick-7-1770000000"
    groups = {"9": {"name": "old", "gpus": ["3"]}}
    story.engine.remembers({"next": 10, "groups": groups, "jobs": {key: job}, "watches": {}})


def test_a_record_that_was_there_already_is_not_claimed(story: Story) -> None:
    """DUPLICATE_KEY: the first start stands, and its times are not those of the attempt."""
    old_record(story, 500)
    story.prolog(SLURM_JOB_START_TIME="1770000000")
    story.epilog(SLURM_JOB_START_TIME="1770000000")

    assert {"dcgm_job_exists", "dcgm_window_differs"} <= set(story.codes)
    assert stats(story) == []


def test_a_prolog_that_was_cut_off_and_runs_again_keeps_its_record(story: Story) -> None:
    """The first start is that of the same attempt, so the times agree."""
    story.prolog(SLURM_JOB_START_TIME="1770000000")
    (story.node.spool / "runs" / "7@n1.json").unlink()
    story.prolog(SLURM_JOB_START_TIME="1770000000")
    story.runs_for()
    story.epilog(SLURM_JOB_START_TIME="1770000000")

    assert story.codes == ["dcgm_job_exists"]
    assert len(stats(story)) == 2


def test_a_requeued_job_has_a_record_of_its_own(story: Story) -> None:
    """The name holds the start, so a record that was left behind is in nobody's way."""
    story.prolog(SLURM_JOB_START_TIME="1770000000")
    story.prolog(SLURM_JOB_START_TIME="1770000900")
    story.runs_for()
    story.epilog(SLURM_JOB_START_TIME="1770000900")

    assert story.codes == []
    assert {each["attempt"] for each in stats(story)} == {"slurm:c1:7@n1:1770000900"}


def test_an_end_is_ours_where_the_stop_failed(story: Story) -> None:
    """Without a stop the engine's end is the moment of the question."""
    story.prolog()
    story.runs_for()
    story.engine.knob("fail", "-x")
    story.epilog()

    (ended,) = [each for each in story.records if each["kind"] == "allocation.ended"]
    assert story.codes == ["dcgm_not_stopped"]
    assert all(ended["at"] < each["end"] < end_of_print(story) for each in stats(story))


def end_of_print(story: Story) -> str:
    """Give when the first print was written down."""
    return next(str(each["at"]) for each in story.records if each["kind"] == "telemetry.dcgm_print")


def test_a_stop_that_came_late_is_not_claimed(story: Story) -> None:
    """A second epilog moves the engine's end; ours is that of the first."""
    story.prolog()
    path = story.node.spool / "runs" / "7@n1.json"
    ended_us = time.time_ns() // 1000 - 60_000_000
    path.write_text(path.read_text().replace('"ended_us":null', f'"ended_us":{ended_us}'))
    story.epilog()

    assert story.codes == ["dcgm_window_differs"]
    assert stats(story) == []


def test_a_group_that_was_changed_is_named(story: Story) -> None:
    """A board of somebody else is not claimed, one that was taken out is missed."""
    story.prolog()
    story.runs_for()
    state = story.engine.state
    state["groups"]["2"]["gpus"] = ["3", "0"]
    story.engine.remembers(state)
    story.epilog()

    assert story.codes == ["dcgm_board_missing", "dcgm_group_changed"]
    assert [each["gpu"] for each in stats(story)] == [BOARDS[0]]


def test_a_group_that_was_removed_is_named(story: Story) -> None:
    """Nothing can be read then."""
    story.prolog()
    state = story.engine.state
    state["groups"] = {}
    story.engine.remembers(state)
    story.epilog()

    assert story.codes == ["dcgm_group_gone"]


def test_a_clock_that_was_set_back_is_named(story: Story) -> None:
    """The engine gives a generic error, since its window ends before it starts."""
    story.prolog()
    story.engine.knob("clock", "-100")
    story.epilog()

    assert story.codes == ["dcgm_window_refused"]
    assert stats(story) == []


def test_a_clock_that_was_set_behind_the_start_is_the_reason(story: Story) -> None:
    """By our own clock, too, the window ends before it starts."""
    story.prolog()
    story.age()
    story.moves_start(7_200_000_000, "start_us")
    story.engine.knob("clock", "-7200")
    story.epilog()

    assert story.gaps() == all_gaps("clock")
    assert story.codes == ["dcgm_clock_step", "dcgm_window_refused"]


@pytest.mark.parametrize("by_us", [-60_000_000, 60_000_000])
def test_a_clock_that_was_set_during_the_attempt_is_named(story: Story, by_us: int) -> None:
    """The steady clock counts differently, so no time of the engine is believed."""
    story.prolog()
    story.moves_start(by_us, "start_us")
    story.epilog()

    assert story.codes == ["dcgm_clock_step"]
    assert stats(story) == []


def test_one_sample_is_no_energy(story: Story) -> None:
    """DCGM#171: 0 J beside 350 W."""
    story.engine.knob("onesample")
    story.prolog()
    story.runs_for()
    story.epilog()

    assert {each["energy_mj"] for each in stats(story)} == {None}
    assert {each["power_w"] for each in stats(story)} == {"350.112"}
    assert story.codes == ["dcgm_energy_unknown"]


def test_blanks_that_are_printed_as_numbers_are_unknown(story: Story) -> None:
    """IBM/CAST#399: sentinels are thresholds."""
    story.engine.knob("sentinel")
    story.prolog()
    story.runs_for()
    story.epilog()

    assert {(each["energy_mj"], each["power_w"]) for each in stats(story)} == {(None, None)}
    assert story.codes == ["dcgm_energy_unknown"]


@pytest.mark.parametrize("words", [(), ("-v",)])
def test_a_call_that_hangs_is_the_last(story: Story, words: tuple[str, ...]) -> None:
    """The end is told, and that the engine does not answer."""
    story.prolog()
    story.engine.knob("hang", *words)
    story.settings = story.settings._replace(wall_us=1_200_000)
    story.epilog()

    assert len(story.bodies("allocation.ended")) == 1
    assert "dcgm_hangs" in story.codes


def test_without_time_nothing_is_asked(story: Story) -> None:
    """What took too long before left none."""
    story.prolog()
    story.settings = story.settings._replace(wall_us=1)
    story.epilog()

    assert story.codes == ["dcgm_no_time"]


@pytest.mark.parametrize("step", ["-c", "-e", "-s"])
def test_what_is_half_begun_is_taken_back(story: Story, step: str) -> None:
    """No group stays behind, and no watch is claimed."""
    story.engine.knob("fail", step)
    story.prolog()

    state = story.engine.state if (story.engine.home / "state.json").exists() else {"groups": {}}
    assert state["groups"] == {}
    assert story.codes == ["dcgm_failed"]
    assert story.bodies("telemetry.watch") == []


def test_a_print_that_is_too_long_is_cut(story: Story) -> None:
    """One record holds 48 KiB of it, and says how long it was."""
    story.engine.knob("long")
    story.prolog()
    story.runs_for()
    story.epilog()

    text = story.bodies("telemetry.dcgm_print")[0]["text"]
    assert text[telemetry.PRINT_BYTES_MAX :].startswith("\n[cut: the first 49152 of 10")
