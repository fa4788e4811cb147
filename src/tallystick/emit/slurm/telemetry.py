"""What DCGM is asked at the prolog and at the epilog."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tallystick.emit.devices import Identity
    from tallystick.emit.slurm.call import Call
    from tallystick.emit.slurm.held import Held
    from tallystick.emit.slurm.node import Place


def begin_watch(key: str, call: Call, identity: Identity, place: Place) -> dict[str, Any] | None:
    """Begin to watch a job's GPUs; None where nothing can be watched."""
    del key, call, identity, place
    return None


def finish_watch(held: Held, call: Call, place: Place) -> None:
    """Export what was watched."""
    del held, call, place
