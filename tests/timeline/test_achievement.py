"""What a run achieved and lost (rules 39 to 44)."""

from typing import Any

import pytest

from tallystick.timeline.achievement import Interruption
from tests.evidence.records import (
    Json,
    accepted,
    alive,
    begun,
    committed,
    ended,
    of,
    rejected,
    restored,
    started,
    step,
    verified,
    waits,
)
from tests.timeline.timelines import codes_of, draw

Bounds = tuple[int, int | None]


def interruptions(*records: Json) -> dict[str, Interruption]:
    """Give the interruptions of the only run, by attempt."""
    return {each.attempt: each for each in draw(*records).achievement.interruptions}


def then(*events: Json, key: str = "b", at: str = "02:00") -> list[Json]:
    """Give a completed attempt of an hour with some events."""
    until = f"{int(at[:2]) + 1:02}{at[2:]}"
    return of(key, started(at), *events, ended(until))


def lost(first: list[Json], later: list[Json], **end: Any) -> Bounds:
    """Give the steps that attempt `a` lost, interrupted after some events."""
    found = interruptions(started(), *first, ended(by_whom="provider", **end), *later)["a"]
    return found.lost_at_least, found.lost_at_most


# -- interruptions -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("by_whom", "interrupted"),
    [
        ("completed", False),
        ("user", True),
        ("scheduler", True),
        ("provider", True),
        ("hardware", True),
        ("time_limit", True),
        ("maintenance", True),
        ("unknown", True),
    ],
)
def test_an_end_that_was_no_completion_interrupts(by_whom: str, interrupted: bool) -> None:  # noqa: FBT001
    """With or without a successor, the user's own act included (rule 39)."""
    assert bool(interruptions(started(), ended(by_whom=by_whom))) is interrupted


def test_an_open_attempt_is_no_interruption() -> None:
    """Nobody said that it ended (rule 14)."""
    assert interruptions(started(), step("00:10", 5)) == {}


def test_an_interruption_tells_where_it_stood_and_what_came_back() -> None:
    """The last reported step and the restore of the next attempt (rule 39)."""
    records = (
        *(started(), restored("00:05", 0), step("00:10", 30), step("00:20", 40)),
        *(ended(by_whom="provider"), *then(restored("02:05", 32), step("02:10", 40))),
    )

    assert interruptions(*records) == {"a": Interruption("a", 40, 32, 8, 8, 0)}


def test_a_stride_bounds_what_was_lost() -> None:
    """Up to every - 1 more steps may have been done since the last report (rule 39)."""
    assert lost([step("00:10", 40, every=5)], then(restored("02:05", 32))) == (8, 12)


@pytest.mark.parametrize(
    ("end", "bounds"),
    [
        ({"exit_code": 0}, (8, 8)),
        ({"exit_code": 0, "signal": 0}, (8, 8)),
        ({"exit_code": 0, "signal": 15}, (8, 12)),
        ({"exit_code": 1}, (8, 12)),
        ({}, (8, 12)),
    ],
)
def test_a_clean_end_reported_everything(end: dict[str, int], bounds: Bounds) -> None:
    """Exit code 0 and no signal: nothing was done beyond the last report (rule 39)."""
    assert lost([step("00:10", 40, every=5)], then(restored("02:05", 32)), **end) == bounds


def test_a_save_between_two_reports_loses_nothing() -> None:
    """The restore lies beyond the last report: a save on notice (rule 39)."""
    later = then(restored("02:05", 43))

    assert lost([step("00:10", 40, every=5)], later) == (0, 1)
    assert lost([step("00:10", 40, every=2)], later) == (0, 0)


@pytest.mark.parametrize(
    "later",
    [[], then(alive("02:05"), waits("02:10")), then(step("02:05", 1), restored("02:10", 32))],
)
def test_nobody_knows_what_came_back(later: list[Json]) -> None:
    """No successor, none that worked, or one that stepped before it restored (rule 39)."""
    records = (started(), step("00:10", 40, every=5), ended(by_whom="user"), *later)

    assert interruptions(*records)["a"] == Interruption("a", 40, None, 0, 44, None)


@pytest.mark.parametrize("event", [begun("02:05", 1), committed("02:05", 1), step("02:05", 1)])
def test_the_first_later_attempt_that_worked_decides(event: Json) -> None:
    """Its silence is not mended by the restore of one after it (rule 39)."""
    records = (
        *(started(), step("00:10", 40), ended(by_whom="user"), *then(event)),
        *then(restored("04:05", 32), key="c", at="04:00"),
    )

    assert interruptions(*records)["a"].restored_step is None


def test_an_attempt_that_never_worked_is_passed_over() -> None:
    """A restart that failed before it restored anything decides nothing (rule 39)."""
    records = (
        *(started(), step("00:10", 40), ended(by_whom="user"), *then(alive("02:05"))),
        *then(restored("04:05", 32), key="c", at="04:00"),
    )

    assert interruptions(*records)["a"].restored_step == 32


@pytest.mark.parametrize(
    ("events", "end", "bounds"),
    [
        ([restored("00:05", 30)], {}, (10, None)),
        ([restored("00:05", 30)], {"exit_code": 0}, (10, 10)),
        ([alive("00:05")], {}, (0, None)),
        ([alive("00:05")], {"exit_code": 0}, (0, 0)),
        ([committed("00:05", 7)], {"exit_code": 0}, (0, 0)),
        ([], {}, (0, None)),
        ([], {"exit_code": 0}, (0, None)),
        ([verified("00:05", ok=True)], {"exit_code": 0}, (0, None)),
    ],
)
def test_without_a_report_it_stood_where_it_began(
    events: list[Json], end: dict[str, int], bounds: Bounds
) -> None:
    """Its restore, else 0 in the run's first attempt; silence knows nothing (rule 39)."""
    assert lost(events, then(restored("02:05", 20)), **end) == bounds


def test_a_later_attempt_without_a_restore_stood_nobody_knows_where() -> None:
    """Only the run's first attempt begins at 0 (rule 39)."""
    records = (
        *(started(), ended(), *of("b", started("02:00"), alive("02:05"))),
        *of("b", ended("03:00", "user", exit_code=0)),
        *then(restored("04:05", 20), key="c", at="04:00"),
    )

    found = interruptions(*records)["b"]
    assert (found.lost_at_least, found.lost_at_most) == (0, None)


def test_the_last_life_decides_where_it_stood() -> None:
    """A restart inside the allocation went back before the end (rule 39)."""
    first = [restored("00:05", 0), step("00:10", 40), restored("00:20", 10), step("00:30", 20)]

    assert lost(first, then(restored("02:05", 10))) == (10, 10)


def test_a_last_life_without_a_report_stood_at_its_restore() -> None:
    """The reports of the life before are history (rule 39)."""
    first = [restored("00:05", 0), step("00:10", 40, every=5), restored("00:20", 15)]
    records = (started(), *first, ended(by_whom="user"), *then(restored("02:05", 10)))

    assert interruptions(*records)["a"] == Interruption("a", 40, 10, 5, 9, 0)


def test_a_step_after_the_end_is_a_fact() -> None:
    """The writer's clock is off, and the step was still done (rule 16)."""
    assert lost([step("01:00:05", 40)], then(restored("02:05", 32))) == (8, 8)


# -- avoidable loss ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("commits", "avoidable"),
    [
        ([], 0),
        ([committed("00:20", 30)], 10),
        ([committed("00:20", 20)], 0),
        ([committed("00:20", 10)], 0),
        ([committed("00:20", 30), verified("00:25", ok=False)], 0),
        ([committed("02:05", 30)], 10),
        ([committed("02:06", 30)], 0),
        ([committed("00:20", 30), committed("02:05", 5)], 0),
        ([committed("00:20", 30), committed("02:06", 5)], 10),
        ([committed("00:20", 60)], 40),
        ([committed("00:20", 30, "x"), committed("00:25", 25, "y")], 10),
        ([committed("00:20", 30, "x"), committed("00:25", 35), committed("02:06", 5)], 15),
        (of("b", committed("02:05", 30)), 10),
    ],
)
def test_a_better_checkpoint_that_was_there_is_avoidable_loss(
    commits: list[Json], avoidable: int
) -> None:
    """Commits up to the restore count, valid as they were then (rule 40)."""
    records = (started(), step("00:10", 40), *commits, ended(by_whom="user"))

    found = interruptions(*records, *then(restored("02:05", 20)))["a"]

    assert found.avoidable_lost == avoidable


# -- replayed and completed steps ----------------------------------------------------------


@pytest.mark.parametrize(
    ("records", "replayed"),
    [
        ([started(), ended()], (0, 0)),
        (
            [
                started(),
                step("00:10", 40),
                ended(),
                *then(restored("02:05", 30), step("02:10", 50)),
            ],
            (10, 10),
        ),
        (
            [
                started(),
                step("00:10", 40),
                ended(),
                *then(restored("02:05", 30), step("02:10", 35)),
            ],
            (5, 5),
        ),
        (
            [
                started(),
                step("00:10", 40),
                ended(),
                *then(restored("02:05", 50), step("02:10", 60)),
            ],
            (0, 0),
        ),
        ([started(), step("00:10", 40), ended(), *then(step("02:10", 50))], (0, 40)),
        ([started(), step("00:10", 40), ended(), *then()], (0, None)),
        ([started(), ended(), *then(step("02:10", 50))], (0, None)),
        (
            [
                started(),
                restored("00:05", 0),
                step("00:10", 40),
                restored("00:20", 10),
                step("00:30", 30),
                ended(),
            ],
            (20, 20),
        ),
    ],
)
def test_steps_that_were_run_again_are_replayed(records: list[Json], replayed: Bounds) -> None:
    """From the restore to what had been done before; a silent attempt may have (rule 41)."""
    achieved = draw(*records).achievement

    assert (achieved.replayed_at_least, achieved.replayed_at_most) == replayed


@pytest.mark.parametrize(
    ("records", "steps"),
    [
        ([started(), ended()], None),
        ([started(), alive("00:05"), ended()], None),
        ([started(), step("00:10", 40), step("00:20", 35), ended()], 35),
        ([started(), restored("00:05", 30), ended()], 30),
        ([started(), step("00:10", 40), ended(), *then(restored("02:05", 0, None))], 0),
        ([started(), step("00:10", 40), ended(), *then(alive("02:05"))], 40),
    ],
)
def test_a_run_stands_where_its_last_life_stands(records: list[Json], steps: int | None) -> None:
    """The last report, else the restore: after a fresh start the lineage is short (rule 42)."""
    assert draw(*records).achievement.steps_completed == steps


# -- findings ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "restore", "ahead"),
    [
        ([step("00:10", 40, every=5)], 44, False),
        ([step("00:10", 40, every=5)], 45, True),
        ([step("00:10", 50), step("00:20", 10)], 45, False),
        ([step("00:10", 40), committed("00:20", 45)], 45, False),
        ([step("00:10", 40), committed("00:20", 45), verified("00:30", ok=False)], 45, True),
        ([committed("00:20", 30)], 45, False),
        ([alive("00:05")], 45, False),
    ],
)
def test_a_restore_beyond_all_that_is_known_is_ahead(
    before: list[Json],
    restore: int,
    ahead: bool,  # noqa: FBT001
) -> None:
    """More than every report and its stride, and every valid commit (rule 42)."""
    records = (started(), *before, ended(by_whom="user"), *then(restored("02:05", restore)))

    assert codes_of(*records) == ([("restored_ahead", "b")] if ahead else [])


def fruitless(key: str, at: str, by_whom: str = "user", number: int | None = None) -> list[Json]:
    """Give an attempt of half an hour that reported one step at most."""
    until = f"{at[:2]}:30"
    steps = [] if number is None else [step(until, number)]
    return of(key, started(at), alive(at), *steps, ended(until, by_whom))


@pytest.mark.parametrize(
    ("attempts", "loops"),
    [
        (fruitless("a", "01:00"), []),
        ([*fruitless("a", "01:00"), *fruitless("b", "02:00")], ["b"]),
        ([*fruitless("a", "01:00"), *fruitless("b", "02:00", "completed")], []),
        ([*fruitless("a", "01:00"), *fruitless("b", "02:00", number=1)], []),
        ([*fruitless("a", "01:00", number=5), *fruitless("b", "02:00", number=5)], []),
        (
            [
                *fruitless("a", "01:00", number=5),
                *fruitless("b", "02:00", number=5),
                *fruitless("c", "03:00", number=4),
                *fruitless("d", "04:00"),
                *fruitless("e", "05:00", number=6),
            ],
            ["d"],
        ),
        (
            [
                *fruitless("a", "01:00"),
                *fruitless("b", "02:00"),
                *fruitless("c", "03:00", number=1),
                *fruitless("d", "04:00"),
                *fruitless("e", "05:00"),
            ],
            ["b", "e"],
        ),
        (
            [
                *fruitless("a", "01:00"),
                *of("b", started("02:00"), ended("02:30", "user")),
                *fruitless("c", "03:00"),
            ],
            [],
        ),
    ],
)
def test_attempts_that_reach_nothing_new_are_a_loop(attempts: list[Json], loops: list[str]) -> None:
    """Two or more interrupted in a row with progress events; it stands on the last (rule 43)."""
    found = [attempt for code, attempt in codes_of(*attempts) if code == "restart_loop"]

    assert found == loops


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        ([], None),
        ([accepted("04:00")], True),
        ([rejected("04:00")], False),
        ([accepted("04:00"), rejected("05:00")], False),
        ([rejected("04:00"), accepted("05:00")], True),
        ([accepted("04:00"), rejected("04:00")], False),
        ([rejected("04:00"), accepted("05:00"), accepted("04:00")], True),
    ],
)
def test_the_latest_verdict_counts(verdicts: list[Json], expected: bool | None) -> None:  # noqa: FBT001
    """At one moment a rejection does; an exit code says nothing (rule 44)."""
    achieved = draw(started(), ended(exit_code=0), *verdicts).achievement

    assert achieved.accepted is expected


@pytest.mark.parametrize(
    ("verdicts", "late"),
    [
        ([accepted("02:00")], True),
        ([accepted("01:30")], True),
        ([accepted("02:00:00.000001")], False),
        ([accepted("01:30"), rejected("01:40")], False),
        ([accepted("01:30"), rejected("01:40"), accepted("05:00")], True),
        ([rejected("01:30")], False),
    ],
)
def test_an_attempt_after_the_first_acceptance_is_a_finding(
    verdicts: list[Json],
    late: bool,  # noqa: FBT001
) -> None:
    """It started at or after it, and the output stands accepted (rule 44)."""
    found = codes_of(started(), ended(), *verdicts, *then())

    assert found == ([("attempt_after_accept", "b")] if late else [])
