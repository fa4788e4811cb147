"""Where a job is, and whether a fault is due there."""

import pytest

from tallystick.rehearsal.plan import Fault, When
from tallystick.rehearsal.seen import Seen, is_reached

STARTED = ("progress.started", None)
FRESH = ("checkpoint.restored", 0)
SAVED_4 = [("checkpoint.begun", 4), ("checkpoint.committed", 4)]
Story = list[tuple[str, int | None]]


def seen(*events: tuple[str, int | None]) -> Seen:
    """Tell a story of reports."""
    result = Seen()
    for kind, step in events:
        result.add([{"kind": kind, "body": {} if step is None else {"step": step}}])
    return result


def fault(when: When, step: int | None = None, after_us: int | None = None) -> Fault:
    """Make a fault."""
    return Fault(when, step, after_us, "all", None, 0, "provider")


@pytest.mark.parametrize(
    ("due", "when", "story"),
    [
        (False, fault("step", 5), [STARTED, FRESH, ("progress.step", 4)]),
        (True, fault("step", 5), [STARTED, FRESH, ("progress.step", 5)]),
        (True, fault("step", 5), [STARTED, FRESH, ("progress.step", 8)]),
        (False, fault("step", 5), [STARTED]),
        (True, fault("saving", 4), [STARTED, FRESH, ("checkpoint.begun", 4)]),
        (False, fault("saving", 8), [STARTED, FRESH, ("checkpoint.begun", 4)]),
        (True, fault("saving"), [STARTED, FRESH, ("checkpoint.begun", 4)]),
        (False, fault("saving", 4), [STARTED, FRESH, *SAVED_4]),
        (False, fault("saving", 4), [("checkpoint.begun", 4), ("checkpoint.abandoned", 4)]),
        (False, fault("before_first_save"), [STARTED, FRESH]),
        (True, fault("before_first_save"), [STARTED, FRESH, ("progress.step", 1)]),
        (False, fault("before_first_save", 2), [STARTED, FRESH, ("progress.step", 1)]),
        (False, fault("before_first_save"), [STARTED, ("progress.step", 4), *SAVED_4]),
        (True, fault("restoring"), [STARTED]),
        (False, fault("restoring"), []),
        (False, fault("restoring"), [STARTED, ("checkpoint.restored", 4)]),
        (True, fault("time", after_us=7), []),
        (False, fault("time", after_us=8), [STARTED]),
    ],
)
def test_a_fault_is_due_where_the_job_says_that_it_is(
    *, due: bool, when: Fault, story: Story
) -> None:
    """Each kind of fault has its place in what a job reports; time is 7 µs."""
    assert is_reached(when, seen(*story), elapsed_us=7, is_saved=False) is due


def test_nothing_is_before_the_first_save_once_another_attempt_saved() -> None:
    """The first save is that of the run."""
    story = seen(STARTED, ("checkpoint.restored", 4), ("progress.step", 5))

    assert not is_reached(fault("before_first_save"), story, elapsed_us=0, is_saved=True)


def test_other_reports_and_odd_ones_change_nothing() -> None:
    """A step that is no number, and kinds of no interest, are passed over."""
    story = seen(("rank.progress.step", 7))
    story.add([{"kind": "progress.step", "body": {"step": "7"}}])

    assert story == Seen()


def test_the_highest_committed_step_counts() -> None:
    """Saves may end out of order."""
    story = seen(("checkpoint.committed", 8), ("checkpoint.committed", 4))

    assert story.saved == 8
