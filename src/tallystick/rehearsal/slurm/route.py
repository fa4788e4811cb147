"""The Slurm route: a batch job, requeued or pre-empted, that Slurm itself starts again.

An attempt is a job and how often it was started; before each act it is seen that the job is the
recorded one and that this attempt of it runs. The folder of the rehearsal has to be seen from the
nodes, too: there the job works, and there it says which attempt it is.
"""

import os
import shlex
import shutil
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tallystick.core.instant import SECOND_US
from tallystick.emit.spool import clock_us
from tallystick.rehearsal.errors import NoTargetError, RouteUnavailableError
from tallystick.rehearsal.journal import JournalTail
from tallystick.rehearsal.places import SlurmPlace
from tallystick.rehearsal.plan import EndedBy, Plan
from tallystick.rehearsal.results import result_file
from tallystick.rehearsal.route import Act, Gone, Job, Look, Started, Still
from tallystick.rehearsal.scheduler_errors import SchedulerRefusedError
from tallystick.rehearsal.slurm.commands import RunCommand, Slurm, run_command
from tallystick.rehearsal.slurm.jobs import Jobs, Submitted, named
from tallystick.rehearsal.slurm.submission import (
    FOLDER,
    NOTED,
    SCRIPT,
    TASK_PROLOG,
    cancel_argv,
    notice_argv,
    preempt_argv,
    read_began,
    read_status,
    requeue_argv,
    script_text,
    submit_argv,
    task_prolog_text,
)

POLL_S: Final = 1.0
_COMMANDS: Final = ("sbatch", "scontrol", "scancel", "squeue", "sacct")
_ATTEMPT: Final = "TALLYSTICK_ATTEMPT"


@dataclass(slots=True)
class SlurmAttempt:
    """One start of a job, for whoever brings Slurm's own evidence of it."""

    key: str
    run: str
    submitted: Submitted
    restarts: int
    began_us: int
    tail: JournalTail
    status_file: Path
    is_told_by_slurm: bool
    """Whether it holds GPUs, so that accounting tells of its allocation."""
    ended_by: EndedBy
    """Whose act its end counts as, where it was interrupted."""
    is_interrupted: bool = False
    noticed_us: int | None = None
    """When pre-emption gave it notice."""
    preempting: Submitted | None = None


class SlurmRoute:
    """Jobs of a Slurm cluster."""

    name = "slurm"
    poll_s = POLL_S

    def __init__(self, plan: Plan, run: RunCommand = run_command) -> None:
        """Prepare to submit jobs; nothing but the name of the cluster is asked.

        Args:
            plan: States the cluster, and how jobs are submitted and taken back.
            run: Runs Slurm's commands.

        Raises:
            RouteUnavailableError: there is no such cluster here, or the plan asks for what
                Slurm does not do.
        """
        assert plan.slurm is not None, "the plan's route is Slurm"
        _check_faults(plan, plan.slurm)
        self._plan = plan
        self._place = plan.slurm
        self._slurm = Slurm(run)
        _check_cluster(self._slurm, plan.slurm.cluster, is_here=run is not run_command)
        self._jobs = Jobs(self._slurm, plan.slurm.cluster)
        self._current: dict[str, Submitted] = {}
        self._attempts: dict[str, SlurmAttempt] = {}

    @property
    def attempts(self) -> tuple[SlurmAttempt, ...]:
        """All attempts that began."""
        return tuple(self._attempts.values())

    def touches(self, job: Job) -> tuple[str, ...]:
        """Say what it would submit and do, as commands."""
        place, name = self._place, named("TOKEN")
        settings = " ".join(f"{key}={shlex.quote(value)}" for key, value in job.environment.items())
        if place.preempting_partition is None:
            notice = shlex.join(notice_argv(place, "JOBID"))
            fault = shlex.join(requeue_argv("JOBID"))
        else:
            notice = "by the GraceTime of its partition"
            fault = shlex.join(preempt_argv(place, name, "NODES", "N"))
        return (
            f"submit   {shlex.join(submit_argv(job, self._plan, place, name))}",
            f"with     {settings}",
            f"it runs  {shlex.join(job.argv)}",
            f"notice   {notice}",
            f"fault    {fault}",
            f"after    {shlex.join(cancel_argv('JOBID'))}",
            "asks     scontrol show job -o JOBID; sacct -j JOBID",
        )

    def never_touches(self) -> tuple[str, ...]:
        """Say what it would leave alone."""
        return (
            "a job whose id it did not record when it submitted it",
            "a job by its id alone: name, user and number of restarts must be the recorded ones",
            "partitions, nodes, reservations, accounts, settings of Slurm",
        )

    def start(self, job: Job, number: int) -> Started | None:
        """Submit a job, or find the attempt that Slurm began; a job that ended is submitted anew.

        Raises:
            SchedulerRefusedError: it cannot be submitted, or ended before its script began.
        """
        submitted = self._current.get(job.run)
        if submitted is None:
            submitted = self._current[job.run] = self._submit(job)
        is_over = self._is_over(submitted)  # First: what began before its end is found then.
        began = self._next_began(job, submitted)
        if began is not None:
            return self._begun(job, number, submitted, began)
        if is_over:
            if not any(each.submitted == submitted for each in self._attempts.values()):
                reason = "it is over, and its script never began"
                raise SchedulerRefusedError(f"slurm job {submitted.job_id}", reason)
            del self._current[job.run]  # It ended by itself: the next call submits it anew.
        return None

    def _is_over(self, submitted: Submitted) -> bool:
        with suppress(SchedulerRefusedError):  # Who does not answer now is asked again.
            now = self._jobs.show(submitted)
            return now is None or now.is_over
        return False

    def _submit(self, job: Job) -> Submitted:
        """Write the script of a job, and submit it.

        Raises:
            SchedulerRefusedError: it was not submitted.
        """
        folder = job.logs / FOLDER
        folder.mkdir(exist_ok=True)
        (folder / SCRIPT).write_text(script_text(job, self._plan, self._place), encoding="utf-8")
        prolog = folder / TASK_PROLOG
        prolog.write_text(task_prolog_text(job), encoding="utf-8")
        prolog.chmod(0o755)
        environment = {**os.environ, **job.environment}
        environment.pop(_ATTEMPT, None)  # That of whoever rehearses is not the job's.
        return self._jobs.submit(
            lambda name: submit_argv(job, self._plan, self._place, name),
            environment,
            folder / NOTED,
        )

    def _next_began(self, job: Job, submitted: Submitted) -> tuple[int, Path] | None:
        """Find the first start of a job that is not known yet."""
        known = [each.restarts for each in self._attempts.values() if each.submitted == submitted]
        found = []
        for path in (job.logs / FOLDER).glob(f"{submitted.job_id}-*.began"):
            restarts = path.stem.rpartition("-")[2]
            if restarts.isascii() and restarts.isdigit() and int(restarts) not in known:
                found.append((int(restarts), path))
        return min(found, default=None)

    def _begun(
        self, job: Job, number: int, submitted: Submitted, began: tuple[int, Path]
    ) -> Started | None:
        restarts, path = began
        said = read_began(path)
        if said is None:
            return None
        now = None
        with suppress(SchedulerRefusedError):
            now = self._jobs.show(submitted)
        began_s, key = said
        faults = self._plan.faults if job.run == self._plan.run else ()
        attempt = SlurmAttempt(
            key=key,
            run=job.run,
            submitted=submitted,
            restarts=restarts,
            began_us=began_s * SECOND_US,
            tail=JournalTail(job.spool, key),
            status_file=path.with_suffix(".ended"),
            is_told_by_slurm=now is None or now.has_gpus,
            ended_by=faults[number - 1].ended_by if number <= len(faults) else "scheduler",
        )
        self._attempts[key] = attempt
        allocation = None if attempt.is_told_by_slurm else self._stated(submitted)
        return Started(job, number, key, attempt.began_us, (submitted.id,), allocation)

    def _stated(self, submitted: Submitted) -> dict[str, Any]:
        """Give the allocation of a job without GPUs: those that the plan takes it to hold."""
        planned = self._plan.allocation
        stated = {
            "scheduler": "slurm",
            "cluster": self._place.cluster,
            "job_id": submitted.job_id,
            "nodes": [],
            "gpu_count": planned.gpu_count,
            "gpu_type": planned.gpu_type,
            "capacity": planned.capacity,
            "zone": planned.zone,
            "tier": planned.tier,
        }
        return {key: value for key, value in stated.items() if value is not None}

    def look(self, started: Started) -> Look:
        """Read the job's journal, and ask whether its allocation is over."""
        attempt = self._attempts[started.attempt]
        gone = None
        with suppress(SchedulerRefusedError):  # Who does not answer now is asked again.
            gone = self._gone(attempt)
        return Look(attempt.tail.read(), gone)

    def _gone(self, attempt: SlurmAttempt) -> Gone | None:
        now = self._jobs.show(attempt.submitted)
        if now is None:
            return Gone(clock_us(), read_status(attempt.status_file))
        if now.restarts == attempt.restarts and now.preempted_s is not None:
            attempt.noticed_us = attempt.noticed_us or now.preempted_s * SECOND_US
        if now.is_over and now.restarts == attempt.restarts:
            return Gone(clock_us(), now.exit_code, now.signal)
        # While it is completing the old attempt is, whatever the number of restarts says.
        if now.restarts > attempt.restarts and now.state != "COMPLETING":
            return Gone(clock_us())
        return None

    def _running(self, attempt: SlurmAttempt) -> bool:
        """Tell whether an attempt still runs, before something is done to it.

        Raises:
            NotOursError: its id is somebody else's.
            SchedulerRefusedError: there is no answer.
        """
        now = self._jobs.show(attempt.submitted)
        if now is None:
            return False
        return now.state == "RUNNING" and now.restarts == attempt.restarts

    def notice(self, started: Started) -> tuple[Act, ...]:
        """Send SIGTERM to the job."""
        attempt = self._attempts[started.attempt]
        argv = notice_argv(self._place, attempt.submitted.job_id)
        act = self._do(attempt, argv, "scancel --signal=TERM")
        return () if act is None else (act,)

    def interrupt(self, started: Started, target: str, still: Still) -> tuple[Act, ...] | None:
        """Requeue the job, or submit the one that pre-empts it.

        Raises:
            NoTargetError: one worker alone is meant.
        """
        attempt = self._attempts[started.attempt]
        if target != "all":
            raise NoTargetError(target)
        if not still():
            return None
        if self._place.preempting_partition is None:
            act = self._do(attempt, requeue_argv(attempt.submitted.job_id), "scontrol requeue")
        else:
            act = self._preempt(attempt, started.job)
        attempt.is_interrupted = attempt.is_interrupted or act is not None
        return None if act is None else (act,)

    def _do(self, attempt: SlurmAttempt, argv: tuple[str, ...], word: str) -> Act | None:
        """Do something to an attempt that runs; None if it does not any more."""
        if not self._running(attempt):
            return None
        at_us = clock_us()
        refused = self._slurm.act(argv)
        if refused is None:
            return Act(word, attempt.submitted.id, at_us)
        if self._running(attempt):
            raise SchedulerRefusedError(shlex.join(argv), refused)
        return None

    def _preempt(self, attempt: SlurmAttempt, job: Job) -> Act | None:
        """Submit a job for exactly the nodes of an attempt, which it has for itself."""
        now = self._jobs.show(attempt.submitted)
        if now is None or not self._running(attempt):
            return None
        at_us = clock_us()
        attempt.preempting = self._jobs.submit(
            lambda name: preempt_argv(self._place, name, now.nodes, now.node_count),
            dict(os.environ),
            job.logs / FOLDER / NOTED,
        )
        word = f"sbatch --partition={self._place.preempting_partition}"
        return Act(word, attempt.preempting.id, at_us)

    def result(self, job: Job, name: str) -> Path | None:
        """Give the file with the result, where the job put it."""
        return result_file(job, name)

    def end(self, started: Started) -> tuple[Act, ...]:
        """Cancel the job, and the one that was to pre-empt it."""
        attempt = self._attempts[started.attempt]
        ours = (attempt.submitted, attempt.preempting)
        return tuple(act for each in ours if each is not None for act in self._jobs.cancel(each))

    def close(self) -> tuple[Act, ...]:
        """Cancel all that was submitted, and wait until Slurm has none of it any more.

        Raises:
            SurvivorsError: something is left.
        """
        return self._jobs.close()


def _check_faults(plan: Plan, place: SlurmPlace) -> None:
    """See that each fault is one that Slurm brings.

    Raises:
        RouteUnavailableError: one is not.
    """
    is_preempted = place.preempting_partition is not None
    for number, fault in enumerate(plan.faults, start=1):
        reason = None
        if fault.target != "all":
            reason = "Slurm takes back whole jobs: expected target = 'all'"
        elif fault.wait_us:
            reason = "Slurm brings the replacement when it can: expected no wait_s"
        elif is_preempted and fault.notice_us is not None:
            reason = "the partition's GraceTime gives the notice: expected no notice_s"
        elif is_preempted and fault.ended_by != "scheduler":
            reason = "pre-emption is the scheduler's act: expected ended_by = 'scheduler'"
        if reason is not None:
            raise RouteUnavailableError("slurm", f"fault {number}: {reason}")


def _check_cluster(slurm: Slurm, cluster: str, *, is_here: bool) -> None:
    """See that this machine belongs to the cluster that the plan means.

    Raises:
        RouteUnavailableError: it does not.
    """
    missing = [each for each in _COMMANDS if not is_here and shutil.which(each) is None]
    if missing:
        raise RouteUnavailableError("slurm", f"expected the command {missing[0]}")
    try:
        found = slurm.cluster()
    except SchedulerRefusedError as error:
        raise RouteUnavailableError("slurm", str(error)) from error
    if found != cluster:
        raise RouteUnavailableError("slurm", f"expected cluster {cluster!a}, found {found!a}")
