"""The receipt's predicate: a timeline and its rating, as plain JSON (section 7).

Nothing here decides: it names, orders and writes what the stages before found. Times are
RFC 3339, quantities and money decimal strings; exact values are plain and bounded ones pairs.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from tallystick.core.finding import Finding
from tallystick.core.instant import format_instant
from tallystick.core.money import money_text
from tallystick.core.quantity import bounded, seconds_text
from tallystick.evidence.bodies import RunDeclared
from tallystick.rating.rate import RatedRun
from tallystick.receipt.line_json import adjustment_json, line_json
from tallystick.timeline.attempt import Attempt
from tallystick.timeline.checkpoints import Commit
from tallystick.timeline.coverage import GpuCoverage
from tallystick.timeline.run import AttemptTimeline, RunTimeline
from tallystick.timeline.spans import Lane

SCHEMA = "tallystick.receipt/1"
KERNEL = "1"

_PROGRESS_CLASSES = (
    "starting",
    "advancing",
    "replaying",
    "discarded",
    "saving",
    "waiting",
    "mixed",
    "unknown",
)


def predicate(timeline: RunTimeline, rated: RatedRun, extra: Iterable[Finding]) -> dict[str, Any]:
    """Write a run's receipt.

    Args:
        timeline: What happened to the run.
        rated: What the contract makes of it.
        extra: Findings about the evidence as a whole that concern this run.
    """
    return {
        "schema": SCHEMA,
        "kernel": KERNEL,
        "run": _run(timeline),
        "revision": 1,
        "supersedes": None,
        "contracts": [
            {"id": each.id, "version": each.version, "digest": each.digest}
            for each in rated.versions
        ],
        "log": None,
        "attempts": [_attempt(each) for each in timeline.attempts],
        "coverage": [
            _coverage(each.attempt, gpu) for each in timeline.attempts for gpu in each.coverage
        ],
        "progress": _progress(timeline),
        "usage": _usage(rated),
        "lines": _lines(timeline, rated),
        "timeline": [
            {
                "attempt": each.attempt.key,
                "allocation": _lane(each.allocation),
                "progress": _lane(each.progress),
            }
            for each in timeline.attempts
        ],
        "totals": _totals(rated),
        "findings": _findings([*timeline.findings, *rated.findings, *extra]),
    }


def _run(timeline: RunTimeline) -> dict[str, Any]:
    declared = [record.body for record in timeline.records.of("run.declared")]
    classes = (body.job_class for body in declared if isinstance(body, RunDeclared))
    return {
        "id": timeline.records.run,
        "job_class": next((name for name in classes if name is not None), None),
        "accepted": timeline.achievement.accepted,
    }


def _attempt(timeline: AttemptTimeline) -> dict[str, Any]:
    attempt = timeline.attempt
    return {
        "attempt": attempt.key,
        "start": format_instant(attempt.start_us),
        "end": None if attempt.end_us is None else format_instant(attempt.end_us),
        "gpus": len(attempt.gpus),
        "gpu_uuids": [gpu.uuid for gpu in attempt.gpus if gpu.uuid is not None],
        "gpu_type": attempt.gpu_type,
        "capacity": attempt.capacity,
        "ended_by": attempt.ended_by,
        "notice_seconds": _seconds(attempt.notice_us),
        "replacement_wait_seconds": _seconds(timeline.replacement_wait_us),
    }


def _seconds(duration_us: int | None) -> str | None:
    return None if duration_us is None else seconds_text(duration_us)


def _coverage(attempt: Attempt, covered: GpuCoverage) -> dict[str, Any]:
    return {
        "attempt": attempt.key,
        "gpu": covered.gpu.uuid,
        "observed_seconds": seconds_text(covered.observed_us),
        "gaps": [
            {
                "start": format_instant(gap.start_us),
                "end": format_instant(gap.end_us),
                "reason": gap.reason,
            }
            for gap in covered.gaps
        ],
    }


def _progress(timeline: RunTimeline) -> dict[str, Any]:
    achieved = timeline.achievement
    spent_us = _spent_us(timeline.attempts)
    lost_us = spent_us["discarded"]
    at_most_us = lost_us + spent_us["mixed"] + _unknown_after_last_step_us(timeline)
    return {
        "steps_completed": achieved.steps_completed,
        "last_valid_checkpoint": _checkpoint(achieved.last_valid_checkpoint),
        "interruptions": [
            {
                "attempt": each.attempt,
                "last_step": each.last_step,
                "restored_step": each.restored_step,
                "lost_steps": bounded(each.lost_at_least, each.lost_at_most),
                "avoidable_lost_steps": each.avoidable_lost,
            }
            for each in achieved.interruptions
        ],
        "replayed_steps": bounded(achieved.replayed_at_least, achieved.replayed_at_most),
        "gpu_seconds": {label: seconds_text(us) for label, us in spent_us.items()},
        "lost_gpu_seconds": bounded(seconds_text(lost_us), seconds_text(at_most_us)),
    }


def _checkpoint(commit: Commit | None) -> dict[str, Any] | None:
    if commit is None:
        return None
    return {"checkpoint": commit.checkpoint, "step": commit.step, "attempt": commit.attempt}


def _spent_us(attempts: Sequence[AttemptTimeline]) -> dict[str, int]:
    """Add up GPU time by progress class; every kind of waiting is waiting."""
    spent_us = dict.fromkeys(_PROGRESS_CLASSES, 0)
    for each in attempts:
        for start_us, end_us, label in each.progress:
            spent_us[label.partition(":")[0]] += (end_us - start_us) * len(each.attempt.gpus)
    return spent_us


def _unknown_after_last_step_us(timeline: RunTimeline) -> int:
    """Add up what interrupted attempts may have worked after their last report (rule 67)."""
    total_us = 0
    for each in timeline.attempts:
        attempt = each.attempt
        if not attempt.is_interrupted:
            continue
        times = (record.at_us or 0 for record in attempt.records.of("progress.step"))
        inside = [at_us for at_us in times if attempt.start_us <= at_us <= attempt.until_us]
        # Without a report all of it may be lost: the bound must hold.
        last_us = max(inside, default=attempt.start_us)
        after_us = sum(
            max(0, end_us - max(start_us, last_us))
            for start_us, end_us, label in each.progress
            if label == "unknown"
        )
        total_us += after_us * len(attempt.gpus)
    return total_us


def _usage(rated: RatedRun) -> dict[str, str]:
    usage = rated.usage
    return {
        "metered": seconds_text(usage.metered_us),
        "net_billed": seconds_text(usage.net_billed_us),
        "excluded": seconds_text(usage.excluded_us),
        "credited": seconds_text(usage.credited_us),
        "held": seconds_text(usage.held_us),
        "unit": "gpu_seconds" if rated.terms.unit == "gpu" else "node_seconds",
    }


def _lines(timeline: RunTimeline, rated: RatedRun) -> list[dict[str, Any]]:
    by_key = {each.attempt.key: each for each in timeline.attempts}
    lines = [line_json(priced, by_key[priced.line.attempt], rated.terms) for priced in rated.lines]
    lines += [adjustment_json(each, rated.terms) for each in rated.adjustments]
    return [{"line": number} | line for number, line in enumerate(lines, start=1)]


def _lane(lane: Lane) -> list[dict[str, str]]:
    return [
        {"start": format_instant(start_us), "end": format_instant(end_us), "class": label}
        for start_us, end_us, label in lane
    ]


def _totals(rated: RatedRun) -> dict[str, Any]:
    totals, digits = rated.totals, rated.terms.rounding.digits
    held = totals.held_at_most
    at_most = totals.net_at_most
    return {
        "currency": rated.terms.currency,
        "charged": money_text(totals.charged, digits),
        "credits": money_text(totals.credits, digits),
        "adjustments": money_text(totals.adjustments, digits),
        "held_at_most": None if held is None else money_text(held, digits),
        "net": bounded(
            money_text(totals.net_at_least, digits),
            None if at_most is None else money_text(at_most, digits),
        ),
    }


def _findings(findings: Iterable[Finding]) -> list[dict[str, Any]]:
    """Sort findings and give each once (rule 64): most stand once for each code and attempt."""
    by_record = {"resolution_unused", "currency_mismatch", "sequence_gap"}
    seen: set[tuple[str, str | None]] = set()
    kept = []
    for finding in sorted(
        findings,
        key=lambda each: (each.code, each.attempt is not None, each.attempt or "", each.message),
    ):
        place = (finding.code, finding.attempt)
        if finding.code in by_record or place not in seen:
            seen.add(place)
            kept.append(finding)
    return [{"code": each.code, "message": each.message, "attempt": each.attempt} for each in kept]
