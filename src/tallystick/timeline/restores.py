"""What restores show beside lost steps: counters that drift, steps and data that come twice."""

from collections.abc import Iterable, Mapping
from itertools import zip_longest
from typing import Any, NamedTuple, TypeGuard

from tallystick.core.finding import InputFinding
from tallystick.evidence.record import Record
from tallystick.timeline.achievement import restores_ahead
from tallystick.timeline.checkpoints import commits_of_run
from tallystick.timeline.lives import Life
from tallystick.timeline.run import RunTimeline

DATA_POSITIONED = "data.positioned"
"""Kind of the records that say where an attempt's data reader went on."""


class DataReplay(NamedTuple):
    """Batches that come to an attempt a second time, or never, because of where it read on."""

    attempt: str
    seen_again: int
    never_seen: int


def counter_drift(timeline: RunTimeline) -> int:
    """Give how far step counters went ahead at restores, beyond all that was known to be done."""
    commits = commits_of_run(each.attempt for each in timeline.attempts)
    return sum(each.ahead for each in restores_ahead(timeline.lives, commits))


def replayed_at_most(timeline: RunTimeline) -> int | None:
    """Bound the steps that were run again, those that nobody reported included.

    The receipt counts between reports (rule 41). A writer that reports every so many steps may
    have done, and done again, up to so many less one beyond each last report.
    """
    lives = timeline.lives
    ends = {each.attempt.key: each.attempt.end for each in timeline.attempts}
    clean = {key for key, end in ends.items() if end is not None and end.is_clean}
    total = 0
    before: int | None = 0
    for life, following in zip_longest(lives, lives[1:]):
        is_last = following is None or following.attempt != life.attempt
        reached = _reached_at_most(life, is_clean=is_last and life.attempt in clean)
        again = [step for step in (before, reached) if step is not None]
        if not again:
            return None
        total += max(0, min(again) - (0 if life.restored is None else life.restored.step))
        before = None if before is None or reached is None else max(before, reached)
    return total


def _reached_at_most(life: Life, *, is_clean: bool) -> int | None:
    """Give the highest step that a life can have done; None if nothing bounds it."""
    if life.highest_step is None:
        return life.stands_at if is_clean else None
    return life.highest_step + (0 if is_clean else life.reports.every[-1] - 1)


def data_replays(
    records: Iterable[Record], aliases: Mapping[str, str]
) -> tuple[tuple[DataReplay, ...], tuple[InputFinding, ...]]:
    """Read what attempts said of where their data went on.

    Args:
        records: Admitted records, in canonical order.
        aliases: The key that counts for each other key of an attempt.
    """
    replays: list[DataReplay] = []
    findings: list[InputFinding] = []
    for record in records:
        if record.kind != DATA_POSITIONED:
            continue
        body = record.body if isinstance(record.body, dict) else {}
        attempt, consumed, batch = (body.get(name) for name in ("attempt", "consumed", "batch"))
        if isinstance(attempt, str) and _is_count(consumed) and _is_count(batch):
            again, never = max(0, consumed - batch), max(0, batch - consumed)
            replays.append(DataReplay(aliases.get(attempt, attempt), again, never))
        else:
            message = "expected an attempt, and consumed and batch as integers from 0"
            findings.append(InputFinding("bad_body", message, digest=record.digest))
    return tuple(replays), tuple(findings)


def _is_count(value: Any) -> TypeGuard[int]:
    return type(value) is int and value >= 0
