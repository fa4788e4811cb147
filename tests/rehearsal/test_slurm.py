"""The Slurm route, against a stand-in whose jobs really run: see ``slurm_cluster``."""

import json
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from tallystick.rehearsal.attempt import start_attempt
from tallystick.rehearsal.errors import (
    BadPlanError,
    NoTargetError,
    RehearsalStoppedError,
    RouteUnavailableError,
    SurvivorsError,
)
from tallystick.rehearsal.plan import Plan
from tallystick.rehearsal.rehearse import jobs_of, rehearse
from tallystick.rehearsal.route import Job, Started
from tallystick.rehearsal.scheduler_errors import NotOursError, SchedulerRefusedError
from tallystick.rehearsal.slurm import SlurmRoute, jobs
from tallystick.rehearsal.slurm.commands import Ran, read_job, run_command
from tests.rehearsal.rehearsals import RUN, TRAINER, ground_of, laid_out, plan_of, rehearsed
from tests.stand_ins.slurm_cluster import FakeSlurm

SAVES = f'{TRAINER}on_notice = "save"\n'
STEP_5_TOLD = '[[fault]]\nwhen = "step"\nstep = 5\nnotice_s = "60"\n'
NEVER = '[[fault]]\nwhen = "time"\nafter_s = "600"\n'
PLACE = '[slurm]\ncluster = "fake"\n'
PREEMPTED = f'{PLACE}preempting_partition = "fast"\naccount = "a"\n'
SLEEPER = '[job]\ncommand = ["sleep", "600"]\nresult = "x"\n'
SILENT = Ran(1, "", "Unable to contact slurm controller (connect failure)")


@pytest.fixture
def slurm(tmp_path: Path) -> Iterator[FakeSlurm]:
    """Make a stand-in."""
    made = FakeSlurm(tmp_path)
    yield made
    made.close()


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look more often than a real controller would like."""
    monkeypatch.setattr(jobs, "_LOOK_S", 0.02)
    monkeypatch.setattr(SlurmRoute, "poll_s", 0.02)


def planned(place: str = PLACE, **parts: str) -> Plan:
    """Make a plan."""
    return plan_of(place, top='route = "slurm"', **parts)


def started(route: SlurmRoute, plan: Plan, folder: Path, number: int = 1) -> Started:
    """Start an attempt of the run that faults hit."""
    if number == 1:
        laid_out(plan, folder)
    ground, _ = ground_of(plan, folder / "out", route)
    found = start_attempt(ground, job_of(plan, folder), number)
    assert found is not None
    return found


def job_of(plan: Plan, folder: Path) -> Job:
    """Give the job that faults hit, whose folders are there."""
    return jobs_of(plan, folder, folder / "out")[1]


def test_a_requeued_job_ends_as_if_it_had_not_been(tmp_path: Path, slurm: FakeSlurm) -> None:
    """Requeued after step 5 it goes on from step 4; accounting tells of its allocations."""
    plan = planned()
    route = SlurmRoute(plan, slurm)

    done = rehearsed(plan, tmp_path, route)

    (told,) = done.bodies("rehearsal.fault")
    attempts = [each for each in route.attempts if each.run == RUN]
    restored = [
        record["body"]["step"]
        for each in attempts
        for record in done.journal(each.key)
        if record["kind"] == "checkpoint.restored"
    ]
    assert done.outcome.is_good
    assert [(act["act"], act["id"]) for act in told["acts"]] == [("scontrol requeue", "slurm:41")]
    assert [each.key for each in attempts] == [
        "slurm:fake:41@n1:1767225600",
        "slurm:fake:41@n1:1767225601",
    ]
    assert restored == [0, 4]
    assert [each.is_interrupted for each in attempts] == [True, False]
    assert [each.ended_by for each in attempts] == ["scheduler", "scheduler"]
    assert done.bodies("allocation.started") == []


def test_what_is_submitted_names_run_folder_and_a_random_job(
    tmp_path: Path, slurm: FakeSlurm
) -> None:
    """What the rehearsal relies on comes after the options of the plan."""
    place = (
        f'{PLACE}partition = "spot"\naccount = "a"\nqos = "q"\noptions = ["--gres=gpu:2"]\n'
        '[limits]\nattempt_s = "61"\n'
    )
    plan = planned(place)
    route = SlurmRoute(plan, slurm)
    attempt = started(route, plan, tmp_path)
    route.close()

    argv = slurm.jobs["40"].argv
    noted = (attempt.job.logs / "slurm" / "jobs").read_text().split()
    assert {"--partition=spot", "--account=a", "--qos=q", "--time=2"} <= set(argv)
    assert argv.index("--gres=gpu:2") < argv.index("--requeue")
    assert "--comment=tallystick.run=r" in argv
    assert f"--chdir={attempt.job.folder}" in argv
    assert noted == [slurm.jobs["40"].name, slurm.jobs["40"].name, "slurm:40", "fake"]
    assert len(slurm.jobs["40"].name) == len("tallystick-") + 16
    assert "TALLYSTICK_ATTEMPT" not in slurm.jobs["40"].environment


def test_a_run_that_no_comment_can_name_is_in_the_environment_alone(
    tmp_path: Path, slurm: FakeSlurm
) -> None:
    """Hooks would read another name from the comment."""
    plan = plan_of(PLACE, top='route = "slurm"')
    named = replace(plan, run="a run, named")
    laid_out(named, tmp_path)
    route = SlurmRoute(named, slurm)

    route.start(job_of(named, tmp_path), 1)
    route.close()

    assert not any(each.startswith("--comment") for each in slurm.options("40"))
    assert slurm.jobs["40"].environment["TALLYSTICK_RUN_ID"] == "a run, named"


def test_a_job_that_saves_on_notice_loses_nothing(tmp_path: Path, slurm: FakeSlurm) -> None:
    """SIGTERM reaches the whole step; the script waits for the requeue that follows."""
    told_soon = STEP_5_TOLD.replace('"60"', '"1.5"')
    plan = planned(job=SAVES, faults=told_soon)
    route = SlurmRoute(plan, slurm)

    done = rehearsed(plan, tmp_path, route)

    (told,) = done.bodies("rehearsal.fault")
    of_run = [done.journal(each.key) for each in route.attempts if each.run == RUN]
    saved = [r["body"]["step"] for r in of_run[0] if r["kind"] == "checkpoint.committed"][-1]
    restored = [r["body"]["step"] for r in of_run[1] if r["kind"] == "checkpoint.restored"]
    assert done.outcome.is_good
    assert [act["act"] for act in told["acts"]] == ["scancel --signal=TERM", "scontrol requeue"]
    assert [saved] == restored
    assert len(done.bodies("allocation.notice")) == 1


def test_notice_to_a_batch_script_is_for_all_of_it(tmp_path: Path, slurm: FakeSlurm) -> None:
    """Without a step there is nothing else that could get it."""
    plan = planned(f'{PLACE}launch = "batch"\n', job=SLEEPER)
    route = SlurmRoute(plan, slurm)
    attempt = started(route, plan, tmp_path)

    acts = route.notice(attempt)
    route.close()

    assert [act.id for act in acts] == ["slurm:40"]
    assert "scancel --signal=TERM --full 40" in slurm.acts()
    assert "srun" not in (attempt.job.logs / "slurm" / "job.sh").read_text()


def test_pre_emption_takes_the_job_s_own_nodes(tmp_path: Path, slurm: FakeSlurm) -> None:
    """Both jobs are exclusive, so that nobody else's can be hit."""
    plan = planned(PREEMPTED)
    route = SlurmRoute(plan, slurm)

    done = rehearsed(plan, tmp_path, route)

    (told,) = done.bodies("rehearsal.fault")
    assert done.outcome.is_good
    assert [act["id"] for act in told["acts"]] == ["slurm:42"]
    assert {"--exclusive", "--account=a"} <= slurm.options("41")
    assert {
        *("--partition=fast", "--account=a", "--nodelist=n1", "--nodes=1", "--exclusive"),
        *("--no-requeue", "--time=1"),
    } <= slurm.options("42")


def test_the_notice_of_a_pre_emption_is_what_slurm_says(tmp_path: Path, slurm: FakeSlurm) -> None:
    """When it was told is seen while it still runs."""
    plan = planned(PREEMPTED, job=SLEEPER)
    route = SlurmRoute(plan, slurm)
    attempt = started(route, plan, tmp_path)
    slurm.jobs["40"].preempted = "1767225605"

    look = route.look(attempt)
    route.close()

    assert look.gone is None
    assert route.attempts[0].noticed_us == 1767225605_000_000


def test_a_job_that_fails_by_itself_is_submitted_anew(tmp_path: Path, slurm: FakeSlurm) -> None:
    """Slurm brings no job back that failed, so the next attempt is another job."""
    (tmp_path / "job.py").write_text(FAILS_ONCE)
    job = f'[job]\ncommand = ["{sys.executable}", "{{plan}}/job.py"]\nresult = "result"\n'
    plan = planned(job=job, faults=NEVER)
    slurm.has_gpus = False

    done = rehearsed(plan, tmp_path, SlurmRoute(plan, slurm))

    ends = [(b["ended_by"], b["exit_code"]) for b in done.bodies("allocation.ended")]
    starts = [(b["job_id"], b["gpu_count"]) for b in done.bodies("allocation.started")]
    assert done.codes() == ["rehearsal_fault_missed"]
    assert ends == [("completed", 0), ("user", 3), ("completed", 0)]
    assert starts == [("40", 2), ("41", 2), ("42", 2)]


FAILS_ONCE = """
import os, sys
from pathlib import Path
if os.environ["TALLYSTICK_RUN_ID"] == "r" and not Path("began").exists():
    Path("began").touch()
    sys.exit(3)
Path("result").write_text("done")
"""


def test_a_job_whose_script_never_began_ends_the_rehearsal(
    tmp_path: Path, slurm: FakeSlurm
) -> None:
    """Submitting it again and again would not help."""
    plan = planned()
    route = SlurmRoute(plan, slurm)
    laid_out(plan, tmp_path)
    job = job_of(plan, tmp_path)
    slurm.before = lambda argv: _unbegin(job) if argv[0] == "scontrol" else None
    route.start(job, 1)
    slurm.close()

    with pytest.raises(SchedulerRefusedError, match="its script never began"):
        route.start(job, 1)
    route.close()


def _unbegin(job: Job) -> None:
    for path in (job.logs / "slurm").glob("*.began"):
        path.unlink()


def test_whoever_stops_leaves_nothing(tmp_path: Path, slurm: FakeSlurm) -> None:
    """Stopped while the first job runs: it is cancelled, and only it."""
    plan = planned(job=SLEEPER)
    route = SlurmRoute(plan, slurm)
    both = laid_out(plan, tmp_path)
    ground, _ = ground_of(plan, tmp_path / "out", route)

    def stop(said: str) -> None:
        if "attempt 1 is slurm:" in said:
            ground.stop.set()

    with pytest.raises(RehearsalStoppedError):
        rehearse(replace(ground, say=stop), both)

    assert [each for each in slurm.acts() if each.startswith("scancel")] == ["scancel 40"]
    assert not slurm.jobs["40"].is_here
    assert route.close() == ()


@pytest.mark.parametrize("change", ["name", "uid"])
def test_a_job_that_is_another_one_is_left_alone(
    change: str, tmp_path: Path, slurm: FakeSlurm
) -> None:
    """Slurm gives ids out again, after a while: name and user tell."""
    plan = planned(job=SLEEPER)
    route = SlurmRoute(plan, slurm)
    attempt = started(route, plan, tmp_path)
    setattr(slurm.jobs["40"], change, {"name": "theirs", "uid": 12345}[change])

    acts: list[Callable[[], object]] = [
        lambda: route.notice(attempt),
        lambda: route.interrupt(attempt, "all", lambda: True),
        lambda: route.end(attempt),
    ]
    for act in acts:
        with pytest.raises(NotOursError, match="slurm job 40 is not what") as caught:
            act()
        assert caught.value.code == "rehearsal_not_ours"
    closed = route.close()

    assert closed == ()  # Ours is gone.
    assert slurm.jobs["40"].is_here
    assert [each for each in slurm.acts() if not each.startswith("sbatch")] == []


def test_an_attempt_that_is_not_the_recorded_one_is_left_alone(
    tmp_path: Path, slurm: FakeSlurm
) -> None:
    """It was requeued by somebody else meanwhile: the next attempt is not for this fault."""
    plan = planned(job=SLEEPER)
    route = SlurmRoute(plan, slurm)
    attempt = started(route, plan, tmp_path)
    slurm(("scontrol", "requeue", "40"), os.environ)
    slurm.ran.clear()

    acts = (route.notice(attempt), route.interrupt(attempt, "all", lambda: True))
    gone = route.look(attempt).gone
    again = started(route, plan, tmp_path, number=2)
    route.close()

    assert acts == ((), None)
    assert gone is not None
    assert gone.exit_code is None
    assert again.attempt == "slurm:fake:40@n1:1767225601"
    assert slurm.acts() == ["scancel 40"]


def test_a_job_that_is_gone_is_not_interrupted(tmp_path: Path, slurm: FakeSlurm) -> None:
    """Slurm has forgotten it; its own word says how it ended."""
    for place in (PLACE, PREEMPTED):
        folder = tmp_path / str(len(place))
        folder.mkdir()
        plan = planned(place, job='[job]\ncommand = ["false"]\nresult = "x"\n')
        route = SlurmRoute(plan, slurm)
        attempt = started(route, plan, folder)
        (job_id,) = slurm.jobs
        slurm.jobs[job_id].process.wait()  # type: ignore[union-attr]
        slurm.jobs.clear()

        interrupted = route.interrupt(attempt, "all", lambda: True)
        gone = route.look(attempt).gone
        acts = route.close()

        assert interrupted is None
        assert gone is not None
        assert gone.exit_code == 1
        assert acts == ()


def test_an_interruption_that_is_not_due_any_more_is_none(tmp_path: Path, slurm: FakeSlurm) -> None:
    """Nothing is done; and one worker alone cannot be requeued."""
    plan = planned(job=SLEEPER)
    route = SlurmRoute(plan, slurm)
    attempt = started(route, plan, tmp_path)

    assert route.interrupt(attempt, "all", lambda: False) is None
    with pytest.raises(NoTargetError):
        route.interrupt(attempt, "rank:0", lambda: True)
    route.close()
    assert "scontrol requeue 40" not in slurm.acts()


def test_a_requeue_that_is_refused_ends_the_rehearsal(tmp_path: Path, slurm: FakeSlurm) -> None:
    """The message has what Slurm said, if the job runs on."""
    plan = planned(job=SLEEPER)
    route = SlurmRoute(plan, slurm)
    attempt = started(route, plan, tmp_path)
    slurm.answers["scontrol requeue"] = Ran(1, "", "Requested operation is disabled")

    with pytest.raises(SchedulerRefusedError, match="is disabled") as caught:
        route.interrupt(attempt, "all", lambda: True)
    route.close()

    assert caught.value.code == "rehearsal_scheduler_refused"


def test_a_requeue_that_comes_too_late_is_none(tmp_path: Path, slurm: FakeSlurm) -> None:
    """Slurm refuses, since the job has ended between the look and the act."""
    plan = planned(job=SLEEPER)
    route = SlurmRoute(plan, slurm)
    attempt = started(route, plan, tmp_path)
    slurm.answers["scontrol requeue"] = Ran(None, "", "")

    def end(argv: Sequence[str]) -> None:
        if "requeue" in argv:
            slurm.close()

    slurm.before = end
    interrupted = route.interrupt(attempt, "all", lambda: True)
    gone = route.look(attempt).gone
    route.close()

    assert interrupted is None
    assert gone is not None
    assert (gone.exit_code, gone.signal) == (None, int(signal.SIGKILL))


def test_a_controller_that_is_away_is_waited_for(tmp_path: Path, slurm: FakeSlurm) -> None:
    """Nothing is concluded from its silence."""
    plan = planned(job=SLEEPER)
    route = SlurmRoute(plan, slurm)
    attempt = started(route, plan, tmp_path)
    slurm.answers["scontrol show job"] = SILENT

    looks = [route.look(attempt), route.look(attempt)]
    waiting = route.start(attempt.job, 2)
    slurm.answers.clear()
    acts = route.close()

    assert [look.gone for look in looks] == [None, None]
    assert waiting is None
    assert [act.act for act in acts] == ["scancel"]


def test_an_attempt_that_began_while_the_controller_was_away_is_found(
    tmp_path: Path, slurm: FakeSlurm
) -> None:
    """The job says itself that it began; that it holds GPUs is then taken for granted."""
    plan = planned(job=SLEEPER)
    route = SlurmRoute(plan, slurm)
    slurm.answers["scontrol show job"] = SILENT

    attempt = started(route, plan, tmp_path)
    slurm.answers.clear()
    route.close()

    assert attempt.allocation is None


def test_half_a_word_of_a_job_is_waited_for(tmp_path: Path, slurm: FakeSlurm) -> None:
    """A file that says nothing yet is no attempt."""
    plan = planned(job=SLEEPER)
    route = SlurmRoute(plan, slurm)
    attempt = started(route, plan, tmp_path)
    (attempt.job.logs / "slurm" / "40-1.began").write_text("")
    (attempt.job.logs / "slurm" / "40-x.began").write_text("1 k")

    found = route.start(attempt.job, 2)
    route.close()

    assert found is None


def test_what_does_not_end_is_named(
    tmp_path: Path, slurm: FakeSlurm, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Slurm does not cancel it: whoever rehearses has to look."""
    monkeypatch.setattr(jobs, "CLOSE_S", 0)
    plan = planned(job=SLEEPER)
    route = SlurmRoute(plan, slurm)
    started(route, plan, tmp_path)
    slurm.answers["scancel"] = SILENT

    with pytest.raises(SurvivorsError, match="slurm:40"):
        route.close()


def test_a_job_that_takes_its_time_to_end_is_cancelled_once(
    tmp_path: Path, slurm: FakeSlurm
) -> None:
    """Slurm does not answer at first, and then needs a while."""
    plan = planned(job=SLEEPER)
    route = SlurmRoute(plan, slurm)
    started(route, plan, tmp_path)
    slurm.answers |= {"scancel": Ran(0, "", ""), "scontrol show job": SILENT}
    slurm.ran.clear()

    def answer(_: Sequence[str]) -> None:
        slurm.answers.pop("scontrol show job", None)
        if len(slurm.ran) > 6:
            slurm.jobs["40"].state = "CANCELLED"

    slurm.before = lambda _: setattr(slurm, "before", answer)
    acts = route.close()

    assert [act.act for act in acts] == ["scancel"]
    assert slurm.acts() == ["scancel 40"]


def test_a_job_that_was_forgotten_while_it_ran_says_nothing(
    tmp_path: Path, slurm: FakeSlurm
) -> None:
    """Neither Slurm nor its script has a word on how it ended."""
    plan = planned(job=SLEEPER)
    route = SlurmRoute(plan, slurm)
    attempt = started(route, plan, tmp_path)
    slurm.close()
    slurm.jobs.clear()

    gone = route.look(attempt).gone

    assert gone is not None
    assert (gone.exit_code, gone.signal) == (None, None)


def test_an_answer_that_was_lost_is_found_by_the_job_s_name(
    tmp_path: Path, slurm: FakeSlurm
) -> None:
    """The job was submitted; its name is known before its id."""
    plan = planned(job=SLEEPER)
    route = SlurmRoute(plan, slurm)
    laid_out(plan, tmp_path)

    def lose(argv: Sequence[str]) -> None:
        if argv[0] == "sbatch" and not slurm.jobs:
            slurm.submit_and_lose(argv, os.environ)

    slurm.before = lose
    route.start(job_of(plan, tmp_path), 1)
    acts = route.close()

    assert [(act.act, act.id) for act in acts] == [("scancel", "slurm:40")]


def test_what_cannot_be_submitted_ends_the_rehearsal(tmp_path: Path, slurm: FakeSlurm) -> None:
    """The message has the command and what Slurm said."""
    plan = planned(job=SLEEPER)
    route = SlurmRoute(plan, slurm)
    laid_out(plan, tmp_path)
    slurm.answers["sbatch"] = Ran(1, "", "Invalid partition name specified")

    with pytest.raises(SchedulerRefusedError, match="Invalid partition name"):
        route.start(job_of(plan, tmp_path), 1)

    assert route.close() == ()


def test_ending_an_attempt_cancels_it_and_what_was_to_pre_empt_it(
    tmp_path: Path, slurm: FakeSlurm
) -> None:
    """A job that is over needs no end."""
    plan = planned(PREEMPTED, job=SLEEPER)
    route = SlurmRoute(plan, slurm)
    attempt = started(route, plan, tmp_path)
    route.interrupt(attempt, "all", lambda: True)
    slurm.jobs["41"].state = "PENDING"

    acts = route.end(attempt)
    again = route.end(attempt)

    assert [(act.act, act.id) for act in acts] == [("scancel", "slurm:40"), ("scancel", "slurm:41")]
    assert again == ()


def test_the_commands_are_shown_before_anything_is_done(tmp_path: Path, slurm: FakeSlurm) -> None:
    """The very ones that are run, with words where ids will be."""
    lines = []
    for place in (PLACE, PREEMPTED):
        plan = planned(place)
        route = SlurmRoute(plan, slurm)
        lines += [*route.touches(job_of(plan, tmp_path)), *route.never_touches()]

    said = "\n".join(lines)
    assert "submit   sbatch --parsable --time=10" in said
    assert "fault    scontrol requeue JOBID" in said
    assert "--exclusive --nodes=N --nodelist=NODES --job-name=tallystick-TOKEN" in said
    assert "notice   by the GraceTime of its partition" in said
    assert slurm.acts() == []


@pytest.mark.parametrize(
    ("place", "keys", "expected"),
    [
        (PLACE, "target = 'rank:0'", "Slurm takes back whole jobs"),
        (PLACE, "wait_s = '5'", "Slurm brings the replacement"),
        (PREEMPTED, "notice_s = '5'", "the partition's GraceTime gives the notice"),
        (PREEMPTED, "ended_by = 'provider'", "pre-emption is the scheduler's act"),
    ],
)
def test_a_fault_that_slurm_does_not_bring_is_refused(
    place: str, keys: str, expected: str, slurm: FakeSlurm
) -> None:
    """The plan is read, and the route cannot follow it."""
    faults = f'[[fault]]\nwhen = "step"\nstep = 5\n{keys}\n'

    with pytest.raises(RouteUnavailableError, match=f"fault 1: {expected}"):
        SlurmRoute(planned(place, faults=faults), slurm)


def test_another_cluster_than_the_plan_s_is_refused(slurm: FakeSlurm) -> None:
    """So is one that does not answer, or does not say its name."""
    for answer, expected in (
        (Ran(0, "ClusterName = other", ""), "expected cluster 'fake', found 'other'"),
        (Ran(0, "", ""), "it names no cluster"),
        (SILENT, "Unable to contact"),
    ):
        slurm.answers["scontrol show config"] = answer
        with pytest.raises(RouteUnavailableError, match=expected):
            SlurmRoute(planned(), slurm)


def test_without_slurm_s_commands_there_is_no_route(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first that is missing is named."""
    monkeypatch.setenv("PATH", "/nowhere")

    with pytest.raises(RouteUnavailableError, match="expected the command sbatch"):
        SlurmRoute(planned())


@pytest.mark.parametrize(
    "option", ["-p", "spot", "--array=0-3", "--arr=0-3", "--wrap=x", "--a\\u0000b=c", "--wait"]
)
def test_an_option_that_makes_something_else_of_the_job_is_a_mistake(option: str) -> None:
    """Said before anything is submitted."""
    with pytest.raises(BadPlanError, match="expected"):
        planned(f'{PLACE}options = ["{option}"]\n')


def test_free_text_of_a_job_says_nothing_of_its_state() -> None:
    """A comment may say anything, and comes after what counts."""
    line = (
        "JobId=1 JobName=x UserId=root(0) JobState=FAILED Restarts=2 ExitCode=3:0"
        " StartTime=Unknown TRES=cpu=1 Comment=JobState=COMPLETED Restarts=9"
    )

    job = read_job(line)

    assert (job.state, job.restarts, job.exit_code, job.signal) == ("FAILED", 2, 3, None)
    assert (job.uid, job.preempted_s, job.has_gpus) == (0, None, False)


def test_a_job_that_was_killed_states_no_exit_code() -> None:
    """Slurm prints 0 beside every state but COMPLETED."""
    cancelled = read_job("JobId=1 JobState=CANCELLED ExitCode=0:15")
    done = read_job("JobId=1 JobState=COMPLETED ExitCode=0:0")

    assert (cancelled.exit_code, cancelled.signal) == (None, 15)
    assert (done.exit_code, done.signal, done.uid) == (0, None, None)


def test_commands_of_the_machine_are_run_without_a_shell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What they print is given; what cannot be run, or takes too long, is told apart."""
    monkeypatch.setattr("tallystick.rehearsal.slurm.commands.LIMIT_S", 0.2)
    said = run_command(["sh", "-c", "echo $A; echo b >&2; exit 3"], {"A": "a", **os.environ})
    absent = run_command([str(tmp_path / "none")], {})
    slow = run_command(["sleep", "600"], dict(os.environ))

    assert said == Ran(3, "a", "b")
    assert absent == Ran(None, "", "no such file or directory")
    assert slow == Ran(None, "", "no answer in 0.2 s")
    assert json.dumps(said.out) == '"a"'
