"""The collector of cycles rests while runs are rated."""

import gc
from contextlib import suppress

import pytest

from tallystick.app.cycles import no_cycle_collection


@pytest.mark.parametrize("is_enabled", [True, False])
def test_the_collector_is_left_as_it_was(is_enabled: bool) -> None:  # noqa: FBT001
    """It rests inside, also after an error, and afterwards is on only if it was."""
    (gc.enable if is_enabled else gc.disable)()
    try:
        was_enabled_inside = enabled_until_an_error()

        assert was_enabled_inside == [False]
        assert gc.isenabled() is is_enabled
    finally:
        gc.enable()


def enabled_until_an_error() -> list[bool]:
    """Note inside whether the collector is on, and leave by an error."""
    noted = []
    with suppress(LookupError), no_cycle_collection():
        noted.append(gc.isenabled())
        raise LookupError
    return noted
