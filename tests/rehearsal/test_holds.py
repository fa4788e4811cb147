"""Where a job stands still for its faults."""

from tallystick.rehearsal.holds import VARIABLE, holds_of, holds_text
from tests.rehearsal.rehearsals import plan_of

FAULTS = """
[[fault]]
when = "saving"
step = 8
[[fault]]
when = "restoring"
[[fault]]
when = "saving"
[[fault]]
when = "time"
after_s = "1"
[[fault]]
when = "before_first_save"
"""


def test_each_fault_has_its_start_and_place() -> None:
    """A moment is no place."""
    text = holds_text(plan_of(faults=FAULTS).faults)

    assert text == "1:saving:8,2:restoring,3:saving,5:step:1"


def test_a_start_reads_its_own_places() -> None:
    """Others, and none at all, are not its business."""
    environment = {VARIABLE: "1:saving:8,2:restoring,12:step:3"}

    assert holds_of(environment, 1) == {("saving", 8)}
    assert holds_of(environment, 2) == {("restoring", None)}
    assert holds_of(environment, 3) == frozenset()
    assert holds_of({}, 1) == frozenset()
