"""Which checkpoints are valid: by commits and verifications, never by a pointer (rule 40)."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Sequence
from heapq import heappop, heappush
from typing import Any, NamedTuple

from tallystick.evidence.bodies import CheckpointVerified
from tallystick.evidence.record import Record
from tallystick.timeline.attempt import Attempt


class Commit(NamedTuple):
    """A checkpoint was whole at a moment.

    ``is_sound`` is False if its latest verification failed; ``replaced_us`` is when a commit
    of the same name at another step took its place, None if none did.
    """

    attempt: str
    checkpoint: str
    step: int
    at_us: int
    record: Record
    is_sound: bool
    replaced_us: int | None

    def is_valid(self, known_us: int | None = None) -> bool:
        """Tell whether it can be restored, counting commits up to ``known_us`` only."""
        is_replaced = self.replaced_us is not None and (
            known_us is None or self.replaced_us <= known_us
        )
        return self.is_sound and not is_replaced


_Check = tuple[int, bool]


def commits_of_run(attempts: Iterable[Attempt]) -> tuple[Commit, ...]:
    """Read the commits of a run's attempts and judge each."""
    return tuple(commit for attempt in attempts for commit in _commits(attempt))


def last_valid(commits: Iterable[Commit]) -> Commit | None:
    """Give the valid commit with the highest step, and of those the latest."""
    valid = [each for each in commits if each.is_sound and each.replaced_us is None]
    highest = max((commit.step for commit in valid), default=None)
    best = (commit for commit in valid if commit.step == highest)
    return max(best, key=lambda commit: commit.record.order, default=None)


def valid_steps(commits: Iterable[Commit], known_us: Iterable[int]) -> dict[int, int]:
    """Give for some moments the highest step of a commit that was there and valid then.

    A moment at which there was none is left out. Each commit is looked at once, however many
    moments there are.
    """
    coming = sorted((each for each in commits if each.is_sound), key=lambda each: -each.at_us)
    lasting: int | None = None  # The highest of those that no other commit ever replaces.
    fleeting: list[tuple[int, int]] = []  # The others, the highest first, with their end.
    steps: dict[int, int] = {}
    for at_us in sorted(known_us):
        while coming and coming[-1].at_us <= at_us:
            commit = coming.pop()
            if commit.replaced_us is not None:
                heappush(fleeting, (-commit.step, commit.replaced_us))
            elif lasting is None or commit.step > lasting:
                lasting = commit.step
        while fleeting and fleeting[0][1] <= at_us:
            heappop(fleeting)
        standing = [-step for step, _ in fleeting[:1]]
        if lasting is not None:
            standing.append(lasting)
        if standing:
            steps[at_us] = max(standing)
    return steps


def _commits(attempt: Attempt) -> list[Commit]:
    """Judge the commits of an attempt, the last one first, by what was said of their names."""
    checks: dict[str, list[_Check]] = defaultdict(list)
    for record in attempt.records.of("checkpoint.verified"):
        if isinstance(record.body, CheckpointVerified):
            checks[record.body.checkpoint].append((record.at_us or 0, record.body.ok))
    commits: list[Commit] = []
    following: dict[str, Commit] = {}
    for record in reversed(attempt.records.of("checkpoint.committed")):
        body: Any = record.body
        name, step, at_us = body.checkpoint, body.step, record.at_us or 0
        next_us = replaced_us = None
        if name in following:
            later = following[name]
            next_us = later.at_us
            replaced_us = later.replaced_us if later.step == step else next_us
        is_sound = name not in checks or _is_sound(checks[name], at_us, next_us)
        commit = Commit(attempt.key, name, step, at_us, record, is_sound, replaced_us)
        commits.append(commit)
        following[name] = commit
    return commits


def _is_sound(checks: Sequence[_Check], since_us: int, until_us: int | None) -> bool:
    """Tell whether the latest verification from one moment to another, if any, was good.

    At one moment a bad one wins.
    """
    first = bisect_left(checks, (since_us, False))
    end = len(checks) if until_us is None else bisect_left(checks, (until_us, False))
    if first >= end:
        return True
    last_us = checks[end - 1][0]
    return all(ok for at_us, ok in checks[first:end] if at_us == last_us)
