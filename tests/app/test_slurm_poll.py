"""Polling: nothing is missed, nothing is told twice, and what changes is a correction."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tallystick.app import slurm_poll
from tallystick.app.admit import Admission
from tallystick.app.errors import PollStartMissingError
from tallystick.app.poll_state import load_state, save_state, state_file
from tallystick.app.slurm_poll import OVERLAP_US_MIN, SLACK_US, Poller, poll_on
from tallystick.app.store import OpenStore
from tallystick.collectors.collected import Source
from tallystick.collectors.slurm import SlurmOptions
from tallystick.collectors.slurm.live.errors import PollFailedError
from tallystick.core.instant import SECOND_US
from tallystick.evidence.draft import draft_record
from tests.app.stores import new_store, tell

COLUMNS = (
    *("JobIDRaw", "Submit", "Start", "End", "ElapsedRaw", "State", "ExitCode", "AllocTRES"),
    *("NodeList", "Restarts"),
)
T0 = 1_770_000_000
NOW_US = (T0 + 10_000) * SECOND_US


def row(job: int = 7, **changes: str | int) -> dict[str, str]:
    """Give a row of a job that ended well."""
    ordinary: dict[str, Any] = {
        "JobIDRaw": job,
        "Submit": T0,
        "Start": T0 + 10,
        "End": T0 + 610,
        "State": "COMPLETED",
        "ExitCode": "0:0",
        "AllocTRES": "gres/gpu:h100=8,gres/gpu=8",
        "NodeList": "n1",
        "ElapsedRaw": 600,
        "Restarts": "",
    }
    return {name: str(value) for name, value in (ordinary | changes).items()}


RUNNING: dict[str, Any] = {"End": "Unknown", "State": "RUNNING"}


class Accounting:
    """A cluster's accounting that gives the rows that a test puts there."""

    def __init__(self) -> None:
        self.rows: list[dict[str, str]] = []
        self.old: list[dict[str, str]] = []
        self.fails = False
        self.windows: list[tuple[int, int]] = []
        self.asked: list[list[str]] = []

    def window(self, from_us: int, to_us: int) -> Source:
        """Give the rows, or fail."""
        if self.fails:
            raise PollFailedError("sacct", "connection refused")
        self.windows.append((from_us, to_us))
        return table(self.rows)

    def jobs(self, job_ids: Sequence[str], to_us: int) -> list[Source]:
        """Give the rows of some jobs, also those outside of any window."""
        del to_us
        self.asked.append(list(job_ids))
        return [table([each for each in self.old + self.rows if each["JobIDRaw"] in job_ids])]


def table(rows: Sequence[dict[str, str]]) -> Source:
    """Write rows as sacct does."""
    columns = [name for name in COLUMNS if not rows or name in rows[0]]
    lines = ["|".join(columns), *("|".join(each[name] for name in columns) for each in rows)]
    return Source("sacct", "\n".join(lines).encode())


class Story:
    """A store, a cluster, and the polls between them."""

    def __init__(self, store: OpenStore, monkeypatch: pytest.MonkeyPatch) -> None:
        self.store = store
        self.accounting = Accounting()
        self.now_us = NOW_US
        monkeypatch.setattr(slurm_poll, "clock_us", lambda: self.now_us)

    def poller(self, start_us: int | None = T0 * SECOND_US) -> Poller:
        """Make what polls."""
        return Poller(
            self.store,
            self.accounting,
            lambda us: SlurmOptions(cluster="c1", timezone="UTC", observed_us=us),
            "c1",
            start_us,
            OVERLAP_US_MIN,
        )

    def poll(self, *rows: dict[str, str]) -> Admission:
        """Poll once, a minute later, with these rows in accounting."""
        self.accounting.rows = list(rows)
        self.now_us += 60 * SECOND_US
        return self.poller().poll()

    def bodies(self, kind: str) -> list[dict[str, Any]]:
        """Give what the records of one kind in the store say."""
        with self.store.log.reading() as log:
            records = [json.loads(leaf)["record"] for leaf in log.leaves(0, log.size)]
        return [each["body"] for each in records if each["kind"] == kind]

    def reasons(self) -> list[str]:
        """Give the reasons of all corrections."""
        return [body["reason"] for body in self.bodies("allocation.correction")]


@pytest.fixture
def story(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Make a store and a cluster."""
    with new_store(tmp_path) as store:
        yield Story(store, monkeypatch)


def test_rows_become_attempts(story: Story) -> None:
    """As they do from files."""
    story.poll(row())

    assert [body["ended_by"] for body in story.bodies("allocation.ended")] == ["completed"]


def test_the_first_poll_begins_where_it_is_told(story: Story) -> None:
    """And later ones an hour before the last one began."""
    story.poll(row())
    first_us = story.now_us
    story.poll(row())

    assert story.accounting.windows[0] == (T0 * SECOND_US, first_us + SLACK_US)
    assert story.accounting.windows[1][0] == first_us - OVERLAP_US_MIN


def test_without_a_start_the_first_poll_is_refused(story: Story) -> None:
    """Midnight, which sacct would take, is no answer."""
    with pytest.raises(PollStartMissingError):
        story.poller(None).poll()


def test_a_poll_that_sees_the_same_adds_nothing(story: Story) -> None:
    """B9: the same row again is no news."""
    story.poll(row())

    again = story.poll(row())

    assert again.counts["accepted"] == 0
    assert story.reasons() == []


def test_a_poll_that_fails_moves_nothing(story: Story) -> None:
    """The next one asks from where the failed one would have."""
    story.poll(row())
    story.accounting.fails = True
    with pytest.raises(PollFailedError):
        story.poll()
    story.accounting.fails = False
    story.poll(row())

    first, second = story.accounting.windows
    assert second[0] == first[1] - SLACK_US - OVERLAP_US_MIN


def test_a_job_that_was_not_final_is_asked_for_by_its_id(story: Story) -> None:
    """However long ago its row was; a terminal state without an end is not final."""
    story.poll(row(7, **RUNNING), row(8, End="Unknown"), row(9))
    story.poll(row(9))

    assert story.accounting.asked == [["7", "8"]]


def test_a_row_that_goes_on_is_no_correction(story: Story) -> None:
    """From running to completed is the way of jobs."""
    story.poll(row(**RUNNING))
    story.poll(row())

    assert story.reasons() == []
    assert len(story.bodies("allocation.row")) == 2


def test_a_final_row_that_changes_is_a_correction(story: Story) -> None:
    """The old row stays, and the correction names both."""
    story.poll(row())
    story.poll(row(ExitCode="1:0"))

    (body,) = story.bodies("allocation.correction")
    assert body["reason"] == "the row was final and has changed"
    assert body["attempt"] == f"slurm:c1:7:{T0}"
    assert body["was"] != body["now"]
    assert body["changed"] == {"ExitCode": ["0:0", "1:0"]}
    assert len(story.bodies("allocation.row")) == 2


def test_a_row_is_lost_when_two_polls_do_not_show_it(story: Story) -> None:
    """Once it may be the database; twice it is gone, and that is said once."""
    recent = {"Submit": T0 + 9000, "Start": T0 + 9010, "End": T0 + 9900}
    story.poll(row(7, **recent), row(8, **recent))
    reasons = []
    for _ in range(4):
        story.poll(row(8, **recent))
        reasons.append(story.reasons())

    assert reasons == [[], *[["the row is gone"]] * 3]


def test_a_row_that_comes_back_is_not_lost(story: Story) -> None:
    """One poll without it proves nothing."""
    recent = {"Submit": T0 + 9000, "Start": T0 + 9010, "End": T0 + 9900}
    both = (row(7, **recent), row(8, **recent))
    for rows in (both, both[:1], both, both[:1], both):
        story.poll(*rows)

    assert story.reasons() == []


def test_an_empty_answer_is_no_data(story: Story) -> None:
    """B15: that nothing came does not mean that the jobs are gone."""
    story.poll(row(**RUNNING))
    for _ in range(5):
        story.poll()

    assert story.reasons() == []


def test_an_old_final_row_is_no_longer_looked_at(story: Story) -> None:
    """It lies before the window, which is why it does not come."""
    story.poll(row(7), row(8, **RUNNING))
    story.now_us += 7200 * SECOND_US
    for _ in range(4):
        story.poll(row(8, **RUNNING))

    assert story.reasons() == []


def test_a_pending_row_that_a_new_submission_replaced_is_not_lost(story: Story) -> None:
    """B3: a ghost between two lives contributes nothing."""
    ghost = row(7, Start="Unknown", End="Unknown", State="PENDING", AllocTRES="", NodeList="")
    story.poll(ghost)
    for _ in range(4):
        story.poll(row(7, Submit=T0 + 5))

    assert story.reasons() == []


def test_a_state_that_cannot_be_read_is_told_and_begins_anew(story: Story) -> None:
    """What was collected before is there already."""
    story.poll(row())
    state_file(story.store.folder.path, "c1").write_bytes(b"{")

    again = story.poll(row())

    assert [finding.code for finding in again.findings] == ["poll_state_lost"]
    assert again.counts["accepted"] == 0


def hooked(kind: str, at_s: int, observed_s: int) -> dict[str, Any]:
    """Give a record of the hooks of job 7 on n1."""
    body: dict[str, Any] = {"attempt": f"slurm:c1:7@n1:{T0 + 11}"}
    if kind == "allocation.started":
        body |= {"scheduler": "slurm", "cluster": "c1", "job_id": "7", "nodes": ["n1"]}
        body |= {"gpu_count": 8, "capacity": "spot"}
    else:
        body["ended_by"] = "unknown"
    return draft_record(
        kind,
        body,
        producer="slurm-hook/n1",
        at_us=at_s * SECOND_US,
        observed_us=observed_s * SECOND_US,
    )


def test_hooks_in_the_store_are_joined(story: Story) -> None:
    """The row of their job contains the moment of the prolog."""
    tell(story.store, hooked("allocation.started", T0 + 11, T0 + 11))

    story.poll(row())

    (body,) = story.bodies("attempt.same")
    assert body == {"attempt": f"slurm:c1:7@n1:{T0 + 11}", "same_as": f"slurm:c1:7:{T0}"}


def test_hooks_that_come_late_have_their_job_asked_for(story: Story) -> None:
    """The node was cut off for hours, and the row lies before the window."""
    story.poll(row())
    story.now_us += 7200 * SECOND_US
    tell(story.store, hooked("allocation.started", T0 + 11, T0 + 11))
    story.accounting.old = [row()]

    story.poll(row(9))

    assert story.accounting.asked == [["7"]]
    assert len(story.bodies("attempt.same")) == 1


def test_hooks_that_were_joined_are_left_alone(story: Story) -> None:
    """Their job is not asked for again."""
    tell(story.store, hooked("allocation.started", T0 + 11, T0 + 11))
    for _ in range(3):
        story.poll(row())

    assert story.accounting.asked == [["7"]]
    path = state_file(story.store.folder.path, "c1")
    assert load_state(path)[0].hooks == {}


def test_polling_goes_on_over_failures(story: Story) -> None:
    """A failure is said once, and so is that it is over."""
    said: list[str] = []
    polls: list[Admission] = []
    rounds = iter([True, True, False])

    def wait(_: float) -> bool:
        fails = next(rounds, None)
        story.accounting.fails = bool(fails)
        return fails is None

    poll_on(story.poller(), every_s=1, wait=wait, on_poll=polls.append, say=said.append)

    assert len(polls) == 1
    assert said[0].startswith("sacct: connection refused")
    assert said[1:] == ["answered again after 2 failed polls"]


@pytest.mark.parametrize("state", ["PREEMPTED", "NODE_FAIL", "REQUEUED", "BOOT_FAIL"])
def test_a_state_that_looks_like_the_last_may_be_followed(story: Story, state: str) -> None:
    """B11: the attempt is over, the job is not; its next row is another attempt."""
    first = row(7, State=state)
    story.poll(first)
    story.poll(first, row(7, Submit=T0 + 611, Start=T0 + 700, End=T0 + 900))

    attempts = [body["attempt"] for body in story.bodies("allocation.started")]
    assert attempts == [f"slurm:c1:7:{T0}", f"slurm:c1:7:{T0 + 611}"]
    assert story.reasons() == []


def test_one_bad_row_costs_itself_only(story: Story) -> None:
    """B45: the others of the batch go on, and the cursor moves."""
    admission = story.poll(row(7), row(8, Submit="soon"), row(9))

    assert [finding.code for finding in admission.findings] == ["bad_row"]
    assert len(story.bodies("allocation.started")) == 2


def test_a_running_row_is_recorded_again_only_if_it_says_something_new(story: Story) -> None:
    """That time passes is no news; a state is."""
    for elapsed_s in (10, 70, 130):
        story.poll(row(**RUNNING, ElapsedRaw=elapsed_s))
    while_running = len(story.bodies("allocation.row"))
    story.poll(row(**RUNNING | {"State": "SUSPENDED"}, ElapsedRaw=150))

    assert while_running == 1
    assert len(story.bodies("allocation.row")) == 2


def test_other_fields_are_no_correction(story: Story) -> None:
    """A newer Slurm offers more of them, and the row is what it was."""
    story.poll({name: value for name, value in row().items() if name != "ExitCode"})
    story.poll(row())

    assert len(story.bodies("allocation.row")) == 2
    assert story.reasons() == []


def test_another_reader_is_no_correction(story: Story, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same job by sacct and by slurmrestd has no field by the same name."""
    story.poll(row())
    job = {"job_id": 7, "time": {"submission": T0, "start": T0 + 10, "end": T0 + 610}}
    job |= {"state": {"current": "COMPLETED"}, "nodes": "n1", "cluster": "c1"}
    answer = Source("http://rest", json.dumps({"jobs": [job]}).encode())
    monkeypatch.setattr(story.accounting, "window", lambda *_: answer)
    story.poll()

    assert len(story.bodies("allocation.row")) == 2
    assert story.reasons() == []


def test_a_row_that_the_log_does_not_have_is_no_correction(story: Story) -> None:
    """The state is of another store; what was there cannot be named."""
    story.poll(row())
    path = state_file(story.store.folder.path, "c1")
    state, _ = load_state(path)
    (key,) = state.seen
    state.seen[key] = state.seen[key]._replace(record="allocation.row:gone")
    save_state(path, state)
    story.poll(row())

    assert story.reasons() == []


def test_open_jobs_that_the_window_shows_are_not_asked_for(story: Story) -> None:
    """A thousand running jobs are no thousand questions."""
    for _ in range(3):
        story.poll(row(7, **RUNNING))

    assert story.accounting.asked == []


def test_a_job_whose_earlier_lives_lie_before_the_window_is_asked_for(story: Story) -> None:
    """Its history is whole, so nothing is said to be missing."""
    last = row(7, Submit=T0 + 9000, Start=T0 + 9001, End=T0 + 9100, Restarts=1)
    story.accounting.old = [row(7, State="PREEMPTED", Restarts=0)]
    admission = story.poll(last)

    assert story.accounting.asked == [["7"]]
    assert admission.findings == []


def test_a_clock_that_was_set_back_does_not_turn_the_window(story: Story) -> None:
    """Sacct refuses a window that ends before it starts."""
    story.poll(row())
    story.now_us -= 86_400 * SECOND_US
    story.poll(row())

    from_us, to_us = story.accounting.windows[-1]
    assert from_us == story.now_us - OVERLAP_US_MIN
    assert to_us > from_us


def test_a_finding_is_in_the_log_once(story: Story) -> None:
    """Where the row stood in an answer changes from poll to poll, and is not said."""
    bad = row(8, Submit="soon")
    story.poll(row(7), bad)
    story.poll(bad)

    (body,) = story.bodies("collect.finding")
    assert body["code"] == "bad_row"
    assert "line" not in body


def test_polling_on_tells_a_finding_once(story: Story) -> None:
    """Until it is over and comes again."""
    polls: list[Admission] = []
    bad, good = [row(8, Submit="soon")], [row(7)]
    rounds = iter([bad, bad, good, bad])

    def wait(_: float) -> bool:
        story.accounting.rows = next(rounds, [])
        return not story.accounting.rows

    poll_on(story.poller(), every_s=1, wait=wait, on_poll=polls.append, say=print)

    assert [len(each.findings) for each in polls] == [1, 0, 0, 1]


def test_a_job_that_was_resized_long_ago_is_asked_for(story: Story) -> None:
    """Without the row before the resize, its time would be held twice."""
    story.accounting.old = [row(7, State="RESIZING", End=T0 + 5000)]
    story.poll(row(7, Submit=T0 + 5000, End=T0 + 6000))

    assert story.accounting.asked == [["7"]]
    with story.store.log.reading() as log:
        records = [json.loads(leaf)["record"] for leaf in log.leaves(0, log.size)]
    starts = [each["at"] for each in records if each["kind"] == "allocation.started"]
    assert len(set(starts)) == 2
