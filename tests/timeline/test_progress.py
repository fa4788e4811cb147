"""The third lane: what the application did with the allocation (section 4, rules 33 to 38)."""

import pytest

from tests.evidence.records import (
    Json,
    alive,
    begun,
    by,
    committed,
    ended,
    goes_on,
    of,
    restored,
    resumed,
    started,
    step,
    suspended,
    verified,
    waits,
)
from tests.timeline.timelines import codes_of, progress_lanes, progress_of


def lane_of(*events: Json) -> str:
    """Draw the lane of an attempt from 00:00 to 01:00 with these events."""
    return progress_of(started(), *events, ended())


def two_lives(first: list[Json], second: list[Json]) -> tuple[str, str]:
    """Draw the lanes of attempt `a` from 00:00 to 01:00 and `b` from 02:00 to 03:00."""
    lanes = progress_lanes(
        started(),
        ended(by_whom="provider"),
        started("02:00", attempt="b"),
        ended("03:00", attempt="b"),
        *first,
        *of("b", *second),
    )
    return lanes["a"], lanes["b"]


# -- starting ------------------------------------------------------------------------------


@pytest.mark.parametrize("event", [[], [verified("00:10", ok=True)]])
def test_without_progress_events_all_is_unknown(event: list[Json]) -> None:
    """A verification is none: it says nothing of the attempt's work (rule 34)."""
    assert lane_of(*event) == "00:00 unknown 01:00"


@pytest.mark.parametrize(
    ("events", "until"),
    [
        ([alive("00:05"), restored("00:10", 0), step("00:20", 1)], "00:10"),
        ([restored("00:10", 0), restored("00:15", 0), step("00:20", 1)], "00:10"),
        ([alive("00:05"), step("00:07", 1), restored("00:10", 0)], "00:05"),
        ([step("00:10", 1), restored("00:10", 0)], "00:10"),
        ([alive("00:15"), begun("00:10", 1)], "00:15"),
        ([alive("00:05"), alive("00:15"), step("00:20", 1)], "00:05"),
        ([step("00:07", 1), restored("00:10", 0)], "00:07"),
        ([waits("00:08"), step("00:20", 1)], "00:08"),
        ([goes_on("00:08"), step("00:20", 1)], "00:08"),
        ([begun("00:08", 1, blocking=False), step("00:20", 1)], "00:08"),
        ([committed("00:08", 1, blocking=False), step("00:20", 1)], "00:08"),
    ],
)
def test_starting_ends_at_the_first_sign_of_work(events: list[Json], until: str) -> None:
    """At the restore unless a step comes before it, else the start, else the first event."""
    words = lane_of(*events).split()

    assert words[:3] == ["00:00", "starting", until]


def test_an_attempt_that_starts_as_it_restores_has_no_starting() -> None:
    """A piece of no length is no piece."""
    assert lane_of(restored("00:00", 0), step("01:00", 1)) == "00:00 advancing 01:00"


def test_events_before_the_end_of_starting_cut_nothing() -> None:
    """A wait and a step report before the restore leave no trace in the lane."""
    lane = lane_of(waits("00:02"), goes_on("00:04"), restored("00:10", 0), step("00:20", 1))

    assert lane == "00:00 starting 00:10 advancing 00:20 unknown 01:00"


def test_a_state_that_began_before_goes_on_after_starting() -> None:
    """A save begun before the restore and committed after it is saving from then (rule 36)."""
    lane = lane_of(begun("00:05", 1), restored("00:10", 0), committed("00:15", 1))

    assert lane == "00:00 starting 00:10 saving 00:15 unknown 01:00"


# -- steps ---------------------------------------------------------------------------------


def test_a_step_classes_the_piece_that_ends_at_it() -> None:
    """Work is known when it is complete; what follows the last step is unknown."""
    lane = lane_of(restored("00:10", 0), step("00:20", 1), step("00:40", 2))

    assert lane == "00:00 starting 00:10 advancing 00:40 unknown 01:00"


def test_a_step_at_the_end_ends_the_last_piece() -> None:
    """Events at E count (rule 16)."""
    assert lane_of(restored("00:10", 0), step("01:00", 1)) == "00:00 starting 00:10 advancing 01:00"


def test_events_outside_the_attempt_do_not_draw() -> None:
    """They are a finding, once (rule 16)."""
    records = (
        started("00:10"),
        alive("00:05"),
        restored("00:20", 0),
        step("00:30", 1),
        step("01:00:00.000001", 2),
        ended(),
    )

    assert progress_of(*records) == "00:10 starting 00:20 advancing 00:30 unknown 01:00"
    assert codes_of(*records) == [("event_outside_attempt", "a")]


@pytest.mark.parametrize("late", [committed("01:30", 5), verified("01:30", ok=True)])
def test_a_late_commit_or_verification_is_normal(late: Json) -> None:
    """Background writers finish after the attempt does (rule 16)."""
    assert codes_of(started(), late, ended()) == []


@pytest.mark.parametrize(
    "late",
    [
        suspended("01:30"),
        resumed("01:30"),
        alive("01:30"),
        waits("01:30"),
        goes_on("01:30"),
        begun("01:30", 1),
        restored("01:30", 1),
        step("01:30", 1),
    ],
)
def test_any_other_event_after_the_end_is_a_finding(late: Json) -> None:
    """Its clock or its attempt is wrong (rule 16)."""
    assert ("event_outside_attempt", "a") in codes_of(started(), late, ended())


@pytest.mark.parametrize("higher", ["a", "z"])
def test_several_steps_at_one_moment_are_the_highest(higher: str) -> None:
    """Neither the order of lines nor the canonical order chooses (rule 38)."""
    first, second = two_lives(
        [
            *(restored("00:10", 0), by("m", step("00:20", 10)), by(higher, step("00:20", 20))),
            step("00:30", 20),
        ],
        [restored("02:10", 20)],
    )

    assert first == "00:00 starting 00:10 advancing 00:20 discarded 00:30 unknown 01:00"
    assert second == "02:00 starting 02:10 unknown 03:00"


def test_a_restore_at_the_moment_of_a_step_comes_first() -> None:
    """The step belongs to the new life (rule 38)."""
    lane = lane_of(restored("00:10", 0), step("00:20", 20), restored("00:30", 5), step("00:30", 10))

    # The piece to 00:30 ends at step 10 of the life that went on from 5: both were done before.
    assert lane == "00:00 starting 00:10 mixed 00:20 replaying 00:30 unknown 01:00"


# -- kept and discarded --------------------------------------------------------------------


def test_work_beyond_a_later_restore_is_discarded_and_run_again() -> None:
    """What lies past the restored step is lost; doing it again is replaying."""
    first, second = two_lives(
        [restored("00:10", 0), step("00:20", 10), step("00:30", 20), step("00:40", 30)],
        [restored("02:10", 20), step("02:20", 30), step("02:30", 40)],
    )

    assert first == "00:00 starting 00:10 advancing 00:30 discarded 00:40 unknown 01:00"
    assert second == "02:00 starting 02:10 replaying 02:20 advancing 02:30 unknown 03:00"


def test_a_piece_across_the_restored_step_is_mixed() -> None:
    """Part of it was kept and part was not; nobody knows where in time."""
    first, second = two_lives(
        [restored("00:10", 0), step("00:20", 10), step("00:30", 20)],
        [restored("02:10", 15), step("02:20", 25)],
    )

    assert first == "00:00 starting 00:10 advancing 00:20 mixed 00:30 unknown 01:00"
    # From 15 to 25 the steps up to 20 had been done before.
    assert second == "02:00 starting 02:10 mixed 02:20 unknown 03:00"


def test_the_lowest_later_restore_decides() -> None:
    """A restart from the beginning discards what two attempts did."""
    lanes = progress_lanes(
        *(started(), restored("00:10", 0), step("00:20", 10), ended(by_whom="user")),
        *of("b", started("02:00"), restored("02:10", 10), step("02:20", 20)),
        *of("b", ended("03:00", "user")),
        *of("c", started("04:00"), restored("04:10", 0, None), step("04:20", 20), ended("05:00")),
    )

    assert lanes == {
        "a": "00:00 starting 00:10 discarded 00:20 unknown 01:00",
        "b": "02:00 starting 02:10 discarded 02:20 unknown 03:00",
        "c": "04:00 starting 04:10 replaying 04:20 unknown 05:00",
    }


def test_a_restart_inside_one_allocation_is_a_life_of_its_own() -> None:
    """A worker that restores again discards and replays within the attempt (rule 35)."""
    lane = lane_of(
        *(restored("00:10", 0), step("00:20", 10), step("00:30", 20)),
        *(restored("00:40", 10), step("00:50", 20), step("01:00", 30)),
    )

    assert lane == (
        "00:00 starting 00:10 advancing 00:20 discarded 00:30 unknown 00:40"
        " replaying 00:50 advancing 01:00"
    )


def test_the_last_report_counts_even_if_it_went_down() -> None:
    """Work goes on from the report before it, not from the highest (rule 38)."""
    first, _ = two_lives(
        [restored("00:10", 0), step("00:20", 30), step("00:30", 5), step("00:40", 10)],
        [restored("02:10", 10)],
    )

    assert first == (
        "00:00 starting 00:10 mixed 00:20 discarded 00:30 advancing 00:40 unknown 01:00"
    )


# -- nobody said what was restored ---------------------------------------------------------


def test_the_first_attempt_begins_at_step_0() -> None:
    """Without a stated restore there is nothing that it could have gone on from (rule 37)."""
    assert lane_of(alive("00:10"), step("00:20", 5)) == (
        "00:00 starting 00:10 advancing 00:20 unknown 01:00"
    )


def test_a_later_attempt_may_have_begun_anywhere() -> None:
    """The piece to its first step is unknown, and what was kept before it is open (rule 37)."""
    first, second = two_lives(
        [restored("00:10", 0), step("00:20", 10)],
        [alive("02:10"), step("02:20", 12), step("02:30", 20)],
    )

    assert first == "00:00 starting 00:10 mixed 00:20 unknown 01:00"
    assert second == "02:00 starting 02:10 unknown 02:20 advancing 02:30 unknown 03:00"


def test_what_is_discarded_stays_so_after_an_unstated_restore() -> None:
    """A stated lower restore decides; the blind one cannot bring work back (rule 37)."""
    lanes = progress_lanes(
        *(started(), restored("00:10", 0), step("00:20", 10), step("00:30", 20)),
        ended(by_whom="user"),
        *of("b", started("02:00"), restored("02:10", 10), ended("03:00", "user")),
        *of("c", started("04:00"), step("04:20", 20), ended("05:00")),
    )

    assert lanes["a"] == "00:00 starting 00:10 mixed 00:20 discarded 00:30 unknown 01:00"


def test_a_later_attempt_without_steps_is_not_followed_blindly() -> None:
    """Only work from an unknown state makes earlier work doubtful (rule 37)."""
    first, _ = two_lives([restored("00:10", 0), step("00:20", 10)], [alive("02:10")])

    assert first == "00:00 starting 00:10 advancing 00:20 unknown 01:00"


# -- waits, saves, pauses ------------------------------------------------------------------


def test_a_wait_lasts_to_its_resume() -> None:
    """The work before it was not reported, so it is unknown."""
    lane = lane_of(restored("00:10", 0), waits("00:20"), goes_on("00:30"), step("00:40", 1))

    assert lane == (
        "00:00 starting 00:10 unknown 00:20 waiting:data 00:30 advancing 00:40 unknown 01:00"
    )


def test_a_wait_without_resume_lasts_to_the_next_event() -> None:
    """Somebody worked again, whoever forgot to say so (rule 36)."""
    lane = lane_of(restored("00:10", 0), waits("00:20", "compile"), step("00:30", 1))

    assert lane == ("00:00 starting 00:10 unknown 00:20 waiting:compile 00:30 unknown 01:00")


def test_a_wait_that_nothing_follows_lasts_to_the_end() -> None:
    """A barrier that hung until the attempt was killed."""
    lane = lane_of(restored("00:10", 0), waits("00:20", "collective"))

    assert lane == "00:00 starting 00:10 unknown 00:20 waiting:collective 01:00"


def test_a_resume_ends_one_wait_only() -> None:
    """If another wait came between, the first lasted to that (rule 36)."""
    lane = lane_of(restored("00:10", 0), waits("00:20"), waits("00:30", "other"), goes_on("00:40"))

    assert lane == (
        "00:00 starting 00:10 unknown 00:20 waiting:data 00:30 waiting:other 00:40 unknown 01:00"
    )


def test_a_step_in_a_wait_does_not_end_it() -> None:
    """Its resume does; without one the next event does, whatever it is (rule 36)."""
    begin = (restored("00:10", 0), waits("00:20"), step("00:25", 1))

    resumed_lane = lane_of(*begin, goes_on("00:30"), step("00:40", 2))
    waiting_lane = lane_of(*begin, waits("00:30", "other"), goes_on("00:40"))

    assert resumed_lane == (
        "00:00 starting 00:10 unknown 00:20 waiting:data 00:30 advancing 00:40 unknown 01:00"
    )
    assert waiting_lane == (
        "00:00 starting 00:10 unknown 00:20 waiting:data 00:25 unknown 00:30 waiting:other 00:40"
        " unknown 01:00"
    )


def test_a_blocking_save_lasts_to_its_commit() -> None:
    """Training stands still; the step before it is complete."""
    lane = lane_of(
        *(restored("00:10", 0), step("00:20", 5), begun("00:20", 5), committed("00:25", 5)),
        step("00:40", 10),
    )

    assert lane == (
        "00:00 starting 00:10 advancing 00:20 saving 00:25 advancing 00:40 unknown 01:00"
    )


def test_a_background_save_cuts_nothing() -> None:
    """Steps go on beside it (rule 36)."""
    lane = lane_of(
        *(restored("00:10", 0), step("00:20", 5), begun("00:22", 5, blocking=False)),
        *(committed("00:35", 5, blocking=False), step("00:40", 10)),
    )

    assert lane == "00:00 starting 00:10 advancing 00:40 unknown 01:00"


def test_a_commit_is_as_blocking_as_its_save() -> None:
    """The commit of a background save cuts nothing, whatever it says of itself (rule 36)."""
    lane = lane_of(
        *(restored("00:10", 0), begun("00:12", 5, blocking=False), committed("00:15", 5)),
        step("00:40", 5),
    )

    assert lane == "00:00 starting 00:10 advancing 00:40 unknown 01:00"


@pytest.mark.parametrize(
    ("blocking", "lane"),
    [
        (True, "00:00 starting 00:10 unknown 00:20 advancing 00:40 unknown 01:00"),
        (False, "00:00 starting 00:10 advancing 00:40 unknown 01:00"),
    ],
)
def test_a_commit_whose_save_nobody_saw_speaks_for_itself(blocking: bool, lane: str) -> None:  # noqa: FBT001
    """Without a begun record the commit says whether it blocked (rule 36)."""
    events = (restored("00:10", 0), committed("00:20", 5, blocking=blocking), step("00:40", 5))

    assert lane_of(*events) == lane


@pytest.mark.parametrize(
    "other",
    [[], [committed("00:30", 6)], [committed("00:30", 5, "other")], [committed("01:30", 5)]],
)
def test_a_save_that_is_not_committed_lasts_to_the_next_event(other: list[Json]) -> None:
    """A commit of another step or name, or after the end, is not this save's (rule 36)."""
    lane = lane_of(restored("00:10", 0), begun("00:20", 5), *other, step("00:30", 5))

    assert lane == "00:00 starting 00:10 unknown 00:20 saving 00:30 unknown 01:00"


def test_a_save_that_nothing_follows_lasts_to_the_end() -> None:
    """The attempt was killed in the middle of it."""
    lane = lane_of(restored("00:10", 0), step("00:50", 5), begun("00:50", 5))

    assert lane == "00:00 starting 00:10 advancing 00:50 saving 01:00"


def test_waiting_goes_before_saving_before_steps() -> None:
    """Where states meet, the wait is shown, then the save (rule 36)."""
    lane = lane_of(
        *(restored("00:10", 0), begun("00:20", 5), waits("00:25", "checkpoint_storage")),
        *(goes_on("00:35"), step("00:38", 5), committed("00:40", 5)),
    )

    assert lane == (
        "00:00 starting 00:10 unknown 00:20 saving 00:25 waiting:checkpoint_storage 00:35"
        " saving 00:40 unknown 01:00"
    )


def test_a_piece_that_ends_at_a_step_and_another_event_is_the_steps() -> None:
    """Other events at that moment do not take it away (rule 38)."""
    lane = lane_of(restored("00:10", 0), step("00:20", 5), waits("00:20"), goes_on("00:30"))

    assert lane == "00:00 starting 00:10 advancing 00:20 waiting:data 00:30 unknown 01:00"


def test_suspended_time_is_waiting() -> None:
    """An hour of suspension between two steps is no work (rule 33)."""
    lane = lane_of(
        *(suspended("00:05"), resumed("00:08"), restored("00:10", 0), suspended("00:20")),
        *(resumed("00:30"), step("00:40", 1)),
    )

    assert lane == (
        "00:00 starting 00:05 waiting:suspended 00:08 starting 00:10 advancing 00:20"
        " waiting:suspended 00:30 advancing 00:40 unknown 01:00"
    )


def test_suspended_time_of_a_silent_attempt_is_unknown() -> None:
    """Without progress events nothing is known of it (rule 33)."""
    assert lane_of(suspended("00:20"), resumed("00:30")) == "00:00 unknown 01:00"
