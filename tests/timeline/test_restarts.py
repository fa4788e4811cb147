"""How often a run was begun again, against a stated limit."""

import pytest

from tallystick.timeline.restarts import LimitBreach, restart_limit_breach
from tests.evidence.records import Json, alive, ended, of, started, step
from tests.timeline.timelines import draw


def attempt(key: str, at: str, by_whom: str = "user", number: int | None = None) -> list[Json]:
    """Give an attempt of half an hour that reported one step at most."""
    until = f"{at[:2]}:30"
    steps = [] if number is None else [step(until, number)]
    return of(key, started(at), alive(at), *steps, ended(until, by_whom))


def breach(limit: int, *records: Json, fruitless_only: bool = False) -> LimitBreach | None:
    """Find the first restart of the only run beyond a limit."""
    attempts = [each.attempt for each in draw(*records).attempts]
    return restart_limit_breach(attempts, limit, fruitless_only=fruitless_only)


THREE = (*attempt("a", "01:00"), *attempt("b", "02:00"), *attempt("c", "03:00"))


@pytest.mark.parametrize(
    ("limit", "expected"),
    [(0, LimitBreach(1, "a", "b")), (1, LimitBreach(2, "b", "c")), (2, None), (3, None)],
)
def test_the_first_restart_beyond_the_limit_breaches_it(
    limit: int, expected: LimitBreach | None
) -> None:
    """It names the attempt after which there was to be none, and the one that came."""
    assert breach(limit, *THREE) == expected


def test_an_interruption_that_nothing_follows_is_no_restart() -> None:
    """Who stopped at the limit kept it."""
    assert breach(0, *attempt("a", "01:00")) is None


def test_going_on_after_a_completion_is_no_restart() -> None:
    """Nothing had been interrupted."""
    assert breach(0, *attempt("a", "01:00", "completed"), *attempt("b", "02:00")) is None


def test_without_attempts_there_is_no_restart() -> None:
    """A run that is only declared has none."""
    assert restart_limit_breach([], 0) is None


def test_a_new_highest_step_begins_the_count_of_fruitless_restarts_again() -> None:
    """Restarts that lead somewhere are not what a loop is made of."""
    records = (
        *attempt("a", "01:00"),
        *attempt("b", "02:00", number=5),
        *attempt("c", "03:00", number=5),
        *attempt("d", "04:00", number=4),
    )

    assert breach(1, *records) == LimitBreach(2, "b", "c")
    assert breach(1, *records, fruitless_only=True) == LimitBreach(2, "c", "d")
