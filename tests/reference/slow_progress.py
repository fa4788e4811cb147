"""The facts of progress, the slow and literal way: SPEC 6 and rules 39 to 43 and 67."""

from typing import Any

from tests.reference.slow_admission import Record
from tests.reference.slow_attempts import PROGRESS, Attempt, Run, at_of
from tests.reference.slow_bodies import Json
from tests.reference.slow_lanes import Life, Piece

# -- checkpoints ---------------------------------------------------------------------------


def valid_commits(commits: list[Record], run: Run) -> list[Record]:
    """Rule 40: the commits that neither a verification nor a replacement made invalid."""
    checks = [one for attempt in run.attempts for one in attempt.of("checkpoint.verified")]
    everything = commits_of(run)
    return [one for one in commits if is_valid(one, commits, everything, checks)]


def is_valid(
    commit: Record, commits: list[Record], everything: list[Record], checks: list[Record]
) -> bool:
    """Rule 40, for one commit among those that count.

    A verification belongs to the commit before it even if the next one does not count yet.
    """
    if any(one.body["step"] != commit.body["step"] for one in commits if is_later(one, commit)):
        return False
    until = min((at_of(one) for one in everything if is_later(one, commit)), default=None)
    verdicts = [
        (at_of(one), not one.body["ok"])
        for one in checks
        if same_name(one, commit)
        and at_of(one) >= at_of(commit)
        and (until is None or at_of(one) < until)
    ]
    return not verdicts or not max(verdicts)[1]  # At one moment false wins.


def is_later(one: Record, commit: Record) -> bool:
    """Whether a commit of the same name comes after another; rule 7 settles one moment."""
    return same_name(one, commit) and one.order() > commit.order()


def same_name(one: Record, other: Record) -> bool:
    """Whether two records concern one checkpoint name of one attempt."""
    return one.attempt == other.attempt and one.body["checkpoint"] == other.body["checkpoint"]


def commits_of(run: Run) -> list[Record]:
    """Every commit of the run, whatever its time (rule 16)."""
    commits = [one for attempt in run.attempts for one in attempt.of("checkpoint.committed")]
    return sorted(commits, key=Record.order)


# -- facts ---------------------------------------------------------------------------------


def bounded(low: Any, high: Any) -> Any:
    """F7: exact values are plain; a bounded one is an object."""
    return low if low == high else {"at_least": low, "at_most": high}


def has_progress(attempt: Attempt) -> bool:
    """Rule 34: `checkpoint.verified` is no progress event."""
    return bool(attempt.of(*PROGRESS))


def interruption(index: int, run: Run, lives: list[Life]) -> Json:
    """Rule 39."""
    attempt = run.attempts[index]
    own = [life for life in lives if life.attempt is attempt]
    reports = [step for life in own for step in life.steps]
    restored = next_restore(run.attempts[index + 1 :])
    r = None if restored is None else restored.body["step"]
    d = own[-1].stands_at
    if d is None and index == 0 and has_progress(attempt):
        d = 0
    clean = attempt.exit_code == 0 and not attempt.signal
    at_least = 0 if d is None or r is None else max(0, d - r)
    at_most = None
    if d is not None and (reports or clean):
        surplus = 0 if clean else reports[-1].every - 1
        at_most = max(at_least, d + surplus - (r or 0))
    return {
        "attempt": attempt.key,
        "last_step": reports[-1].step if reports else None,
        "restored_step": r,
        "lost_steps": bounded(at_least, at_most),
        "avoidable_lost_steps": None if restored is None else avoidable(restored, run),
    }


def next_restore(later: list[Attempt]) -> Record | None:
    """Rule 39, r: the first restore of the first later attempt that has an event."""
    for attempt in later:
        events = attempt.of(
            "checkpoint.restored", "progress.step", "checkpoint.begun", "checkpoint.committed"
        )
        if not events:
            continue
        restores = attempt.of("checkpoint.restored")
        steps = attempt.of("progress.step")
        if not restores or any(at_of(one) < at_of(restores[0]) for one in steps):
            return None
        return restores[0]
    return None


def avoidable(restored: Record, run: Run) -> int:
    """Rule 40: V-r when the last valid checkpoint V, as of the restore, is above r."""
    counted = [one for one in commits_of(run) if at_of(one) <= at_of(restored)]
    steps: list[int] = [one.body["step"] for one in valid_commits(counted, run)]
    r: int = restored.body["step"]
    return max([0, *(step - r for step in steps)])


def replayed(run: Run, lives: list[Life]) -> Any:
    """Rule 41."""
    low = high = 0
    for life in lives:
        if not life.steps:
            continue
        reach = min(max(one.step for one in life.steps), life.highest_earlier)
        if life.restored is not None:
            low += max(0, reach - life.restored)
            high += max(0, reach - life.restored)
        else:
            high += max(0, reach)
    if len(run.attempts) > 1 and not all(has_progress(one) for one in run.attempts):
        return bounded(low, None)
    return bounded(low, high)


def steps_completed(lives: list[Life]) -> int | None:
    """Rule 42: what the last life with a step or a stated restore stands at."""
    stands = [life.stands_at for life in lives if life.stands_at is not None]
    return stands[-1] if stands else None


def add_progress_codes(run: Run, lives: list[Life]) -> None:
    """Rules 42 and 43: `restored_ahead` and `restart_loop`."""
    for index, life in enumerate(lives):
        reports = [step.step + step.every - 1 for one in lives[:index] for step in one.steps]
        if life.restored is None or not reports:
            continue
        earlier = valid_commits(commits_before(life, run), run)
        if life.restored > max([*reports, *(one.body["step"] for one in earlier)]):
            life.attempt.codes.add("restored_ahead")
    streak: list[Attempt] = []
    for attempt in [*run.attempts, None]:
        if attempt is not None and raised_nothing(attempt, lives):
            streak.append(attempt)
            continue
        if len(streak) > 1:
            streak[-1].codes.add("restart_loop")
        streak = []


def commits_before(life: Life, run: Run) -> list[Record]:
    """Rule 42: the commits of earlier attempts, and of this one up to the restore."""
    before = run.attempts[: run.attempts.index(life.attempt)]
    moment = life.restored_at or 0
    return [
        one
        for one in commits_of(run)
        if one.attempt in {each.key for each in before}
        or (one.attempt == life.attempt.key and at_of(one) <= moment)
    ]


def raised_nothing(attempt: Attempt, lives: list[Life]) -> bool:
    """Rule 43: interrupted, with progress events, and no step above the highest before."""
    own = [life for life in lives if life.attempt is attempt]
    highest = own[0].highest_earlier
    raised = any(step.step > highest for life in own for step in life.steps)
    return attempt.interrupted and has_progress(attempt) and not raised


def last_valid(run: Run) -> Json | None:
    """Rule 40: the highest step, then the latest commit."""
    valid = valid_commits(commits_of(run), run)
    if not valid:
        return None
    best = max(valid, key=lambda one: (one.body["step"], one.order()))
    return {
        "checkpoint": best.body["checkpoint"],
        "step": best.body["step"],
        "attempt": best.attempt,
    }


def lost_gpu_us(run: Run, lanes: dict[str, list[Piece]]) -> tuple[int, int]:
    """Rule 67: discarded; at most + mixed + unknown of interrupted attempts after their steps."""
    low = high = 0
    for attempt in run.attempts:
        steps = [at_of(one) for one in attempt.inside("progress.step")]
        since = max(steps, default=attempt.start)
        for piece in lanes[attempt.key]:
            gpu_us = (piece.end - piece.start) * attempt.gpus
            if piece.name == "discarded":
                low += gpu_us
            if piece.name in ("discarded", "mixed") or (
                piece.name == "unknown" and attempt.interrupted and piece.start >= since
            ):
                high += gpu_us
    return low, high
