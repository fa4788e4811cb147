"""Spans: pieces of a lane, each with one class; together they cover the attempt exactly."""

from collections.abc import Iterable
from typing import NamedTuple


class Span(NamedTuple):
    """A stretch of a lane. Lanes are partitions: each span ends where the next begins."""

    start_us: int
    end_us: int
    label: str


Lane = tuple[Span, ...]


def join_equal(spans: Iterable[Span]) -> Lane:
    """Join neighbours with the same class and drop what has no length."""
    joined: list[Span] = []
    for span in spans:
        if span.start_us >= span.end_us:
            continue
        if joined and joined[-1].label == span.label and joined[-1].end_us == span.start_us:
            joined[-1] = Span(joined[-1].start_us, span.end_us, span.label)
        else:
            joined.append(span)
    return tuple(joined)


def overlay(lane: Iterable[Span], over: Iterable[tuple[int, int]], label: str) -> Lane:
    """Give some stretches of a lane another class, whatever class they had."""
    result: list[Span] = []
    stretches = sorted(over)
    for start_us, end_us, was in lane:
        cursor_us = start_us
        for from_us, to_us in stretches:
            low_us, high_us = max(from_us, cursor_us), min(to_us, end_us)
            if low_us < high_us:
                result += [Span(cursor_us, low_us, was), Span(low_us, high_us, label)]
                cursor_us = high_us
        result.append(Span(cursor_us, end_us, was))
    return join_equal(result)
