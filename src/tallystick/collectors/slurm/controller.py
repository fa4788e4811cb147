"""What the controller may be believed: ``scontrol show job``, squeue and slurmrestd ``/slurm``.

The controller shows plans beside facts. While a job waits, its start, end and resources are
what it asks for; while it runs, its end is the limit; while it completes after a requeue, its
start is already that of the next attempt under the submit time of the last. So only a job
that runs, is suspended or has ended is believed to have started, and only one that has ended
to have ended.
"""

from typing import NamedTuple

from tallystick.collectors.slurm.states import RUNNING, SUSPENDED, State
from tallystick.collectors.slurm.tres import Tres


class Claims(NamedTuple):
    """What is left of a job once plans are taken away."""

    start_s: int | None
    end_s: int | None
    nodes: tuple[str, ...]
    tres: Tres


def claims_of(
    state: State,
    *,
    start_s: int | None,
    end_s: int | None,
    nodes: tuple[str, ...],
    tres: Tres,
) -> Claims:
    """Keep what the state allows to believe; without nodes nothing was ever held."""
    holds = state.is_terminal or state.base in {RUNNING, SUSPENDED}
    if not holds or not nodes:
        return Claims(None, None, (), ())
    return Claims(start_s, end_s if state.is_terminal else None, nodes, tres)
