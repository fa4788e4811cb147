"""Restarts: how often a run was begun again after an interruption, against a stated limit."""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from tallystick.timeline.attempt import Attempt


class LimitBreach(NamedTuple):
    """The first restart beyond a limit: its number among restarts, and the attempt that it began.

    ``interrupted`` is the attempt after which nothing was to be begun any more.
    """

    number: int
    interrupted: str
    attempt: str


def restart_limit_breach(
    attempts: Sequence[Attempt], restarts_max: int, *, fruitless_only: bool = False
) -> LimitBreach | None:
    """Find the first restart beyond a limit.

    Args:
        attempts: The attempts of a run, in order.
        restarts_max: How many restarts there may be.
        fruitless_only: Begin to count again after an attempt that reported a new highest step.
    """
    count = 0
    highest = 0
    for attempt, following in pairwise(attempts):
        reached = _highest_step(attempt)
        if fruitless_only and reached > highest:
            count = 0
        highest = max(highest, reached)
        if attempt.is_interrupted:
            count += 1
            if count > restarts_max:
                return LimitBreach(count, attempt.key, following.key)
    return None


def _highest_step(attempt: Attempt) -> int:
    bodies = (record.body for record in attempt.records.of("progress.step"))
    return max((getattr(body, "step", 0) for body in bodies), default=0)
