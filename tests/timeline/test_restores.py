"""What restores show beside lost steps."""

from typing import Any

import pytest

from tallystick.timeline.restores import DataReplay, counter_drift, data_replays, replayed_at_most
from tests.evidence.records import (
    Json,
    admitted,
    alive,
    committed,
    ended,
    of,
    record,
    restored,
    started,
    step,
)
from tests.timeline.timelines import draw


def then(*events: Json, key: str = "b", at: str = "02:00", **end: Any) -> list[Json]:
    """Give another attempt of an hour, interrupted."""
    return of(key, started(at), *events, ended(f"{int(at[:2]) + 1:02}{at[2:]}", "user", **end))


# -- counters ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "restore", "drift"),
    [
        ([step("00:10", 3)], 3, 0),
        ([step("00:10", 3)], 5, 2),
        ([step("00:10", 3, every=2)], 5, 1),
        ([step("00:10", 3), committed("00:20", 4)], 6, 2),
        ([alive("00:10")], 6, 0),
    ],
)
def test_a_counter_drifts_by_what_nobody_knows_to_be_done(
    before: list[Json], restore: int, drift: int
) -> None:
    """Beyond every report with its stride and every valid commit; nothing known is no drift."""
    records = (started(), *before, ended(by_whom="user"), *then(restored("02:05", restore)))

    assert counter_drift(draw(*records)) == drift


# -- steps ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("first", "second", "at_most"),
    [
        ([step("00:10", 40)], [restored("02:05", 30), step("02:10", 50)], 10),
        ([step("00:10", 40, every=5)], [restored("02:05", 40), step("02:10", 45, every=5)], 4),
        ([step("00:10", 40)], [restored("02:05", 30), step("02:10", 35, every=5)], 9),
        ([step("00:10", 40)], [restored("02:05", 30)], 10),
        ([step("00:10", 40)], [alive("02:05"), step("02:10", 20)], 20),
        ([restored("00:05", 0)], [restored("02:05", 0), step("02:10", 20)], 20),
        ([restored("00:05", 0)], [restored("02:05", 0)], None),
        ([step("00:10", 40)], [restored("02:05", 50), step("02:10", 60)], 0),
    ],
)
def test_steps_that_nobody_reported_may_have_been_run_again(
    first: list[Json], second: list[Json], at_most: int | None
) -> None:
    """Up to the stride less one beyond each last report; a life without any is unbounded."""
    records = (started(), *first, ended(by_whom="provider"), *then(*second))

    assert replayed_at_most(draw(*records)) == at_most


def test_a_clean_end_leaves_nothing_unreported() -> None:
    """What it reported, or restored, is where it stood."""
    first = (started(), restored("00:05", 0), step("00:10", 40, every=5))
    silent = then(restored("02:05", 40), exit_code=0)
    last = then(restored("04:05", 40), step("04:10", 45, every=5), key="c", at="04:00")

    run = draw(*first, ended(by_whom="user", exit_code=0), *silent, *last)

    assert replayed_at_most(run) == 0


def test_only_the_last_life_of_an_attempt_ends_with_it() -> None:
    """A worker that restored again inside the allocation may have been further than it said."""
    first = (started(), restored("00:05", 0), step("00:10", 40, every=5))
    again = (restored("00:20", 40), step("00:30", 45, every=5))

    assert replayed_at_most(draw(*first, *again, ended(exit_code=0))) == 4


def test_a_run_without_attempts_ran_nothing_again() -> None:
    """Only a start makes an attempt of it."""
    assert replayed_at_most(draw(record("run.declared", "00:00", {"run": "run"}))) == 0


# -- data ----------------------------------------------------------------------------------


def read_on(**body: Any) -> Json:
    """Say where the data of an attempt went on."""
    return record("data.positioned", "00:10", {"attempt": "a"} | body)


@pytest.mark.parametrize(
    ("consumed", "batch", "expected"),
    [
        (40, 40, DataReplay("a", 0, 0)),
        (40, 10, DataReplay("a", 30, 0)),
        (40, 45, DataReplay("a", 0, 5)),
    ],
)
def test_data_come_again_or_never(consumed: int, batch: int, expected: DataReplay) -> None:
    """By where the reader went on and how much the restored state had consumed."""
    records = admitted([read_on(consumed=consumed, batch=batch)]).records

    assert data_replays(records, {}) == ((expected,), ())


def test_the_key_that_counts_stands_on_it() -> None:
    """Another source may know the attempt by another key."""
    records = admitted([read_on(consumed=1, batch=1)]).records

    replays, _ = data_replays(records, {"a": "slurm:7"})

    assert [each.attempt for each in replays] == ["slurm:7"]


def test_other_records_say_nothing_of_data() -> None:
    """Steps are not batches."""
    assert data_replays(admitted([started(), step("00:10", 1)]).records, {}) == ((), ())


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"consumed": 1},
        {"consumed": -1, "batch": 1},
        {"consumed": 1, "batch": True},
        {"consumed": "1", "batch": 1},
        {"consumed": 1, "batch": None},
        {"consumed": 1, "batch": 1, "attempt": 7},
        {"consumed": 1, "batch": 1, "attempt": None},
    ],
)
def test_a_position_that_is_none_is_a_finding(body: Json) -> None:
    """`bad_body`; nothing checked it when it was admitted (rule 6)."""
    (bad,) = admitted([read_on(**body)]).records

    replays, (finding,) = data_replays([bad], {})

    assert replays == ()
    assert (finding.code, finding.digest) == ("bad_body", bad.digest)
