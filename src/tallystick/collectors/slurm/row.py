"""One job row, the same whatever it was read from: accounting text, JSON, or the controller."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from tallystick.collectors.collected import Place
from tallystick.collectors.slurm.states import Exit, State
from tallystick.collectors.slurm.tres import Tres

Origin = Literal["accounting", "controller"]


@dataclass(frozen=True, slots=True)
class JobRow:
    """What one row says about one attempt.

    ``job_id`` is the number that keys the attempt, ``shown_id`` the one that people see
    (``123_7``). ``ambiguous`` means that start or end was stated, but nothing decides which
    of two hours is meant. ``restarts`` and ``run`` are None if the row does not state them.
    """

    origin: Origin
    place: Place
    raw: Mapping[str, Any]
    job_id: str
    shown_id: str
    cluster: str
    partition: str
    submit_s: int
    start_s: int | None
    end_s: int | None
    ambiguous: bool
    state: State
    exit: Exit
    nodes: tuple[str, ...]
    tres: Tres
    was_suspended: bool
    restarts: int | None
    run: str | None

    @property
    def held_resources(self) -> bool:
        """Tell whether the job ever had anything: nodes, or allocated resources (r4, r5)."""
        return bool(self.nodes or self.tres)


def shown_id(
    job_id: str, *, array: int | None, task: str | None, het: int | None, offset: int | None
) -> str:
    """Give the id that people see: ``123_7`` of an array, ``123+0`` of a heterogeneous job."""
    if array and task is not None:
        return f"{array}_{task}"
    if het and offset is not None:
        return f"{het}+{offset}"
    return job_id
