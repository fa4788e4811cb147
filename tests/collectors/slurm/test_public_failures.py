"""Failures that others met in public, each with the right answer.

The number in a docstring is that of the story; where the story leaves room, the rules decide.
"""

import json
from collections.abc import Callable
from typing import Any

import pytest

Collect = Callable[..., Any]
Table = Callable[..., str]
Hook = Callable[..., str]

KEY = "slurm:c7:1:1770000000"
GPU = "GPU-11111111-2222-3333-4444-555555555555"


def test_a_requeued_job_keeps_both_of_its_rows(collect: Collect, table: Table) -> None:
    """B1: two rows of one job id are two attempts of 8 GPUs, not the last of them."""
    data = table(
        {"State": "PREEMPTED", "Restarts": "1"},
        {"Submit": "1770000701", "Start": "1770001240", "End": "1770001840", "Restarts": "1"},
    )

    story = collect(data)

    assert story.ended_by == {KEY: "scheduler", "slurm:c7:1:1770000701": "completed"}
    assert story.times("allocation.started")["slurm:c7:1:1770000701"] == "03:00:40"
    assert story.codes == []


def test_only_the_last_row_of_a_requeued_job_is_an_incomplete_history(
    collect: Collect, table: Table
) -> None:
    """B1: a query without duplicates shows one row of a job that restarted."""
    story = collect(table({"Restarts": "1"}))

    assert story.codes == ["history_incomplete"]
    assert list(story.started) == [KEY]


def test_a_ghost_row_between_two_lives_contributes_nothing(collect: Collect, table: Table) -> None:
    """B3: a pending row that never started gives its row, and no attempt stays open."""
    ghost = {
        "Submit": "1770000704",
        "Start": "Unknown",
        "End": "Unknown",
        "State": "PENDING",
        "AllocTRES": "",
        "NodeList": "None assigned",
    }
    data = table(
        {"State": "REQUEUED"},
        ghost,
        {"Submit": "1770000705", "Start": "1770001000", "End": "1770001600"},
    )

    story = collect(data)

    assert list(story.started) == [KEY, "slurm:c7:1:1770000705"]
    assert story.ended_by.keys() == story.started.keys()
    assert len(story.bodies("allocation.row")) == 3
    assert story.codes == []


def test_a_start_that_was_lost_is_not_made_up(collect: Collect, table: Table) -> None:
    """B5: the row had nodes and resources, so it ran, since nobody knows when."""
    story = collect(table({"Start": "Unknown", "State": "REQUEUED", "JobName": "allocation"}))

    assert story.kinds == ["row", "ended"]
    assert story.codes == ["start_missing"]


def test_an_array_task_has_a_key_and_a_name(collect: Collect, table: Table) -> None:
    """B7: the raw id keys the attempt, the display id is kept beside it."""
    story = collect(table({"JobIDRaw": "1043166", "JobID": "1043074_91"}))

    assert story.started["slurm:c7:1043166:1770000000"]["job_id"] == "1043074_91"


def test_a_row_that_was_seen_before_adds_nothing(collect: Collect, table: Table) -> None:
    """B9: the same row in two files is one row, and its findings come once."""
    data = table({"Start": "Unknown"})

    once, again = collect(data), collect(data, data)

    assert again.records == once.records
    assert again.codes == once.codes == ["start_missing"]


def test_a_row_that_changed_stands_beside_the_old_one(collect: Collect, table: Table) -> None:
    """B9: a correction is a second record with an id of its own, nothing is overwritten."""
    story = collect(table({"State": "FAILED", "ExitCode": "1:0"}), table({}))

    assert story.kinds == ["row", "started", "ended", "row", "ended"]
    assert len({record["id"] for record in story.records}) == 5


def test_a_repeated_hour_is_decided_by_the_elapsed_time(collect: Collect, table: Table) -> None:
    """B13: 02:30 to 02:15 with 45 minutes between is 00:30 to 01:15 by UTC."""
    row = {
        "Submit": "2025-10-26T01:10:00",
        "Start": "2025-10-26T02:30:00",
        "End": "2025-10-26T02:15:00",
        "ElapsedRaw": "2700",
    }

    story = collect(table(row), timezone="Europe/Berlin")

    assert story.times("allocation.started") == {"slurm:c7:1:1761433800": "00:30:00"}
    assert story.times("allocation.ended") == {"slurm:c7:1:1761433800": "01:15:00"}


def test_an_hour_that_the_clock_skipped_makes_a_bad_row(collect: Collect, table: Table) -> None:
    """B13: 02:30 did not exist in Berlin on 29 March 2026."""
    row = {"Submit": "2026-03-29T01:00:00", "Start": "2026-03-29T02:30:00", "End": "Unknown"}

    story = collect(table(row, {"JobIDRaw": "2"}), timezone="Europe/Berlin")

    assert [(each.code, each.line) for each in story.findings] == [("bad_row", 2)]
    assert list(story.started) == ["slurm:c7:2:1770000000"]


def test_a_job_cancelled_in_the_queue_has_no_attempt(collect: Collect, table: Table) -> None:
    """B17: None is no start, and Partition_Limit no reason to stumble."""
    row = {
        "Start": "None",
        "State": "CANCELLED by 1060117917",
        "AllocTRES": "",
        "NodeList": "None assigned",
        "Timelimit": "Partition_Limit",
    }

    story = collect(table(row))

    assert story.kinds == ["row"]
    assert story.codes == []


def test_a_job_that_was_never_eligible_waits_for_nobody_knows_how_long(
    collect: Collect, table: Table
) -> None:
    """B19: Eligible is kept as it is printed; no wait is computed from it."""
    story = collect(table({"Eligible": "Unknown", "Planned": "INVALID"}))

    raw = story.bodies("allocation.row")[0]["raw"]
    assert (raw["Eligible"], raw["Planned"]) == ("Unknown", "INVALID")
    assert story.kinds == ["row", "started", "ended"]


def test_a_runaway_job_that_was_repaired_stays_open(collect: Collect, table: Table) -> None:
    """B21: COMPLETED after 0 s is not taken for an end."""
    story = collect(table({"End": "1770000100", "ElapsedRaw": "0"}))

    assert story.kinds == ["row", "started"]
    assert story.codes == ["end_not_trusted"]


def test_steps_of_a_resized_job_end_nothing(collect: Collect, table: Table) -> None:
    """B23: step rows inherit the end of the RESIZING row; only job rows count."""
    data = table(
        {"State": "RESIZING"},
        {"JobIDRaw": "1.batch", "State": "RESIZING"},
        {"JobIDRaw": "1.0+1", "State": "COMPLETED"},
        {"Submit": "1770000700", "Start": "1770000700", "End": "Unknown", "State": "RUNNING"},
    )

    story = collect(data)

    assert story.ended_by == {KEY: "unknown"}
    assert list(story.started) == [KEY, "slurm:c7:1:1770000700"]


def test_the_prolog_and_accounting_may_differ_about_the_start(
    collect: Collect, table: Table, hook: Hook
) -> None:
    """B25: nodes were powered up for 80 s; both starts are kept, and joined."""
    prolog = hook("Prolog", "1770000020.5", SLURM_JOB_START_TIME="1770000020")

    story = collect(prolog, table({}))

    assert story.times("allocation.started") == {
        KEY: "02:41:40",
        "slurm:c7:1@g1:1770000020": "02:40:20",
    }
    assert story.same == {"slurm:c7:1@g1:1770000020": KEY}


def test_success_of_old_json_is_no_exit_code(collect: Collect) -> None:
    """B27: plugin v0.0.38 prints SUCCESS and 0 beside FAILED."""
    document = {
        "meta": {"plugin": {"type": "openapi/dbv0.0.38"}},
        "jobs": [
            {
                "job_id": 828,
                "state": {"current": "FAILED"},
                "exit_code": {"status": "SUCCESS", "return_code": 0},
                "time": {"submission": 1770000000, "start": 1770000100, "end": 1770000700},
                "nodes": "g1",
            }
        ],
    }

    story = collect(json.dumps(document), gpus_per_node=8, gpu_type=((None, "h100"),))

    assert story.bodies("allocation.ended") == [
        {"attempt": "slurm:c7:828:1770000000", "ended_by": "user", "state": "FAILED"}
    ]


def test_cancelled_by_somebody_is_still_cancelled(collect: Collect, table: Table) -> None:
    """B29: the usage of a cancelled job is not dropped because its state has three words."""
    row = {"State": "CANCELLED by 1000", "ExitCode": "0:15", "AllocTRES": "gres/gpu=4"}

    story = collect(table(row), gpu_type=((None, "h100"),))

    assert story.bodies("allocation.ended") == [
        {"attempt": KEY, "ended_by": "user", "state": "CANCELLED", "exit_code": 0, "signal": 15}
    ]
    assert story.started[KEY]["gpu_count"] == 4


def test_an_end_within_the_grace_time_is_no_clean_exit(collect: Collect, table: Table) -> None:
    """B31: PREEMPTED with 0:0 may have finished; the scheduler's row cannot know."""
    data = table(
        {"State": "PREEMPTED"},
        {"Submit": "1770000701", "Start": "1770000800", "End": "Unknown", "State": "RUNNING"},
    )

    story = collect(data)

    assert story.bodies("allocation.ended") == [
        {"attempt": KEY, "ended_by": "scheduler", "state": "PREEMPTED"}
    ]
    assert len(story.started) == 2


def test_typed_and_untyped_entries_count_the_same_gpu(collect: Collect, table: Table) -> None:
    """B33: one GPU, not two."""
    tres = "billing=10,cpu=10,gres/gpu:a100=1,gres/gpu=1,mem=100G,node=1"

    story = collect(table({"AllocTRES": tres}))

    assert (story.started[KEY]["gpu_count"], story.started[KEY]["gpu_type"]) == (1, "a100")


def test_a_site_that_does_not_track_gpus_has_no_count(collect: Collect, table: Table) -> None:
    """B35: unknown is not zero; the caller may say what a node has."""
    data = table({"AllocTRES": "billing=192,cpu=192,mem=800G,node=2", "NodeList": "g[1-2]"})

    plain = collect(data)
    declared = collect(data, gpus_per_node=8, gpu_type=((None, "h200"),))

    assert plain.kinds == ["row", "ended"]
    assert plain.codes == ["gpu_count_unknown"]
    assert declared.started[KEY]["gpu_count"] == 16
    assert declared.codes == []


def test_an_index_is_never_turned_into_a_uuid(collect: Collect, hook: Hook) -> None:
    """B37: the scheduler's index 0 may be any device, even with an inventory at hand."""
    devices = [{"uuid": GPU, "index": 0, "minor": 6}, {"uuid": GPU[:-1] + "6", "index": 6}]
    inventory = {
        "schema": "tallystick.evidence/1",
        "id": "inventory-1",
        "producer": {"name": "look/g1"},
        "kind": "device.inventory",
        "at": "2026-02-02T02:00:00.000000Z",
        "observed": "2026-02-02T02:00:00.000000Z",
        "body": {"node": "g1", "devices": devices},
    }

    story = collect(hook("Prolog", "1770000101.0", SLURM_JOB_GPUS="0"), json.dumps(inventory))

    assert story.started["slurm:c7:1@g1:1770000101"]["gpu_count"] == 1
    assert "gpus" not in story.started["slurm:c7:1@g1:1770000101"]
    assert inventory in story.records


@pytest.mark.parametrize("uuid", [GPU, "MIG-aaaa-1", "MIG-GPU-1111/7/0"])
def test_a_uuid_in_the_environment_wins_over_the_index(
    collect: Collect, hook: Hook, uuid: str
) -> None:
    """B39: from 25.11 the prolog sees UUIDs beside indices."""
    story = collect(hook("Prolog", "1770000101.0", SLURM_JOB_GPUS="3", CUDA_VISIBLE_DEVICES=uuid))

    body = story.started["slurm:c7:1@g1:1770000101"]
    assert body["gpus"] == [{"uuid": uuid, "node": "g1"}]
    assert "gpu_count" not in body


def test_a_delimiter_in_the_last_free_text_shifts_nothing(collect: Collect, table: Table) -> None:
    """B41: the name keeps its pipes."""
    story = collect(table({"JobName": "lr=1e-4|bs=32"}))

    assert story.bodies("allocation.row")[0]["raw"]["JobName"] == "lr=1e-4|bs=32"
    assert story.ended_by == {KEY: "completed"}


def test_a_newline_in_a_name_makes_bad_rows_not_jobs(collect: Collect, table: Table) -> None:
    """B41: what is left of a name on a line of its own is no row."""
    story = collect(table({"JobName": "line 1\nline 2|x"}, {"JobIDRaw": "2"}))

    assert [(each.code, each.line) for each in story.findings] == [("bad_row", 3)]
    assert list(story.started) == [KEY, "slurm:c7:2:1770000000"]


def test_an_error_in_place_of_a_table_is_told(collect: Collect) -> None:
    """B43: a field that a later Slurm removed ends the query with a message."""
    story = collect("sacct: fatal: ReqGRES is deprecated\n")

    assert story.codes == ["unrecognised_input"]
    assert "ReqGRES" in story.findings[0].message


def test_one_bad_row_does_not_stop_the_others(collect: Collect, table: Table) -> None:
    """B45: the row before and the row after it are read."""
    story = collect(table({}, {"JobIDRaw": "two"}, {"JobIDRaw": "3"}))

    assert [(each.code, each.line) for each in story.findings] == [("bad_row", 3)]
    assert list(story.started) == [KEY, "slurm:c7:3:1770000000"]


def test_a_truncated_document_does_not_hide_the_whole_one(
    collect: Collect, captured: Callable[[str], bytes]
) -> None:
    """B47: the first file was cut when the controller stopped, the second is complete."""
    whole = captured("b4_sacct_D_final.json")

    story = collect(whole[:9000], whole, cluster="testc")

    assert story.records == collect(whole, cluster="testc").records
    assert [(each.code, each.source) for each in story.findings] == [("bad_json", "input-1")]
