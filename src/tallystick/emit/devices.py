"""Which GPUs a node has, asked once, and which of them a job was given.

A GPU is its UUID. An index means different things to different programs and may change with a
boot, so it is turned into a UUID only where the turn is known: Slurm's index counts device
files, hence the minor number of the driver, unless the operator says that it is NVML's.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

from tallystick.emit.command import PATH, run_command

NVIDIA_SMI = (
    "nvidia-smi",
    "--query-gpu=index,uuid,pci.bus_id,mig.mode.current",
    "--format=csv,noheader",
)
PROC = Path("/proc/driver/nvidia/gpus")

_HEX = "[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
_BOARD = re.compile(f"GPU-{_HEX}")
_INSTANCE = re.compile(f"MIG-(?:{_HEX}|GPU-{_HEX}/[0-9]{{1,6}}/[0-9]{{1,6}})")
_NAMED = re.compile(r"(?:GPU|MIG)-[^\s,]+")
_NUMBER = re.compile(r"[0-9]{1,6}")
_INDEX = re.compile(r"([0-9]{1,6})(?:-([0-9]{1,6}))?")
_PROC_LINE = re.compile(r"([^:]+):\s*(.*?)\s*")
_GPUS_MAX = 4096
_FILE_BYTES_MAX = 1 << 16


class Gpu(NamedTuple):
    """A board: NVML's index, and the driver's minor number where it is known."""

    nvml_index: int
    uuid: str
    pci_bus_id: str
    minor: int | None
    mig: bool


class Devices(NamedTuple):
    """One look at a node: its boards, or why they are not known."""

    gpus: tuple[Gpu, ...]
    at_us: int
    problem: str | None


class Identity(NamedTuple):
    """What a job was given: pairs of UUID and NVML index, or a count and why there is no more.

    ``gpu_count`` is None if not even the number is known.
    """

    gpus: tuple[tuple[str, int | None], ...]
    gpu_count: int | None
    problem: str | None


def look(limit_s: float, *, path: str = PATH, proc: Path = PROC) -> Devices:
    """Ask the driver which boards there are.

    Args:
        limit_s: How long the answer may take.
        path: Where ``nvidia-smi`` may lie.
        proc: Where the driver says which minor number a board has.
    """
    at_us = time.time_ns() // 1000
    ran = run_command(NVIDIA_SMI, limit_s=limit_s, env={"PATH": path})
    if ran.problem is not None:
        return Devices((), at_us, ran.problem)
    if ran.status != 0:
        first = ran.text.strip().split("\n")[0][:80]
        return Devices((), at_us, f"nvidia-smi: ended with {ran.status}: {first}")
    minors = _minors(proc)
    gpus = []
    for line in ran.text.split("\n"):
        if line.strip():
            gpu = _read_line(line, minors)
            if gpu is None:
                return Devices((), at_us, f"nvidia-smi: cannot read {line.strip()[:80]!a}")
            gpus.append(gpu)
    if not gpus:
        return Devices((), at_us, "nvidia-smi: names no GPU")
    for name in ("uuid", "nvml_index"):
        if len({getattr(gpu, name) for gpu in gpus}) < len(gpus):
            return Devices((), at_us, f"nvidia-smi: gives two boards one {name}")
    return Devices(tuple(gpus), at_us, None)


def _read_line(line: str, minors: dict[str, int]) -> Gpu | None:
    words = [word.strip() for word in line.split(",")]
    if len(words) != 4 or not _NUMBER.fullmatch(words[0]) or not _is_board(words[1]):
        return None
    index, uuid, bus, mig = words
    return Gpu(int(index), uuid, bus, minors.get(uuid), mig.lower() == "enabled")


def _is_board(text: str) -> bool:
    """Tell the UUID of a board; all zeros is no identity."""
    return _BOARD.fullmatch(text) is not None and bool(text[4:].strip("0-"))


def _minors(proc: Path) -> dict[str, int]:
    """Read the minor number of each board by UUID, as far as the driver states both.

    A number that two boards have tells neither.
    """
    minors = {}
    try:
        paths = sorted(proc.glob("*/information"))
    except OSError:
        return {}
    for path in paths:
        try:
            with path.open("rb") as file:
                text = file.read(_FILE_BYTES_MAX).decode("utf-8", errors="replace")
        except OSError:
            continue
        matches = (_PROC_LINE.fullmatch(line) for line in text.split("\n"))
        stated = {match[1].strip(): match[2] for match in matches if match}
        uuid, minor = stated.get("GPU UUID", ""), stated.get("Device Minor", "")
        if _is_board(uuid) and _NUMBER.fullmatch(minor):
            minors[uuid] = int(minor)
    shared = [minor for minor, times in Counter(minors.values()).items() if times > 1]
    return {uuid: minor for uuid, minor in minors.items() if minor not in shared}


def identify(devices: Devices, *, visible: str, gpu_indexes: str, index_is: str) -> Identity:
    """Turn what Slurm says of a job's GPUs into UUIDs.

    Args:
        devices: The boards of the node.
        visible: ``CUDA_VISIBLE_DEVICES``; UUIDs in it win over any index.
        gpu_indexes: ``SLURM_JOB_GPUS``, empty before 21.08.
        index_is: What Slurm's index counts: ``minor`` or ``nvml``.
    """
    named = [word.strip() for word in visible.split(",")]
    if visible and all(map(_NAMED.fullmatch, named)):
        return _identify_named(devices, list(dict.fromkeys(named)))
    indexes = _indexes(gpu_indexes or visible)
    if indexes is None:
        return Identity((), None, "the environment names no GPU that can be read")
    count = len(indexes)
    if devices.problem is not None:
        return Identity((), count, devices.problem)
    if any(gpu.mig for gpu in devices.gpus):
        return Identity((), count, "MIG is on, and an index does not say which instance it is")
    if index_is == "nvml":
        places = {gpu.nvml_index: gpu for gpu in devices.gpus}
    else:
        places = {gpu.minor: gpu for gpu in devices.gpus if gpu.minor is not None}
    missing = [index for index in indexes if index not in places]
    if missing:
        reason = f"no board has the {index_is} number {missing[0]}"
        return Identity((), count, reason)
    return Identity(tuple((places[i].uuid, places[i].nvml_index) for i in indexes), count, None)


def _identify_named(devices: Devices, named: list[str]) -> Identity:
    """Take UUIDs as they stand; one that is cut short or no identity leaves all unknown."""
    by_uuid = {gpu.uuid: gpu.nvml_index for gpu in devices.gpus}
    for word in named:
        if not _is_board(word) and not _INSTANCE.fullmatch(word):
            return Identity((), len(named), f"{word[:80]!a} is not the UUID of a GPU")
    return Identity(tuple((uuid, by_uuid.get(uuid)) for uuid in named), len(named), None)


def _indexes(text: str) -> list[int] | None:
    """Read a list of indexes and ranges; None if there is none, or it is no such list."""
    found: list[int] = []
    for word in text.split(","):
        match = _INDEX.fullmatch(word.strip())
        if match is None:
            return None
        low, high = int(match[1]), int(match[2] or match[1])
        if high < low or high - low >= _GPUS_MAX:
            return None
        found += range(low, high + 1)
        if len(found) > _GPUS_MAX:
            return None
    return list(dict.fromkeys(found))


def inventory_body(devices: Devices, node: str) -> dict[str, Any] | None:
    """Give the body of a ``device.inventory``; None where the boards are not known."""
    if devices.problem is not None:
        return None
    return {"node": node, "devices": [_device(gpu) for gpu in devices.gpus]}


def _device(gpu: Gpu) -> dict[str, Any]:
    body = {
        "uuid": gpu.uuid,
        "index": gpu.nvml_index,
        "pci_bus_id": gpu.pci_bus_id,
        "minor": gpu.minor,
        "mig": gpu.mig,
    }
    return {name: value for name, value in body.items() if value is not None}
