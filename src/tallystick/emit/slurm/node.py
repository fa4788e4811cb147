"""Prolog and Epilog: an attempt holds GPUs of this node, and gives them back.

What ends an attempt is written down before anything that may hang is asked, and every step
may be cut off: the next call of the same hook goes on where this one stopped.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from tallystick.emit.devices import identify, inventory_body, look
from tallystick.emit.slurm.held import Held, held_file, read_held, write_held
from tallystick.emit.slurm.telemetry import begin_watch, finish_watch

if TYPE_CHECKING:
    from pathlib import Path

    from tallystick.emit.deadline import Deadline
    from tallystick.emit.devices import Identity
    from tallystick.emit.settings import Settings
    from tallystick.emit.slurm.call import Call
    from tallystick.emit.spool import Spool

SECOND_US = 10**6
LOOK_S = 2.0
_KEEP_S = 0.5  # For writing down, after whatever was asked.


class Place(NamedTuple):
    """Where a hook works: its settings, its spool, and how long it may take."""

    settings: Settings
    spool: Spool
    deadline: Deadline


def prolog(call: Call, place: Place) -> None:
    """Write down that an attempt got GPUs of this node, and begin to watch them."""
    assert call.node is not None, "a node hook has a node"
    path = held_file(place.settings.spool, call.job_id, call.node)
    before = read_held(path)
    start_s = call.observed_us // SECOND_US if call.start_s is None else call.start_s
    key = call.key_at(start_s)
    if before is not None and before.attempt == key and before.watch is not None:
        return  # This call was made before, and got through.
    held = Held(key, _uid(call), call.names_gpus)
    _remember(path, held)
    tell_call(call, place.spool, key, superseded=_superseded(before, key))
    if not call.names_gpus:
        return
    identity = _identity(call, place)
    if identity.gpu_count is None:
        return  # How many GPUs is not known, so no start is claimed; the call itself is.
    at_us = call.observed_us if call.start_s is None else call.start_s * SECOND_US
    body = _started_body(call, key, identity, place.settings)
    place.spool.put("allocation.started", body, at_us, call.observed_us)
    watch = begin_watch(key, call, identity, place)
    _remember(path, held._replace(gpus=identity.gpus, watch=watch))


def epilog(call: Call, place: Place) -> None:
    """Write down that an attempt gave its GPUs back, then what was watched of it."""
    assert call.node is not None, "a node hook has a node"
    path = held_file(place.settings.spool, call.job_id, call.node)
    held = _held(read_held(path), call)
    tell_call(call, place.spool, held.attempt if held else None)
    if held is None or not held.has_gpus:
        return
    # A second call tells the same end again, so that it is one end however often it is told.
    ended_us = call.observed_us if held.ended_us is None else held.ended_us
    body = {"attempt": held.attempt, "ended_by": "unknown"}
    place.spool.put("allocation.ended", body, ended_us, call.observed_us)
    held = held._replace(ended_us=ended_us)
    _remember(path, held)
    if not held.is_told:
        finish_watch(held, call, place)
        _remember(path, held._replace(is_told=True))


def tell_call(call: Call, spool: Spool, attempt: str | None, **further: str | None) -> None:
    """Write down the call itself, with what its environment said."""
    body: dict[str, Any] = {
        "hook": call.hook,
        "cluster": call.cluster,
        "job_id": call.job_id,
        "node": call.node,
        "attempt": attempt,
        "environment": dict(call.environment),
        **{name: value for name, value in further.items() if value is not None},
    }
    spool.put("scheduler.hook", body, call.observed_us, call.observed_us)


def _identity(call: Call, place: Place) -> Identity:
    """Ask which devices the node has, once, and which of them Slurm gave away."""
    assert call.node is not None, "a node hook has a node"
    limit_s = place.deadline.left_s(at_most_s=LOOK_S, keep_s=_KEEP_S)
    devices = look(limit_s, path=place.settings.path)
    body = inventory_body(devices, call.node)
    if body is not None:
        place.spool.put("device.inventory", body, devices.at_us)
    return identify(
        devices,
        visible=call.visible,
        gpu_indexes=call.gpu_indexes,
        index_is=place.settings.index_is,
    )


def _started_body(call: Call, key: str, identity: Identity, settings: Settings) -> dict[str, Any]:
    gpus = [_gpu(uuid, index, call) for uuid, index in identity.gpus]
    body: dict[str, Any] = {
        "attempt": key,
        "scheduler": "slurm",
        "cluster": call.cluster,
        "job_id": call.job_id,
        "nodes": [call.node],
        "gpus": gpus or None,
        "gpu_count": None if gpus else identity.gpu_count,
        "gpu_type": settings.gpu_type_of(call.partition),
        "capacity": settings.capacity_of(call.partition),
        "run": call.run,
        "gpu_identity": None if gpus else "unresolved",
        "gpu_identity_reason": None if gpus else identity.problem,
    }
    return {name: value for name, value in body.items() if value is not None}


def _gpu(uuid: str, index: int | None, call: Call) -> dict[str, Any]:
    gpu: dict[str, Any] = {"uuid": uuid, "node": call.node}
    return gpu if index is None else {**gpu, "index": index}


def _held(held: Held | None, call: Call) -> Held | None:
    """Find the attempt that ends: the prolog's, else the one whose start Slurm states."""
    if held is not None and (call.start_s is None or held.attempt == call.key_at(call.start_s)):
        return held
    if call.start_s is None:
        return None
    return Held(call.key_at(call.start_s), _uid(call), call.names_gpus)


def _superseded(before: Held | None, key: str) -> str | None:
    """Name the attempt before, if its epilog never came: the node had failed."""
    if before is None or before.attempt == key or before.ended_us is not None:
        return None
    return before.attempt


def _uid(call: Call) -> int | None:
    text = call.environment.get("SLURM_JOB_UID", "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 12 else None


def _remember(path: Path, held: Held) -> None:
    with suppress(OSError):  # A disk that takes nothing is told by what is missing.
        write_held(path, held)
