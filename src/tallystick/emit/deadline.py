"""A limit of time that several steps share."""

from __future__ import annotations

import time


class Deadline:
    """The end of a budget, by a clock that nobody sets."""

    def __init__(self, limit_us: int) -> None:
        self._end_ns = time.monotonic_ns() + limit_us * 1000

    def left_s(self, *, at_most_s: float | None = None, keep_s: float = 0.0) -> float:
        """Give the seconds that a step may take, with some kept for the steps after it."""
        left_s = max(0.0, (self._end_ns - time.monotonic_ns()) / 10**9 - keep_s)
        return left_s if at_most_s is None else min(left_s, at_most_s)
