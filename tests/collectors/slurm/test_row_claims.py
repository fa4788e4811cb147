"""Rules r2 to r6, r8 and r10 to r14: what a job row may claim."""

from collections.abc import Callable
from typing import Any

import pytest

Collect = Callable[..., Any]
Table = Callable[..., str]

KEY = "slurm:c7:1:1770000000"
ABSENT = ["Unknown", "None", "0", "4294967294", "4294967295", "", "N/A"]
NEVER_HELD = {"AllocTRES": "", "NodeList": "None assigned"}


# --- r2, r3: each thing once, and never nothing at all


def test_a_row_that_stands_twice_counts_once(collect: Collect, table: Table) -> None:
    """r2: equal rows give one row, one start, one end."""
    assert collect(table({}, {}, {})).kinds == ["row", "started", "ended"]


def test_a_header_that_comes_again_is_no_row(collect: Collect, table: Table) -> None:
    """Outputs put behind one another are one table."""
    story = collect(table({}) + table({"JobIDRaw": "2"}))

    assert len(story.started) == 2
    assert story.codes == []


@pytest.mark.parametrize("data", ["", "\n \n", "1|1|train|1770000000\n", "\x00\x01", "{", "null"])
def test_an_input_without_a_header_gives_one_finding(collect: Collect, data: str) -> None:
    """r3: nothing is emitted, and one finding says why."""
    story = collect(data)

    assert story.records == []
    assert len(story.findings) == 1


@pytest.mark.parametrize("name", ["JobIDRaw", "Submit"])
def test_a_table_without_identity_gives_one_finding(
    collect: Collect, table: Table, name: str
) -> None:
    """r3: without the raw id or the submit time no attempt has a key."""
    story = collect(table({}, {}).replace(name, "Layout", 1))

    assert (story.codes, story.records) == (["missing_column"], [])


def test_a_table_without_rows_says_that_nothing_was_collected(
    collect: Collect, table: Table
) -> None:
    """r3: there is at least one finding where there is no record."""
    assert collect(table()).codes == ["nothing_collected"]


# --- r4, r5: held or not, and since when


@pytest.mark.parametrize("state", ["CANCELLED by 5", "FAILED", "COMPLETED", "NODE_FAIL"])
def test_a_row_that_never_held_anything_gives_itself_only(
    collect: Collect, table: Table, state: str
) -> None:
    """r4: old versions print start and end of a job cancelled in the queue."""
    row = {**NEVER_HELD, "Start": "1770000700", "State": state, "Suspended": "00:00:05"}

    story = collect(table(row))

    assert (story.kinds, story.codes) == (["row"], [])


@pytest.mark.parametrize("absent", ABSENT)
def test_an_absent_time_is_no_moment(collect: Collect, table: Table, absent: str) -> None:
    """Words and numbers that mean "none" are neither 1970 nor 2106."""
    story = collect(table({"End": absent, "State": "RUNNING"}))

    assert (story.kinds, story.codes) == (["row", "started"], [])


@pytest.mark.parametrize("absent", ABSENT)
def test_a_held_row_without_start_keeps_its_end(
    collect: Collect, table: Table, absent: str
) -> None:
    """r5: the end stands, the start is a finding."""
    story = collect(table({"Start": absent, "State": "NODE_FAIL"}))

    assert (story.kinds, story.codes) == (["row", "ended"], ["start_missing"])


def test_a_terminal_row_without_start_and_end_is_a_finding(collect: Collect, table: Table) -> None:
    """r5: a terminal state is enough."""
    story = collect(table({"Start": "Unknown", "End": "Unknown"}))

    assert (story.kinds, story.codes) == (["row"], ["start_missing"])


def test_a_running_row_without_start_is_not_complained_about(
    collect: Collect, table: Table
) -> None:
    """r5: it has neither an end nor a terminal state; the next query will know more."""
    row = {"Start": "Unknown", "End": "Unknown", "State": "RUNNING"}

    story = collect(table(row))

    assert (story.kinds, story.codes) == (["row"], [])


def test_nodes_alone_or_resources_alone_show_that_something_was_held(
    collect: Collect, table: Table
) -> None:
    """r4: both must be empty for a row that held nothing."""
    data = table({"NodeList": ""}, {"JobIDRaw": "2", "AllocTRES": ""})

    story = collect(data, gpus_per_node=4)

    counts = {key: (body["gpu_count"], body["nodes"]) for key, body in story.started.items()}
    assert counts == {KEY: (8, []), "slurm:c7:2:1770000000": (4, ["g1"])}


# --- r6: complete histories


def test_a_complete_history_is_no_finding(collect: Collect, table: Table) -> None:
    """r6: two submit times explain one restart, also if one of them is pending."""
    pending = {**NEVER_HELD, "Submit": "1770000800", "Start": "Unknown", "State": "PENDING"}

    story = collect(table({"Restarts": "0"}, {**pending, "Restarts": "1"}))

    assert story.codes == []


def test_an_incomplete_history_is_told_once_for_each_job(collect: Collect, table: Table) -> None:
    """r6: the highest count decides, over all inputs of the call."""
    first = table({"Restarts": "3"}, {"Submit": "1770000900", "Restarts": "1"})
    second = table({"Submit": "1770000950", "Restarts": "2"}, {"JobIDRaw": "2", "Restarts": "1"})

    story = collect(first, second)

    assert story.codes == ["history_incomplete", "history_incomplete"]
    assert "job 1 restarted 3 times" in story.findings[0].message
    assert "job 2 restarted 1 times" in story.findings[1].message


def test_step_rows_and_bad_rows_are_no_history(collect: Collect, table: Table) -> None:
    """r6: the submit time of a step is its start, and a bad row is no evidence."""
    data = table(
        {"Restarts": "1"},
        {"JobIDRaw": "1.batch", "Submit": "1770000100", "Restarts": "1"},
        {"Submit": "1770000800", "NodeList": "g[1", "Restarts": "1"},
    )

    assert collect(data).codes == ["bad_row", "history_incomplete"]


# --- r8: exits


@pytest.mark.parametrize(
    ("state", "exit_text", "code", "signal"),
    [
        ("COMPLETED", "0:0", 0, None),
        ("PREEMPTED", "0:0", None, None),
        ("NODE_FAIL", "0:0", None, None),
        ("CANCELLED by 5", "0:0", None, None),
        ("FAILED", "0:0", None, None),
        ("TIMEOUT", "0:15", 0, 15),
        ("NODE_FAIL", "1:0", 1, None),
        ("FAILED", "", None, None),
        ("FAILED", "x:y", None, None),
    ],
)
def test_an_exit_says_what_it_can(
    collect: Collect, table: Table, state: str, exit_text: str, code: int | None, signal: int | None
) -> None:
    """r8: 0:0 of a killed job is no clean end, and a signal of 0 is none."""
    story = collect(table({"State": state, "ExitCode": exit_text}))

    body = story.bodies("allocation.ended")[0]
    assert (body.get("exit_code"), body.get("signal")) == (code, signal)


# --- r10: resizing


def test_a_resized_job_goes_on_under_its_own_submit_time(collect: Collect, table: Table) -> None:
    """r10: the usual case, where nothing needs a suffix."""
    data = table(
        {"State": "RESIZING"},
        {"Submit": "1770000700", "Start": "1770000700", "End": "1770000900"},
    )

    story = collect(data)

    assert list(story.started) == [KEY, "slurm:c7:1:1770000700"]


def test_a_resized_job_with_one_submit_time_gets_suffixes_by_start(
    collect: Collect, table: Table
) -> None:
    """r10: n counts the continuations by their start, not by the order of rows."""
    data = table(
        {"Start": "1770000900", "End": "Unknown", "State": "RUNNING", "NodeList": "g3"},
        {"Start": "1770000700", "End": "1770000900", "State": "RESIZING", "NodeList": "g2"},
        {"State": "RESIZING", "NodeList": "g1"},
    )

    story = collect(data)

    assert {key: body["nodes"] for key, body in story.started.items()} == {
        f"{KEY}:resize2": ["g3"],
        f"{KEY}:resize1": ["g2"],
        KEY: ["g1"],
    }
    assert story.ended_by == {f"{KEY}:resize1": "unknown", KEY: "unknown"}


def test_two_looks_at_one_continuation_share_its_suffix(collect: Collect, table: Table) -> None:
    """r10: the running row and the final row are one attempt."""
    rest = {"Start": "1770000700"}
    data = table(
        {"State": "RESIZING"},
        {**rest, "End": "Unknown", "State": "RUNNING"},
        {**rest, "End": "1770000900"},
    )

    story = collect(data)

    assert list(story.started) == [KEY, f"{KEY}:resize1"]
    assert story.times("allocation.ended")[f"{KEY}:resize1"] == "02:55:00"


def test_a_resize_without_length_is_followed_by_the_next(collect: Collect, table: Table) -> None:
    """r10: a job resized twice in one second still has three keys."""
    data = table(
        {"State": "RESIZING"},
        {"State": "RESIZING", "Start": "1770000700", "End": "1770000700"},
        {"Start": "1770000700", "End": "1770000900"},
    )

    assert list(collect(data).started) == [KEY, f"{KEY}:resize1", f"{KEY}:resize2"]


def test_a_row_that_starts_elsewhere_is_no_continuation(collect: Collect, table: Table) -> None:
    """r10: only a start at the end of the RESIZING row goes on from it."""
    data = table({"State": "RESIZING"}, {"Start": "1770000701", "End": "1770000900"})

    assert set(collect(data).started) == {KEY}


def test_another_job_is_no_continuation(collect: Collect, table: Table) -> None:
    """r10: a job that starts in the same second under the same submit time keeps its key."""
    data = table({"State": "RESIZING"}, {"JobIDRaw": "2", "Start": "1770000700"})

    assert list(collect(data).started) == [KEY, "slurm:c7:2:1770000000"]


# --- r11, r12: ends and suspensions


@pytest.mark.parametrize("state", ["REQUEUED", "FAILED", "CANCELLED by 0", "NODE_FAIL"])
def test_other_states_end_at_zero_length(collect: Collect, table: Table, state: str) -> None:
    """r11: only COMPLETED is what the repair of runaway jobs writes."""
    story = collect(table({"End": "1770000100", "State": state}))

    assert (story.kinds, story.codes) == (["row", "started", "ended"], [])


@pytest.mark.parametrize("state", ["RUNNING", "SUSPENDED", "COMPLETING", "PENDING", ""])
def test_a_state_that_is_not_terminal_ends_nothing(
    collect: Collect, table: Table, state: str
) -> None:
    """An end beside it is not believed."""
    assert collect(table({"State": state})).kinds == ["row", "started"]


def test_a_terminal_state_without_end_ends_nothing(collect: Collect, table: Table) -> None:
    """The database says COMPLETED seconds before it knows the end."""
    assert collect(table({"End": "Unknown"})).kinds == ["row", "started"]


def test_a_state_that_nobody_knows_is_an_end_of_unknown_cause(
    collect: Collect, table: Table
) -> None:
    """Later versions may have new words."""
    assert collect(table({"State": "EVAPORATED"})).ended_by == {KEY: "unknown"}


@pytest.mark.parametrize("suspended", ["00:00:09", "1-00:00:00", "9"])
def test_suspended_time_gives_no_moments(collect: Collect, table: Table, suspended: str) -> None:
    """r12: only its length is stated."""
    story = collect(table({"Suspended": suspended}))

    assert (story.kinds, story.codes) == (["row", "started", "ended"], ["suspended_times_unknown"])


# --- r13, r14 and the counting of GPUs


@pytest.mark.parametrize(
    ("tres", "count", "gpu_type"),
    [
        ("gres/gpu=8", 8, None),
        ("gres/gpu:a100=2,gres/gpu:v100=3", 5, None),
        ("gres/gpu:a100=2,gres/gpu:v100=3,gres/gpu=6", 6, None),
        ("gres/gpu:h100=8,cpu=4", 8, "h100"),
        ("gres/gpu=8,gres/gpu:h100=", 8, "h100"),
        ("gres/gpu:1g.10gb=2,gres/gpu=2", 2, "1g.10gb"),
        ("gres/gpumem=80G,gres/gpuutil=90,gres/shard=4,gres/mps=100", None, None),
        ("cpu=8,gres/gpu:h100=8,gres/gpu=", None, None),
        ("cpu=8,gres/gpu:h100=", None, None),
        ("cpu=8,gres/gpu", None, None),
        ("gres/gpu=0", None, None),
        ("gres/gpu=many", None, None),
        ("1001=8", None, None),
    ],
)
def test_gpus_are_counted_once_or_not_at_all(
    collect: Collect, table: Table, tres: str, count: int | None, gpu_type: str | None
) -> None:
    """Typed and untyped are the same; cut, unreadable and zero values are unknown."""
    story = collect(table({"AllocTRES": tres}))

    body = story.started.get(KEY, {})
    assert (body.get("gpu_count"), body.get("gpu_type")) == (count, gpu_type)
    assert ("gpu_count_unknown" in story.codes) == (count is None)
    assert story.ended_by == {KEY: "completed"}  # r14


def test_gpus_per_node_serve_only_rows_without_a_count(collect: Collect, table: Table) -> None:
    """r13: N for each node of the list, never instead of a stated count."""
    data = table(
        {"AllocTRES": "cpu=8,node=3", "NodeList": "g[1-3]"},
        {"JobIDRaw": "2", "AllocTRES": "gres/gpu=2"},
        {"JobIDRaw": "3", "AllocTRES": "cpu=8,node=2", "NodeList": ""},
    )

    story = collect(data, gpus_per_node=4)

    assert [body["gpu_count"] for body in story.started.values()] == [12, 2, 8]


def test_a_declared_type_serves_only_rows_without_one(collect: Collect, table: Table) -> None:
    """The partition's type comes before the general one, the row's before both."""
    data = table(
        {"AllocTRES": "gres/gpu=1", "Partition": "spot"},
        {"JobIDRaw": "2", "AllocTRES": "gres/gpu=1", "Partition": "train"},
        {"JobIDRaw": "3", "AllocTRES": "gres/gpu:a100=1"},
        {"JobIDRaw": "4", "AllocTRES": "gres/gpu:a100=1,gres/gpu:v100=1"},
    )

    story = collect(data, gpu_type=((None, "h100"), ("spot", "h200")))

    types = [body.get("gpu_type") for body in story.started.values()]
    assert types == ["h200", "h100", "a100", None]
    assert story.codes == ["gpu_type_unknown"]


def test_capacity_is_declared_by_partition(collect: Collect, table: Table) -> None:
    """A partition that nobody declared is unknown, not spot."""
    data = table({"Partition": "spot"}, {"JobIDRaw": "2", "Partition": "train"})

    story = collect(data, capacity=(("spot", "spot"),))

    assert [body["capacity"] for body in story.started.values()] == ["spot", "unknown"]


# --- names that rows bear beside the key


def test_rows_of_another_cluster_are_told_once(collect: Collect, table: Table) -> None:
    """The key bears the name that the caller gave."""
    story = collect(table({"Cluster": "c8"}, {"JobIDRaw": "2", "Cluster": "c8"}))

    assert next(iter(story.started)) == KEY
    assert story.codes == ["cluster_differs"]


def test_a_comment_may_name_the_run(collect: Collect, table: Table) -> None:
    """``tallystick.run=NAME`` links the attempts of a job that is requeued."""
    data = table({"Comment": "x tallystick.run=r-1;y"}, {"JobIDRaw": "2", "Comment": "run=r-1"})

    story = collect(data)

    assert [body.get("run") for body in story.started.values()] == ["r-1", None]


def test_a_resized_job_is_not_held_twice(collect: Collect, table: Table) -> None:
    """Slurm writes the first start again and the resize as the submission; seen on 22.05."""
    data = table(
        {"State": "RESIZING", "End": "1770000104"},
        {"Submit": "1770000104", "Start": "1770000100", "End": "1770000106", "State": "RESIZING"},
        {"Submit": "1770000106", "Start": "1770000100", "End": "1770000200"},
    )

    story = collect(data)

    assert list(story.times("allocation.started").values()) == ["02:41:40", "02:41:44", "02:41:46"]
    assert story.codes == ["start_before_submit", "start_before_submit"]


def test_a_start_before_its_submission_stands_without_a_resize(
    collect: Collect, table: Table
) -> None:
    """Nothing says when else it began, so what the row states is not corrected."""
    story = collect(table({"Submit": "1770000150"}))

    assert list(story.times("allocation.started").values()) == ["02:41:40"]
