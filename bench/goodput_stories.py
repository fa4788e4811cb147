"""Eleven small stories of training, each with its truth, as two programs would hear of it.

A story is a list of attempts of one run; what was kept, lost and waited follows from them by
plain counting, in seconds. ``rows`` writes what a recorder of ml-goodput-measurement is told,
``evidence`` what our SDK and a scheduler say. Steps take ten seconds unless a story says
otherwise; every tenth is saved in no time, so that nobody's way of counting saves decides.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from tallystick.core.canonical import canonical_bytes
from tallystick.core.instant import SECOND_US
from tallystick.evidence.draft import draft_record

Row = tuple[float, dict[str, float | int | str]]
"""When a row was written, and the row; both as the writer's clock has it."""

SAVE_EVERY = 10


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt: from which step, how many it completes, and how it goes on after that.

    ``in_step_s`` was spent in a step that never ended, ``after_s`` in none; ``wait_s`` goes by
    until the next attempt starts, and is negative if that starts before this one ends.
    """

    steps: int
    from_step: int = 0
    init_s: int = 20
    in_step_s: int = 0
    after_s: int = 0
    wait_s: int = 0
    ended_by: str = "completed"
    clock_off_s: int = 0
    notice_s: int | None = None
    proves_bad: int | None = None


class Truth(NamedTuple):
    """What really happened, in seconds of one GPU, and the steps that were rolled back."""

    kept_s: int
    lost_s: int
    lost_steps: int
    wait_s: int
    wall_s: int

    @property
    def good_percent(self) -> float:
        """The share of the time from the first start to the last end that was kept."""
        return 100 * self.kept_s / self.wall_s


@dataclass(frozen=True, slots=True)
class Story:
    """One story. ``finding`` must be among ours; ``looks_at`` is when somebody asks too early.

    ``are_apart`` says that the attempts have one name and nothing else in common.
    """

    letter: str
    says: str
    attempts: tuple[Attempt, ...]
    step_s: int = 10
    finding: str | None = None
    looks_at_step: int | None = None
    are_apart: bool = False

    def starts_s(self) -> list[int]:
        """Give when each attempt starts, from the first start on."""
        starts = [0]
        for attempt in self.attempts:
            starts.append(starts[-1] + self.length_s(attempt) + attempt.wait_s)
        return starts[:-1]

    def length_s(self, attempt: Attempt) -> int:
        """Give how long an attempt holds its GPU."""
        worked_s = attempt.steps * self.step_s + attempt.in_step_s
        return attempt.init_s + worked_s + attempt.after_s

    @property
    def truth(self) -> Truth:
        """Count step by step what stays: a restore takes back all beyond it."""
        lengths = [self.length_s(attempt) for attempt in self.attempts]
        if self.are_apart:
            done = sum(attempt.steps for attempt in self.attempts)
            return Truth(done * self.step_s, 0, 0, 0, sum(lengths))
        stands_at = lost = 0
        for attempt in self.attempts:
            lost += stands_at - attempt.from_step
            stands_at = attempt.from_step + attempt.steps
        wait_s = sum(attempt.wait_s for attempt in self.attempts)
        kept_s, lost_s = stands_at * self.step_s, lost * self.step_s
        return Truth(kept_s, lost_s, lost, wait_s, sum(lengths) + wait_s)


_KILLED = "hardware"
_DIES_AT_9 = Attempt(9, in_step_s=3, wait_s=60, ended_by=_KILLED)

STORIES = (
    Story("A", "clean", (Attempt(50),)),
    Story(
        "B",
        "killed in step 57, step 49 restored",
        (Attempt(57, in_step_s=6, wait_s=320, ended_by=_KILLED), Attempt(50, 50)),
    ),
    Story(
        "C",
        "saved on notice, an hour of waiting, went on at the next step",
        (Attempt(60, wait_s=3600, ended_by="provider", notice_s=30), Attempt(40, 60)),
    ),
    Story(
        "D",
        "step 49 restored, then found bad, then step 29 restored",
        (
            Attempt(57, in_step_s=6, wait_s=305, ended_by=_KILLED),
            Attempt(6, 50, in_step_s=6, wait_s=305, ended_by=_KILLED),
            Attempt(70, 30, proves_bad=50),
        ),
    ),
    Story(
        "E",
        "killed before its first save",
        (Attempt(9, in_step_s=5, wait_s=315, ended_by=_KILLED), Attempt(100)),
    ),
    Story(
        "F", "six attempts die at step 9", (*(_DIES_AT_9,) * 6, Attempt(100)), 10, "restart_loop"
    ),
    Story(
        "G",
        "like B, and the replacement's clock is two minutes behind",
        (
            Attempt(57, in_step_s=6, wait_s=60, ended_by=_KILLED),
            Attempt(40, 50, clock_off_s=-120),
        ),
        finding="event_outside_attempt",
    ),
    Story(
        "H",
        "two processes with one job name",
        (Attempt(50, wait_s=-515), Attempt(50)),
        finding="overlapping_attempts",
        are_apart=True,
    ),
    Story(
        "I",
        "finished, killed before it could exit, half an hour of waiting",
        (Attempt(100, after_s=20, wait_s=1800, ended_by=_KILLED), Attempt(0, 100)),
    ),
    Story(
        "J",
        "like A, and somebody asked before in another process",
        (Attempt(50),),
        looks_at_step=25,
    ),
    Story(
        "K",
        "its first start is older than the reader's window of a week",
        (Attempt(45, in_step_s=600, wait_s=21600, ended_by=_KILLED), Attempt(160, 40)),
        step_s=3600,
    ),
)


def rows(story: Story, since_s: float) -> list[Row]:
    """Tell a story to a recorder of ml-goodput-measurement, in the order of what happened."""
    told = [
        (start_s + at_s, start_s + at_s + attempt.clock_off_s, row)
        for attempt, start_s in zip(story.attempts, story.starts_s(), strict=True)
        for at_s, row in _rows_of(story, attempt)
    ]
    told.sort(key=lambda each: each[0])
    return [
        (since_s + shown_s, {"job_name": story.letter, **_stamped(row, since_s + shown_s)})
        for _, shown_s, row in told
    ]


def _rows_of(story: Story, attempt: Attempt) -> Iterator[tuple[int, dict[str, int | None]]]:
    """Give the rows of one attempt; None is where the time goes. Only the starts of steps count."""
    yield 0, {"job_start_time": None}
    yield 0, {"tpu_init_start_time": None}
    yield attempt.init_s, {"tpu_init_end_time": None}
    begun = attempt.steps + (1 if attempt.in_step_s else 0)
    for place in range(begun):
        at_s = attempt.init_s + place * story.step_s
        yield at_s, {"step_count": attempt.from_step + place, "step_start_time": None}
    if attempt.ended_by == "completed":
        yield story.length_s(attempt), {"job_end_time": None}


def _stamped(row: dict[str, int | None], at_s: float) -> dict[str, float | int]:
    return {name: at_s if value is None else value for name, value in row.items()}


def evidence(story: Story, since_us: int) -> list[bytes]:
    """Tell a story as a scheduler and our SDK do, as lines."""
    lines: list[bytes] = []
    for number, (attempt, start_s) in enumerate(
        zip(story.attempts, story.starts_s(), strict=True), start=1
    ):
        teller = _Teller(f"{story.letter}{number}", story.letter, since_us + start_s * SECOND_US)
        lines += teller.allocation(attempt, story.length_s(attempt))
        lines += teller.progress(attempt, story.step_s)
        if attempt.proves_bad is not None:
            said = {"checkpoint": f"step-{attempt.proves_bad}", "ok": False}
            bad = teller.line("checkpoint.verified", 1, "job", **said)
            lines.append(bad.replace(teller.attempt.encode(), f"{story.letter}1".encode()))
    return lines


class _Teller(NamedTuple):
    """Writes the records of one attempt."""

    attempt: str
    run: str
    start_us: int

    def line(self, kind: str, at_s: float, producer: str, **body: Any) -> bytes:
        at_us = self.start_us + round(at_s * SECOND_US)
        said = {"attempt": self.attempt, **body}
        return canonical_bytes(
            draft_record(kind, said, producer=producer, at_us=at_us, observed_us=at_us)
        )

    def allocation(self, attempt: Attempt, length_s: int) -> Iterator[bytes]:
        yield self.line(
            "allocation.started",
            0,
            "scheduler",
            run=self.run,
            scheduler="slurm",
            cluster="c1",
            job_id="7",
            nodes=["n"],
            gpu_count=1,
            capacity="spot",
        )
        if attempt.notice_s is not None:
            noticed_s = length_s - attempt.notice_s
            yield self.line(
                "allocation.notice", noticed_s, "scheduler", by="provider", deadline=None
            )
        ended: dict[str, Any] = {"ended_by": attempt.ended_by}
        if attempt.ended_by == "completed":
            ended["exit_code"] = 0
        yield self.line("allocation.ended", length_s, "scheduler", **ended)

    def progress(self, attempt: Attempt, step_s: int) -> Iterator[bytes]:
        """Say what the application does, by its own clock."""
        began_s = attempt.init_s + attempt.clock_off_s
        yield self.line("progress.started", attempt.clock_off_s + 1, "job", writer="rank0")
        name = f"step-{attempt.from_step}" if attempt.from_step else None
        yield self.line(
            "checkpoint.restored", began_s, "job", checkpoint=name, step=attempt.from_step
        )
        for place in range(1, attempt.steps + 1):
            step, at_s = attempt.from_step + place, began_s + place * step_s
            yield self.line("progress.step", at_s, "job", step=step, every=1)
            if step % SAVE_EVERY == 0:
                saved = {"checkpoint": f"step-{step}", "step": step, "blocking": False}
                yield self.line("checkpoint.begun", at_s, "job", **saved)
                yield self.line("checkpoint.committed", at_s, "job", **saved)


def long_story(steps: int) -> Story:
    """Give a story like B of any length, to be timed."""
    half = steps // 20 * 10
    killed = Attempt(half + 7, in_step_s=6, wait_s=60, ended_by=_KILLED)
    return Story("L", "long", (killed, Attempt(steps - half, half)))


def before_the_look(story: Story, lines: Sequence[bytes], told: Sequence[Row]) -> tuple[int, int]:
    """Give how many lines and rows there were when somebody asked too early."""
    step = story.looks_at_step
    places = [n for n, (_, row) in enumerate(told) if row.get("step_count") == step]
    reports = [n for n, line in enumerate(lines) if b'"step":%d}' % (step or 0) in line]
    return reports[0] + 1, places[0] + 1
