"""Lanes 1 and 3, the slow and literal way: FORMATS 4 and rules 30 to 38."""

from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from tests.reference.slow_admission import Record
from tests.reference.slow_attempts import PROGRESS, Attempt, Run, Span, at_of

CUTTING = (  # Rule 36, apart from `committed`, which depends on its begun.
    "progress.step",
    "progress.waiting",
    "progress.resumed",
    "checkpoint.restored",
)


class Piece(NamedTuple):
    """A part of a lane with its class."""

    start: int
    end: int
    name: str


class Step(NamedTuple):
    """Rule 38: all steps of one moment are one, the highest; `before` is p of F4."""

    at: int
    step: int
    every: int
    before: int | None


@dataclass(slots=True)
class Life:
    """Rule 35: from one restore of an attempt to the next."""

    attempt: Attempt
    restored: int | None = None
    restored_at: int | None = None
    steps: list[Step] = field(default_factory=list)
    lowest_later: int | None = None  # R: None is infinite.
    highest_earlier: int = 0  # D.
    later_unstated: bool = False  # Rule 37: a later life has steps but no stated restore.

    @property
    def stands_at(self) -> int | None:
        """Give its last report, else its restore."""
        return self.steps[-1].step if self.steps else self.restored


# -- lane 1 --------------------------------------------------------------------------------


def pauses(attempt: Attempt) -> list[Span]:
    """Rule 31: from a suspended to the next resumed, else to E."""
    spans: list[Span] = []
    since: int | None = None
    events = attempt.inside("allocation.suspended", "allocation.resumed")
    events.sort(key=lambda one: (at_of(one), one.kind == "allocation.resumed"))
    for event in events:
        if event.kind == "allocation.suspended":
            since = at_of(event) if since is None else since
        elif since is None:
            attempt.codes.add("unpaired_resume")
        else:
            spans.append((since, at_of(event)))
            since = None
    if since is not None:
        spans.append((since, attempt.stop))
    return [span for span in spans if span[0] < span[1]]


def allocation_lane(attempt: Attempt) -> list[Piece]:
    """Rules 30 to 32: suspended before notice before held."""
    paused = pauses(attempt)
    if attempt.length <= 0:
        return []
    notices = [at_of(one) for one in attempt.inside("allocation.notice")]
    edges = {attempt.start, attempt.stop, *notices, *(at for span in paused for at in span)}
    lane = []
    for start, end in neighbours(edges):
        if any(a <= start < b for a, b in paused):
            name = "suspended"
        elif notices and start >= min(notices):
            name = "notice"
        else:
            name = "held"
        lane.append(Piece(start, end, name))
    return lane


def neighbours(edges: set[int]) -> list[Span]:
    """Give the spans between sorted edges."""
    ordered = sorted(edges)
    return list(pairwise(ordered))


def merged(lane: list[Piece]) -> list[Piece]:
    """Give the lane with equal neighbours merged, as F7 prints it."""
    result: list[Piece] = []
    for piece in lane:
        if result and result[-1].name == piece.name and result[-1].end == piece.start:
            result[-1] = Piece(result[-1].start, piece.end, piece.name)
        else:
            result.append(piece)
    return result


# -- lives ---------------------------------------------------------------------------------


def lives_of(run: Run) -> list[Life]:
    """Rules 35, 37 and 38: the lives of a run in order, with p, R and D; facts at any time."""
    lives: list[Life] = []
    for attempt in run.attempts:
        own = split_lives(attempt)
        if not lives and own[0].restored is None:
            own[0] = with_first_p(own[0], 0)  # Rule 37: p is 0 in the run's first attempt.
        lives += own
    for index, life in enumerate(lives):
        later, earlier = lives[index + 1 :], lives[:index]
        life.lowest_later = min(
            (one.restored for one in later if one.restored is not None), default=None
        )
        life.highest_earlier = max((one.step for each in earlier for one in each.steps), default=0)
        life.later_unstated = any(one.steps and one.restored is None for one in later)
    return lives


def split_lives(attempt: Attempt) -> list[Life]:
    """Rule 35: a later restore begins a new life; rule 38: at one moment it comes first."""
    events = attempt.of("checkpoint.restored", "progress.step")
    events.sort(key=lambda one: (at_of(one), one.kind == "progress.step"))
    lives = [Life(attempt)]
    for event in events:
        life = lives[-1]
        if event.kind == "checkpoint.restored":
            if life.steps or life.restored is not None:
                life = Life(attempt)
                lives.append(life)
            life.restored = event.body["step"]
            life.restored_at = at_of(event)
        else:
            add_step(life, event)
    return lives


def add_step(life: Life, event: Record) -> None:
    """Rule 38: several steps at one moment are one, the highest."""
    at, step, every = at_of(event), event.body["step"], event.body["every"]
    before = life.restored
    if life.steps and life.steps[-1].at == at:
        same = life.steps.pop()
        before = same.before
        if same.step > step:
            step, every = same.step, same.every
    elif life.steps:
        before = life.steps[-1].step
    life.steps.append(Step(at, step, every, before))


def with_first_p(life: Life, p: int) -> Life:
    """Give the first step of a life its p."""
    if life.steps:
        life.steps[0] = life.steps[0]._replace(before=p)
    return life


def class_of_step(step: Step, life: Life) -> str:
    """F4 with rules 35 and 37."""
    p, s, r, d = step.before, step.step, life.lowest_later, life.highest_earlier
    if p is None:
        return "unknown"
    if r is not None and p >= r:
        return "discarded"
    kept = r is None or s <= r
    if s <= d and kept:
        name = "replaying"
    elif p >= d and kept:
        name = "advancing"
    else:
        name = "mixed"
    return "mixed" if life.later_unstated else name


# -- lane 3 --------------------------------------------------------------------------------


def progress_lane(attempt: Attempt, lives: list[Life]) -> list[Piece]:
    """F4 with rules 33 to 38, unmerged, so that a step always ends a piece."""
    if attempt.length <= 0:
        return []
    events = attempt.inside(*PROGRESS)
    if not events:
        return [Piece(attempt.start, attempt.stop, "unknown")]
    begins = end_of_starting(events)
    cutting = cutting_moments(events, begins)
    waits, saves = wait_spans(events, cutting, attempt), save_spans(events, cutting, attempt)
    classes = {step.at: class_of_step(step, life) for life in lives for step in life.steps}
    edges = {attempt.start, begins, attempt.stop}
    edges |= {at for at in cutting if at > begins}
    edges |= {at for *span, _ in [*waits, *saves] for at in span if at > begins}
    lane = []
    for start, end in neighbours(edges):
        waiting = [reason for a, b, reason in waits if a <= start < b]
        if start < begins:
            name = "starting"
        elif waiting:
            name = f"waiting:{waiting[-1]}"  # Rule 36: waiting before saving before steps.
        elif any(a <= start < b for a, b, _ in saves):
            name = "saving"
        else:
            name = classes.get(end, "unknown")
        lane.append(Piece(start, end, name))
    return overlay(lane, pauses(attempt))


def overlay(lane: list[Piece], paused: list[Span]) -> list[Piece]:
    """Rule 33: suspended time is `waiting:suspended`, whatever else."""
    edges = {at for piece in lane for at in piece[:2]} | {at for span in paused for at in span}
    result = []
    for start, end in neighbours(edges):
        below = next(piece for piece in lane if piece.start <= start < piece.end)
        held = any(a <= start < b for a, b in paused)
        result.append(Piece(start, end, "waiting:suspended" if held else below.name))
    return result


def end_of_starting(events: list[Record]) -> int:
    """Rule 34: the first restore unless a step comes before it, else started, else anything."""
    restores = [at_of(one) for one in events if one.kind == "checkpoint.restored"]
    steps = [at_of(one) for one in events if one.kind == "progress.step"]
    starts = [at_of(one) for one in events if one.kind == "progress.started"]
    if restores and not any(at < min(restores) for at in steps):
        return min(restores)
    if starts:
        return min(starts)
    return min(at_of(one) for one in events)


def blocks(record: Record) -> bool:
    """F2: `blocking` is true by default."""
    return record.body.get("blocking") is not False


def same_save(one: Record, other: Record) -> bool:
    """Whether two events of an attempt concern the same checkpoint and step."""
    return all(one.body[name] == other.body[name] for name in ("checkpoint", "step"))


def cuts(event: Record, events: list[Record]) -> bool:
    """Rule 36: whether an event is a cutting one."""
    if event.kind in CUTTING:
        return True
    if event.kind == "checkpoint.begun":
        return blocks(event)
    if event.kind == "checkpoint.committed":
        begun = [
            one
            for one in events
            if one.kind == "checkpoint.begun"
            and same_save(one, event)
            and at_of(one) <= at_of(event)
        ]
        return blocks(begun[-1]) if begun else blocks(event)
    return False


def cutting_moments(events: list[Record], begins: int) -> set[int]:
    """Rule 36: the moments that cut; what ends `starting` does, even progress.started."""
    return {begins} | {at_of(one) for one in events if cuts(one, events)}


def until_next_cut(at: int, cutting: set[int], attempt: Attempt) -> int:
    """Rule 36: the next cutting event at a later time, or E."""
    return min([one for one in cutting if one > at], default=attempt.stop)


def wait_spans(
    events: list[Record], cutting: set[int], attempt: Attempt
) -> list[tuple[int, int, str]]:
    """Rule 36: a wait lasts to the first resumed, if no other waiting comes between."""
    marks = [one for one in events if one.kind in ("progress.waiting", "progress.resumed")]
    spans = []
    for index, one in enumerate(marks):
        if one.kind != "progress.waiting":
            continue
        following = marks[index + 1] if index + 1 < len(marks) else None
        if following is not None and following.kind == "progress.resumed":
            end = at_of(following)
        else:
            end = until_next_cut(at_of(one), cutting, attempt)
        spans.append((at_of(one), end, one.body["reason"]))
    return spans


def save_spans(
    events: list[Record], cutting: set[int], attempt: Attempt
) -> list[tuple[int, int, str]]:
    """Rule 36: a save lasts to the first committed of the same checkpoint and step."""
    spans = []
    for one in events:
        if one.kind != "checkpoint.begun" or not blocks(one):
            continue
        commits = [
            at_of(other)
            for other in events
            if other.kind == "checkpoint.committed"
            and same_save(one, other)
            and at_of(other) >= at_of(one)
        ]
        end = min(commits, default=until_next_cut(at_of(one), cutting, attempt))
        spans.append((at_of(one), end, "saving"))
    return spans
