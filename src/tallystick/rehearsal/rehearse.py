"""A rehearsal: the job once from start to end, once with faults, and the results compared.

Whatever happens, the route is closed at the end, and nothing that was started runs on.
"""

import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tallystick.core.finding import Finding
from tallystick.rehearsal.attempt import Attempt, AttemptEnd, Ground, start_attempt
from tallystick.rehearsal.compare import Comparison, compare_results
from tallystick.rehearsal.facts import decimal_text
from tallystick.rehearsal.holds import VARIABLE, holds_text
from tallystick.rehearsal.plan import Fault, Plan
from tallystick.rehearsal.route import Job

TWIN_FOLDER: Final = "uninterrupted"
FOLDER: Final = "interrupted"

_NAMED: Final = re.compile(r"\{(plan|work)\}")


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a rehearsal ended."""

    is_finished: bool
    """Whether both runs came to a result."""
    comparison: Comparison | None
    """None if there are no two results."""
    findings: tuple[Finding, ...]

    @property
    def is_good(self) -> bool:
        """Whether the run recovered as planned: every fault came, and the results are equal."""
        is_equal = self.comparison is not None and self.comparison.is_equal
        return self.is_finished and is_equal and not self.findings


def jobs_of(plan: Plan, plan_folder: Path, out: Path) -> tuple[Job, Job]:
    """Give the two jobs of a plan: the uninterrupted one, and the one that faults hit.

    Args:
        plan: The plan.
        plan_folder: Where its file is.
        out: Where everything of the rehearsal goes.
    """
    holds = {VARIABLE: holds_text(plan.faults)}
    return (
        _job(plan, plan.twin, TWIN_FOLDER, {}, (plan_folder, out)),
        _job(plan, plan.run, FOLDER, holds, (plan_folder, out)),
    )


def rehearse(ground: Ground, jobs: tuple[Job, Job]) -> Outcome:
    """Rehearse.

    Args:
        ground: Plan, route, and where to tell what happens.
        jobs: What ``jobs_of`` gave; their folders are there, and empty.

    Raises:
        RehearsalStoppedError: somebody asked to stop.
        TallystickError: something cannot be started, or not be ended.
    """
    plan, (twin, job) = ground.plan, jobs
    try:
        ground.facts.declared()
        ground.say(f"{twin.run}: from start to end")
        is_finished, findings = _run_to_end(ground, twin, ())
        if is_finished:
            ground.say(f"{job.run}: with {len(plan.faults)} faults")
            is_finished, found = _run_to_end(ground, job, plan.faults)
            findings = (*findings, *found)
        comparison = _compare(ground, jobs) if is_finished else None
    finally:
        ground.route.close()
    if comparison is not None:
        ground.facts.compared(comparison)
        if not comparison.is_equal:
            findings = (*findings, _differs(comparison, plan))
    return Outcome(is_finished, comparison, findings)


def _job(
    plan: Plan, run: str, name: str, extra: Mapping[str, str], folders: tuple[Path, Path]
) -> Job:
    plan_folder, out = folders
    folder = out / "work" / name
    spool = out / "spool"
    own = {"TALLYSTICK_RUN_ID": run, "TALLYSTICK_SPOOL": str(spool)}
    return Job(
        run=run,
        argv=_argv(plan, plan_folder, folder),
        environment={**dict(plan.job.environment), **own, **extra},
        spool=spool,
        folder=folder,
        logs=out / "logs" / name,
    )


def _argv(plan: Plan, plan_folder: Path, folder: Path) -> tuple[str, ...]:
    trainer = plan.job.trainer
    if trainer is None:
        folders = {"plan": str(plan_folder), "work": str(folder)}
        return tuple(
            # In one pass: a folder may have such a name itself.
            _NAMED.sub(lambda found: folders[found[1]], argument)
            for argument in plan.job.command
        )
    return (
        *(sys.executable, "-P", "-m", "tallystick.rehearsal.trainer"),
        *("--workers", str(trainer.workers), "--steps", str(trainer.steps)),
        *("--save-every", str(trainer.save_every), "--seed", str(trainer.seed)),
        *("--step-ms", str(trainer.step_ms), "--on-notice", trainer.on_notice),
    )


def _run_to_end(
    ground: Ground, job: Job, faults: tuple[Fault, ...]
) -> tuple[bool, tuple[Finding, ...]]:
    """Run a job until it has a result, or until the plan gives it up."""
    limits = ground.plan.limits
    findings: list[Finding] = []
    saved: int | None = None
    fruitless = 0
    for number in range(1, limits.attempts_max + 1):
        fault = faults[number - 1] if number <= len(faults) else None
        end = _attempt(ground, job, number, fault, is_saved=saved is not None)
        findings += end.findings
        if end.is_completed:
            return True, (*findings, *_not_reached(job, faults, number))
        has_progress = end.saved is not None and (saved is None or end.saved > saved)
        # A job that reports nothing may well make progress: that is not known.
        fruitless = fruitless + 1 if end.has_reported and not has_progress else 0
        saved = end.saved if has_progress else saved
        if fruitless >= limits.restarts_without_progress_max:
            message = f"{job.run}: {fruitless} attempts in a row saved nothing new; it was given up"
            return False, (*findings, Finding("rehearsal_no_progress", message))
    message = f"{job.run}: no result after {limits.attempts_max} attempts; see its logs"
    return False, (*findings, Finding("rehearsal_attempts_exhausted", message))


def _attempt(
    ground: Ground, job: Job, number: int, fault: Fault | None, *, is_saved: bool
) -> AttemptEnd:
    """Start an attempt, watch it to its end, and wait for as long as a replacement takes."""
    started = start_attempt(ground, job, number)
    if started is None:
        message = f"{job.run}: attempt {number} did not start within limits.attempt_s"
        hung = Finding("rehearsal_attempt_hung", message)
        return AttemptEnd(is_completed=False, has_reported=False, saved=None, findings=(hung,))
    ground.say(f"{job.run}: attempt {number} is {', '.join(started.ids)}")
    end = Attempt(ground, started, fault, is_saved=is_saved).follow()
    ground.say(f"{job.run}: attempt {number} is {'completed' if end.is_completed else 'over'}")
    if fault is not None and fault.wait_us and not end.is_completed:
        ground.pause(fault.wait_us / 1_000_000)
    return end


def _not_reached(job: Job, faults: tuple[Fault, ...], attempts: int) -> list[Finding]:
    """Tell which faults no attempt was left for."""
    message = f"{job.run}: it finished in attempt {attempts}, before fault"
    return [
        Finding("rehearsal_fault_missed", f"{message} {number}")
        for number in range(attempts + 1, len(faults) + 1)
    ]


def _compare(ground: Ground, jobs: tuple[Job, Job]) -> Comparison:
    twin, job = (ground.route.result(each, ground.plan.job.result) for each in jobs)
    assert twin is not None, "a run is finished when it has a result"
    assert job is not None, "a run is finished when it has a result"
    return compare_results(job, twin, ground.plan.tolerance)


def _differs(comparison: Comparison, plan: Plan) -> Finding:
    difference = decimal_text(comparison.difference)
    found = "they cannot be compared as numbers" if difference is None else f"by {difference}"
    message = f"the results differ: {found}, with a tolerance of {plan.tolerance_text}"
    return Finding("rehearsal_result_differs", message)
