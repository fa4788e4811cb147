"""Finding the run that this process works for, and beginning to report on it."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from tallystick.emit.progress.run import Run
from tallystick.emit.progress.shield import wording
from tallystick.emit.progress.whereabouts import find

if TYPE_CHECKING:
    from tallystick.emit.progress.journal import Journal
    from tallystick.emit.progress.whereabouts import Whereabouts


def attach(
    run: str | None = None,
    *,
    every: int = 1,
    ranks: str = "first",
    spool: os.PathLike[str] | str | None = None,
    attempt: str | None = None,
) -> Run:
    """Attach to the run that this process works for. Never raises: see ``Run.problem``.

    Args:
        run: Name of the run; else ``TALLYSTICK_RUN_ID``, ``SKYPILOT_TASK_ID``, or what the
            comment of the Slurm job says.
        every: Report every so many steps; what an interruption loses is bounded by it.
        ranks: ``first`` for rank 0 alone; ``all`` for every rank, which then speak beside
            the run, so that no step counts twice.
        spool: The folder for records, else ``TALLYSTICK_SPOOL``.
        attempt: Key of the attempt; else ``TALLYSTICK_ATTEMPT``, or what the scheduler says.
    """
    try:
        _check(every, ranks)
        where = find(os.environ, run=run, attempt=attempt)
        if spool is not None:
            where = where._replace(spool=Path(spool))
        if where.rank and ranks == "first":
            return Run(where.run, where.attempt)
        return _reporting(where, every)
    except Exception as error:  # noqa: BLE001 (never into training)
        broken = Run(run, attempt)
        broken.problem = wording(error)
        sys.stderr.write(f"tallystick: progress is not kept: {broken.problem}\n")
        return broken


def _check(every: int, ranks: str) -> None:
    """Refuse options that mean nothing.

    Raises:
        ValueError: they do.
    """
    if every < 1 or ranks not in {"first", "all"}:
        found = f"found {every} and {ranks!r:.99}"
        raise ValueError(f"expected every >= 1 and ranks 'first' or 'all', {found}")


def _reporting(where: Whereabouts, every: int) -> Run:
    from tallystick.emit.progress.verifier import Verifier  # noqa: PLC0415 (start-up)

    verifier = Verifier(run=where.run, attempt=where.attempt)
    return Run(
        where.run,
        where.attempt,
        every=every,
        open_journal=lambda: _journal(where),
        verifier=verifier,
    )


def _journal(where: Whereabouts) -> Journal:
    """Open a journal in the name of this process."""
    from tallystick.emit.progress.journal import Journal  # noqa: PLC0415 (start-up)
    from tallystick.emit.progress.lines import Header  # noqa: PLC0415 (start-up)
    from tallystick.emit.spool import Spool, boot_id, make_spool  # noqa: PLC0415 (start-up)

    writer = f"{os.getpid()}-{time.time_ns()}"
    header = Header(
        attempt=where.attempt,
        producer=f"job/{os.geteuid()}@{where.node}",
        boot=f"{boot_id()}/{writer}",
        writer=f"{where.rank}-{writer}",
        rank=where.rank,
    )
    if not where.spool.exists():
        make_spool(where.spool)
    return Journal(Spool(where.spool, header.producer).path, header)
