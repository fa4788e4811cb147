"""What a run achieved and lost: steps, checkpoints, interruptions (rules 39 to 44).

Each number is exact, or bounded, or None for unknown: what nobody stated is never guessed.
"""

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from operator import add
from typing import NamedTuple

from tallystick.core.finding import Finding
from tallystick.timeline.attempt import Attempt
from tallystick.timeline.checkpoints import Commit, commits_of_run, last_valid, valid_steps
from tallystick.timeline.grouping import RunRecords
from tallystick.timeline.lives import Life, Reports, Restore
from tallystick.timeline.progress import has_progress

_WORK_KINDS = (
    "checkpoint.restored",
    "progress.step",
    "checkpoint.begun",
    "checkpoint.committed",
)


@dataclass(frozen=True, slots=True)
class Interruption:
    """What one interrupted attempt lost, in steps; ``lost_at_most`` None is unbounded."""

    attempt: str
    last_step: int | None
    restored_step: int | None
    lost_at_least: int
    lost_at_most: int | None
    avoidable_lost: int | None


class RestoreAhead(NamedTuple):
    """An attempt restored a step that lies so many ahead of all that was known to be reached."""

    attempt: str
    step: int
    ahead: int


@dataclass(frozen=True, slots=True)
class Achievement:
    """What the run stands at, and what interruptions cost it."""

    steps_completed: int | None
    last_valid_checkpoint: Commit | None
    interruptions: tuple[Interruption, ...]
    replayed_at_least: int
    replayed_at_most: int | None
    accepted: bool | None
    findings: tuple[Finding, ...]


def achievement(
    run: RunRecords,
    attempts: Sequence[Attempt],
    lives: Sequence[Life],
    lives_of: Mapping[str, Sequence[Life]],
) -> Achievement:
    """Work out what the run achieved.

    Args:
        run: The records that name the run.
        attempts: Its attempts, in order.
        lives: Their lives, in order.
        lives_of: The same by attempt.
    """
    commits = commits_of_run(attempts)
    accepted, first_accepted_us = _verdict(run)
    replayed_at_least, replayed_at_most = _replayed(attempts, lives)
    return Achievement(
        steps_completed=_steps_completed(lives),
        last_valid_checkpoint=last_valid(commits),
        interruptions=_interruptions(attempts, lives_of, commits),
        replayed_at_least=replayed_at_least,
        replayed_at_most=replayed_at_most,
        accepted=accepted,
        findings=(
            *_restored_ahead(lives, commits),
            *_restart_loops(attempts, lives_of),
            *_after_accept(attempts, first_accepted_us if accepted else None),
        ),
    )


def _interruptions(
    attempts: Sequence[Attempt], lives: Mapping[str, Sequence[Life]], commits: Sequence[Commit]
) -> tuple[Interruption, ...]:
    """Bound what each interrupted attempt lost, and what of it was avoidable."""
    restores = _next_restores(attempts, lives)
    known_us = {restore.at_us for restore in restores if restore is not None}
    valid = valid_steps(commits, known_us)
    found = []
    for index, (attempt, restore) in enumerate(zip(attempts, restores, strict=True)):
        if not attempt.is_interrupted:
            continue
        own = lives[attempt.key]
        last = _last_reports(own)
        at_least, at_most = _lost(attempt, own, index, restore)
        interruption = Interruption(
            attempt=attempt.key,
            last_step=None if last is None else last.steps[-1],
            restored_step=None if restore is None else restore.step,
            lost_at_least=at_least,
            lost_at_most=at_most,
            avoidable_lost=None if restore is None else _avoidable(restore, valid),
        )
        found.append(interruption)
    return tuple(found)


def _next_restores(
    attempts: Sequence[Attempt], lives: Mapping[str, Sequence[Life]]
) -> list[Restore | None]:
    """Find for each what the next attempt that shows work restored; None if it did not say."""
    found: list[Restore | None] = []
    following: Restore | None = None
    for attempt in reversed(attempts):
        found.append(following)
        if not attempt.records.by_kind.keys().isdisjoint(_WORK_KINDS):
            following = lives[attempt.key][0].restored
    return found[::-1]


def _last_reports(lives: Sequence[Life]) -> Reports | None:
    """Give the reports of the last life that has any."""
    return next((life.reports for life in reversed(lives) if life.reports.steps), None)


def _lost(
    attempt: Attempt, lives: Sequence[Life], index: int, restore: Restore | None
) -> tuple[int, int | None]:
    """Bound the steps that the attempt lost (rule 39)."""
    is_clean = attempt.end is not None and attempt.end.is_clean
    last = _last_reports(lives)
    reached = lives[-1].stands_at
    if reached is None and index == 0 and has_progress(attempt):
        reached = 0
    at_least = 0 if restore is None or reached is None else max(0, reached - restore.step)
    if reached is None or (last is None and not is_clean):
        return at_least, None
    beyond = 0 if is_clean or last is None else last.every[-1] - 1
    kept = 0 if restore is None else restore.step
    return at_least, max(at_least, reached + beyond - kept)


def _avoidable(restore: Restore, valid: Mapping[int, int]) -> int:
    """Tell how far beyond the restored step a valid checkpoint then was (rule 40)."""
    return max(0, valid.get(restore.at_us, restore.step) - restore.step)


def _replayed(attempts: Sequence[Attempt], lives: Sequence[Life]) -> tuple[int, int | None]:
    """Bound the steps that were run again (rule 41)."""
    at_least = at_most = 0
    for life in lives:
        if life.highest_step is None:
            continue
        again = min(life.highest_step, life.highest_before)
        at_most += max(0, again - (0 if life.restored is None else life.restored.step))
        if life.restored is not None:
            at_least += max(0, again - life.restored.step)
    if len(attempts) > 1 and not all(map(has_progress, attempts)):
        return at_least, None
    return at_least, at_most


def _steps_completed(lives: Sequence[Life]) -> int | None:
    """Give what the last life that says anything stands at (rule 42)."""
    standing = [life.stands_at for life in lives if life.stands_at is not None]
    return standing[-1] if standing else None


def _restored_ahead(lives: Sequence[Life], commits: Sequence[Commit]) -> list[Finding]:
    """Find attempts that restored more than anybody is known to have reached (rule 42)."""
    findings: dict[str, Finding] = {}
    for attempt, step, _ in restores_ahead(lives, commits):
        message = f"it restored step {step}, beyond all that was reported"
        findings[attempt] = Finding("restored_ahead", message, attempt)
    return list(findings.values())


def restores_ahead(lives: Sequence[Life], commits: Sequence[Commit]) -> list[RestoreAhead]:
    """Find restores of more than every earlier report and valid commit (rule 42)."""
    found: list[RestoreAhead] = []
    reached: int | None = None
    earlier: dict[str, None] = {}
    for life in lives:
        if life.restored is not None and reached is not None and life.restored.step > reached:
            saved = _saved_before(life, life.restored, earlier, commits)
            known = max((reached, *saved))
            if life.restored.step > known:
                step = life.restored.step
                found.append(RestoreAhead(life.attempt, step, step - known))
        beyond = max(map(add, life.reports.steps, life.reports.every), default=None)
        if beyond is not None:
            reached = beyond - 1 if reached is None else max(reached, beyond - 1)
        earlier[life.attempt] = None
    return found


def _saved_before(
    life: Life, restored: Restore, earlier: Container[str], commits: Sequence[Commit]
) -> list[int]:
    """Give the steps of valid commits of earlier attempts, and of its own up to the restore."""
    steps = []
    for commit in commits:
        if commit.attempt == life.attempt:
            is_known = commit.at_us <= restored.at_us and commit.is_valid(restored.at_us)
        else:
            is_known = commit.attempt in earlier and commit.is_valid()
        if is_known:
            steps.append(commit.step)
    return steps


def _restart_loops(
    attempts: Sequence[Attempt], lives: Mapping[str, Sequence[Life]]
) -> list[Finding]:
    """Find two or more interrupted attempts in a row that reached nothing new (rule 43)."""
    findings = []
    fruitless: list[str] = []
    highest = 0
    for attempt in attempts:
        steps = [life.highest_step for life in lives[attempt.key] if life.highest_step is not None]
        is_new = max(steps, default=0) > highest
        if attempt.is_interrupted and has_progress(attempt) and not is_new:
            fruitless.append(attempt.key)
        else:
            findings += _loop(fruitless)
            fruitless = []
        highest = max([highest, *steps])
    return findings + _loop(fruitless)


def _loop(fruitless: Sequence[str]) -> list[Finding]:
    if len(fruitless) < 2:  # One restart without progress is no loop.
        return []
    message = f"{len(fruitless)} attempts in a row were interrupted and reached no new step"
    return [Finding("restart_loop", message, fruitless[-1])]


def _verdict(run: RunRecords) -> tuple[bool | None, int | None]:
    """Give the latest verdict (at one moment rejected) and the first acceptance (rule 44)."""
    accepted = [record.at_us or 0 for record in run.of("output.accepted")]
    rejected = [record.at_us or 0 for record in run.of("output.rejected")]
    if not accepted and not rejected:
        return None, None
    last_us = max(accepted + rejected)
    return last_us not in rejected, min(accepted, default=None)


def _after_accept(attempts: Sequence[Attempt], accepted_us: int | None) -> list[Finding]:
    if accepted_us is None:
        return []
    message = "it started after the run's output was accepted"
    return [
        Finding("attempt_after_accept", message, attempt.key)
        for attempt in attempts
        if attempt.start_us >= accepted_us
    ]
