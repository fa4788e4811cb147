"""Rehearsals with real processes: each kind of fault, and each way to come to nothing."""

import json
from fractions import Fraction
from pathlib import Path

import pytest

from tallystick.rehearsal.errors import JobNotStartedError
from tests.rehearsal.rehearsals import (
    RUN,
    TRAINER,
    Done,
    plan_of,
    processes_with,
    python_job,
    rehearsed,
)

IS_FIRST = """
import os, signal, subprocess, sys, time
from pathlib import Path
from tallystick import emit
run = emit.attach()
is_first = run.attempt.endswith(":r:1")
"""
FIRST_WAITS = f"""{IS_FIRST}
print(run.attempt, flush=True)
if is_first:
    time.sleep(600)
Path("result").write_text("done")
"""
DEAF_TO_NOTICE = f"""{IS_FIRST}
if is_first:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    run.step(1)
    time.sleep(600)
Path("result").touch()
"""
DEAF_TO_LOSS = f"""{IS_FIRST}
if is_first:
    for rank in "01":
        worker = [sys.executable, "-c", "import time; time.sleep(600)"]
        subprocess.Popen(worker, env={{**os.environ, "RANK": rank}})
    run.step(1)
    time.sleep(600)
Path("result").touch()
"""
ONE_STEP = f"""{IS_FIRST}
if is_first:
    signal.signal(signal.SIGCONT, lambda *_: sys.exit(Path("result").touch()))
    run.step(1)
    time.sleep(600)
Path("result").touch()
"""
NUMBER = """
import os
import numpy as np
is_twin = os.environ["TALLYSTICK_RUN_ID"] != "r"
if is_twin or os.path.exists("started"):
    np.save("result.npy", np.array([1.0, 2.0 if is_twin else 2.25]))
else:
    open("started", "w").close()
    raise SystemExit(1)
"""
NO_PROGRESS = """
import os
from tallystick import emit
run = emit.attach()
run.restored(None, 0)
run.step(1)
if os.environ["TALLYSTICK_RUN_ID"] == "r":
    raise SystemExit(3)
open("result", "w").close()
"""


def fault(when: str, **keys: object) -> str:
    """Write a fault."""
    rows = [f"{key} = {json.dumps(value)}" for key, value in keys.items()]
    return "\n".join(["[[fault]]", f'when = "{when}"', *rows, ""])


def acts(done: Done, number: int = 1) -> set[str]:
    """Name what was done for a fault."""
    body = done.bodies("rehearsal.fault")[number - 1]
    return {act["act"] for act in body["acts"]}


def is_good(done: Done) -> bool:
    """Tell whether the run recovered, and nothing of it runs on."""
    left = list(processes_with("TALLYSTICK_SPOOL", str(done.jobs[0].spool)))
    return done.outcome.is_good and not left


def test_a_job_that_is_killed_after_a_step_ends_as_if_it_had_not_been(tmp_path: Path) -> None:
    """Killed after step 5 it goes on from step 4, and its result has the same bytes."""
    done = rehearsed(plan_of(faults=fault("step", step=5)), tmp_path)

    (told,) = done.bodies("rehearsal.fault")
    assert is_good(done)
    assert (told["step"], told["when"], told["target"]) == (5, "step", "all")
    assert acts(done) == {"SIGSTOP", "SIGKILL"}
    assert done.restored() == [0, 4]
    assert done.ended_by() == ["provider", "completed"]


def test_a_save_that_is_cut_in_the_middle_does_not_count(tmp_path: Path) -> None:
    """Killed while it saves step 8 it goes on from step 4."""
    done = rehearsed(plan_of(faults=fault("saving", step=8)), tmp_path)

    records = done.journal(done.bodies("rehearsal.fault")[0]["attempt"])
    saves = [
        (each["kind"], each["body"]["step"])
        for each in records
        if "bytes" in each["body"] or each["kind"] == "checkpoint.begun"
    ]
    assert is_good(done)
    assert saves == [
        ("checkpoint.begun", 4),
        ("checkpoint.committed", 4),
        ("checkpoint.begun", 8),
    ]
    assert done.restored() == [0, 4]


def test_without_a_step_the_next_save_is_cut(tmp_path: Path) -> None:
    """The first save is that of step 4: nothing is saved yet, and all starts over."""
    done = rehearsed(plan_of(faults=fault("saving")), tmp_path)

    assert is_good(done)
    assert [body["step"] for body in done.bodies("rehearsal.fault")] == [4]
    assert done.restored() == [0, 0]


def test_a_job_that_saved_nothing_starts_over(tmp_path: Path) -> None:
    """Killed after step 2, before its first save, it begins again."""
    done = rehearsed(plan_of(faults=fault("before_first_save", step=2)), tmp_path)

    assert is_good(done)
    assert done.restored() == [0, 0]
    assert [body["step"] for body in done.bodies("rehearsal.fault")] == [2]


def test_two_faults_in_a_row_are_two_attempts(tmp_path: Path) -> None:
    """The second attempt is killed while it restores, and has restored nothing."""
    faults = fault("step", step=5) + fault("restoring", ended_by="hardware")

    done = rehearsed(plan_of(faults=faults), tmp_path)

    assert is_good(done)
    assert [body["fault"] for body in done.bodies("rehearsal.fault")] == [1, 2]
    assert [body["fault"] for body in done.bodies("rehearsal.detected")] == [1, 2]
    assert done.bodies("rehearsal.fault")[1]["step"] is None
    assert done.restored() == [0, 4]
    assert done.ended_by() == ["provider", "hardware", "completed"]


def test_one_worker_can_be_killed_alone(tmp_path: Path) -> None:
    """The launcher ends the others, and says so by its exit code."""
    done = rehearsed(plan_of(faults=fault("step", step=5, target="rank:1")), tmp_path)

    killed = [
        act["id"] for act in done.bodies("rehearsal.fault")[0]["acts"] if act["act"] == "SIGKILL"
    ]
    ends = done.bodies("allocation.ended")
    assert is_good(done)
    assert len(killed) == 1
    assert killed[0] != done.bodies("allocation.started")[1]["job_id"]
    assert [(end["ended_by"], end["exit_code"]) for end in ends] == [
        ("completed", 0),
        ("provider", 1),
        ("completed", 0),
    ]


def test_a_job_that_saves_on_notice_loses_nothing(tmp_path: Path) -> None:
    """Told by SIGTERM it saves and ends; it is not killed, and goes on where it was."""
    job = f'{TRAINER}on_notice = "save"\n'

    done = rehearsed(plan_of(job=job, faults=fault("step", step=5, notice_s="60")), tmp_path)

    last = [
        record["body"]["step"]
        for record in done.journal(done.bodies("rehearsal.fault")[0]["attempt"])
        if record["kind"] == "progress.step"
    ][-1]
    assert is_good(done)
    assert acts(done) == {"SIGTERM"}
    assert done.restored() == [0, last]
    assert done.bodies("allocation.ended")[1]["exit_code"] == 75
    assert [body["by"] for body in done.bodies("allocation.notice")] == ["provider"]


def test_a_job_that_ignores_notice_is_killed_when_it_is_over(tmp_path: Path) -> None:
    """After the notice comes SIGKILL, to whatever is left of the job."""
    job = python_job(tmp_path, DEAF_TO_NOTICE)
    faults = fault("step", step=1, notice_s="0.1", ended_by="scheduler")

    done = rehearsed(plan_of(job=job, faults=faults), tmp_path)

    assert is_good(done)
    assert acts(done) == {"SIGTERM", "SIGSTOP", "SIGKILL"}
    assert [body["by"] for body in done.bodies("allocation.notice")] == ["scheduler"]
    assert done.ended_by() == ["scheduler", "completed"]


def test_a_command_of_the_user_is_started_again_as_it_was(tmp_path: Path) -> None:
    """It works in the folder of its run; each attempt has its own key and log."""
    faults = fault("time", after_s="0.5", wait_s="0.01")
    job = python_job(tmp_path, FIRST_WAITS)

    done = rehearsed(plan_of(job=job, faults=faults), tmp_path)

    keys = [body["attempt"] for body in done.bodies("allocation.started") if body["run"] == RUN]
    logs = [log.read_text().strip() for log in sorted(done.jobs[1].logs.iterdir())]
    assert is_good(done)
    assert logs[-1] == keys[-1]
    assert len(set(keys)) == 2


def test_results_within_the_tolerance_are_equal(tmp_path: Path) -> None:
    """2 and 2.25 are a quarter apart, exactly; the job failed once by itself."""
    job = python_job(tmp_path, NUMBER, result="result.npy")
    never = fault("time", after_s="600")

    done = rehearsed(plan_of(job=job, faults=never, top='tolerance = "0.25"'), tmp_path)

    (result,) = done.bodies("rehearsal.result")
    assert (result["equal"], result["difference"], result["tolerance"]) == (True, "0.25", "0.25")
    assert len(done.bodies("output.accepted")) == 1
    assert done.ended_by() == ["user", "completed"]
    assert done.codes() == ["rehearsal_fault_missed"]


def test_results_beyond_the_tolerance_differ(tmp_path: Path) -> None:
    """A quarter is more than 0.2499: the run is rejected, and its findings say by how much."""
    job = python_job(tmp_path, NUMBER, result="result.npy")
    never = fault("time", after_s="600")

    done = rehearsed(plan_of(job=job, faults=never, top='tolerance = "0.2499"'), tmp_path)

    assert not done.outcome.is_good
    assert done.outcome.comparison is not None
    assert done.outcome.comparison.difference == Fraction(1, 4)
    assert "rehearsal_result_differs" in done.codes()
    assert len(done.bodies("output.rejected")) == 1
    assert "by 0.25" in done.outcome.findings[-1].message


def test_a_run_that_saves_nothing_is_given_up(tmp_path: Path) -> None:
    """Two attempts that report steps and no checkpoint are as many as the plan allows."""
    job = python_job(tmp_path, NO_PROGRESS)
    limits = "[limits]\nrestarts_max_without_progress = 2\n"

    done = rehearsed(plan_of(limits, job=job, faults=fault("step", step=99)), tmp_path)

    assert not done.outcome.is_finished
    assert done.codes()[-1] == "rehearsal_no_progress"
    assert done.ended_by() == ["user", "user"]
    assert done.bodies("rehearsal.result") == []


def test_a_run_that_never_ends_well_is_given_up(tmp_path: Path) -> None:
    """A job that cannot even begin is tried as often as the plan allows, uninterrupted already."""
    job = python_job(tmp_path, "raise SystemExit(7)")

    done = rehearsed(plan_of("[limits]\nattempts_max = 2\n", job=job), tmp_path)

    assert not done.outcome.is_finished
    assert done.codes() == ["rehearsal_attempts_exhausted"]
    assert [body["exit_code"] for body in done.bodies("allocation.ended")] == [7, 7]
    assert {body["run"] for body in done.bodies("allocation.started")} == {f"{RUN}.uninterrupted"}


def test_a_job_that_does_not_notice_a_lost_worker_is_ended(tmp_path: Path) -> None:
    """The rest of the job waits for ever; it is ended when the plan's patience is."""
    limits = '[limits]\ndetection_s = "0.1"\n'
    faults = fault("step", step=1, target="rank:1")
    job = python_job(tmp_path, DEAF_TO_LOSS)

    done = rehearsed(plan_of(limits, job=job, faults=faults), tmp_path)

    assert done.outcome.comparison is not None
    assert done.outcome.comparison.is_equal
    assert done.codes() == ["rehearsal_not_noticed"]
    assert done.ended_by() == ["provider", "completed"]


def test_a_worker_that_is_not_there_is_a_fault_that_never_came(tmp_path: Path) -> None:
    """The job runs on untouched, and the rehearsal is no success."""
    faults = fault("step", step=1, target="rank:7")

    done = rehearsed(plan_of(job=python_job(tmp_path, ONE_STEP), faults=faults), tmp_path)

    assert done.codes() == ["rehearsal_fault_missed"]
    assert "rank:7" in done.outcome.findings[0].message
    assert done.ended_by() == ["completed"]
    assert not done.outcome.is_good


def test_a_fault_behind_the_end_never_comes(tmp_path: Path) -> None:
    """The run finishes in its first attempt: neither fault came, and both are named."""
    faults = fault("step", step=99) + fault("restoring")

    done = rehearsed(plan_of(faults=faults), tmp_path)

    assert done.codes() == ["rehearsal_fault_missed", "rehearsal_fault_missed"]
    assert not done.outcome.is_good


def test_a_command_that_is_none_ends_the_rehearsal(tmp_path: Path) -> None:
    """A program that is not there is a mistake of the plan, and nothing runs."""
    job = '[job]\ncommand = ["/nowhere/to/be/found"]\nresult = "result"\n'

    with pytest.raises(JobNotStartedError, match="no such file or directory") as caught:
        rehearsed(plan_of(job=job), tmp_path)

    assert caught.value.code == "rehearsal_job_not_started"


def test_evidence_says_what_is_rehearsed(tmp_path: Path) -> None:
    """Both runs are declared; allocations are those that the plan states."""
    plan = plan_of(top='promised_notice_s = "120"\ntolerance = "0"')

    done = rehearsed(plan, tmp_path)

    (declared,) = done.bodies("rehearsal.declared")
    assert declared == {
        "run": "r",
        "uninterrupted": "r.uninterrupted",
        "route": "local",
        "plan": plan.digest,
        "promised_notice_seconds": "120.000000",
        "tolerance": "0",
    }
    assert [body["run"] for body in done.bodies("run.declared")] == ["r.uninterrupted", "r"]
    held = done.bodies("allocation.started")[0]
    assert (held["scheduler"], held["gpu_count"], held["gpu_type"], held["capacity"]) == (
        *("local", 2, "H100"),
        "spot",
    )
