"""Values in text: exact, and honest about what is unknown."""

from typing import Any

import pytest

from tallystick.receipt.reader import CountRange
from tallystick.receipt.wording import (
    bounds,
    clock,
    duration,
    duration_of,
    plural,
    seconds_wording,
    span,
)

DAY_US = 86_400_000_000


@pytest.mark.parametrize(
    ("length_us", "text"),
    [
        (0, "0:00:00"),
        (61_000_000, "0:01:01"),
        (90_000_000_000, "25:00:00"),
        (1, "0:00:00.000001"),
        (-1_500_000, "-0:00:01.500000"),
    ],
)
def test_a_duration_keeps_every_digit(length_us: int, text: str) -> None:
    """Hours may exceed a day, and microseconds show if there are any."""
    assert duration(length_us) == text


def test_a_stated_duration_may_be_absent() -> None:
    """What is not stated reads as the given word."""
    assert duration_of(None, "none") == "none"
    assert duration_of("420.000000", "none") == "0:07:00"


@pytest.mark.parametrize(
    ("text", "short"), [("1.000000", "1"), ("1.500000", "1.5"), ("100.000000", "100")]
)
def test_seconds_lose_only_zeros(text: str, short: str) -> None:
    """Trailing zeros of a fraction say nothing, and other zeros stay."""
    assert seconds_wording(text) == short


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "unknown"),
        (0, "0"),
        ("2.41", "2.41"),
        (CountRange(10, 19), "at least 10, at most 19"),
        (CountRange(10, None), "at least 10, at most unknown"),
        (CountRange(None, 19), "at least unknown, at most 19"),
        (CountRange(None, None), "unknown"),
    ],
)
def test_a_bound_is_a_word(value: Any, text: str) -> None:
    """Unknown is neither 0 nor empty, and a bound says which one it is."""
    assert bounds(value) == text


def test_an_interval_names_a_day_once() -> None:
    """The second date, and a date that is known, are left out."""
    hour_us = DAY_US // 24

    assert span(0, hour_us) == "1970-01-01 00:00:00 to 01:00:00"
    assert span(0, DAY_US) == "1970-01-01 00:00:00 to 1970-01-02 00:00:00"
    assert span(hour_us, 2 * hour_us, 0) == "01:00:00 to 02:00:00"
    assert clock(1) == "1970-01-01 00:00:00.000001"


def test_one_thing_is_singular() -> None:
    """Counts agree with their nouns."""
    assert (plural(1, "GPU"), plural(0, "GPU"), plural(8, "GPU")) == ("1 GPU", "0 GPUs", "8 GPUs")
