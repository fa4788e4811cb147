"""Options that would make wrong records are refused, each with its code."""

from collections.abc import Callable
from typing import Any

import pytest

from tallystick.core.errors import TallystickError

Collect = Callable[..., Any]


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (
            {"timezone": "Mars/Olympus"},
            "bad_timezone",
            "expected an IANA time zone such as Europe/Berlin or UTC, got 'Mars/Olympus'",
        ),
        ({"timezone": ""}, "bad_timezone", None),
        ({"timezone": "America"}, "bad_timezone", None),
        ({"timezone": "../UTC"}, "bad_timezone", None),
        (
            {"cluster": "a:b"},
            "bad_cluster",
            "expected a cluster name without spaces and colons, got 'a:b'",
        ),
        ({"cluster": ""}, "bad_cluster", None),
        ({"cluster": "c" * 65}, "bad_cluster", None),
        (
            {"capacity": (("spot", "cheap"),)},
            "bad_capacity",
            (
                "capacity of partition 'spot': expected spot, on_demand, reserved or unknown, "
                "got 'cheap'"
            ),
        ),
        ({"gpus_per_node": 0}, "bad_gpus_per_node", "expected at least 1 GPU per node, got 0"),
        ({"gpu_type": ((None, " "),)}, "bad_gpu_type", "expected a GPU type such as h100, got ' '"),
    ],
)
def test_a_bad_option_is_refused(
    collect: Collect, options: dict[str, Any], code: str, message: str | None
) -> None:
    """The sentence names the thing, what was expected, and what was found."""
    with pytest.raises(TallystickError) as caught:
        collect("", **options)

    assert caught.value.code == code
    assert message is None or str(caught.value) == message
