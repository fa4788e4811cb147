"""Work in a child: what it told is known, however it ends."""

import os
import signal
import time
from collections.abc import Callable
from typing import Any

import pytest

from tallystick.emit.dcgm.child import Tell, told_by_child


def hangs(tell: Tell) -> None:
    """Tell one thing and hang."""
    tell({"a": 1})
    time.sleep(60)


def fails(tell: Tell) -> None:
    """Tell one thing and fail."""
    tell({"a": 1})
    raise ValueError


def dies(tell: Tell) -> None:
    """Tell one thing and be killed."""
    tell({"a": 1})
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize(("work", "is_whole"), [(hangs, False), (fails, True), (dies, True)])
def test_what_was_told_before_is_known(work: Callable[[Tell], None], is_whole: bool) -> None:  # noqa: FBT001
    """Only a child that had to be killed did not get to its end."""
    assert told_by_child(work, 0.3) == ([{"a": 1}], is_whole)


def test_a_child_that_floods_is_killed() -> None:
    """It cannot fill the memory of the hook."""

    def floods(tell: Tell) -> None:
        while True:
            tell({"a": "x" * 10_000})

    lines, is_whole = told_by_child(floods, 30)

    assert not is_whole
    assert len(lines) < 1000


def test_a_child_changes_nothing_here() -> None:
    """What it loads and sets stays with it."""
    here: dict[str, Any] = {}

    def sets(tell: Tell) -> None:
        here["a"] = 1
        tell(here)

    lines, _ = told_by_child(sets, 5)

    assert (lines, here) == ([{"a": 1}], {})
