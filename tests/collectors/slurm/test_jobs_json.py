"""Rule r9: job JSON of every plugin version, and of both ends of slurmrestd."""

import json
from collections.abc import Callable
from typing import Any

import pytest

Collect = Callable[..., Any]

KEY = "slurm:c7:1:1770000000"
ORDINARY = {
    "job_id": 1,
    "state": {"current": "COMPLETED"},
    "exit_code": {"status": "SUCCESS", "return_code": 0},
    "kill_request_user": None,
    "time": {"submission": 1770000000, "start": 1770000100, "end": 1770000700, "suspended": 0},
    "nodes": "g[1-2]",
    "partition": "spot",
    "array": {"job_id": 0, "task_id": None},
    "het": {"job_id": 0, "job_offset": None},
    "tres": {
        "allocated": [
            {"type": "node", "name": None, "count": 2},
            {"type": "gres", "name": "gpu", "count": 8},
            {"type": "gres", "name": "gpu:h100", "count": 8},
        ]
    },
}
LIVE = {
    "job_id": 1,
    "job_state": "RUNNING",
    "submit_time": 1770000000,
    "start_time": 1770000100,
    "end_time": 1770000700,
    "nodes": "g1",
    "tres_alloc_str": "cpu=8,gres/gpu=8,gres/gpu:h100=8",
    "exit_code": 0,
    "array_job_id": 0,
    "array_task_id": None,
    "het_job_id": 0,
    "het_job_offset": 0,
}
OLD = {"plugin": {"type": "openapi/dbv0.0.38"}}


def number(value: int, *, is_set: bool = True, infinite: bool = False) -> dict[str, Any]:
    """Write a number as plugins from v0.0.40 do."""
    return {"set": is_set, "infinite": infinite, "number": value}


def parser(version: int, flags: str = "") -> dict[str, Any]:
    """Write the head of a document of a data parser."""
    return {"plugin": {"data_parser": f"data_parser/v0.0.{version}{flags}", "type": ""}}


def document(*jobs: Any, meta: dict[str, Any] = OLD, **more: Any) -> str:
    """Write a document whose jobs differ from an ordinary one in the named parts."""
    whole = [{**ORDINARY, **job} if isinstance(job, dict) else job for job in jobs]
    return json.dumps({"meta": meta, "jobs": whole, "errors": [], **more}, indent=2)


def live(**more: Any) -> str:
    """Write a document of the controller with one job."""
    return json.dumps({"meta": {"plugin": {"type": "openapi/v0.0.38"}}, "jobs": [{**LIVE, **more}]})


def test_a_job_gives_the_records_of_a_row(collect: Collect) -> None:
    """The layout of 22.05."""
    story = collect(document({}), capacity=(("spot", "spot"),))

    assert story.started == {
        KEY: {
            "attempt": KEY,
            "scheduler": "slurm",
            "cluster": "c7",
            "job_id": "1",
            "nodes": ["g1", "g2"],
            "gpu_count": 8,
            "gpu_type": "h100",
            "capacity": "spot",
        }
    }
    assert story.bodies("allocation.ended") == [
        {"attempt": KEY, "ended_by": "completed", "state": "COMPLETED"}
    ]
    assert story.codes == []


def test_the_layout_of_later_plugins_says_the_same(collect: Collect) -> None:
    """Words in lists, numbers in objects; from v0.0.40 the exit code can be believed."""
    job = {
        "state": {"current": ["COMPLETED"]},
        "exit_code": {
            "status": ["SUCCESS"],
            "return_code": number(0),
            "signal": {"id": number(0, is_set=False), "name": ""},
        },
        "time": {
            "submission": number(1770000000),
            "start": number(1770000100),
            "end": number(1770000700),
            "planned": number(100),
        },
        "array": {"job_id": 0, "task_id": number(0, is_set=False), "task": ""},
        "het": {"job_id": 0, "job_offset": number(0, is_set=False)},
        "restart_cnt": 0,
    }

    story = collect(document(job, meta=parser(42)))

    assert story.started == collect(document({})).started
    assert story.bodies("allocation.ended")[0]["exit_code"] == 0


@pytest.mark.parametrize("version", [37, 38, 39])
def test_success_of_old_plugins_states_nothing(collect: Collect, version: int) -> None:
    """Every normal exit prints it, so not even COMPLETED has an exit code."""
    for meta in (parser(version), {"plugin": {"type": f"openapi/dbv0.0.{version}"}}):
        story = collect(document({}, meta=meta))
        assert "exit_code" not in story.bodies("allocation.ended")[0]


@pytest.mark.parametrize("version", [40, 41, 45])
@pytest.mark.parametrize(
    ("state", "status", "code", "signal", "wanted"),
    [
        ("FAILED", "ERROR", number(7), number(0, is_set=False), (7, None)),
        ("FAILED", "SIGNALED", number(0, is_set=False), number(9), (None, 9)),
        ("PREEMPTED", "SUCCESS", number(0), number(0, is_set=False), (None, None)),
        ("COMPLETED", "SUCCESS", number(0), number(0, is_set=False), (0, None)),
        ("NODE_FAIL", "PENDING", number(0, is_set=False), number(0, is_set=False), (None, None)),
    ],
)
def test_later_plugins_state_what_is_set(
    collect: Collect,
    version: int,
    state: str,
    status: str,
    code: Any,
    signal: Any,
    wanted: tuple[int | None, int | None],
) -> None:
    """``set: false`` is absent, and 0:0 is one only for COMPLETED."""
    exit_code = {"status": [status], "return_code": code, "signal": {"id": signal, "name": ""}}
    job = {"state": {"current": [state]}, "exit_code": exit_code}

    body = collect(document(job, meta=parser(version))).bodies("allocation.ended")[0]

    assert (body.get("exit_code"), body.get("signal")) == wanted


def test_complex_numbers_are_plain_or_null(collect: Collect) -> None:
    """The flag +complex writes numbers as such, and words for the others."""
    job = {
        "state": {"current": ["FAILED", "REQUEUED"]},
        "exit_code": {"status": ["ERROR"], "return_code": 3, "signal": {"id": None}},
        "time": {"submission": 1770000000, "start": 1770000100, "end": 1770000700},
        "array": {"job_id": 5, "task_id": 2},
        "restart_cnt": 0,
        "priority": "Infinity",
    }

    story = collect(document(job, meta=parser(44, "+complex")))

    ended = story.bodies("allocation.ended")[0]
    assert (ended["state"], ended["exit_code"]) == ("FAILED", 3)
    assert story.started[KEY]["job_id"] == "5_2"


@pytest.mark.parametrize(
    "end",
    [0, 4294967294, number(0, is_set=False), number(1770000700, infinite=True), None, "Infinity"],
)
def test_an_end_that_is_none_ends_nothing(collect: Collect, end: Any) -> None:
    """Whatever the plugin writes for it."""
    time = {**ORDINARY["time"], "end": end}  # type: ignore[dict-item]

    assert collect(document({"time": time})).kinds == ["row", "started"]


@pytest.mark.parametrize(
    ("user", "ended_by"),
    [(None, "unknown"), ("", "unknown"), ("root", "unknown"), ("ann", "user"), (1503, "user")],
)
def test_the_canceller_has_a_name(collect: Collect, user: Any, ended_by: str) -> None:
    """Nobody and root are no user's act."""
    job = {"state": {"current": "CANCELLED"}, "kill_request_user": user}

    assert collect(document(job)).ended_by == {KEY: ended_by}


def test_ids_of_arrays_and_het_jobs_are_shown(collect: Collect) -> None:
    """An array id of 0 is none; a task that waits shows its bracket."""
    story = collect(
        document(
            {"array": {"job_id": 834, "task_id": 3}},
            {"job_id": 2, "het": {"job_id": 1, "job_offset": 0}},
            {"job_id": 3, "array": {"job_id": 834, "task_id": 4294967294, "task": "4-9%2"}},
        )
    )

    assert [b["job_id"] for b in story.started.values()] == ["834_3", "1+0", "834_[4-9%2]"]


def test_a_job_that_never_held_anything_gives_its_row(collect: Collect) -> None:
    """r4 in JSON: 24.11 writes null where there is nothing."""
    job = {"nodes": "None assigned", "tres": {"allocated": None}, "state": {"current": "CANCELLED"}}

    assert collect(document(job)).kinds == ["row"]


def test_restarts_are_counted(collect: Collect) -> None:
    """r6 in JSON, from plugin v0.0.42 on."""
    assert collect(document({"restart_cnt": 2})).codes == ["history_incomplete"]


def test_the_row_keeps_every_field_without_floats(collect: Collect) -> None:
    """Numbers beyond evidence keep their digits as text; keys and text stay printable."""
    text = document({}).replace('"partition"', '"x": 1.50, "big": 92233720368547758070, "p"')
    text = text.replace('"het"', '"n\\u00e4me": "\\ud800", "y": NaN, "het"')

    raw = collect(text).bodies("allocation.row")[0]["raw"]

    assert (raw["x"], raw["big"], raw["y"]) == ("1.50", "92233720368547758070", "NaN")
    assert raw["n\\u{e4}me"] == "\ufffd"


@pytest.mark.parametrize(
    "job",
    [
        None,
        7,
        {"job_id": None},
        {"job_id": "x"},
        {"job_id": -1},
        {"time": None},
        {"time": {"submission": 0}},
        {"time": {"submission": 10**15}},
        {"nodes": "g[1"},
    ],
)
def test_a_job_that_cannot_be_read_is_a_bad_row(collect: Collect, job: Any) -> None:
    """The others go on."""
    story = collect(document(job, {"job_id": 2}))

    assert list(story.started) == ["slurm:c7:2:1770000000"]
    assert [each.code for each in story.findings] == ["bad_row"]
    assert "job 1 of the list" in story.findings[0].message


@pytest.mark.parametrize(
    "part", ["state", "exit_code", "time", "array", "het", "tres", "nodes", "kill_request_user"]
)
@pytest.mark.parametrize("value", [None, 7, "x", [], {}, [None], {"current": {}}, True])
def test_a_part_of_the_wrong_type_never_crashes(collect: Collect, part: str, value: Any) -> None:
    """It is absent, or its job is a bad row."""
    story = collect(document({part: value}))

    assert story.kinds[:1] == ["row"] or story.codes == ["bad_row"]


def test_a_controller_row_of_an_ended_job_is_an_attempt(collect: Collect) -> None:
    """The same key as accounting gives, from another producer."""
    story = collect(live(job_state=["FAILED"], exit_code=768))

    assert story.bodies("allocation.ended") == [
        {"attempt": KEY, "ended_by": "user", "state": "FAILED", "exit_code": 3}
    ]
    assert {record["producer"]["name"] for record in story.records} == {"slurm-controller/c7"}


@pytest.mark.parametrize(
    "words",
    ["PENDING", "CONFIGURING", "COMPLETING", ["PREEMPTED", "COMPLETING"], ["PENDING", "REQUEUED"]],
)
def test_the_controller_is_not_believed_while_it_plans(collect: Collect, words: Any) -> None:
    """Times of a job that waits, boots or completes may be those of another attempt."""
    assert collect(live(job_state=words)).kinds == ["row"]


def test_a_controller_exit_as_an_object_is_read(collect: Collect) -> None:
    """Later plugins write the exit of a live job like that of an old one."""
    exit_code = {"status": ["SIGNALED"], "return_code": number(0, is_set=False)}
    exit_code["signal"] = {"id": number(15), "name": "Terminated"}

    story = collect(live(job_state=["TIMEOUT"], exit_code=exit_code))

    assert story.bodies("allocation.ended")[0]["signal"] == 15


def test_deep_nesting_is_told(collect: Collect) -> None:
    """A document that no reader can follow is one finding."""
    assert collect('{"jobs":' + "[" * 100_000).codes == ["bad_json"]


def test_a_number_may_be_stated_as_digits(collect: Collect) -> None:
    """Later parsers write some numbers as text."""
    story = collect(document({"job_id": "1"}))

    assert list(story.started) == [KEY]


def test_a_resource_without_a_type_counts_nothing(collect: Collect) -> None:
    """An entry that does not say what it is cannot be GPUs."""
    tres = {"allocated": [{"name": "gpu", "count": 4}, {"type": "gres", "name": "gpu", "count": 2}]}

    story = collect(document({"tres": tres}))

    assert story.started[KEY]["gpu_count"] == 2
