"""One attempt, over a route that does what a story says: limits, stops, and late ends."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from tallystick.rehearsal.attempt import Ground
from tallystick.rehearsal.errors import NoTargetError, RehearsalStoppedError
from tallystick.rehearsal.plan import Plan
from tallystick.rehearsal.rehearse import Outcome, rehearse
from tallystick.rehearsal.route import Act, Gone, Job, Look, Started, Still
from tests.rehearsal.rehearsals import RUN, ground_of, laid_out, own_records, plan_of

NOW_US = 1_800_000_000_000_000
DONE = Gone(NOW_US + 5, exit_code=0)
FAILED = Gone(NOW_US + 5, exit_code=1)
LIMITS = '[limits]\nattempt_s = "0.001"\ndetection_s = "0.001"\n'
Story = list[Look | Callable[[], Look]]


def said(kind: str, **body: Any) -> dict[str, Any]:
    """Make a report of a job."""
    return {"kind": kind, "body": body}


QUIET = Look((), None)
STEP_5 = Look((said("progress.step", step=5),), None)


@dataclass
class StoryRoute:
    """A route whose attempts are stories; the twin is done at once."""

    stories: list[Story]
    name: str = "story"
    poll_s: float = 0.001
    allocates: bool = True
    results: bool = True
    done: list[str] = field(default_factory=list)
    on_end: Gone = FAILED
    targets: bool = True
    starts: int = 0
    """How often start is asked in vain."""

    def touches(self, job: Job) -> tuple[str, ...]:
        """Start nothing."""
        return (job.run,)

    def never_touches(self) -> tuple[str, ...]:
        """Touch nothing."""
        return ()

    def start(self, job: Job, number: int) -> Started | None:
        """Begin a story."""
        if job.run == RUN and self.starts:
            self.starts -= 1
            return None
        self.current = self.stories.pop(0) if job.run == RUN else [Look((), DONE)]
        allocation = None
        if self.allocates:
            allocation = {"scheduler": "local", "gpu_count": 1, "gpu_type": "H100"}
        return Started(job, number, f"{job.run}:{number}", NOW_US, ("id",), allocation)

    def look(self, started: Started) -> Look:
        """Go on in the story; the last page stays."""
        del started
        page = self.current.pop(0) if len(self.current) > 1 else self.current[0]
        return page if isinstance(page, Look) else page()

    def notice(self, started: Started) -> tuple[Act, ...]:
        """Tell nobody."""
        self.done.append("notice")
        return (Act("SIGTERM", started.ids[0], NOW_US + 2),)

    def interrupt(self, started: Started, target: str, still: Still) -> tuple[Act, ...] | None:
        """Interrupt the story if it is still there."""
        if not still():
            self.done.append("not any more")
            return None
        if not self.targets:
            raise NoTargetError(target)
        self.done.append(f"interrupt {target}")
        self.current = [Look((), Gone(NOW_US + 4, signal=9)), *self.current[1:]]
        return (Act("kill", started.ids[0], NOW_US + 3),)

    def result(self, job: Job, name: str) -> Path | None:
        """Give a result that is always the same."""
        (job.folder / name).write_bytes(b"same")
        return job.folder / name if self.results else None

    def end(self, started: Started) -> tuple[Act, ...]:
        """End the story."""
        self.done.append(f"end {started.number}")
        self.current = [Look((), self.on_end)]
        return ()

    def close(self) -> tuple[Act, ...]:
        """Close the book."""
        self.done.append("close")
        return ()


def told(plan: Plan, folder: Path, route: StoryRoute) -> tuple[Outcome, list[dict[str, Any]]]:
    """Rehearse over stories; give the records of the interrupted run, too."""
    ground, _ = ground_of(plan, folder / "out", route)
    outcome = rehearse(ground, laid_out(plan, folder))
    records = own_records(folder / "out")
    return outcome, [each for each in records if "uninterrupted" not in str(each["body"])]


def codes(outcome: Outcome) -> list[str]:
    """Name what was found."""
    return [finding.code for finding in outcome.findings]


def ends(records: list[dict[str, Any]]) -> list[str]:
    """Tell how attempts ended."""
    return [each["body"]["ended_by"] for each in records if each["kind"] == "allocation.ended"]


def test_an_attempt_that_hangs_is_ended_at_its_limit(tmp_path: Path) -> None:
    """A restore that never ends, for example; the next attempt finishes."""
    route = StoryRoute([[Look((said("progress.started"),), None), QUIET], [Look((), DONE)]])

    outcome, records = told(plan_of(LIMITS), tmp_path, route)

    assert codes(outcome) == ["rehearsal_attempt_hung", "rehearsal_fault_missed"]
    assert ends(records) == ["time_limit", "completed"]
    assert route.done == ["end 1", "close"]


def test_what_runs_on_after_a_fault_is_ended(tmp_path: Path) -> None:
    """A job that does not notice that it lost a worker is not waited for for ever."""
    route = StoryRoute([[STEP_5, STEP_5, QUIET], [Look((), DONE)]])
    route.interrupt = lambda *_: (Act("kill", "id", NOW_US + 3),)  # type: ignore[method-assign]

    outcome, records = told(plan_of(LIMITS), tmp_path, route)

    assert codes(outcome) == ["rehearsal_not_noticed"]
    assert ends(records) == ["provider", "completed"]
    assert route.done == ["end 1", "close"]


def test_an_attempt_that_never_starts_counts_as_one(tmp_path: Path) -> None:
    """A scheduler that gives nothing in time is an attempt without allocation."""
    route = StoryRoute([[STEP_5, QUIET], [Look((), DONE)]], starts=10**9)
    limits = f"{LIMITS}attempts_max = 2\n"

    outcome, records = told(plan_of(limits), tmp_path, route)

    assert codes(outcome) == [
        *("rehearsal_attempt_hung", "rehearsal_attempt_hung"),
        "rehearsal_attempts_exhausted",
    ]
    assert ends(records) == []


def test_an_attempt_may_take_a_while_to_start(tmp_path: Path) -> None:
    """It is asked for again until it is there."""
    route = StoryRoute([[STEP_5, QUIET], [Look((), DONE)]], starts=3)

    outcome, records = told(plan_of(), tmp_path, route)

    assert outcome.is_good
    assert ends(records) == ["provider", "completed"]


def test_a_job_that_moved_on_is_not_interrupted(tmp_path: Path) -> None:
    """The save that was to be cut is over when the route looks again; the next one is cut."""
    plan = plan_of(faults='[[fault]]\nwhen = "saving"\n')
    begun = [said("checkpoint.begun", step=4)]
    over = [said("checkpoint.committed", step=4)]
    again = [said("checkpoint.begun", step=8)]
    pages: Story = [Look(tuple(each), None) for each in (begun, over, again)]
    route = StoryRoute([[*pages, QUIET], [Look((), DONE)]])

    outcome, _ = told(plan, tmp_path, route)

    assert outcome.is_good
    assert route.done == ["not any more", "interrupt all", "close"]


def test_notice_is_followed_by_the_interruption(tmp_path: Path) -> None:
    """After it nothing is asked: the provider does not wait for a good moment."""
    plan = plan_of(faults='[[fault]]\nwhen = "step"\nstep = 5\nnotice_s = "0.001"\n')
    route = StoryRoute([[STEP_5, QUIET], [Look((), DONE)]])

    outcome, records = told(plan, tmp_path, route)

    (fault,) = [each for each in records if each["kind"] == "rehearsal.fault"]
    (notice,) = [each for each in records if each["kind"] == "allocation.notice"]
    assert outcome.is_good
    assert [act["act"] for act in fault["body"]["acts"]] == ["SIGTERM", "kill"]
    assert fault["body"]["notice_seconds"] == "0.001000"
    assert fault["at"] == "2027-01-15T08:00:00.000003Z"
    assert notice["at"] == "2027-01-15T08:00:00.000002Z"
    assert notice["body"]["deadline"] == "2027-01-15T08:00:00.001002Z"


def test_a_job_that_finishes_within_its_notice_was_not_interrupted(tmp_path: Path) -> None:
    """Its fault never came, and it is completed."""
    plan = plan_of(faults='[[fault]]\nwhen = "step"\nstep = 5\nnotice_s = "60"\n')
    route = StoryRoute([[STEP_5, Look((), DONE)]])

    outcome, records = told(plan, tmp_path, route)

    assert codes(outcome) == ["rehearsal_fault_missed"]
    assert ends(records) == ["completed"]
    assert [each for each in records if each["kind"] == "rehearsal.fault"] == []


def test_a_job_that_was_over_before_the_kill_is_completed(tmp_path: Path) -> None:
    """A scheduler may lose the race: what it says of the end counts."""
    route = StoryRoute([[STEP_5, STEP_5, Look((), DONE)]])
    route.interrupt = lambda *_: (Act("kill", "id", NOW_US + 3),)  # type: ignore[method-assign]

    outcome, records = told(plan_of(), tmp_path, route)

    assert codes(outcome) == ["rehearsal_fault_missed"]
    assert "finished before it came" in outcome.findings[0].message
    assert ends(records) == ["completed"]


def test_a_job_that_does_without_a_lost_worker_is_completed(tmp_path: Path) -> None:
    """The fault came, and the run needed no other attempt."""
    plan = plan_of(faults='[[fault]]\nwhen = "step"\nstep = 5\ntarget = "rank:1"\n')
    route = StoryRoute([[STEP_5, STEP_5, Look((), DONE)]])
    route.interrupt = lambda *_: (Act("kill", "id", NOW_US + 3),)  # type: ignore[method-assign]

    outcome, records = told(plan, tmp_path, route)

    assert outcome.is_good
    assert ends(records) == ["completed"]
    assert [each["kind"] for each in records].count("rehearsal.fault") == 1


def test_a_missing_worker_is_told_and_the_job_runs_on(tmp_path: Path) -> None:
    """Nothing was done to it."""
    route = StoryRoute([[STEP_5, STEP_5, STEP_5, Look((), DONE)]], targets=False)

    outcome, records = told(plan_of(), tmp_path, route)

    assert codes(outcome) == ["rehearsal_fault_missed"]
    assert ends(records) == ["completed"]


def test_nothing_is_told_of_allocations_that_a_scheduler_tells(tmp_path: Path) -> None:
    """Its own records say when they began and ended; that notice was given only we know."""
    plan = plan_of(faults='[[fault]]\nwhen = "step"\nstep = 5\nnotice_s = "0.001"\n')
    route = StoryRoute([[STEP_5, QUIET], [Look((), DONE)]], allocates=False)

    outcome, records = told(plan, tmp_path, route)

    assert outcome.is_good
    assert [each["kind"] for each in records if each["kind"].startswith("allocation")] == [
        "allocation.notice"
    ]
    assert [each["kind"] for each in records].count("rehearsal.fault") == 1


def test_ending_well_without_a_result_is_no_end(tmp_path: Path) -> None:
    """Exit code 0 alone says nothing; the twin is tried again until it is given up."""
    route = StoryRoute([], results=False)

    outcome, _ = told(plan_of("[limits]\nattempts_max = 2\n"), tmp_path, route)

    assert codes(outcome) == ["rehearsal_attempts_exhausted"]
    assert not outcome.is_finished


def test_progress_is_what_was_saved(tmp_path: Path) -> None:
    """Each attempt that saves further is progress; the third that does not is one too many."""
    plan = plan_of("[limits]\nattempts_max = 9\nrestarts_max_without_progress = 2\n")
    saved = [Look((said("checkpoint.committed", step=step),), FAILED) for step in (4, 8, 8, 8)]
    route = StoryRoute([[page] for page in saved])

    outcome, records = told(plan, tmp_path, route)

    assert codes(outcome)[-1] == "rehearsal_no_progress"
    assert ends(records) == ["user"] * 4


def test_a_job_that_reports_nothing_is_not_judged_by_its_silence(tmp_path: Path) -> None:
    """Whether it makes progress is not known, so only the number of attempts counts."""
    plan = plan_of("[limits]\nattempts_max = 4\nrestarts_max_without_progress = 1\n")
    route = StoryRoute([[Look((), FAILED)] for _ in range(4)])

    outcome, _ = told(plan, tmp_path, route)

    assert codes(outcome)[-1] == "rehearsal_attempts_exhausted"


@pytest.mark.parametrize(
    ("keys", "pages", "last_end"),
    [
        ("", [QUIET], "user"),
        ('wait_s = "600"', [STEP_5, Look((), Gone(NOW_US + 4, signal=9))], "provider"),
        ('notice_s = "600"', [STEP_5, QUIET], "user"),
    ],
    ids=["running", "waiting", "noticed"],
)
def test_who_asks_to_stop_is_obeyed_in_every_pause(
    tmp_path: Path, keys: str, pages: list[Look], last_end: str
) -> None:
    """The attempt is ended, which is told as the user's doing, and the route is closed."""
    plan = plan_of(faults=f'[[fault]]\nwhen = "step"\nstep = 5\n{keys}\n')
    route = StoryRoute([])
    ground, _ = ground_of(plan, tmp_path / "out", route)

    def stops() -> Look:
        ground.stop.set()
        return pages[-1]

    route.stories.append([*pages[:-1], stops, pages[-1]])
    route.interrupt = lambda *_: (Act("kill", "id", NOW_US + 3),)  # type: ignore[method-assign]

    with pytest.raises(RehearsalStoppedError) as caught:
        rehearse(ground, laid_out(plan, tmp_path))

    assert caught.value.code == "rehearsal_stopped"
    assert "nothing that was started runs" in str(caught.value)
    assert route.done[-1] == "close"
    assert ends(own_records(tmp_path / "out"))[-1] == last_end


def test_an_error_in_the_middle_ends_the_attempt(tmp_path: Path) -> None:
    """Whatever breaks: the attempt is ended and the route closed before it is told."""

    def breaks() -> Look:
        raise ZeroDivisionError

    route = StoryRoute([[QUIET, breaks]])
    plan = plan_of()
    ground, _ = ground_of(plan, tmp_path / "out", route)

    with pytest.raises(ZeroDivisionError):
        rehearse(ground, laid_out(plan, tmp_path))

    assert route.done == ["end 1", "close"]


def test_a_ground_pauses_until_it_is_told_to_stop(tmp_path: Path) -> None:
    """A pause is cut short by whoever asks."""
    ground, _ = ground_of(plan_of(), tmp_path)
    stopped = Event()
    stopped.set()

    Ground(ground.plan, ground.route, ground.facts, Event(), ground.say).pause(0.0)
    with pytest.raises(RehearsalStoppedError):
        Ground(ground.plan, ground.route, ground.facts, stopped, ground.say).pause(600)
