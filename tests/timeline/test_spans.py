"""Lanes: spans that follow each other, joined and overlaid without losing a moment."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from tallystick.timeline.spans import Lane, Span, join_equal, overlay

lengths = st.lists(st.tuples(st.integers(0, 4), st.sampled_from("ab")), max_size=6)
stretches = st.lists(st.tuples(st.integers(-3, 25), st.integers(-3, 25)), max_size=4)


def lane(parts: list[tuple[int, str]]) -> list[Span]:
    """Lay parts of some lengths one after another."""
    spans, at = [], 0
    for length, label in parts:
        spans.append(Span(at, at + length, label))
        at += length
    return spans


def cells(spans: list[Span] | Lane) -> dict[int, str]:
    """Give the class of each microsecond."""
    return {at: label for start, end, label in spans for at in range(start, end)}


@given(lengths)
def test_joining_keeps_every_moment_and_its_class(parts: list[tuple[int, str]]) -> None:
    """Only the cuts between equal neighbours go."""
    joined = join_equal(lane(parts))

    assert cells(joined) == cells(lane(parts))
    assert all(span.start_us < span.end_us for span in joined)
    assert all(one.label != other.label for one, other in pairwise(joined))


def test_spans_that_do_not_meet_are_not_joined() -> None:
    """Equal classes with time between them stay apart."""
    spans = [Span(0, 1, "a"), Span(2, 3, "a")]

    assert join_equal(spans) == tuple(spans)


@given(lengths, stretches)
def test_an_overlay_changes_what_lies_under_it_only(
    parts: list[tuple[int, str]], over: list[tuple[int, int]]
) -> None:
    """Under the stretches there is the new class, elsewhere the old one, and no hole."""
    covered = {at for start, end in over for at in range(start, end)}
    expected = {at: "x" if at in covered else was for at, was in cells(lane(parts)).items()}

    assert cells(overlay(join_equal(lane(parts)), over, "x")) == expected
