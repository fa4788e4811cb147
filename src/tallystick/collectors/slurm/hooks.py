"""Environments that the node's Prolog and Epilog wrote down, one file each.

The first line is ``#hook=NAME start=EPOCH …``, the last ``#end=…``; between them stands the
environment. A value may hold newlines, so its further lines look like anything at all: a line
that is no variable is passed over, and a variable that decides something must not stand there
with two values. Hooks of the controller and of tasks say nothing about which GPUs a node gave
away, and give nothing.
"""

import re
from dataclasses import dataclass
from typing import Literal

from tallystick.collectors.collected import Place
from tallystick.collectors.slurm.errors import BadHookError
from tallystick.collectors.slurm.times import EPOCH_MAX_S
from tallystick.core.instant import SECOND_US
from tallystick.emit.slurm.call import stated_run, stated_start

Phase = Literal["prolog", "epilog"]

_VARIABLE = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=(.*)")
_MARK = re.compile(r"(?:^|\s)([a-z#]+)=(\S*)")
_EPOCH = re.compile(r"([0-9]{1,11})(?:\.([0-9]+))?")
_JOB_ID = re.compile(r"[0-9]{1,18}")
_UUID = re.compile(r"(?:GPU|MIG)-[^\s,]+")
_INDEX = re.compile(r"([0-9]{1,6})(?:-([0-9]{1,6}))?")
_NODE = re.compile(r"[^\s\\\ufffd]+")
_NODE_BYTES_MAX = 80  # An attempt key has 200 bytes for cluster, job, node and time.

_NODE_CONTEXTS: dict[str, Phase] = {"prolog_slurmd": "prolog", "epilog_slurmd": "epilog"}
_CONTROLLER_CONTEXTS = frozenset({"prolog_slurmctld", "epilog_slurmctld"})
_NODE_NAMES: dict[str, Phase] = {"prolog": "prolog", "epilog": "epilog"}
_CONTROLLER_NAMES = frozenset({"prologslurmctld", "epilogslurmctld"})
_DECIDING = frozenset(
    {
        "CUDA_VISIBLE_DEVICES",
        "SLURMD_NODENAME",
        "SLURM_JOBID",
        "SLURM_JOB_GPUS",
        "SLURM_JOB_ID",
        "SLURM_JOB_PARTITION",
        "SLURM_JOB_START_TIME",
        "SLURM_SCRIPT_CONTEXT",
    }
)


@dataclass(frozen=True, slots=True)
class HookCall:
    """One call of a node's Prolog or Epilog, with the text that it was read from.

    ``start_s`` is None if the environment states no start; ``gpu_count`` is None if it names
    no GPU at all, or names them by UUID.
    """

    place: Place
    text: str
    phase: Phase
    job_id: str
    node: str
    observed_us: int
    start_s: int | None
    partition: str
    uuids: tuple[str, ...]
    gpu_count: int | None
    run: str | None


def read_hook(text: str, place: Place) -> HookCall | None:
    """Read a dump; None if it is of a hook that neither starts nor ends an allocation.

    Raises:
        BadHookError: the job, the node, the hook or the time is not stated.
    """
    first, _, rest = text.partition("\n")
    marks = dict(reversed(_MARK.findall(first)))
    env = _environment(rest)
    name = marks.get("#hook", "")
    if not name:
        raise BadHookError("the name of the hook", first)
    job_id = env.get("SLURM_JOB_ID") or env.get("SLURM_JOBID", "")
    if not _JOB_ID.fullmatch(job_id):
        raise BadHookError("a job id", job_id)
    if _is_of_controller(name, env):
        return None  # It runs on no node of the job, so it can name none.
    node = env.get("SLURMD_NODENAME", "")
    if not _is_node_name(node):
        raise BadHookError("a node name", node)
    phase = _phase(name, env)
    if phase is None:
        return None
    observed_us = _epoch_us(marks.get("start", ""))
    if observed_us is None:
        raise BadHookError("the time of the call as start=EPOCH", marks.get("start", ""))
    uuids = _uuids(env.get("CUDA_VISIBLE_DEVICES", ""))
    return HookCall(
        place=place,
        text=text,
        phase=phase,
        job_id=job_id,
        node=node,
        observed_us=observed_us,
        start_s=stated_start(env.get("SLURM_JOB_START_TIME", "")),
        partition=env.get("SLURM_JOB_PARTITION", ""),
        uuids=uuids,
        gpu_count=None if uuids else _count_indices(env),
        run=stated_run(env.get("SLURM_JOB_COMMENT", "")),
    )


def _environment(text: str) -> dict[str, str]:
    """Read variables.

    Raises:
        BadHookError: one that decides something stands there with two values.
    """
    env: dict[str, str] = {}
    for line in text.split("\n"):
        match = _VARIABLE.fullmatch(line.removesuffix("\r"))
        if match is None:
            continue
        name, value = match.groups()
        if name in _DECIDING and env.get(name, value) != value:
            raise BadHookError(f"one value of {name}", f"{env[name]} and {value}")
        env.setdefault(name, value)
    return env


def _is_node_name(text: str) -> bool:
    is_plain = bool(_NODE.fullmatch(text)) and text.isprintable()
    return is_plain and len(text.encode()) <= _NODE_BYTES_MAX


def _is_of_controller(name: str, env: dict[str, str]) -> bool:
    context = env.get("SLURM_SCRIPT_CONTEXT")
    if context is not None:
        return context in _CONTROLLER_CONTEXTS
    return name.lower() in _CONTROLLER_NAMES


def _phase(name: str, env: dict[str, str]) -> Phase | None:
    context = env.get("SLURM_SCRIPT_CONTEXT")
    if context is not None:
        return _NODE_CONTEXTS.get(context)
    return _NODE_NAMES.get(name.lower())


def _epoch_us(text: str) -> int | None:
    match = _EPOCH.fullmatch(text)
    if match is None or int(match[1]) > EPOCH_MAX_S:
        return None
    return int(match[1]) * SECOND_US + int((match[2] or "")[:6].ljust(6, "0"))


def _uuids(text: str) -> tuple[str, ...]:
    """Give the UUIDs of a list that has nothing else; indices beside them name nothing."""
    tokens = [token.strip() for token in text.split(",")]
    return tuple(dict.fromkeys(tokens)) if all(map(_UUID.fullmatch, tokens)) else ()


def _count_indices(env: dict[str, str]) -> int | None:
    """Count GPUs by what Slurm gave the job on this node, else by what a process would see."""
    stated = env.get("SLURM_JOB_GPUS") or env.get("CUDA_VISIBLE_DEVICES", "")
    count = 0
    for token in stated.split(","):
        match = _INDEX.fullmatch(token.strip())
        if match is None:
            return None
        low, high = int(match[1]), int(match[2] or match[1])
        if high < low:
            return None
        count += high - low + 1
    return count
