"""Many small pieces of work side by side, in threads that nobody has to wait for at the end."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, Any, Callable, TypeVar

if TYPE_CHECKING:
    from collections.abc import Sequence

THREADS_MAX = 64
Made = TypeVar("Made")


def cores() -> int:
    """Count the processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def run_all(work: Sequence[Callable[[], Made]], threads: int | None = None) -> list[Made]:
    """Do all the work, what comes first first; give what came of it, in that order.

    The threads are daemons: a training job that ends does not wait for them.

    Args:
        work: What to do.
        threads: How much at once, None for as many as there are processors.

    Raises:
        BaseException: what the first work that failed raised; no more was begun then.
    """
    made: dict[int, Any] = {}
    errors: list[BaseException] = []
    waiting = list(range(len(work) - 1, -1, -1))

    def do() -> None:
        while waiting and not errors:
            try:
                number = waiting.pop()
            except IndexError:  # Another thread was faster.
                return
            try:
                made[number] = work[number]()
            except BaseException as error:  # noqa: BLE001 (raised again where it belongs)
                errors.append(error)

    count = max(1, min(cores() if threads is None else threads, len(work), THREADS_MAX))
    others = [threading.Thread(target=do, daemon=True) for _ in range(count - 1)]
    for thread in others:
        thread.start()
    do()
    for thread in others:
        thread.join()
    if errors:
        raise errors[0]
    return [made[number] for number in range(len(work))]
