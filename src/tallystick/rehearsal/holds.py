"""Where a job is to stand still, so that a rehearsal interrupts it at the same place each time.

Written ``1:step:25,2:saving:30,3:restoring``: start of the run, place, and step where it has
one. A job that knows nothing of it runs on, and is interrupted wherever it is seen to be.
"""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tallystick.rehearsal.plan import Fault

VARIABLE: Final = "TALLYSTICK_REHEARSAL_HOLDS"


def holds_text(faults: Iterable["Fault"]) -> str:
    """Say where a job is to stand still for its faults, of which the n-th comes in start n."""
    places = []
    for number, fault in enumerate(faults, start=1):
        match fault.when:
            case "step" | "before_first_save":
                places.append(f"{number}:step:{fault.step or 1}")
            case "saving" if fault.step is not None:
                places.append(f"{number}:saving:{fault.step}")
            case "saving" | "restoring":
                places.append(f"{number}:{fault.when}")
            case _:
                pass  # A moment is no place.
    return ",".join(places)


def holds_of(environment: Mapping[str, str], start: int) -> frozenset[tuple[str, int | None]]:
    """Give the places of one start of a run; without a step it is the next of its kind."""
    found = set()
    for hold in environment.get(VARIABLE, "").split(","):
        number, *place = hold.split(":")
        if number == str(start) and place:
            found.add((place[0], int(place[1]) if len(place) > 1 else None))
    return frozenset(found)
