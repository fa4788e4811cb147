"""TaskProlog: the job learns which attempt it is, and says which run it belongs to.

It runs as the job's user, and Slurm puts every ``export`` line that it prints into the
environment of the task.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from tallystick.emit.slurm.held import held_file, read_held

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tallystick.emit.slurm.call import Call
    from tallystick.emit.slurm.held import Held
    from tallystick.emit.spool import Spool

RUN_VARIABLE = "TALLYSTICK_RUN_ID"
_RUN_BYTES_MAX = 200


def exports(call: Call, spool: Path) -> list[str]:
    """Give the lines that tell a task its attempt and where its records go."""
    held = _held(call, spool)
    lines = [f"export TALLYSTICK_SPOOL={spool}"]
    if held is not None:
        lines.append(f"export TALLYSTICK_ATTEMPT={held.attempt}")
    return lines


def link_run(
    call: Call, spool_path: Path, environment: Mapping[str, str], open_spool: type[Spool]
) -> None:
    """Say which run the attempt belongs to, once a node, if the job's environment names one."""
    run = environment.get(RUN_VARIABLE, "")
    held = _held(call, spool_path)
    if held is None or held.uid != os.geteuid() or not _is_run(run):
        return
    if environment.get("SLURM_LOCALID", "0") != "0":
        return
    spool = open_spool(spool_path, f"slurm-task/{os.geteuid()}@{call.node}")
    spool.put("attempt.linked", {"run": run, "attempt": held.attempt}, None)


def _held(call: Call, spool: Path) -> Held | None:
    if call.node is None:
        return None
    return read_held(held_file(spool, call.job_id, call.node))


def _is_run(text: str) -> bool:
    if not text or not text.isprintable():
        return False
    return len(text.encode(errors="replace")) <= _RUN_BYTES_MAX
