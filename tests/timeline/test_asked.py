"""What is asked of segments: every window once, for all attempts that hold a GPU."""

from fractions import Fraction

from tests.evidence.records import ended, linked, moment_us, of, started
from tests.timeline.segment_samples import Drawn, rows_of, segment

A_DAY = segment("a", [*rows_of("00:00 23:00", "g1"), *rows_of("00:00", "g2")])


def asked(*records: dict[str, object], gap_factor: Fraction = Fraction(5, 2)) -> list[list[object]]:
    """Give the windows of each segment: GPU, minutes of start and end, reach in seconds."""
    midnight_us = moment_us("00:00")
    return [
        [
            (
                window.gpu,
                (window.start_us - midnight_us) // 60_000_000,
                (window.end_us - midnight_us) // 60_000_000,
                window.reach_us // 1_000_000,
            )
            for window in each.windows
        ]
        for each in Drawn(*records, gap_factor=gap_factor).asked()
    ]


def test_every_attempt_on_a_gpu_of_the_segment_asks() -> None:
    """GPUs without a UUID and those that the segment does not name ask nothing."""
    records = (
        *(started(gpus="g1 g2 g3", gpu_count=4), ended()),
        *of("b", started("02:00"), ended("03:00")),
    )

    assert asked(*records, A_DAY) == [
        [("g1", 0, 60, 150), ("g1", 120, 180, 150), ("g2", 0, 60, 150)]
    ]


def test_a_wider_gap_factor_asks_further() -> None:
    """The reach is part of the question (rule 23)."""
    assert asked(started(), ended(), A_DAY, gap_factor=Fraction(4)) == [[("g1", 0, 60, 240)]]


def test_equal_windows_ask_once() -> None:
    """Two runs may share a GPU at the same time."""
    other = of("b", started(run="other"), ended())

    assert asked(started(), ended(), *other, A_DAY) == [[("g1", 0, 60, 150)]]


def test_attempts_without_time_or_start_ask_nothing() -> None:
    """There is nothing to cover."""
    empty, unstarted = (started("01:00"), ended("01:00")), linked("b", "run")

    assert asked(*empty, unstarted, A_DAY) == []


def test_without_segments_nothing_is_asked() -> None:
    """Most evidence has none."""
    assert asked(started(), ended()) == []
