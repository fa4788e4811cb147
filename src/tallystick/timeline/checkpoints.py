"""Which checkpoints are valid: by commits and verifications, never by a pointer (rule 40)."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from tallystick.evidence.bodies import CheckpointCommitted, CheckpointVerified
from tallystick.evidence.record import CanonicalOrder
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
    order: CanonicalOrder
    is_sound: bool
    replaced_us: int | None

    def is_valid(self, known_us: int | None = None) -> bool:
        """Tell whether it can be restored, counting commits up to ``known_us`` only."""
        is_replaced = self.replaced_us is not None and (
            known_us is None or self.replaced_us <= known_us
        )
        return self.is_sound and not is_replaced


def commits_of_run(attempts: Iterable[Attempt]) -> tuple[Commit, ...]:
    """Read the commits of a run's attempts and judge each."""
    return tuple(commit for attempt in attempts for commit in _commits(attempt))


def last_valid(commits: Iterable[Commit], known_us: int | None = None) -> Commit | None:
    """Give the valid commit with the highest step, and of those the latest."""
    valid = [
        commit
        for commit in commits
        if (known_us is None or commit.at_us <= known_us) and commit.is_valid(known_us)
    ]
    return max(valid, key=lambda commit: (commit.step, commit.order), default=None)


def _commits(attempt: Attempt) -> list[Commit]:
    verified: dict[str, list[tuple[int, bool]]] = defaultdict(list)
    for record in attempt.records.of("checkpoint.verified"):
        if isinstance(record.body, CheckpointVerified):
            verified[record.body.checkpoint].append((record.at_us or 0, record.body.ok))
    named: dict[str, list[tuple[CanonicalOrder, CheckpointCommitted]]] = defaultdict(list)
    for record in attempt.records.of("checkpoint.committed"):
        if isinstance(record.body, CheckpointCommitted):
            named[record.body.checkpoint].append((record.order, record.body))
    return [
        _judge(attempt.key, series, index, verified[name])
        for name, series in named.items()
        for index in range(len(series))
    ]


def _judge(
    attempt: str,
    series: Sequence[tuple[CanonicalOrder, CheckpointCommitted]],
    index: int,
    verified: Sequence[tuple[int, bool]],
) -> Commit:
    """Judge one commit by the verifications up to the next commit of that name."""
    order, body = series[index]
    next_us = series[index + 1][0].at_us if index + 1 < len(series) else None
    checks = [
        (at_us, ok)
        for at_us, ok in verified
        if at_us >= order.at_us and (next_us is None or at_us < next_us)
    ]
    last_us = max((at_us for at_us, _ in checks), default=None)
    later = (series[place] for place in range(index + 1, len(series)))
    replaced = (other.at_us for other, commit in later if commit.step != body.step)
    return Commit(
        attempt=attempt,
        checkpoint=body.checkpoint,
        step=body.step,
        at_us=order.at_us,
        order=order,
        is_sound=all(ok for at_us, ok in checks if at_us == last_us),
        replaced_us=next(replaced, None),
    )
