"""Numbers stay text: values as they were printed, times exactly."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallystick.collectors.samples.number_text import (
    MILLISECONDS,
    SECONDS,
    BadSampleError,
    NumberText,
    instant_us,
    read_json,
    value_text,
)


def test_json_numbers_keep_their_digits() -> None:
    """No digit of a number is lost or added, whatever its form."""
    text = "[97, 9007199254740993, 1.40737488355328e+16, 0.10, -0, 1E5]"

    numbers = read_json(text)

    assert numbers == ["97", "9007199254740993", "1.40737488355328e+16", "0.10", "-0", "1E5"]


@pytest.mark.parametrize("blank", [None, "NaN", "nan", "+NaN", "-nan", NumberText("NaN")])
def test_a_blank_is_null(blank: str | None) -> None:
    """Null and every spelling of NaN are no value."""
    assert value_text(blank) is None


@pytest.mark.parametrize("value", ["97", "+Inf", "-Inf", "Infinity", "4294967295", "-3", "abc"])
def test_everything_else_is_handed_on(value: str) -> None:
    """What is impossible is decided when coverage is computed, from what was said."""
    assert value_text(value) == value


def test_a_value_is_a_plain_text() -> None:
    """A number of a JSON text becomes an ordinary string in a record."""
    assert type(value_text(NumberText("97"))) is str


@pytest.mark.parametrize("value", [True, [], {}, "", " ", "\ud800", "\uff19\uff17"])
def test_what_is_no_value_is_refused(value: object) -> None:
    """A value is a number or a text in ASCII."""
    with pytest.raises(BadSampleError):
        value_text(value)


@pytest.mark.parametrize(
    ("time", "unit_us", "expected"),
    [
        ("1770000030.218", SECONDS, 1_770_000_030_218_000),
        ("1770000030", SECONDS, 1_770_000_030_000_000),
        ("1770000030.000001", SECONDS, 1_770_000_030_000_001),
        ("1770000030.2180000", SECONDS, 1_770_000_030_218_000),
        ("1.77e9", SECONDS, 1_770_000_000_000_000),
        ("0", SECONDS, 0),
        ("-1.5", SECONDS, -1_500_000),
        ("1770000030218", MILLISECONDS, 1_770_000_030_218_000),
    ],
)
def test_a_time_is_read_exactly(time: str, unit_us: int, expected: int) -> None:
    """A decimal text becomes integer microseconds without a float in between."""
    assert instant_us(NumberText(time), unit_us) == expected


@pytest.mark.parametrize(
    "time",
    [
        NumberText("1770000030.2180001"),
        NumberText("1e30"),
        NumberText("1e-30"),
        NumberText("1e99999999999999999999"),
        NumberText("NaN"),
        NumberText("Infinity"),
        NumberText("253402300800"),
        NumberText("9" * 5000),
        "1770000030",
        None,
        True,
    ],
)
def test_what_is_no_time_is_refused(time: object) -> None:
    """A time is a number, in whole microseconds, within the calendar."""
    with pytest.raises(BadSampleError):
        instant_us(time, SECONDS)


@given(st.integers(min_value=0, max_value=253402300799999999))
def test_every_microsecond_survives(at_us: int) -> None:
    """Seconds with six places are read back as the same microsecond."""
    text = format(Decimal(at_us) / 10**6, "f")

    assert instant_us(NumberText(text), SECONDS) == at_us
