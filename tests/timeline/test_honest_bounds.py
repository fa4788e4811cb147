"""What nobody can know stays open: the truth lies within the bounds, and what is odd is told.

Random runs are told in part only: reports come at strides and some get lost on the way, and
what was restored is not always said. A run is told by what happened, so its truth is known.
"""

from dataclasses import dataclass, field, replace

from hypothesis import given
from hypothesis import strategies as st

from tallystick.core.instant import SECOND_US, format_instant, parse_instant
from tallystick.timeline.restores import replayed_at_most
from tallystick.timeline.run import RunTimeline
from tallystick.timeline.work_time import WorkTime, work_time
from tests.evidence.records import (
    DAY,
    Json,
    accepted,
    alive,
    committed,
    ended,
    goes_on,
    of,
    restored,
    started,
    step,
    waits,
)
from tests.rating.rated import contract, rate
from tests.timeline.timelines import codes, draw

STEPS_MAX = 10
MIDNIGHT_US = parse_instant(f"{DAY}T00:00:00.000000Z")


@dataclass(frozen=True, slots=True)
class Life:
    """One attempt: how far back it went, what it did, and what of that is said.

    ``steps_s`` are the durations of its steps, ``pauses_s`` what it waited before each. Of the
    steps that it reports some reports get lost, never the last: one line survives the kill.
    """

    back: int
    steps_s: tuple[int, ...]
    pauses_s: tuple[int, ...]
    every: int
    lost_reports: tuple[bool, ...]
    in_flight_s: int
    says_restore: bool
    ends_cleanly: bool
    gpus: int


@dataclass(slots=True)
class Truth:
    """What happened, counted step by step: ``(attempt, step, GPU time)`` of each that was done."""

    done: list[tuple[int, int, int]] = field(default_factory=list)
    restores: list[int] = field(default_factory=list)
    reached: list[int] = field(default_factory=list)

    def is_lost(self, attempt: int, number: int) -> bool:
        """Tell whether a later attempt went back behind a step."""
        return min(self.restores[attempt + 1 :], default=number) < number

    def lost_us(self) -> int:
        """Add up the GPU time of steps that were rolled back."""
        return sum(us for attempt, number, us in self.done if self.is_lost(attempt, number))

    def kept_us(self) -> int:
        """Add up the GPU time of steps that stayed."""
        return sum(us for attempt, number, us in self.done if not self.is_lost(attempt, number))

    def replayed(self) -> int:
        """Count the steps that were done although they had been done before."""
        before: set[int] = set()
        again = 0
        for _, number, _ in self.done:
            again += number in before
            before.add(number)
        return again

    def lost_steps(self, attempt: int) -> int:
        """Count what an attempt had beyond the restore of the next one."""
        return max(0, self.reached[attempt] - self.restores[attempt + 1])


def bits(number: int) -> tuple[bool, ...]:
    """Give the bits of a number, as many as an attempt can have steps."""
    return tuple(bool(number >> place & 1) for place in range(STEPS_MAX))


def lives(*, says_restore: bool) -> st.SearchStrategy[Life]:
    """Draw one attempt; without ``says_restore`` it does not always say what it restored."""
    flags = st.integers(0, 2**STEPS_MAX - 1).map(bits)
    return st.builds(
        Life,
        back=st.integers(0, 12),
        steps_s=st.lists(st.integers(1, 9), min_size=1, max_size=STEPS_MAX).map(tuple),
        pauses_s=flags.map(lambda drawn: tuple(5 * flag for flag in drawn)),
        every=st.sampled_from((1, 1, 2, 3, 5)),
        lost_reports=flags,
        in_flight_s=st.integers(1, 9),
        says_restore=st.just(says_restore) if says_restore else st.booleans(),
        ends_cleanly=st.booleans(),
        gpus=st.integers(1, 2),
    )


def runs(*, says_restore: bool) -> st.SearchStrategy[list[Life]]:
    """Draw a run; its first attempt begins at 0."""
    several = st.lists(lives(says_restore=says_restore), min_size=1, max_size=4)
    return several.map(lambda drawn: [replace(drawn[0], back=1000), *drawn[1:]])


def tell(run: list[Life]) -> tuple[list[Json], Truth]:
    """Tell a run in records, and keep its truth."""
    truth = Truth()
    records: list[Json] = []
    at_s = stands_at = 0
    for index, life in enumerate(run):
        stands_at = max(0, stands_at - life.back)
        truth.restores.append(stands_at)
        told, at_s = tell_life(index, life, at_s, truth)
        records += told
        stands_at += len(life.steps_s)
        truth.reached.append(stands_at)
        at_s += 7
    return records, truth


def tell_life(index: int, life: Life, at_s: int, truth: Truth) -> tuple[list[Json], int]:
    """Tell one attempt; give its records and when it ended."""
    first = truth.restores[index]
    gpus = " ".join(f"g{number}" for number in range(life.gpus))
    records = [started(clock(at_s), gpus=gpus), alive(clock(at_s + 1))]
    at_s += 3
    if life.says_restore:
        records.append(restored(clock(at_s), first))
    else:
        records[-1] = alive(clock(at_s))
    reported = said_steps(life, first)
    for place, (pause_s, step_s) in enumerate(zip(life.pauses_s, life.steps_s, strict=False), 1):
        if pause_s:
            records += [waits(clock(at_s)), goes_on(clock(at_s + pause_s))]
        at_s += pause_s + step_s
        truth.done.append((index, first + place, step_s * life.gpus * SECOND_US))
        if first + place in reported:
            records.append(step(clock(at_s), first + place, life.every))
    at_s += 0 if life.ends_cleanly else life.in_flight_s
    how: Json = {"exit_code": 0} if life.ends_cleanly else {"signal": 9}
    return of(f"a{index}", *records, ended(clock(at_s), "provider", **how)), at_s


def said_steps(life: Life, first: int) -> set[int]:
    """Choose the steps whose reports arrive."""
    last = first + len(life.steps_s)
    due = [number for number in range(first + 1, last + 1) if number % life.every == 0]
    if life.ends_cleanly or not life.says_restore:
        due = sorted({*due, last})  # Who ends by itself says where; who worked unseen says so once.
    kept = [number for number, is_lost in zip(due, life.lost_reports, strict=False) if not is_lost]
    return {*kept, *due[-1:]}


def clock(at_s: int) -> str:
    """Give a moment of the run."""
    return format_instant(MIDNIGHT_US + at_s * SECOND_US)


def bounds_of(timeline: RunTimeline) -> WorkTime:
    """Bound kept and lost time of a run whose clocks agree."""
    spent = work_time(timeline)
    assert isinstance(spent, WorkTime)
    return spent


@given(runs(says_restore=True) | runs(says_restore=False))
def test_kept_and_lost_time_lie_within_their_bounds(run: list[Life]) -> None:
    """Whatever strides, lost reports and unstated restores leave open."""
    records, truth = tell(run)

    spent = bounds_of(draw(*records))

    assert spent.kept_at_least_us <= truth.kept_us() <= spent.kept_at_most_us
    assert spent.lost_at_least_us <= truth.lost_us() <= spent.lost_at_most_us
    assert spent.kept_at_most_us <= spent.held_us


@given(runs(says_restore=True) | runs(says_restore=False))
def test_lost_and_replayed_steps_lie_within_their_bounds(run: list[Life]) -> None:
    """Exact where each step is reported, and open by a stride where not."""
    records, truth = tell(run)

    timeline = draw(*records)

    for index, found in enumerate(timeline.achievement.interruptions[:-1]):
        lost = truth.lost_steps(index)
        assert found.lost_at_least <= lost
        assert found.lost_at_most is None or lost <= found.lost_at_most
    most = replayed_at_most(timeline)
    assert timeline.achievement.replayed_at_least <= truth.replayed()
    assert most is None or truth.replayed() <= most


@given(runs(says_restore=True))
def test_the_receipt_holds_the_lost_time_where_restores_are_stated(run: list[Life]) -> None:
    """Discarded time is the least, and with mixed and unreported time it is the most (rule 67).

    That rule leaves out what lies unreported before a wait; ``work_time`` does not.
    """
    records, truth = tell([without_pauses(life) for life in run])

    receipt = rate(records, contract())

    lost = receipt["progress"]["lost_gpu_seconds"]
    least, most = (lost, lost) if isinstance(lost, str) else (lost["at_least"], lost["at_most"])
    assert seconds_us(least) <= truth.lost_us() <= seconds_us(most)
    assert seconds_us(receipt["progress"]["gpu_seconds"]["discarded"]) == seconds_us(least)


def without_pauses(life: Life) -> Life:
    """Let a life go on without waiting."""
    return replace(life, pauses_s=(0,) * STEPS_MAX)


def seconds_us(text: str) -> int:
    """Read decimal seconds."""
    return int(text.replace(".", ""))


@given(runs(says_restore=True))
def test_where_all_is_said_there_is_one_answer(run: list[Life]) -> None:
    """Every step reported and every restore stated: what was kept and replayed is exact."""
    told = [replace(life, every=1, lost_reports=(False,) * STEPS_MAX) for life in run]
    records, truth = tell([without_pauses(life) for life in told])

    timeline = draw(*records)

    spent = bounds_of(timeline)
    assert spent.kept_at_least_us == spent.kept_at_most_us == truth.kept_us()
    assert spent.lost_at_least_us == truth.lost_us()
    assert timeline.achievement.replayed_at_least == replayed_at_most(timeline) == truth.replayed()


# -- eight things that nobody can know, each told as such ---------------------------------------


def lost(timeline: RunTimeline) -> tuple[int, int | None]:
    """Bound the steps that the first attempt lost."""
    first = timeline.achievement.interruptions[0]
    return first.lost_at_least, first.lost_at_most


def killed(*events: Json, by_whom: str = "provider") -> list[Json]:
    """Give the attempt `a` from 00:00 to 01:00, interrupted."""
    return [started(), *events, ended(by_whom=by_whom)]


def next_one(*events: Json) -> list[Json]:
    """Give the attempt `b` from 02:00 to 03:00, completed."""
    return of("b", started("02:00"), *events, ended("03:00"))


def test_no_restore_event_leaves_the_loss_open() -> None:
    """From nothing to all: a lane that is mixed, and steps without a least (rules 37 and 39)."""
    run = draw(*killed(restored("00:10", 0), step("00:20", 40)), *next_one(step("02:10", 45)))

    assert lost(run) == (0, 40)
    assert [span.label for span in run.attempts[0].progress] == ["starting", "mixed", "unknown"]


def test_throttled_reports_leave_a_stride_open() -> None:
    """Up to one less than the stride was done beyond the last report (rule 39)."""
    run = draw(*killed(step("00:20", 40, every=10)), *next_one(restored("02:10", 35)))

    assert lost(run) == (5, 14)


def test_clocks_that_differ_are_told_and_change_no_step() -> None:
    """`event_outside_attempt`; steps do not depend on clocks (rule 16)."""
    late = (restored("01:50", 35), step("02:10", 45))

    run = draw(*killed(step("00:20", 40)), *next_one(*late))

    assert ("event_outside_attempt", "b") in codes(run.findings)
    assert lost(run) == (5, 5)


def test_two_live_attempts_are_told() -> None:
    """`overlapping_attempts` stands on the later one (rule 17)."""
    run = draw(*killed(step("00:20", 40)), *of("b", started("00:30"), ended("01:30")))

    assert ("overlapping_attempts", "b") in codes(run.findings)
    assert run.attempts[0].replacement_wait_us is None


def test_reports_that_never_came_widen_what_is_mixed() -> None:
    """A tracker that was away for a while: the piece across the restored step is open."""
    events = (restored("00:10", 0), step("00:20", 10), step("00:50", 40))

    run = draw(*killed(*events), *next_one(restored("02:10", 20)))

    assert lost(run) == (20, 20)
    assert [span.label for span in run.attempts[0].progress] == [
        "starting",
        "advancing",
        "mixed",
        "unknown",
    ]


def test_a_fresh_start_despite_a_checkpoint_was_avoidable() -> None:
    """All was lost, and the good checkpoint says how much need not have been (rule 40)."""
    events = (step("00:20", 40), committed("00:30", 40))

    run = draw(*killed(*events), *next_one(restored("02:10", 0, None)))

    assert lost(run) == (40, 40)
    assert run.achievement.interruptions[0].avoidable_lost == 40


def test_output_accepted_before_an_interruption_stays_accepted() -> None:
    """The attempt that was killed afterwards is an interruption; what it lost is open."""
    run = draw(*killed(step("00:20", 40)), accepted("00:30"))

    assert run.achievement.accepted is True
    assert lost(run) == (0, 40)
    assert run.achievement.steps_completed == 40


def test_restarts_without_progress_are_told() -> None:
    """`restart_loop` on the last of those that reached nothing new (rule 43)."""
    again = of("b", started("02:00"), alive("02:05"), ended("03:00", "hardware"))
    third = of("c", started("04:00"), restored("04:05", 40), ended("05:00", "hardware"))

    run = draw(*killed(step("00:20", 40)), *again, *third)

    assert [each for each in codes(run.findings) if each[0] == "restart_loop"] == [
        ("restart_loop", "c")
    ]
