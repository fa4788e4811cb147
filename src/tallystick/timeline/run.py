"""The timeline of a run: its attempts in order, their three lanes, and what it achieved.

This is a pure function of the records that name the run, what was seen of devices, and the
gap factor in force at each start: nothing else has a say, so a replay gives the same value.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from tallystick.core.finding import Finding
from tallystick.core.vocabulary import PROGRESS_KINDS
from tallystick.evidence.bodies import JobStats
from tallystick.evidence.record import Record
from tallystick.timeline.achievement import Achievement, achievement
from tallystick.timeline.allocation import AllocationLane, allocation_lane
from tallystick.timeline.attempt import Attempt, build_attempt
from tallystick.timeline.coverage import GpuCoverage, cover
from tallystick.timeline.grouping import RunRecords
from tallystick.timeline.lives import Life, lives_of_run
from tallystick.timeline.progress import progress_lane
from tallystick.timeline.segment_findings import segment_findings
from tallystick.timeline.spans import Lane
from tallystick.timeline.telemetry import Telemetry

_PLACED_KINDS = (
    "allocation.suspended",
    "allocation.resumed",
    "allocation.notice",
    *(kind for kind in PROGRESS_KINDS if kind != "checkpoint.committed"),
)


@dataclass(frozen=True, slots=True)
class AttemptTimeline:
    """One attempt with its three lanes; each lane is a partition of the time held."""

    attempt: Attempt
    allocation: Lane
    progress: Lane
    coverage: tuple[GpuCoverage, ...]
    replacement_wait_us: int | None


@dataclass(frozen=True, slots=True)
class RunTimeline:
    """All that is known of a run, before any contract."""

    records: RunRecords
    attempts: tuple[AttemptTimeline, ...]
    lives: tuple[Life, ...]
    achievement: Achievement
    findings: tuple[Finding, ...]
    aliases: Mapping[str, str]

    def attempt_key(self, name: str) -> str:
        """Give the key that counts for an attempt that a record names."""
        return self.aliases.get(name, name)


def run_timeline(
    run: RunRecords,
    telemetry: Telemetry,
    aliases: Mapping[str, str],
    gap_factor_at: Callable[[int], Fraction],
) -> RunTimeline:
    """Draw the timeline of one run.

    Args:
        run: The records that name the run or its attempts.
        telemetry: What was seen of devices.
        aliases: The key that counts for each other key of an attempt.
        gap_factor_at: The gap factor in force at a moment (rule 23).
    """
    attempts = sorted(
        (build_attempt(records) for records in run.attempts if records.started),
        key=lambda attempt: (attempt.start_us, attempt.key),
    )
    lives = lives_of_run(attempts)
    lives_of: dict[str, list[Life]] = defaultdict(list)
    for life in lives:
        lives_of[life.attempt].append(life)
    lanes = {attempt.key: allocation_lane(attempt) for attempt in attempts}
    timelines = tuple(
        AttemptTimeline(
            attempt=attempt,
            allocation=lanes[attempt.key].lane,
            progress=progress_lane(attempt, lives_of[attempt.key], lanes[attempt.key].suspended),
            coverage=cover(attempt, telemetry, gap_factor_at(attempt.start_us)),
            replacement_wait_us=_replacement_wait_us(index, attempts),
        )
        for index, attempt in enumerate(attempts)
    )
    achieved = achievement(run, attempts, lives, lives_of)
    findings = [
        *_run_findings(run),
        *segment_findings(attempts, telemetry, gap_factor_at),
        *achieved.findings,
        *(finding for timeline in timelines for finding in _attempt_findings(timeline, lanes)),
        *_overlaps(attempts),
    ]
    return RunTimeline(run, timelines, lives, achieved, tuple(findings), aliases)


def _replacement_wait_us(index: int, attempts: Sequence[Attempt]) -> int | None:
    """Give the time from an attempt's end to the next start; None if negative or not known."""
    end_us = attempts[index].end_us
    if end_us is None or index + 1 == len(attempts):
        return None
    wait_us = attempts[index + 1].start_us - end_us
    return wait_us if wait_us >= 0 else None


def _run_findings(run: RunRecords) -> list[Finding]:
    findings = [
        Finding("run_disagreement", "sources say that it belongs to different runs", key)
        for key in run.disagreeing
    ]
    findings += [
        Finding("attempt_without_start", "a link names it, and no record says it started", each.key)
        for each in run.attempts
        if not each.started
    ]
    return findings


def _attempt_findings(timeline: AttemptTimeline, lanes: dict[str, AllocationLane]) -> list[Finding]:
    attempt = timeline.attempt
    key = attempt.key
    findings = list(attempt.findings)
    if lanes[key].has_unpaired_resume:
        findings.append(Finding("unpaired_resume", "it was resumed without a pause before", key))
    if any(gpu.has_impossible for gpu in timeline.coverage):
        findings.append(
            Finding("impossible_value", "a sample has a value that it cannot have", key)
        )
    if any(map(_is_reversed, attempt.records.of("telemetry.job_stats"))):
        findings.append(Finding("reversed_interval", "a summary ends before it starts", key))
    placed = [each for kind in _PLACED_KINDS for each in _ends(attempt.records.of(kind))]
    if not all(attempt.start_us <= (each.at_us or 0) <= attempt.until_us for each in placed):
        message = "an event that names it lies outside its start and end"
        findings.append(Finding("event_outside_attempt", message, key))
    return findings


def _ends(records: Sequence[Record]) -> Sequence[Record]:
    """Give the first and the last of some records in order of time."""
    return [*records[:1], *records[-1:]]


def _is_reversed(record: Record) -> bool:
    stats = record.body
    return isinstance(stats, JobStats) and stats.end_us < stats.start_us


def _overlaps(attempts: Sequence[Attempt]) -> list[Finding]:
    """Find attempts that ran while an earlier one still held its GPUs (rule 17)."""
    findings = []
    latest_us: int | None = None
    for attempt in attempts:
        held = attempt.held
        if held is None:
            continue
        if latest_us is not None and held.start_us < latest_us:
            message = "it held GPUs while an earlier attempt still did"
            findings.append(Finding("overlapping_attempts", message, attempt.key))
        latest_us = held.end_us if latest_us is None else max(latest_us, held.end_us)
    return findings
