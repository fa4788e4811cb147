"""Shipping for as long as the node runs: again and again, and ever more slowly while it fails."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Callable

from tallystick.emit.post import NotSentError
from tallystick.emit.slurm.held import forget_old

if TYPE_CHECKING:
    from pathlib import Path

    from tallystick.emit.ship import Send, Shipped, Shipper

WAIT_S_MAX = 300.0
Wait = Callable[[float], bool]
Say = Callable[[str], None]


def ship_once(shipper: Shipper, send: Send, on_batch: Callable[[Shipped], None]) -> Shipped:
    """Send all that waits; a batch that is too large for the other side is halved.

    Raises:
        NotSentError: the other side cannot be reached, or will not take it.
        OSError: the spool cannot be read or changed.
    """
    try:
        return shipper.ship(send, on_batch)
    except NotSentError as error:
        if not error.too_large or shipper.lines_max == 1:
            raise
    shipper.lines_max = max(1, shipper.lines_max // 2)
    return ship_once(shipper, send, on_batch)


def ship_on(
    shipper: Shipper, send: Send, spool: Path, *, every_s: float, wait: Wait, say: Say
) -> None:
    """Send what comes, until the wait is ended.

    Args:
        shipper: Reads the spool.
        send: Delivers a batch.
        spool: Where attempts that are told are forgotten after a while.
        every_s: How long to wait when nothing is left.
        wait: Waits some seconds; True ends it all.
        say: Told what goes wrong, and when it is well again.
    """
    failures = 0
    pause_s = 0.0
    while not wait(pause_s):
        try:
            shipped = ship_once(shipper, send, lambda _: None)
        except (NotSentError, OSError) as error:
            if failures == 0:
                say(f"not sent, will try again: {error}")
            failures += 1
            pause_s = pause_after(failures, getattr(error, "retry_after_s", None))
            continue
        if failures:
            say(f"sent again after {failures} failures")
        failures, pause_s = 0, every_s
        for problem in shipped.problems:
            say(problem)
        forget_old(spool)


def pause_after(failures: int, asked_s: float | None) -> float:
    """Give the seconds until the next try: doubled each time, never all nodes at once."""
    if asked_s is not None:
        return min(WAIT_S_MAX, asked_s)
    return min(WAIT_S_MAX, 2.0 ** min(failures, 16)) * random.uniform(0.5, 1.0)  # noqa: S311
