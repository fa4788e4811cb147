"""What the accounting of a Slurm cluster says of the jobs of a rehearsal.

It is asked by the recorded job ids, and its attempts are joined to those that the jobs themselves
reported under, as those of hooks are.
"""

import time
from collections.abc import Iterable
from typing import Any, Final

from tallystick.app.rehearsal_acts import admit, told, whose_acts
from tallystick.app.store import OpenStore
from tallystick.collectors.collected import Source
from tallystick.collectors.slurm.collect import collect_rows, keyed_rows
from tallystick.collectors.slurm.join import NOWHERE, HookKey
from tallystick.collectors.slurm.live.errors import PollFailedError
from tallystick.collectors.slurm.live.sacct import Sacct
from tallystick.collectors.slurm.options import SlurmOptions
from tallystick.collectors.slurm.row import JobRow
from tallystick.core.instant import SECOND_US
from tallystick.emit.spool import clock_us
from tallystick.rehearsal.plan import Plan
from tallystick.rehearsal.slurm import SlurmRoute
from tallystick.rehearsal.slurm.route import SlurmAttempt

SETTLE_S: Final = 120.0
"""How long accounting may take to have the ends of all attempts."""
_UNSETTLED: Final = "accounting does not have the ends of all attempts yet"
_LOOK_S: Final = 1.0
_AHEAD_US: Final = 60 * SECOND_US


def bring_slurm(plan: Plan, route: SlurmRoute, store: OpenStore) -> tuple[str, ...]:
    """Bring what accounting says of recorded jobs into a store; as ``bring_evidence``."""
    attempts = [each for each in route.attempts if each.is_told_by_slurm]
    if not attempts:
        return ()
    assert plan.slurm is not None, "the plan's route is Slurm"
    try:
        sources, is_settled = _final_rows(Sacct(), attempts, _options(plan, ()))
    except PollFailedError as error:
        return (str(error),)
    rows = [row for row, _ in keyed_rows(sources, _options(plan, ()))]
    hooks = [HookKey(each.key, each.submitted.job_id, each.began_us, NOWHERE) for each in attempts]
    collected = collect_rows(sources, _options(plan, rows), hooks).collected
    collected.records += _links((each.run, each.key) for each in attempts)
    collected.records += _notices(attempts)
    struck = {each.key: each.ended_by for each in attempts if each.is_interrupted}
    collected.records.extend(list(whose_acts(collected, struck)))
    problems = admit(store, collected, "slurm")
    return problems if is_settled else (*problems, _UNSETTLED)


def _options(plan: Plan, rows: Iterable[JobRow]) -> SlurmOptions:
    """Declare what rows leave out as the plan states it."""
    assert plan.slurm is not None, "the plan's route is Slurm"
    planned = plan.allocation
    return SlurmOptions(
        cluster=plan.slurm.cluster,
        timezone="UTC",
        capacity=tuple((partition, planned.capacity) for partition in {r.partition for r in rows}),
        gpu_type=((None, planned.gpu_type),),
        observed_us=clock_us(),
    )


def _final_rows(
    sacct: Sacct, attempts: list[SlurmAttempt], options: SlurmOptions
) -> tuple[list[Source], bool]:
    """Ask until all attempts have an end in accounting, or give what there is, and which it is."""
    jobs = sorted({each.submitted.job_id for each in attempts})
    until_s = time.monotonic() + SETTLE_S
    while True:
        sources = sacct.jobs(jobs, clock_us() + _AHEAD_US)
        ended = [row for row, _ in keyed_rows(sources, options) if _is_final(row)]
        is_settled = len(ended) >= len(attempts)
        if is_settled or time.monotonic() > until_s:
            return sources, is_settled
        time.sleep(_LOOK_S)


def _is_final(row: JobRow) -> bool:
    return row.start_s is not None and row.end_s is not None and row.state.is_terminal


def _links(pairs: Iterable[tuple[str, str]]) -> list[dict[str, Any]]:
    """Say which run an attempt belongs to, for a job that does not say so itself."""
    return [told("attempt.linked", None, run=run, attempt=key) for run, key in pairs]


def _notices(attempts: Iterable[SlurmAttempt]) -> list[dict[str, Any]]:
    """Say when pre-emption gave notice: accounting does not."""
    return [
        told("allocation.notice", each.noticed_us, attempt=each.key, by="scheduler", deadline=None)
        for each in attempts
        if each.noticed_us is not None
    ]
