"""One attempt of a rehearsed run: watched, interrupted where its fault is to come, and ended."""

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from threading import Event
from typing import Final, NamedTuple

from tallystick.core.errors import TallystickError
from tallystick.core.finding import Finding
from tallystick.emit.spool import clock_us
from tallystick.rehearsal.errors import NoTargetError, RehearsalStoppedError
from tallystick.rehearsal.facts import Facts
from tallystick.rehearsal.plan import Fault, Plan
from tallystick.rehearsal.route import Act, Gone, Job, Route, Started
from tallystick.rehearsal.seen import Seen, is_reached

_ABANDON_S: Final = 30.0


@dataclass(frozen=True, slots=True)
class Ground:
    """What all attempts of a rehearsal share."""

    plan: Plan
    route: Route
    facts: Facts
    stop: Event
    """Set when somebody asks to stop."""
    say: Callable[[str], None]
    """Told what happens, for people."""

    def pause(self, limit_s: float) -> None:
        """Wait a while.

        Raises:
            RehearsalStoppedError: somebody asked to stop.
        """
        if self.stop.wait(limit_s):
            raise RehearsalStoppedError


class AttemptEnd(NamedTuple):
    """How an attempt ended."""

    is_completed: bool
    has_reported: bool
    saved: int | None
    """Highest step of a checkpoint that it committed."""
    findings: tuple[Finding, ...]


class _Strike(NamedTuple):
    acts: tuple[Act, ...]
    at_us: int | None
    """None if the job went by itself when it was told."""
    since_s: float


class Attempt:
    """An attempt that runs."""

    def __init__(
        self, ground: Ground, started: Started, fault: Fault | None, *, is_saved: bool
    ) -> None:
        """Begin to watch.

        Args:
            ground: What all attempts share.
            started: The attempt.
            fault: What is to interrupt it, None if nothing is.
            is_saved: Whether an earlier attempt of the run committed a checkpoint.
        """
        self._ground = ground
        self._route = ground.route
        self._started = started
        self._fault = fault
        self._is_saved = is_saved
        self._since_s = time.monotonic()
        self._seen = Seen()
        self._has_reported = False
        self._gone: Gone | None = None
        self._strike: _Strike | None = None
        self._is_late = False
        self._findings: list[Finding] = []

    def follow(self) -> AttemptEnd:
        """Watch the attempt to its end.

        Raises:
            RehearsalStoppedError: somebody asked to stop; it is ended first.
        """
        try:
            self._ground.facts.started(self._started)
            while self._look() is None:
                if self._is_due():
                    self._interrupt()
                else:
                    self._end_if_late()
                    self._ground.pause(self._route.poll_s)
        except BaseException:
            self._abandon()
            raise
        return self._tell()

    def _look(self) -> Gone | None:
        look = self._route.look(self._started)
        self._has_reported = self._has_reported or bool(look.records)
        self._seen.add(look.records)
        self._gone = self._gone or look.gone
        return self._gone

    def _elapsed_us(self) -> int:
        return int((time.monotonic() - self._since_s) * 1_000_000)

    def _is_due(self) -> bool:
        """Tell whether the job is where its fault is to come, and the fault has not come yet."""
        if self._fault is None or self._strike is not None or self._is_late:
            return False
        elapsed_us = self._elapsed_us()
        return is_reached(self._fault, self._seen, elapsed_us=elapsed_us, is_saved=self._is_saved)

    def _interrupt(self) -> None:
        """Bring the fault: notice first, where the plan gives some."""
        assert self._fault is not None, "a fault is due"
        acts = self._give_notice(self._fault)
        hit: tuple[Act, ...] | None = ()
        try:
            if self._gone is None:
                still = self._is_still_due if self._fault.notice_us is None else _always
                hit = self._route.interrupt(self._started, self._fault.target, still)
        except NoTargetError as error:
            message = f"fault {self._started.number}: {error}"
            self._find(Finding("rehearsal_fault_missed", message, self._started.attempt))
            self._fault = None
            return
        if hit is not None:
            kills = [act.at_us for act in hit if act.act not in {"SIGSTOP", "SIGCONT"}]
            self._strike = _Strike((*acts, *hit), min(kills, default=None), time.monotonic())

    def _is_still_due(self) -> bool:
        return self._look() is None and self._is_due()

    def _give_notice(self, fault: Fault) -> tuple[Act, ...]:
        """Tell the job, and wait as long as the plan says or until it is gone."""
        if fault.notice_us is None:
            return ()
        acts = self._route.notice(self._started)
        at_us = min((act.at_us for act in acts), default=clock_us())
        self._ground.facts.noticed(self._started, fault, at_us)
        until_s = time.monotonic() + fault.notice_us / 1_000_000
        while self._look() is None and (left_s := until_s - time.monotonic()) > 0:
            self._ground.pause(min(left_s, self._route.poll_s))
        return acts

    def _end_if_late(self) -> None:
        """End what takes longer than the plan allows."""
        limits, number = self._ground.plan.limits, self._started.number
        if self._is_late:
            return
        if self._strike is not None:
            since_us = int((time.monotonic() - self._strike.since_s) * 1_000_000)
            if since_us > limits.detection_us:
                message = f"fault {number}: the rest of the job ran on and was ended"
                self._end(Finding("rehearsal_not_noticed", message, self._started.attempt))
        elif self._elapsed_us() > limits.attempt_us:
            message = f"attempt {number} took longer than limits.attempt_s and was ended"
            self._end(Finding("rehearsal_attempt_hung", message, self._started.attempt))

    def _end(self, finding: Finding) -> None:
        self._find(finding)
        self._is_late = True
        self._route.end(self._started)

    def _tell(self) -> AttemptEnd:
        """Say how the attempt ended; its reports are complete now."""
        assert self._gone is not None, "it was watched to its end"
        detected_us = clock_us()
        is_completed = self._is_completed(self._gone)
        if self._fault is not None:
            self._tell_fault(self._fault, self._gone, detected_us, is_completed=is_completed)
        ended_by = self._ended_by(is_completed=is_completed)
        self._ground.facts.ended(self._started, self._gone, ended_by)
        return AttemptEnd(is_completed, self._has_reported, self._seen.saved, tuple(self._findings))

    def _tell_fault(
        self, fault: Fault, gone: Gone, detected_us: int, *, is_completed: bool
    ) -> None:
        """Say that the fault came, or that it did not.

        A job may do without a worker that it lost. One that ended well was not killed whole:
        it was over before a scheduler could do it, or used its notice to finish.
        """
        strike, number = self._strike, self._started.number
        if strike is None:
            message = f"fault {number}: the job was never seen at {fault.when}"
        elif is_completed and (fault.target == "all" or strike.at_us is None):
            message = f"fault {number}: the job finished before it came"
        else:
            at_us = gone.at_us if strike.at_us is None else strike.at_us
            self._ground.facts.fault(
                self._started, fault, step=self._seen.step, acts=strike.acts, at_us=at_us
            )
            self._ground.facts.detected(self._started, detected_us)
            return
        self._find(Finding("rehearsal_fault_missed", message, self._started.attempt))

    def _is_completed(self, gone: Gone) -> bool:
        """Tell whether the job is done: it ended well and left a result."""
        if gone.exit_code != 0:
            return False
        job = self._started.job
        return self._route.result(job, self._ground.plan.job.result) is not None

    def _ended_by(self, *, is_completed: bool) -> str:
        if is_completed:
            return "completed"
        if self._fault is not None and self._strike is not None:
            return self._fault.ended_by
        return "time_limit" if self._is_late else "user"

    def _find(self, finding: Finding) -> None:
        self._ground.say(finding.message)
        self._findings.append(finding)

    def _abandon(self) -> None:
        """End the attempt because the rehearsal ends, and say so, as far as that can be done."""
        with suppress(TallystickError, OSError):
            self._route.end(self._started)
            until_s = time.monotonic() + _ABANDON_S
            while self._look() is None and time.monotonic() < until_s:
                time.sleep(self._route.poll_s)
            if self._gone is not None:
                self._ground.facts.ended(self._started, self._gone, "user")


def start_attempt(ground: Ground, job: Job, number: int) -> Started | None:
    """Start an attempt, or wait for the one that a scheduler brings; None if none comes in time.

    Raises:
        RehearsalStoppedError: somebody asked to stop.
        TallystickError: it cannot be started.
    """
    until_s = time.monotonic() + ground.plan.limits.attempt_us / 1_000_000
    while (started := ground.route.start(job, number)) is None:
        if time.monotonic() > until_s:
            return None
        ground.pause(ground.route.poll_s)
    return started


def _always() -> bool:
    return True
