"""Where a job runs: its run, attempt, rank and spool, from what surrounds it.

Nothing is guessed that would tie the job's word to somebody else's attempt: without hooks or a
scheduler's own words the attempt is this process, and collectors may join it to what they saw.
"""

from __future__ import annotations

import os
import socket
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tallystick.emit.slurm.call import stated_run, stated_start
from tallystick.emit.slurm.held import held_file, read_held
from tallystick.emit.spool import boot_id

if TYPE_CHECKING:
    from collections.abc import Mapping

RUN_VARIABLES = ("TALLYSTICK_RUN_ID", "SKYPILOT_TASK_ID")
RANK_VARIABLES = (
    "RANK",
    "OMPI_COMM_WORLD_RANK",
    "PMIX_RANK",
    "PMI_RANK",
    "SLURM_PROCID",
    "SKYPILOT_NODE_RANK",
)
NAME_BYTES_MAX = 200
DEFAULT_SPOOL = "/var/spool/tallystick"


class Whereabouts(NamedTuple):
    """What is known; ``run`` is None where nobody named one, which leaves it to the scheduler."""

    run: str | None
    attempt: str
    rank: int
    spool: Path
    node: str


def find(environment: Mapping[str, str], *, run: str | None, attempt: str | None) -> Whereabouts:
    """Look around; what the caller states comes before what the environment says.

    Raises:
        ValueError: a name that the caller states is none.
    """
    spool = Path(environment.get("TALLYSTICK_SPOOL") or DEFAULT_SPOOL)
    node = environment.get("SLURMD_NODENAME") or socket.gethostname()
    for stated in (run, attempt):
        if stated is not None and not is_name(stated):
            expected = f"expected 1 to {NAME_BYTES_MAX} printable bytes"
            raise ValueError(f"{expected}, found {stated!r:.99}")
    return Whereabouts(
        run=run or _run(environment),
        attempt=attempt or _attempt(environment, spool, node),
        rank=_rank(environment),
        spool=spool,
        node=node,
    )


def is_name(text: object) -> bool:
    """Tell what can name a run, an attempt or a checkpoint."""
    if not isinstance(text, str) or not text or not text.isprintable():
        return False
    return len(text.encode(errors="replace")) <= NAME_BYTES_MAX


def _run(environment: Mapping[str, str]) -> str | None:
    named = (environment.get(name) for name in RUN_VARIABLES)
    stated = next((run for run in named if run and is_name(run)), None)
    return stated or stated_run(environment.get("SLURM_JOB_COMMENT", ""))


def _attempt(environment: Mapping[str, str], spool: Path, node: str) -> str:
    told = environment.get("TALLYSTICK_ATTEMPT")
    if is_name(told):
        return str(told)
    job = environment.get("SLURM_JOB_ID", "")
    if job.isascii() and job.isdigit() and is_name(node):
        held = read_held(held_file(spool, job, node))
        if held is not None:
            return held.attempt
        cluster = environment.get("SLURM_CLUSTER_NAME", "")
        start_s = stated_start(environment.get("SLURM_JOB_START_TIME", ""))
        key = f"slurm:{cluster}:{job}@{node}:{int(time.time()) if start_s is None else start_s}"
        if cluster and is_name(key):
            return key
    return f"process:{node}:{boot_id()[:8]}:{os.getpid()}:{time.time_ns() // 10**9}"


def _rank(environment: Mapping[str, str]) -> int:
    stated = (environment.get(name, "") for name in RANK_VARIABLES)
    ranks = [int(text) for text in stated if text.isascii() and text.isdigit() and len(text) < 9]
    return ranks[0] if ranks else 0
