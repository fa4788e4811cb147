"""The windows of ``telemetry.dropped``: what of a segment was written down, field by field."""

from typing import Any

import pytest

from tallystick.evidence.bodies import KeptWindow, SegmentDropped
from tallystick.evidence.codec import RefusedLineError, read_line
from tests.evidence.records import Json, as_line, moment, moment_us, record

WINDOW: Json = {
    "gpu": "g1",
    "metric": "sm_util",
    "cadence_us": 60_000_000,
    "start": moment("00:00"),
    "end": moment("01:00"),
    "reach_us": "150000000",
    "episodes": [[moment("00:00"), moment("00:10")], [moment("00:30"), moment("00:30")]],
    "blank": [moment("00:20")],
    "impossible": True,
}


def dropped(*windows: Any) -> bytes:
    """Say that a segment was dropped, and what it said of windows."""
    body = {"segment": "sha256:00", "policy": "p", "windows": list(windows)}
    return as_line(record("telemetry.dropped", "20:00", body))


def refusal(*windows: Any) -> str | None:
    """Give the code for which the record is refused, None if it is admitted."""
    try:
        read_line(dropped(*windows))
    except RefusedLineError as error:
        return error.code
    return None


def test_a_window_is_read_in_microseconds() -> None:
    """Times as everywhere in a body, and the reach from its decimal string."""
    kept = KeptWindow(
        gpu="g1",
        metric="sm_util",
        cadence_us=60_000_000,
        start_us=moment_us("00:00"),
        end_us=moment_us("01:00"),
        reach_us=150_000_000,
        episodes=(
            (moment_us("00:00"), moment_us("00:10")),
            (moment_us("00:30"), moment_us("00:30")),
        ),
        blank_us=(moment_us("00:20"),),
        has_impossible=True,
    )

    body = read_line(dropped(WINDOW)).body

    assert body == SegmentDropped(segment="sha256:00", policy="p", windows=(kept,))


@pytest.mark.parametrize("name", WINDOW)
@pytest.mark.parametrize("value", [None, {"x": []}])
def test_every_field_is_there_and_of_its_type(name: str, value: Any) -> None:
    """A window that lacks something stands for nothing."""
    assert refusal(WINDOW, WINDOW | {name: value}) == "bad_body"
    assert refusal({key: kept for key, kept in WINDOW.items() if key != name}) == "bad_body"


@pytest.mark.parametrize(
    "change",
    [
        {"reach_us": 150},
        {"reach_us": "-1"},
        {"reach_us": "015"},
        {"reach_us": "1" * 19},
        {"reach_us": ""},
        {"episodes": [[moment("00:10")]]},
        {"episodes": [[moment("00:10"), moment("00:09")]]},
        {"episodes": [[moment("00:10"), 7]]},
        {"episodes": ["x"]},
        {"blank": [7]},
        {"cadence_us": "60"},
        {"impossible": 0},
    ],
)
def test_a_part_of_another_form_is_refused(change: Json) -> None:
    """An episode ends no earlier than it begins, and a reach has one way of writing."""
    assert refusal(WINDOW | change) == "bad_body"


@pytest.mark.parametrize(
    "change",
    [
        {"reach_us": "0"},
        {"reach_us": "9" * 18},
        {"episodes": []},
        {"blank": []},
        {"further": 7},
        {"cadence_us": -1},
    ],
)
def test_the_last_allowed_value_is_admitted(change: Json) -> None:
    """A segment may have said nothing of a window, and that is worth keeping."""
    assert refusal(WINDOW | change) is None


def test_a_window_is_an_object() -> None:
    """And windows are a list of them."""
    assert refusal(7) == "bad_body"
    assert refusal() is None


@pytest.mark.parametrize(
    "change",
    [
        {"start": "soon"},
        {"end": "x", "gpu": 7},
        {"blank": ["x"], "metric": None},
        {"episodes": [["x", moment("00:10")]]},
        {"episodes": [[7, "x"], 7]},
    ],
)
def test_a_bad_time_outranks_what_else_is_wrong(change: Json) -> None:
    """Wherever in a window it stands, and whatever stands before it (rule 4)."""
    assert refusal(WINDOW | {"reach_us": 7}, WINDOW | change) == "bad_time"
