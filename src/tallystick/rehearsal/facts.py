"""What a rehearsal has to say, as evidence in its own spool.

Where no scheduler gives the job its GPUs, allocations are told here too, as the plan states
them: they stand in for those of a real run, and ``rehearsal.declared`` says by which route.
"""

from fractions import Fraction

from tallystick.core.instant import format_instant
from tallystick.core.quantity import seconds_text
from tallystick.emit.spool import Spool, clock_us
from tallystick.rehearsal.compare import Comparison
from tallystick.rehearsal.plan import Fault, Plan
from tallystick.rehearsal.route import Act, Gone, Started

BY = "rehearsal"


class Facts:
    """Writes records of one rehearsal."""

    def __init__(self, spool: Spool, plan: Plan) -> None:
        self._spool = spool
        self._plan = plan

    def declared(self) -> None:
        """Say what is about to be rehearsed: both runs, and the promise that is held to it."""
        plan, now_us = self._plan, clock_us()
        trainer = plan.job.trainer
        stated = {
            "provider": plan.provider,
            "target_steps": None if trainer is None else trainer.steps,
        }
        known = {key: value for key, value in stated.items() if value is not None}
        for run in (plan.twin, plan.run):
            self._spool.put("run.declared", {"run": run, "job_class": BY, **known}, now_us)
        promised_us = plan.promised_notice_us
        body = {
            "run": plan.run,
            "uninterrupted": plan.twin,
            "route": plan.route,
            "plan": plan.digest,
            "promised_notice_seconds": None if promised_us is None else seconds_text(promised_us),
            "tolerance": plan.tolerance_text,
        }
        self._spool.put("rehearsal.declared", body, now_us)

    def started(self, started: Started) -> None:
        """Say that an attempt holds its allocation, if nobody else says so."""
        if started.allocation is not None:
            body = {**started.allocation, "attempt": started.attempt, "run": started.job.run}
            self._spool.put("allocation.started", body, started.at_us)

    def noticed(self, started: Started, fault: Fault, at_us: int) -> None:
        """Say that notice was given, which no scheduler's records say."""
        body = {
            "attempt": started.attempt,
            "by": "scheduler" if fault.ended_by == "scheduler" else "provider",
            "deadline": format_instant(at_us + (fault.notice_us or 0)),
        }
        self._spool.put("allocation.notice", body, at_us)

    def ended(self, started: Started, gone: Gone, ended_by: str) -> None:
        """Say that an attempt gave its allocation back, if nobody else says so."""
        if started.allocation is None:
            return
        stated = {"exit_code": gone.exit_code, "signal": gone.signal}
        known = {key: value for key, value in stated.items() if value is not None}
        body = {"attempt": started.attempt, "ended_by": ended_by, **known}
        self._spool.put("allocation.ended", body, gone.at_us)

    def fault(
        self, started: Started, fault: Fault, *, step: int | None, acts: tuple[Act, ...], at_us: int
    ) -> None:
        """Say that a fault came.

        Args:
            started: The attempt that it hit.
            fault: The fault.
            step: Last step that the attempt reported, None if it reported none.
            acts: All that was done for it.
            at_us: When the attempt was interrupted.
        """
        body = {
            "run": started.job.run,
            "attempt": started.attempt,
            "fault": started.number,
            "route": self._plan.route,
            "when": fault.when,
            "target": fault.target,
            "step": step,
            "notice_seconds": None if fault.notice_us is None else seconds_text(fault.notice_us),
            "acts": [{"act": a.act, "id": a.id, "at": format_instant(a.at_us)} for a in acts],
        }
        self._spool.put("rehearsal.fault", body, at_us)

    def detected(self, started: Started, at_us: int) -> None:
        """Say when the route saw that the attempt was gone."""
        body = {"run": started.job.run, "attempt": started.attempt, "fault": started.number}
        self._spool.put("rehearsal.detected", body, at_us)

    def compared(self, comparison: Comparison) -> None:
        """Say how the results compare, and accept or reject that of the interrupted run."""
        plan, now_us = self._plan, clock_us()
        body = {
            "run": plan.run,
            "digest": comparison.digest,
            "uninterrupted_digest": comparison.other_digest,
            "equal": comparison.is_equal,
            "difference": decimal_text(comparison.difference),
            "tolerance": plan.tolerance_text,
        }
        self._spool.put("rehearsal.result", body, now_us)
        verdict = {
            "run": plan.run,
            "by": BY,
            "criterion": f"within {plan.tolerance_text} of the uninterrupted result",
            "digest": comparison.digest,
        }
        kind = "output.accepted" if comparison.is_equal else "output.rejected"
        self._spool.put(kind, verdict, now_us)


def decimal_text(number: Fraction | None) -> str | None:
    """Write a number that has a finite decimal form, exactly."""
    if number is None:
        return None
    digits = 0
    while number.denominator > 1:
        # Differences of binary numbers: each factor 2 below needs one digit.
        number *= 10
        digits += 1
    text = str(number.numerator).rjust(digits + 1, "0")
    return text if digits == 0 else f"{text[:-digits]}.{text[-digits:]}"
