"""Lives: stretches of training between restores, over all attempts of a run (rule 35).

An attempt begins a life; a restore after the first sign of work begins another (worker
restarts inside one allocation). What a life may keep depends on what later lives restored,
so lives are numbered through the whole run, in order of attempts.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from tallystick.evidence.bodies import CheckpointRestored, ProgressStep
from tallystick.timeline.attempt import Attempt


class Report(NamedTuple):
    """``step`` steps were complete at a moment, by a writer that reports every ``every``."""

    at_us: int
    step: int
    every: int


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
    reports: tuple[Report, ...]
    highest_step: int | None
    lowest_later_restore: int | None
    highest_before: int
    is_followed_blindly: bool

    @property
    def stands_at(self) -> int | None:
        """Its last report, else the step that it restored."""
        if self.reports:
            return self.reports[-1].step
        return None if self.restored is None else self.restored.step


@dataclass(slots=True)
class _Draft:
    attempt: str
    restored: Restore | None
    reports: list[Report]

    @property
    def highest(self) -> int:
        return max([report.step for report in self.reports], default=0)

    def life(self, highest: int, lowest_later: int | None, *, is_followed_blindly: bool) -> Life:
        return Life(
            attempt=self.attempt,
            restored=self.restored,
            base_step=None if self.restored is None else self.restored.step,
            reports=tuple(self.reports),
            highest_step=max([report.step for report in self.reports], default=None),
            lowest_later_restore=lowest_later,
            highest_before=highest,
            is_followed_blindly=is_followed_blindly,
        )


def lives_of_run(attempts: Sequence[Attempt]) -> tuple[Life, ...]:
    """Cut the attempts of a run, in their order, into lives."""
    drafts = [draft for attempt in attempts for draft in _drafts(attempt)]
    highest_before = itertools.accumulate((draft.highest for draft in drafts), max, initial=0)
    lives: list[Life] = []
    lowest_later: int | None = None
    is_followed_blindly = False
    for draft, highest in reversed(list(zip(drafts, highest_before, strict=False))):
        lives.append(draft.life(highest, lowest_later, is_followed_blindly=is_followed_blindly))
        if draft.restored is not None:
            step = draft.restored.step
            lowest_later = step if lowest_later is None else min(lowest_later, step)
        elif draft.reports:
            is_followed_blindly = True
    if lives and lives[-1].restored is None:
        lives[-1] = lives[-1]._replace(base_step=0)
    return tuple(reversed(lives))


def _drafts(attempt: Attempt) -> list[_Draft]:
    """Walk steps and restores in order of time; a restore at the moment of a step comes first."""
    drafts = [_Draft(attempt.key, None, [])]
    facts = attempt.records.of("checkpoint.restored", "progress.step")
    # At one moment by kind, where checkpoint.restored stands before progress.step.
    for record in sorted(facts, key=lambda fact: (fact.at_us or 0, fact.kind)):
        current, at_us, body = drafts[-1], record.at_us or 0, record.body
        if isinstance(body, ProgressStep):
            _report(current.reports, Report(at_us, body.step, body.every))
        elif isinstance(body, CheckpointRestored):
            restore = Restore(at_us, body.step)
            if current.restored is None and not current.reports:
                current.restored = restore
            else:
                drafts.append(_Draft(attempt.key, restore, []))
    return drafts


def _report(reports: list[Report], report: Report) -> None:
    """Add a report; several at one moment are one, the highest (rule 38)."""
    if reports and reports[-1].at_us == report.at_us:
        if report.step >= reports[-1].step:
            reports[-1] = report
    else:
        reports.append(report)
