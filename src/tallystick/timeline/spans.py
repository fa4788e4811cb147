"""Spans: pieces of a lane, each with one class; together they cover the attempt exactly."""

from collections.abc import Iterable
from typing import NamedTuple


class Span(NamedTuple):
    """A stretch of a lane. Lanes are partitions: each span ends where the next begins."""

    start_us: int
    end_us: int
    label: str


Lane = tuple[Span, ...]


def join_equal(spans: Iterable[tuple[int, int, str]]) -> Lane:
    """Join neighbours with the same class and drop what has no length."""
    joined: list[Span] = []
    first_us = last_us = 0
    current: str | None = None
    for start_us, end_us, label in spans:
        if start_us >= end_us:
            continue
        if label != current or start_us != last_us:
            if current is not None:
                joined.append(Span(first_us, last_us, current))
            first_us, current = start_us, label
        last_us = end_us
    if current is not None:
        joined.append(Span(first_us, last_us, current))
    return tuple(joined)


def overlay(lane: Iterable[Span], over: Iterable[tuple[int, int]], label: str) -> Lane:
    """Give some stretches of a lane another class, whatever class they had."""
    result: list[tuple[int, int, str]] = []
    stretches = sorted(over)
    for start_us, end_us, was in lane:
        cursor_us = start_us
        for from_us, to_us in stretches:
            low_us, high_us = max(from_us, cursor_us), min(to_us, end_us)
            if low_us < high_us:
                result += [(cursor_us, low_us, was), (low_us, high_us, label)]
                cursor_us = high_us
        result.append((cursor_us, end_us, was))
    return join_equal(result)
