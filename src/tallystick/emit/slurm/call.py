"""One call of a hook: what Slurm put into its environment.

Slurm's variables come and go with its version, and most come from a credential that may be
missing. One that is absent is unknown. Those that are kept as evidence are listed: tokens and
whatever else a site puts into an environment stay where they are.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

HOOK_PRODUCER = "slurm-hook/"
"""What the name of a producer begins with that is the hooks of a node."""
NO_TIMES = frozenset({0, 4294967294, 4294967295})  # What Slurm writes for "nobody knows".
KEPT = frozenset(
    {
        "CUDA_VISIBLE_DEVICES",
        "GPU_DEVICE_ORDINAL",
        "ROCR_VISIBLE_DEVICES",
        "SLURMD_NODENAME",
        "SLURM_ARRAY_JOB_ID",
        "SLURM_ARRAY_TASK_ID",
        "SLURM_CLUSTER_NAME",
        "SLURM_HET_JOB_ID",
        "SLURM_HET_JOB_OFFSET",
        "SLURM_JOBID",
        "SLURM_JOB_ACCOUNT",
        "SLURM_JOB_COMMENT",
        "SLURM_JOB_DERIVED_EC",
        "SLURM_JOB_END_TIME",
        "SLURM_JOB_EXIT_CODE",
        "SLURM_JOB_EXIT_CODE2",
        "SLURM_JOB_GPUS",
        "SLURM_JOB_ID",
        "SLURM_JOB_NAME",
        "SLURM_JOB_NODELIST",
        "SLURM_JOB_NUM_NODES",
        "SLURM_JOB_PARTITION",
        "SLURM_JOB_QOS",
        "SLURM_JOB_RESERVATION",
        "SLURM_JOB_RESTART_COUNT",
        "SLURM_JOB_SLUID",
        "SLURM_JOB_START_TIME",
        "SLURM_JOB_UID",
        "SLURM_JOB_USER",
        "SLURM_NODELIST",
        "SLURM_SCRIPT_CONTEXT",
    }
)
_VALUE_CHARACTERS_MAX = 1024
_JOB_ID = re.compile(r"[0-9]{1,18}")
_NAME = re.compile(r"[^\s:\\]{1,80}")
_EPOCH = re.compile(r"([0-9]{1,11})(?:\.[0-9]+)?")
_RUN = re.compile(r"(?<!\S)tallystick\.run=([^\s;,]{1,200})")


class Call(NamedTuple):
    """What one call states; ``node`` is None on the controller, ``start_s`` before 23.02."""

    hook: str
    cluster: str
    job_id: str
    node: str | None
    observed_us: int
    start_s: int | None
    partition: str
    visible: str
    gpu_indexes: str
    run: str | None
    environment: Mapping[str, str]

    @property
    def names_gpus(self) -> bool:
        """Whether the environment names any GPU."""
        return bool(self.visible or self.gpu_indexes)

    def key_at(self, start_s: int) -> str:
        """Give the attempt key of this job on this node."""
        return f"slurm:{self.cluster}:{self.job_id}@{self.node}:{start_s}"


def read_call(
    hook: str, environment: Mapping[str, str], *, cluster: str | None, observed_us: int
) -> Call | None:
    """Read an environment; None if it does not name the job, or no cluster is known.

    Args:
        hook: Name of the hook, such as ``slurm-prolog``.
        environment: As Slurm gave it.
        cluster: Name of the cluster if the settings state it.
        observed_us: When the hook was called.
    """
    stated = {name: environment[name] for name in KEPT if name in environment}
    job_id = stated.get("SLURM_JOB_ID") or stated.get("SLURM_JOBID", "")
    cluster = cluster or stated.get("SLURM_CLUSTER_NAME", "")
    node = stated.get("SLURMD_NODENAME")
    if not _JOB_ID.fullmatch(job_id) or not _is_name(cluster):
        return None
    return Call(
        hook=hook,
        cluster=cluster,
        job_id=job_id,
        node=node if node is not None and _is_name(node) else None,
        observed_us=observed_us,
        start_s=stated_start(stated.get("SLURM_JOB_START_TIME", "")),
        partition=stated.get("SLURM_JOB_PARTITION", ""),
        visible=stated.get("CUDA_VISIBLE_DEVICES", ""),
        gpu_indexes=stated.get("SLURM_JOB_GPUS", ""),
        run=stated_run(stated.get("SLURM_JOB_COMMENT", "")),
        environment={name: _shown(stated[name]) for name in sorted(stated)},
    )


def _is_name(text: str) -> bool:
    return bool(_NAME.fullmatch(text)) and text.isprintable() and len(text.encode()) <= 80


def stated_start(text: str) -> int | None:
    """Give the start that ``SLURM_JOB_START_TIME`` states, in seconds since the epoch."""
    match = _EPOCH.fullmatch(text)
    if match is None or int(match[1]) in NO_TIMES:
        return None
    return int(match[1])


def stated_run(comment: str) -> str | None:
    """Give the run that a job's comment names as ``tallystick.run=NAME``."""
    match = _RUN.search(comment)
    return match[1] if match and match[1].isprintable() and len(match[1].encode()) <= 200 else None


def _shown(value: str) -> str:
    """Spell out bytes that are no UTF-8, and cut what is longer than any use of it."""
    try:
        data = value.encode(errors="surrogateescape")
    except UnicodeEncodeError:
        data = value.encode(errors="backslashreplace")
    text = data.decode(errors="backslashreplace")
    return text if len(text) <= _VALUE_CHARACTERS_MAX else text[:_VALUE_CHARACTERS_MAX] + "..."
