"""How much of its GPU time a run kept, and how much it lost."""

from fractions import Fraction
from typing import Any

import pytest

from tallystick.core.instant import MINUTE_US, SECOND_US
from tallystick.timeline.work_time import ClocksApart, WorkTime, skew_at_least_us, work_time
from tests.evidence.records import (
    Json,
    alive,
    begun,
    committed,
    declared,
    ended,
    goes_on,
    moment_us,
    of,
    restored,
    started,
    step,
    waits,
)
from tests.timeline.timelines import draw

Minutes = tuple[int, ...]


def minutes(*records: Json) -> Minutes:
    """Give held, kept (least and most) and lost (least and most) of the only run, in minutes."""
    spent = work_time(draw(*records))
    assert isinstance(spent, WorkTime)
    return tuple(
        each // MINUTE_US
        for each in (
            spent.held_us,
            spent.kept_at_least_us,
            spent.kept_at_most_us,
            spent.lost_at_least_us,
            spent.lost_at_most_us,
        )
    )


def clean(*events: Json, **more: Any) -> tuple[Json, ...]:
    """Give the attempt from 00:00 to 01:00, ended by itself."""
    return (started(**more), restored("00:10", 0, None), *events, ended(exit_code=0))


def killed(*events: Json, restore: Json | None = None) -> tuple[Json, ...]:
    """Give the attempt from 00:00 to 01:00, killed, and one after it that only restored."""
    first = restored("00:10", 0, None) if restore is None else restore
    return (started(), first, *events, ended(by_whom="provider"))


def then(*events: Json, **end: Any) -> list[Json]:
    """Give the attempt `b` from 02:00 to 03:00."""
    return of("b", started("02:00"), *events, ended("03:00", **end))


# -- one attempt ---------------------------------------------------------------------------


def test_what_the_last_report_completed_was_kept() -> None:
    """After a clean end nothing more can have been."""
    assert minutes(*clean(step("00:50", 5))) == (60, 40, 40, 0, 0)


def test_every_gpu_counts() -> None:
    """It is GPU time."""
    assert minutes(*clean(step("00:50", 5), gpus="g1 g2 g3")) == (180, 120, 120, 0, 0)


@pytest.mark.parametrize(("every", "most"), [(1, 40), (5, 50)])
def test_after_the_last_report_whole_steps_are_possible_only_within_a_stride(
    every: int, most: int
) -> None:
    """A writer that reports each step reported the last one too."""
    assert minutes(*killed(step("00:50", 5, every))) == (60, 40, most, 0, 0)


def test_without_any_report_all_after_the_restore_may_be_work() -> None:
    """Nobody stated a stride."""
    assert minutes(*killed()) == (60, 0, 50, 0, 0)


def test_of_a_silent_attempt_nothing_is_known() -> None:
    """Even a clean end does not say what was done."""
    assert minutes(started(), ended(exit_code=0)) == (60, 0, 60, 0, 0)


def test_waiting_and_saving_are_no_work() -> None:
    """What lies before a wait and was reported later may be work that was kept."""
    events = (step("00:20", 5), begun("00:20", 5), committed("00:25", 5), waits("00:30"))

    assert minutes(*clean(*events, goes_on("00:40"), step("00:50", 6))) == (60, 20, 25, 0, 0)


def test_first_steps_may_lie_in_what_counts_as_starting() -> None:
    """Without a restore or a first sign of life, the lane starts until the first report."""
    end = ended(exit_code=0)

    assert minutes(started(), step("00:20", 5), step("00:30", 6), end) == (60, 10, 30, 0, 0)
    assert minutes(started(), alive("00:10"), step("00:30", 6), end) == (60, 20, 20, 0, 0)


# -- what a later restore takes back ----------------------------------------------------------


def test_what_lies_beyond_a_later_restore_was_lost() -> None:
    """And whatever came after it in that attempt, whether it made whole steps or not."""
    run = killed(step("00:20", 10), step("00:40", 20), step("00:50", 30))

    assert minutes(*run, *then(restored("03:00", 10), exit_code=0)) == (120, 10, 10, 30, 40)


def test_a_piece_across_the_restored_step_may_be_either() -> None:
    """Nobody knows where in it the saved step was reached."""
    run = killed(step("00:20", 10), step("00:40", 20))

    assert minutes(*run, *then(restored("03:00", 15), exit_code=0)) == (120, 10, 30, 0, 40)


def test_a_save_after_the_last_report_kept_some_of_what_followed() -> None:
    """The restore lies beyond the report, so the rest of the attempt may be either."""
    run = killed(step("00:20", 10, every=10))

    assert minutes(*run, *then(restored("03:00", 15), exit_code=0)) == (120, 10, 50, 0, 40)


def test_where_nobody_said_what_was_restored_all_may_be_either() -> None:
    """A later attempt that worked from an unknown state."""
    run = killed(step("00:20", 10))

    assert minutes(*run, *then(alive("02:10"), step("03:00", 12))) == (120, 0, 60, 0, 50)


def test_a_restart_inside_the_allocation_takes_back_too() -> None:
    """The time from its last report to the restore was lost, or is not work."""
    events = (step("00:20", 10), restored("00:40", 10), step("00:50", 20))

    assert minutes(*clean(*events)) == (60, 20, 20, 0, 20)


def test_of_two_that_ran_at_one_time_nobody_knows_whose_work_counts() -> None:
    """All of it may be kept, and all lost; the finding stands beside it."""
    other = of("b", started("00:30"), restored("00:40", 0, None), step("01:20", 5))

    run = (*clean(step("00:50", 5)), *other, *of("b", ended("01:30", exit_code=0)))

    assert minutes(*run) == (120, 0, 80, 0, 80)


def test_attempts_that_meet_ran_one_after_another() -> None:
    """An interval ends before its end."""
    run = clean(step("00:50", 5))
    other = of("b", started("01:00"), restored("01:10", 5), step("01:30", 9), ended("02:00"))

    assert minutes(*run, *other) == (120, 60, 60, 0, 0)


# -- shares --------------------------------------------------------------------------------


def test_a_share_is_an_exact_fraction() -> None:
    """Of the time that was held."""
    spent = work_time(draw(*clean(step("00:50", 5))))

    assert isinstance(spent, WorkTime)
    assert spent.kept_share == (Fraction(2, 3), Fraction(2, 3))


def test_of_no_time_there_is_no_share() -> None:
    """A run without attempts, and one whose attempt has no length."""
    for run in (draw(declared()), draw(started(), ended("00:00"))):
        spent = work_time(run)
        assert isinstance(spent, WorkTime)
        assert spent.kept_share is None


# -- clocks --------------------------------------------------------------------------------


def test_a_clock_that_is_off_changes_no_duration() -> None:
    """Its steps took as long by its own clock, and the scheduler's measures the allocation."""
    events = (restored("00:05", 0, None), step("00:45", 5))

    behind = (started("00:10"), *events, ended("01:10", exit_code=0))
    right = (started("00:00"), *events, ended("01:00", exit_code=0))

    assert minutes(*behind) == minutes(*right) == (60, 40, 40, 0, 0)
    assert skew_at_least_us(draw(*behind).attempts[0].attempt) == 5 * MINUTE_US
    assert skew_at_least_us(draw(*right).attempts[0].attempt) == 0


def test_a_clock_ahead_reaches_beyond_the_end() -> None:
    """What the lane of the receipt cannot show is in the sum."""
    run = (started(), restored("00:30", 0, None), step("01:20", 5), ended(exit_code=0))

    assert minutes(*run) == (60, 50, 50, 0, 0)


def test_who_lived_longer_than_the_allocation_has_no_share() -> None:
    """No clock that is merely off explains it; nothing is clamped."""
    run = draw(started("00:10"), alive("00:09"), step("00:30", 5), ended("00:30", exit_code=0))

    apart = work_time(run)

    assert apart == ClocksApart("a", moment_us("00:10"), moment_us("00:30"), 60 * SECOND_US)


def test_exactly_as_long_as_the_allocation_is_possible() -> None:
    """From its first moment to its last."""
    assert minutes(started(), alive("00:00"), step("01:00", 5), ended(exit_code=0))[0] == 60


def test_an_end_before_its_start_has_no_share() -> None:
    """Both stamps are kept."""
    apart = work_time(draw(started("00:10"), ended("00:09:55")))

    assert apart == ClocksApart("a", moment_us("00:10"), moment_us("00:09:55"), 5 * SECOND_US)


def test_the_clock_of_a_silent_attempt_is_not_seen() -> None:
    """There is nothing to compare."""
    assert skew_at_least_us(draw(started(), ended()).attempts[0].attempt) == 0
