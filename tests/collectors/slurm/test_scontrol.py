"""``scontrol show job``: what the controller prints, and what of it can be believed."""

from collections.abc import Callable
from typing import Any

import pytest

Collect = Callable[..., Any]

KEY = "slurm:c7:1:1770000000"
JOB = """\
JobId=1 JobName=train
   JobState=COMPLETED Reason=None Dependency=(null)
   Requeue=1 Restarts=0 BatchFlag=1 Reboot=0 ExitCode=0:0
   RunTime=00:10:00 TimeLimit=01:00:00 TimeMin=N/A
   SubmitTime=2026-02-02T02:40:00 EligibleTime=2026-02-02T02:40:00
   StartTime=2026-02-02T02:41:40 EndTime=2026-02-02T02:51:40 Deadline=N/A
   SuspendTime=None SecsPreSuspend=0
   Partition=spot AllocNode:Sid=login:1
   ReqNodeList=(null) ExcNodeList=(null)
   NodeList=g[1-2]
   TRES=cpu=8,mem=1T,node=2,billing=8,gres/gpu=16,gres/gpu:h100=16
   JOB_GRES=gpu:h100:16
     Nodes=g1 CPU_IDs=0-3 Mem=1 GRES=gpu:h100:8(IDX:0-7)
     Nodes=g2 CPU_IDs=0-3 Mem=1 GRES=gpu:h100:8(IDX:0-7)
   Comment=plain
   WorkDir=/home/ann/a dir

"""


def test_a_job_gives_the_records_of_a_row(collect: Collect) -> None:
    """The key is that of accounting, the producer is the controller."""
    story = collect(JOB, capacity=(("spot", "spot"),))

    body = story.started[KEY]
    assert (body["nodes"], body["gpu_count"], body["gpu_type"]) == (["g1", "g2"], 16, "h100")
    assert story.bodies("allocation.ended")[0]["exit_code"] == 0
    assert story.records[0]["producer"]["name"] == "slurm-controller/c7"


def test_the_row_keeps_every_field(collect: Collect) -> None:
    """Lines that repeat for each node are kept together, free text is kept whole."""
    raw = collect(JOB).bodies("allocation.row")[0]["raw"]

    assert raw["Nodes"] == "g1\ng2"
    assert raw["WorkDir"] == "/home/ann/a dir"
    assert raw["AllocNode:Sid"] == "login:1"


def test_several_jobs_are_told_apart(collect: Collect) -> None:
    """Each begins with its id; a bad one names its line."""
    two, three = JOB.replace("JobId=1", "JobId=x"), JOB.replace("JobId=1", "JobId=3")

    story = collect(JOB + two + three)

    assert list(story.started) == [KEY, "slurm:c7:3:1770000000"]
    assert [(each.code, each.line) for each in story.findings] == [("bad_row", 18)]


def test_a_job_on_one_line_is_the_same_job(collect: Collect) -> None:
    """``scontrol -o``."""
    oneline = " ".join(line.strip() for line in JOB.splitlines() if line.strip())

    assert collect(oneline + "\n").started == collect(JOB).started


@pytest.mark.parametrize("state", ["PENDING", "COMPLETING", "CONFIGURING", "REQUEUE_HOLD"])
def test_plans_are_not_believed(collect: Collect, state: str) -> None:
    """After a pre-emption the start is already that of the next life, under the old submit time."""
    story = collect(JOB.replace("COMPLETED", state))

    assert (story.kinds, story.codes) == (["row"], [])


def test_a_running_job_has_no_end(collect: Collect) -> None:
    """EndTime is the time limit."""
    assert collect(JOB.replace("COMPLETED", "RUNNING")).kinds == ["row", "started"]


def test_a_job_without_nodes_held_nothing(collect: Collect) -> None:
    """TRES is then what was asked for, not what was given."""
    story = collect(JOB.replace("NodeList=g[1-2]", "NodeList=").replace("COMPLETED", "CANCELLED"))

    assert story.kinds == ["row"]


def test_a_cancelled_job_was_cancelled_by_nobody_known(collect: Collect) -> None:
    """The controller does not print whose act it was."""
    story = collect(JOB.replace("COMPLETED", "CANCELLED"))

    assert story.ended_by == {KEY: "unknown"}


def test_later_versions_print_allocated_resources_apart(collect: Collect) -> None:
    """AllocTRES is what counts, ReqTRES is not."""
    data = JOB.replace("TRES=cpu", "ReqTRES=gres/gpu=99\n   AllocTRES=cpu")

    assert collect(data).started[KEY]["gpu_count"] == 16


def test_a_suspension_is_known_but_not_its_length(collect: Collect) -> None:
    """The moment shown is that of the last suspension or resumption only."""
    story = collect(JOB.replace("SuspendTime=None", "SuspendTime=2026-02-02T02:45:00"))

    assert story.kinds == ["row", "started", "ended"]
    assert story.codes == ["suspended_times_unknown"]


@pytest.mark.parametrize("name", ["x JobState=FAILED", "x\n   JobState=FAILED NodeList=h[1-99]"])
def test_a_name_cannot_forge_a_field(collect: Collect, name: str) -> None:
    """On its own line the name is free text; over two lines its job is a bad row."""
    story = collect(JOB.replace("JobName=train", f"JobName={name}"))

    assert story.ended_by == {KEY: "completed"} or story.codes == ["bad_row"]


def test_a_repeated_hour_is_decided_by_the_run_time(collect: Collect) -> None:
    """Local times of the controller follow the same rule as those of accounting."""
    data = JOB.replace("2026-02-02T02:40", "2025-11-02T00:40")
    data = data.replace("2026-02-02T02:41:40", "2025-11-02T01:50:00")
    data = data.replace("2026-02-02T02:51:40", "2025-11-02T01:00:00")

    story = collect(data, timezone="America/Chicago")

    assert story.times("allocation.started") == {"slurm:c7:1:1762062000": "06:50:00"}


def test_an_array_task_that_waits_shows_its_bracket(collect: Collect) -> None:
    """So does accounting."""
    data = JOB.replace("JobId=1", "JobId=1 ArrayJobId=9 ArrayTaskId=2-3%2")

    assert collect(data).started[KEY]["job_id"] == "9_[2-3%2]"


def test_space_before_the_first_job_does_not_hide_it(collect: Collect) -> None:
    """A print that was pasted with its indent is the same print."""
    assert collect("\n  " + JOB).kinds == collect(JOB).kinds
