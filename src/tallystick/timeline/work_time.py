"""How much of its GPU time a run kept, and how much it lost: exact, bounded, or no number.

The lanes say what was reported; here stands what may be true beside that. Nothing is clamped:
where an application by its own clock lived longer than its allocation, or an allocation ended
before it began, the clocks contradict each other, and the answer is by how much at least.

Durations are taken inside one clock each: an allocation's by the scheduler's, work by that of
the application. So a clock that is off, and runs as fast as the other, changes no number.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import zip_longest
from typing import NamedTuple

from tallystick.core.interval import Interval
from tallystick.core.vocabulary import PROGRESS_KINDS
from tallystick.timeline.allocation import allocation_lane
from tallystick.timeline.attempt import Attempt
from tallystick.timeline.lives import Life
from tallystick.timeline.progress import has_progress, progress_lane
from tallystick.timeline.run import AttemptTimeline, RunTimeline
from tallystick.timeline.spans import Lane, Span

_KEPT = ("advancing", "replaying")


@dataclass(frozen=True, slots=True)
class WorkTime:
    """GPU time that was held, and what of it made steps that stayed or were rolled back."""

    held_us: int
    kept_at_least_us: int
    kept_at_most_us: int
    lost_at_least_us: int
    lost_at_most_us: int

    @property
    def kept_share(self) -> tuple[Fraction, Fraction] | None:
        """Give the least and the most share of the time that was kept; None of no time."""
        if not self.held_us:
            return None
        least, most = self.kept_at_least_us, self.kept_at_most_us
        return Fraction(least, self.held_us), Fraction(most, self.held_us)


class ClocksApart(NamedTuple):
    """Why there is no number: two clocks differ by so much at least. Both stamps are kept."""

    attempt: str
    start_us: int
    end_us: int
    skew_at_least_us: int


def work_time(timeline: RunTimeline) -> WorkTime | ClocksApart:
    """Bound what a run kept and lost of its GPU time.

    Work of attempts that ran at one time may be kept or lost: nobody knows whose counts.
    """
    attempts = [each.attempt for each in timeline.attempts]
    contradictory = next(filter(None, map(_contradiction, attempts)), None)
    if contradictory is not None:
        return contradictory
    lives: dict[str, list[Life]] = defaultdict(list)
    for life in timeline.lives:
        lives[life.attempt].append(life)
    parts = [
        _part(each, _Setting(lives[each.attempt.key], is_alone, each is timeline.attempts[-1]))
        for each, is_alone in zip(timeline.attempts, _are_alone(attempts), strict=True)
    ]
    return WorkTime(*map(sum, zip(*parts, strict=True))) if parts else WorkTime(0, 0, 0, 0, 0)


def skew_at_least_us(attempt: Attempt) -> int:
    """Tell how far an application's clock is seen to differ from its scheduler's; 0 is not seen.

    All writers of an attempt are taken as one clock.
    """
    reach = _reach(attempt)
    if reach is None:
        return 0
    return max(0, attempt.start_us - reach.start_us) + max(0, reach.end_us - attempt.until_us)


class _Reach(NamedTuple):
    """The first and the last moment of an application's events, by its own clock."""

    start_us: int
    end_us: int


def _reach(attempt: Attempt) -> _Reach | None:
    series = [attempt.records.of(kind) for kind in PROGRESS_KINDS]
    edges_us = [records[place].at_us or 0 for records in series if records for place in (0, -1)]
    return _Reach(min(edges_us), max(edges_us)) if edges_us else None


def _contradiction(attempt: Attempt) -> ClocksApart | None:
    """Find what no clock that is merely off can explain."""
    held_us = attempt.until_us - attempt.start_us
    reach = _reach(attempt)
    lived_us = 0 if reach is None else reach.end_us - reach.start_us
    if held_us >= 0 and lived_us <= held_us:
        return None
    return ClocksApart(attempt.key, attempt.start_us, attempt.until_us, lived_us - held_us)


class _Setting(NamedTuple):
    """An attempt's own lives, whether no other ran beside it, and whether none came after."""

    lives: Sequence[Life]
    is_alone: bool
    is_last: bool


def _part(timeline: AttemptTimeline, setting: _Setting) -> tuple[int, ...]:
    """Give held, kept at least and at most, lost at least and at most of one attempt."""
    attempt = timeline.attempt
    kept = kept_most = lost = lost_most = 0
    for span in _own_lane(timeline, setting.lives):
        duration_us = span.end_us - span.start_us
        may_be_kept, may_be_lost = _fate(span, attempt, setting)
        kept_most += duration_us if may_be_kept else 0
        lost_most += duration_us if may_be_lost else 0
        if setting.is_alone:
            kept += duration_us if span.label in _KEPT else 0
            lost += duration_us if span.label == "discarded" else 0
    held_us = attempt.until_us - attempt.start_us
    return tuple(each * len(attempt.gpus) for each in (held_us, kept, kept_most, lost, lost_most))


def _own_lane(timeline: AttemptTimeline, lives: Sequence[Life]) -> Lane:
    """Give the progress lane as far as the events reach, by whichever clock."""
    attempt, reach = timeline.attempt, _reach(timeline.attempt)
    if reach is None or not skew_at_least_us(attempt):
        return timeline.progress
    start_us, until_us = min(attempt.start_us, reach.start_us), max(attempt.until_us, reach.end_us)
    longer = replace(
        attempt, start_us=start_us, until_us=until_us, held=Interval(start_us, until_us)
    )
    return progress_lane(longer, lives, allocation_lane(longer).suspended)


def _fate(span: Span, attempt: Attempt, setting: _Setting) -> tuple[bool, bool]:
    """Tell whether work of a stretch may have been kept, and whether it may have been lost."""
    if span.label in _KEPT:
        return True, not setting.is_alone
    if span.label == "discarded":
        return not setting.is_alone, True
    if span.label == "mixed":
        return True, True
    life = _life_at(span.start_us, setting.lives)
    place = bisect_right(life.reports.times_us, span.start_us)
    is_own_last = life is setting.lives[-1]
    is_after_all = is_own_last and place == len(life.reports.times_us)
    if not _may_hold_work(span.label, attempt, life, is_after_all=is_after_all):
        return False, False
    return _may_be_kept(place, life), not (setting.is_alone and setting.is_last and is_own_last)


def _may_hold_work(label: str, attempt: Attempt, life: Life, *, is_after_all: bool) -> bool:
    """Tell whether steps may have been made in a stretch that no report classes."""
    if label == "starting":
        # Without a sign of when it began to work, its first steps lie in what counts as starting.
        return life.restored is None and not attempt.records.of("progress.started")
    is_clean = attempt.end is not None and attempt.end.is_clean and has_progress(attempt)
    return label == "unknown" and not (is_clean and is_after_all)


def _may_be_kept(place: int, life: Life) -> bool:
    """Tell whether work after so many reports may have stayed, by what came before and after."""
    reports, lowest = life.reports, life.lowest_later_restore
    if lowest is not None:
        stands_at = reports.steps[place - 1] if place else life.base_step
        return stands_at is None or stands_at < lowest
    # After the last report of all there are whole steps only if some are not reported.
    return place < len(reports.steps) or place == 0 or reports.every[-1] > 1


def _life_at(at_us: int, lives: Sequence[Life]) -> Life:
    """Give the life that a moment of an attempt belongs to."""
    return lives[bisect_right(lives, at_us, lo=1, key=_begun_us) - 1]


def _begun_us(life: Life) -> int:
    """Tell when a life began; all but the first of an attempt begin with a restore."""
    return 0 if life.restored is None else life.restored.at_us


def _are_alone(attempts: Sequence[Attempt]) -> Iterator[bool]:
    """Tell for each attempt, in order of start, whether no other ran beside it."""
    latest_us: int | None = None
    for attempt, following in zip_longest(attempts, attempts[1:]):
        is_after = latest_us is None or latest_us <= attempt.start_us
        yield is_after and (following is None or attempt.until_us <= following.start_us)
        latest_us = attempt.until_us if latest_us is None else max(latest_us, attempt.until_us)
