"""Lives: stretches of training between restores, over all attempts of a run (rule 35).

An attempt begins a life; a restore after the first sign of work begins another (worker
restarts inside one allocation). What a life may keep depends on what later lives restored,
so lives are numbered through the whole run, in order of attempts.
"""

import itertools
from bisect import bisect_left
from collections.abc import Sequence
from typing import Any, NamedTuple

from tallystick.evidence.record import Record
from tallystick.timeline.attempt import Attempt


class Reports(NamedTuple):
    """Reports of steps as columns, in order of time, of which no two have one moment.

    At each moment ``steps`` were complete, by a writer that reports every ``every``.
    """

    times_us: tuple[int, ...]
    steps: tuple[int, ...]
    every: tuple[int, ...]

    def between(self, first: int, end: int) -> "Reports":
        """Give the reports from one place up to another."""
        return Reports(*(column[first:end] for column in self))


class Restore(NamedTuple):
    """The state that a life went on from."""

    at_us: int
    step: int


class Life(NamedTuple):
    """One life: where it began from, what it reported, and what lies before and after it.

    ``restored`` is None if nobody stated it; ``base_step`` is then 0 for the run's very first
    life and None (unknown) for others. ``highest_step`` is the highest that it reported.
    ``lowest_later_restore`` is R and ``highest_before`` D of the progress rules, and
    ``is_followed_blindly`` says that a later life has steps but no stated restore.
    """

    attempt: str
    restored: Restore | None
    base_step: int | None
    reports: Reports
    highest_step: int | None
    lowest_later_restore: int | None
    highest_before: int
    is_followed_blindly: bool

    @property
    def stands_at(self) -> int | None:
        """Its last report, else the step that it restored."""
        if self.reports.steps:
            return self.reports.steps[-1]
        return None if self.restored is None else self.restored.step


class _Draft(NamedTuple):
    attempt: str
    restored: Restore | None
    reports: Reports
    highest_step: int | None

    def life(self, highest: int, lowest_later: int | None, *, is_followed_blindly: bool) -> Life:
        return Life(
            attempt=self.attempt,
            restored=self.restored,
            base_step=None if self.restored is None else self.restored.step,
            reports=self.reports,
            highest_step=self.highest_step,
            lowest_later_restore=lowest_later,
            highest_before=highest,
            is_followed_blindly=is_followed_blindly,
        )


def lives_of_run(attempts: Sequence[Attempt]) -> tuple[Life, ...]:
    """Cut the attempts of a run, in their order, into lives."""
    drafts = [draft for attempt in attempts for draft in _drafts(attempt)]
    highest = (draft.highest_step or 0 for draft in drafts)
    highest_before = itertools.accumulate(highest, max, initial=0)
    lives: list[Life] = []
    lowest_later: int | None = None
    is_followed_blindly = False
    for draft, before in reversed(list(zip(drafts, highest_before, strict=False))):
        lives.append(draft.life(before, lowest_later, is_followed_blindly=is_followed_blindly))
        if draft.restored is not None:
            step = draft.restored.step
            lowest_later = step if lowest_later is None else min(lowest_later, step)
        elif draft.reports.steps:
            is_followed_blindly = True
    if lives and lives[-1].restored is None:
        lives[-1] = lives[-1]._replace(base_step=0)
    return tuple(reversed(lives))


def _drafts(attempt: Attempt) -> list[_Draft]:
    """Cut the reports of an attempt at its restores; one at the moment of a report comes first."""
    reports = _reports(attempt.records.of("progress.step"))
    drafts: list[_Draft] = []
    restored: Restore | None = None
    first = 0
    for record in attempt.records.of("checkpoint.restored"):
        body: Any = record.body
        at_us = record.at_us or 0
        place = bisect_left(reports.times_us, at_us)
        if restored is not None or place > first:
            drafts.append(_draft(attempt.key, restored, reports.between(first, place)))
            first = place
        restored = Restore(at_us, body.step)
    last = reports.between(first, len(reports.steps))
    return [*drafts, _draft(attempt.key, restored, last)]


def _draft(attempt: str, restored: Restore | None, reports: Reports) -> _Draft:
    return _Draft(attempt, restored, reports, max(reports.steps, default=None))


def _reports(records: Sequence[Record]) -> Reports:
    """Put reports, given in order of time, into columns."""
    times_us = tuple([record.at_us or 0 for record in records])
    if len(set(times_us)) < len(times_us):
        return _reports(_highest(records))
    bodies: list[Any] = [record.body for record in records]
    steps, every = [body.step for body in bodies], [body.every for body in bodies]
    return Reports(times_us, tuple(steps), tuple(every))


def _highest(records: Sequence[Record]) -> list[Record]:
    """Of several reports at one moment keep the highest, and of those the last (rule 38)."""
    kept: dict[int, Record] = {}
    highest: dict[int, int] = {}
    for record in records:
        body: Any = record.body
        at_us = record.at_us or 0
        if body.step >= highest.get(at_us, body.step):
            kept[at_us], highest[at_us] = record, body.step
    return list(kept.values())
