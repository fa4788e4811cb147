"""Rules r18 to r23: what the node's hooks may claim, and which rows they are joined to."""

from collections.abc import Callable
from typing import Any

import pytest

Collect = Callable[..., Any]
Table = Callable[..., str]
Hook = Callable[..., str]

ROW = "slurm:c7:1:1770000000"  # Held from 1770000100 to 1770000700.
NEXT = {"Submit": "1770000701", "Start": "1770000800", "End": "1770001400"}


def key(start: int, node: str = "g1", job: int = 1) -> str:
    """Give the key of a hook attempt."""
    return f"slurm:c7:{job}@{node}:{start}"


# --- r18: keys and times


def test_a_prolog_starts_an_attempt_when_it_was_observed(collect: Collect, hook: Hook) -> None:
    """Microseconds in the time, whole seconds in the key."""
    story = collect(hook("Prolog", "1770000101.987654321"))

    assert story.records[0]["at"] == "2026-02-02T02:41:41.987654Z"
    assert story.records[0]["observed"] == "2026-02-02T02:41:41.987654Z"
    assert story.records[0]["producer"] == {"name": "slurm-hook/g1"}
    assert list(story.started) == [key(1770000101)]


def test_a_stated_start_comes_before_the_observed_time(collect: Collect, hook: Hook) -> None:
    """From 23.02 the environment says when the job started."""
    env = {"SLURM_JOB_START_TIME": "1770000100"}

    story = collect(hook("Prolog", "1770000107.5", **env), hook("Epilog", "1770000705.5", **env))

    assert story.times("allocation.started") == {key(1770000100): "02:41:40"}
    assert story.times("allocation.ended") == {key(1770000100): "02:51:45"}


@pytest.mark.parametrize("absent", ["0", "4294967294", "Unknown"])
def test_a_start_that_is_none_is_not_used(collect: Collect, hook: Hook, absent: str) -> None:
    """The observed time serves instead."""
    story = collect(hook("Prolog", "1770000107.5", SLURM_JOB_START_TIME=absent))

    assert list(story.started) == [key(1770000107)]


def test_an_epilog_ends_the_latest_earlier_prolog_of_its_job_and_node(
    collect: Collect, hook: Hook
) -> None:
    """The order of files does not matter, nor do other jobs and nodes."""
    story = collect(
        hook("Epilog", "1770002000.5"),
        hook("Prolog", "1770001000.5"),
        hook("Epilog", "1770000900.5"),
        hook("Prolog", "1770000100.5"),
        hook("Prolog", "1770001500.5", SLURM_JOB_ID="2"),
        hook("Prolog", "1770001600.5", SLURMD_NODENAME="g2"),
        hook("Prolog", "1770003000.5"),
    )

    assert story.times("allocation.ended") == {
        key(1770000100): "02:55:00",
        key(1770001000): "03:13:20",
    }


def test_an_epilog_without_a_prolog_ends_nothing(collect: Collect, hook: Hook) -> None:
    """Without PrologFlags=Alloc a node may run its epilog only."""
    story = collect(hook("Epilog", "1770000900.5"), hook("Prolog", "1770001000.5"))

    assert story.kinds == ["started"]
    assert story.codes == ["epilog_without_prolog", "gpu_type_unknown"]


# --- r19: GPUs


@pytest.mark.parametrize(
    ("env", "count"),
    [
        ({"SLURM_JOB_GPUS": "0,1,2", "CUDA_VISIBLE_DEVICES": "0"}, 3),
        ({"SLURM_JOB_GPUS": "", "CUDA_VISIBLE_DEVICES": "4,5"}, 2),
        ({"SLURM_JOB_GPUS": "0-3,7"}, 5),
        ({"SLURM_JOB_GPUS": "0,1", "CUDA_VISIBLE_DEVICES": "GPU-1,1"}, 2),
    ],
)
def test_indices_are_counted(collect: Collect, hook: Hook, env: dict[str, str], count: int) -> None:
    """What Slurm gave comes before what a process sees."""
    story = collect(hook("Prolog", "1770000101.0", **env))

    assert story.started[key(1770000101)]["gpu_count"] == count


def test_uuids_are_named_each_once_with_their_node(collect: Collect, hook: Hook) -> None:
    """They win over indices, whatever their number."""
    uuids = "GPU-1,MIG-GPU-2/7/0,MIG-3,GPU-1"

    story = collect(hook("Prolog", "1770000101.0", CUDA_VISIBLE_DEVICES=uuids))

    gpus = story.started[key(1770000101)]["gpus"]
    assert [gpu["uuid"] for gpu in gpus] == ["GPU-1", "MIG-GPU-2/7/0", "MIG-3"]
    assert {gpu["node"] for gpu in gpus} == {"g1"}


@pytest.mark.parametrize("gpus", ["", "NoDevFiles", "0,,1", "3-1"])
def test_a_job_whose_gpus_are_not_named_is_not_started(
    collect: Collect, hook: Hook, gpus: str
) -> None:
    """Neither 0 nor --gpus-per-node is claimed: the job may have none."""
    story = collect(
        hook("Prolog", "1770000101.0", SLURM_JOB_GPUS=gpus),
        hook("Epilog", "1770000701.0", SLURM_JOB_GPUS=gpus),
        gpus_per_node=8,
    )

    assert (story.kinds, story.codes) == (["ended"], ["gpu_count_unknown"])


@pytest.mark.parametrize(
    "context", ["prolog_slurmctld", "epilog_slurmctld", "prolog_task", "epilog_task", "something"]
)
def test_other_hooks_start_and_end_nothing(collect: Collect, hook: Hook, context: str) -> None:
    """Only the node's own prolog and epilog know what the node gave away."""
    node = "" if context.endswith("ctld") else "g1"
    dump = hook("Prolog", "1770000101.0", SLURM_SCRIPT_CONTEXT=context, SLURMD_NODENAME=node)

    story = collect(dump)

    assert (story.records, story.codes) == ([], ["nothing_collected"])


def test_a_dump_without_context_goes_by_the_name_of_the_hook(collect: Collect, hook: Hook) -> None:
    """Old versions state no context."""
    env = {"SLURM_SCRIPT_CONTEXT": ""}

    story = collect(
        hook("Prolog", "1770000101.0", **env),
        hook("TaskProlog", "1770000102.0", **env),
        hook("PrologSlurmctld", "1770000100.0", **env, SLURMD_NODENAME=""),
        hook("Epilog", "1770000701.0", **env),
    )

    assert (story.kinds, story.codes) == (["started", "ended"], ["gpu_type_unknown"])


# --- r20, r21: ends


def test_an_epilog_does_not_know_who_ended_it(collect: Collect, hook: Hook) -> None:
    """r20: its exit code is 0:0 also for jobs that were killed."""
    story = collect(
        hook("Prolog", "1770000101.0"),
        hook("Epilog", "1770000701.0", SLURM_JOB_EXIT_CODE2="0:0", SLURM_JOB_EXIT_CODE="0"),
    )

    assert story.bodies("allocation.ended") == [{"attempt": key(1770000101), "ended_by": "unknown"}]


def test_the_earliest_of_several_epilogs_counts(collect: Collect, hook: Hook) -> None:
    """r21: each other one is a finding, whatever the order of files."""
    story = collect(
        hook("Epilog", "1770000900.0"),
        hook("Epilog", "1770000701.0"),
        hook("Epilog", "1770000821.0"),
        hook("Prolog", "1770000101.0"),
        gpu_type=((None, "h100"),),
    )

    assert story.times("allocation.ended") == {key(1770000101): "02:51:41"}
    assert [(each.code, each.source) for each in story.findings] == [
        ("duplicate_hook", "input-3"),
        ("duplicate_hook", "input-1"),
    ]


def test_one_dump_given_twice_is_no_second_call(collect: Collect, hook: Hook) -> None:
    """r2: the same file is the same delivery."""
    dumps = [hook("Prolog", "1770000101.0"), hook("Epilog", "1770000701.0")]

    story = collect(*dumps, *dumps, gpu_type=((None, "h100"),))

    assert (story.kinds, story.codes) == (["started", "ended"], [])


# --- r22: the join


def test_a_row_that_contains_the_prolog_comes_before_one_that_nearly_does(
    collect: Collect, table: Table, hook: Hook
) -> None:
    """50 s after the first life and in the second: it belongs to the second."""
    story = collect(table({}, {**NEXT, "Start": "1770000740"}), hook("Prolog", "1770000750.5"))

    assert story.same == {key(1770000750): "slurm:c7:1:1770000701"}


@pytest.mark.parametrize(
    ("start", "joined"),
    [
        ("1769999980.000000", True),
        ("1769999979.999999", False),
        ("1770000820.000000", True),
        ("1770000820.000001", False),
    ],
)
def test_slack_is_two_minutes_on_both_sides(
    collect: Collect, table: Table, hook: Hook, start: str, *, joined: bool
) -> None:
    """A prolog may run before the row's start, and after its end if clocks differ."""
    story = collect(table({}), hook("Prolog", start))

    assert bool(story.same) == joined
    assert ("hook_not_joined" in story.codes) == (not joined)


def test_two_rows_within_slack_are_joined_to_none(
    collect: Collect, table: Table, hook: Hook
) -> None:
    """750 is 50 s after one row and 50 s before the next."""
    story = collect(table({}, NEXT), hook("Prolog", "1770000750.5"))

    assert story.same == {}
    assert story.codes == ["ambiguous_join", "gpu_type_unknown"]


def test_the_observed_time_is_what_is_joined(collect: Collect, table: Table, hook: Hook) -> None:
    """The stated start keys the attempt, but the prolog really ran in the second row."""
    prolog = hook("Prolog", "1770000900.5", SLURM_JOB_START_TIME="1770000100")

    story = collect(table({}, NEXT), prolog)

    assert story.same == {key(1770000100): "slurm:c7:1:1770000701"}


def test_an_open_row_contains_everything_after_its_start(
    collect: Collect, table: Table, hook: Hook
) -> None:
    """A running job has no end yet."""
    running = {"End": "Unknown", "State": "RUNNING"}

    story = collect(table(running), hook("Prolog", "1770099999.5"))

    assert story.same == {key(1770099999): ROW}


def test_an_old_look_at_a_row_does_not_hold_it_open(
    collect: Collect, table: Table, hook: Hook
) -> None:
    """The running row and the final row are one attempt, which has ended."""
    data = table({"End": "Unknown", "State": "RUNNING"}, {}, NEXT)

    story = collect(data, hook("Prolog", "1770000900.5"))

    assert story.same == {key(1770000900): "slurm:c7:1:1770000701"}


def test_an_attempt_left_open_makes_the_next_ambiguous(
    collect: Collect, table: Table, hook: Hook
) -> None:
    """The repaired row may have held the node as well."""
    data = table({"End": "1770000100"}, NEXT)

    story = collect(data, hook("Prolog", "1770000900.5"))

    assert story.same == {}
    assert "ambiguous_join" in story.codes


def test_only_rows_that_held_something_since_a_known_time_are_joined(
    collect: Collect, table: Table, hook: Hook
) -> None:
    """A row cancelled in the queue, one without start, and one of another job are no candidates."""
    data = table(
        {"AllocTRES": "", "NodeList": "None assigned"},
        {"Submit": "1770000001", "Start": "Unknown"},
        {"JobIDRaw": "2"},
    )

    story = collect(data, hook("Prolog", "1770000200.5"))

    assert story.same == {}
    assert "hook_not_joined" not in story.codes


def test_a_row_without_a_count_is_joined_and_lends_its_key(
    collect: Collect, table: Table, hook: Hook
) -> None:
    """The start that the row must withhold comes from the hook."""
    story = collect(table({"AllocTRES": "cpu=8"}), hook("Prolog", "1770000101.0"))

    assert story.same == {key(1770000101): ROW}
    assert list(story.started) == [key(1770000101)]


def test_hooks_of_every_node_are_joined_to_one_row(
    collect: Collect, table: Table, hook: Hook
) -> None:
    """Each node adds its GPUs to the attempt, with the type that the row names."""
    story = collect(
        hook("Prolog", "1770000101.0", CUDA_VISIBLE_DEVICES="GPU-1"),
        hook("Prolog", "1770000102.0", CUDA_VISIBLE_DEVICES="GPU-2", SLURMD_NODENAME="g2"),
        table({"NodeList": "g[1-2]"}),
    )

    assert story.same == {key(1770000101): ROW, key(1770000102, "g2"): ROW}
    assert {body["gpu_type"] for body in story.started.values()} == {"h100"}
    assert story.codes == []


def test_a_het_component_and_an_array_task_are_joined_by_their_raw_id(
    collect: Collect, table: Table, hook: Hook
) -> None:
    """Hooks know the raw id only."""
    data = table({"JobIDRaw": "25", "JobID": "24+1"}, {"JobIDRaw": "23", "JobID": "21_1"})

    story = collect(
        data,
        hook("Prolog", "1770000101.0", SLURM_JOB_ID="25"),
        hook("Prolog", "1770000101.0", SLURM_JOB_ID="23"),
    )

    assert set(story.same.values()) == {"slurm:c7:25:1770000000", "slurm:c7:23:1770000000"}


def test_an_epilog_alone_is_joined_by_the_start_it_states(
    collect: Collect, table: Table, hook: Hook
) -> None:
    """Its own time may lie long after the row's end."""
    epilog = hook("Epilog", "1770005000.5", SLURM_JOB_START_TIME="1770000100")

    story = collect(table({}), epilog)

    assert story.same == {key(1770000100): ROW}


# --- r23: bad dumps


@pytest.mark.parametrize(
    "env",
    [
        {"SLURM_JOB_ID": ""},
        {"SLURM_JOB_ID": "12x"},
        {"SLURMD_NODENAME": ""},
        {"SLURMD_NODENAME": "g" * 81},
        {"SLURMD_NODENAME": "g 1"},
    ],
)
def test_a_dump_without_job_or_node_is_bad(
    collect: Collect, hook: Hook, env: dict[str, str]
) -> None:
    """One finding and nothing else, whatever the other dumps say."""
    story = collect(hook("Prolog", "1770000101.0", **env), hook("Epilog", "1770000701.0"))

    assert (story.records, story.codes) == ([], ["bad_hook", "epilog_without_prolog"])


def test_the_older_name_of_the_job_id_serves_too(collect: Collect, hook: Hook) -> None:
    """SLURM_JOBID is what every version sets."""
    story = collect(hook("Prolog", "1770000101.0", SLURM_JOB_ID="", SLURM_JOBID="7"))

    assert list(story.started) == [key(1770000101, job=7)]


@pytest.mark.parametrize(
    "first", ["#hook= start=1770000101.0", "#hook=Prolog", "#hook=Prolog start=soon"]
)
def test_a_dump_without_name_or_time_is_bad(collect: Collect, hook: Hook, first: str) -> None:
    """A hook without a time cannot be keyed."""
    rest = hook("Prolog", "1770000101.0").partition("\n")[2]

    assert collect(first + "\n" + rest).codes == ["bad_hook"]


def test_a_value_with_newlines_disturbs_nothing(collect: Collect, hook: Hook) -> None:
    """A comment's further lines stand anywhere once the dump is sorted."""
    story = collect(
        hook("Prolog", "1770000101.0", "line 2 of the comment", "#end=1 exit=0", SLURM_JOB_ID="4")
    )

    assert list(story.started) == [key(1770000101, job=4)]


def test_a_comment_that_forges_a_variable_makes_the_dump_bad(collect: Collect, hook: Hook) -> None:
    """Nothing says which of the two lines is Slurm's."""
    dump = hook("Prolog", "1770000101.0", "SLURM_JOB_ID=999")

    assert collect(dump).codes == ["bad_hook"]


def test_bytes_that_are_no_text_are_no_reason_to_stop(collect: Collect, hook: Hook) -> None:
    """A comment in another encoding is passed over."""
    dump = hook("Prolog", "1770000101.0", SLURM_JOB_COMMENT="m\xfcller").encode("latin-1")

    assert list(collect(dump).started) == [key(1770000101)]


def test_a_hook_comment_may_name_the_run(collect: Collect, hook: Hook) -> None:
    """As the comment of a row does."""
    dump = hook("Prolog", "1770000101.0", SLURM_JOB_COMMENT="tallystick.run=r-9")

    assert collect(dump).started[key(1770000101)]["run"] == "r-9"


def test_an_environment_that_names_no_hook_is_bad(collect: Collect, hook: Hook) -> None:
    """Without the first line nothing says which hook it was, or whether it was one."""
    story = collect(hook("Prolog", "1770000101.0").partition("\n")[2])

    assert (story.records, story.codes) == ([], ["bad_hook"])


def test_assignments_without_slurm_are_no_environment_of_a_job(collect: Collect) -> None:
    """A file of settings is nothing that this collector reads."""
    assert collect("PATH=/bin\nHOME=/root\n").codes == ["unrecognised_input"]
