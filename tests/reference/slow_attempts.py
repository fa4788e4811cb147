"""Runs and attempts, the slow and literal way: rules 8 to 20."""

from dataclasses import dataclass, field
from typing import Any

from tests.reference.slow_admission import Admitted, Record, follow
from tests.reference.slow_bodies import moment_us

Span = tuple[int, int]
PROGRESS = (
    "progress.started",
    "progress.step",
    "progress.waiting",
    "progress.resumed",
    "checkpoint.begun",
    "checkpoint.committed",
    "checkpoint.restored",
)
SIGN_OF_HOLDING = (  # Rule 14: the records that say how long an open attempt lasted.
    "allocation.started",
    "allocation.suspended",
    "allocation.resumed",
    "allocation.notice",
    "allocation.ended",
    *PROGRESS,
    "telemetry.job_stats",
)
MUST_BE_INSIDE = (  # Rule 16: outside [S,E] these are `event_outside_attempt`.
    "allocation.suspended",
    "allocation.resumed",
    "allocation.notice",
    "progress.started",
    "progress.step",
    "progress.waiting",
    "progress.resumed",
    "checkpoint.begun",
    "checkpoint.restored",
)
ABOUT_RUNS = (  # Rule 9: these name a run without making one.
    "output.accepted",
    "output.rejected",
    "decision.resolution",
    "decision.adjustment",
)


@dataclass(slots=True)
class Attempt:
    """One attempt with a start; `end` is as stated, `stop` is E, to which it is rated."""

    key: str
    run: str
    records: tuple[Record, ...]
    start: int
    end: int | None
    stop: int
    uuids: tuple[str, ...]
    unnamed: int
    node_of: dict[str, str]
    nodes: tuple[str, ...]
    stated: dict[str, str | None]  # gpu_type, capacity, zone, tier
    ended_by: str | None
    exit_code: int | None
    signal: int | None
    codes: set[str] = field(default_factory=set)
    wait_us: int | None = None

    @property
    def gpus(self) -> int:
        """Rule 13: the named and the unnamed ones."""
        return len(self.uuids) + self.unnamed

    @property
    def length(self) -> int:
        """E-S; negative where the end is before the start."""
        return self.stop - self.start

    @property
    def notice_us(self) -> int | None:
        """Rule 18: end minus the earliest notice with at <= E; None without one or open."""
        moments = [
            at_of(one)
            for one in self.of("allocation.notice")
            if self.end is not None and at_of(one) <= self.end
        ]
        return None if not moments or self.end is None else self.end - min(moments)

    @property
    def interrupted(self) -> bool:
        """Rule 39: ended otherwise than `completed`; rule 14: an open one is none."""
        return self.end is not None and self.ended_by != "completed"

    def of(self, *kinds: str) -> list[Record]:
        """Give the records of these kinds that name it, in canonical order."""
        return [record for record in self.records if record.kind in kinds]

    def inside(self, *kinds: str) -> list[Record]:
        """Rule 16: those with S <= at <= E, which count in the lanes."""
        return [one for one in self.of(*kinds) if self.start <= at_of(one) <= self.stop]


@dataclass(slots=True)
class Run:
    """One run that gets a receipt."""

    id: str
    job_class: str | None = None
    accepted: bool | None = None
    attempts: list[Attempt] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)  # Attempts without a start.
    findings: list[tuple[str, str | None]] = field(default_factory=list)
    records: tuple[Record, ...] = ()  # Those whose body names this run.


def at_of(record: Record) -> int:
    """Give the moment of a record whose kind gives `at` a meaning."""
    if record.at is None:
        raise TypeError(record.id)
    return record.at


# -- runs ----------------------------------------------------------------------------------


def build_runs(admitted: Admitted) -> tuple[list[Run], list[tuple[str, str]]]:
    """Rules 8 and 9: the runs in order of id, and what only other records name."""
    records = admitted.records
    started = {one.attempt for one in records if one.kind == "allocation.started"}
    linked = {one.attempt for one in records if one.kind == "attempt.linked"}
    known = {key for key in started | linked if key is not None}
    run_of = {key: run_of_attempt(key, records) for key in known}
    ids = {run_of[key] for key in started if key is not None}
    ids |= {one.body["run"] for one in records if one.kind in ("run.declared", "attempt.linked")}
    runs = [
        build_run(run_id, records, [key for key in sorted(known) if run_of[key] == run_id])
        for run_id in sorted(ids)
    ]
    for run in runs:
        add_sequence_gaps(run, admitted)
        add_unread_segments(run, records)
    return runs, unknown_names(admitted, known, ids)


def run_of_attempt(key: str, records: tuple[Record, ...]) -> str:
    """Rule 8: the first link, else the first start that states a run, else the key."""
    stated = stated_runs(key, records)
    return stated[0] if stated else key


def stated_runs(key: str, records: tuple[Record, ...]) -> list[str]:
    """Every run that a link or a start states for an attempt, links first."""
    return [
        one.body["run"]
        for kind in ("attempt.linked", "allocation.started")
        for one in records
        if one.kind == kind and one.attempt == key and one.body.get("run") is not None
    ]


def unknown_names(admitted: Admitted, known: set[str], ids: set[str]) -> list[tuple[str, str]]:
    """Rule 9: `unknown_attempt` and `unknown_run`, once each, sorted by name."""
    records = admitted.records
    attempts = {one.attempt for one in records if one.attempt is not None}
    attempts |= {
        follow(one.body["same_as"], admitted.same_as)
        for one in records
        if one.kind == "attempt.same"
    }
    attempts -= known
    runs = {one.body["run"] for one in records if one.kind in ABOUT_RUNS} - ids
    return [("unknown_attempt", name) for name in sorted(attempts)] + [
        ("unknown_run", name) for name in sorted(runs)
    ]


def build_run(run_id: str, records: tuple[Record, ...], keys: list[str]) -> Run:
    """Gather one run: attempts in the order of rule 17 and what is found on the way."""
    naming = tuple(one for one in records if names_run(one, run_id))
    run = Run(run_id, records=naming)
    for key in keys:
        own = tuple(one for one in records if one.attempt == key)
        if len(set(stated_runs(key, records))) > 1:
            run.findings.append(("run_disagreement", key))  # Rule 8.
        if any(one.kind == "allocation.started" for one in own):
            run.attempts.append(build_attempt(key, run_id, own))
        else:
            run.missing.append(key)
            run.findings.append(("attempt_without_start", key))  # Rule 9.
    run.attempts.sort(key=lambda one: (one.start, one.key))
    for index, one in enumerate(run.attempts):
        relate(one, run.attempts[:index], run.attempts[index + 1 :])
    classes = [one.body.get("job_class") for one in naming if one.kind == "run.declared"]
    run.job_class = next((name for name in classes if name is not None), None)  # Rule 19.
    judge(run)
    return run


def names_run(record: Record, run_id: str) -> bool:
    """Whether a record of a kind with a checked body names this run."""
    return (
        record.kind in ("run.declared", "attempt.linked", "allocation.started", *ABOUT_RUNS)
        and record.body.get("run") == run_id
    )


def judge(run: Run) -> None:
    """Rule 44: the latest verdict, rejected first at one moment; attempts after acceptance."""
    verdicts = sorted(
        (at_of(one), one.kind == "output.rejected")
        for one in run.records
        if one.kind in ("output.accepted", "output.rejected")
    )
    if not verdicts:
        return
    run.accepted = not verdicts[-1][1]
    if run.accepted:
        first = min(at for at, rejected in verdicts if not rejected)
        run.findings += [
            ("attempt_after_accept", one.key) for one in run.attempts if one.start >= first
        ]


# -- attempts ------------------------------------------------------------------------------


def build_attempt(key: str, run_id: str, own: tuple[Record, ...]) -> Attempt:
    """Rules 11 to 16: one attempt from all records that name it, in canonical order."""
    starts = [one for one in own if one.kind == "allocation.started"]
    ends = [one for one in own if one.kind == "allocation.ended"]
    earliest = starts[0].body
    start = at_of(starts[0])
    end = at_of(ends[0]) if ends else None
    codes: set[str] = set()
    node_of: dict[str, str] = {}
    for one in starts:  # Rule 11: the union by UUID over all of them.
        for gpu in one.body.get("gpus") or ():
            node_of.setdefault(gpu["uuid"], gpu["node"])
    counts = [one.body["gpu_count"] for one in starts if one.body.get("gpu_count") is not None]
    listed = any(one.body.get("gpus") is not None for one in starts)
    if counts and listed and max(counts) != len(node_of):
        codes.add("gpu_count_mismatch")  # Rule 13.
    if any(start_facts(one) != start_facts(starts[0]) for one in starts):
        codes.add("start_disagreement")  # Rule 11.
    known = [one.body["ended_by"] for one in ends if one.body["ended_by"] != "unknown"]
    if len({at_of(one) for one in ends}) > 1 or len(set(known)) > 1:
        codes.add("end_disagreement")  # Rule 12.
    attempt = Attempt(
        key=key,
        run=run_id,
        records=own,
        start=start,
        end=end,
        stop=end if end is not None else last_sign(own),
        uuids=tuple(sorted(node_of)),
        unnamed=max(0, max(counts, default=0) - len(node_of)),
        node_of=node_of,
        nodes=tuple(sorted({node for one in starts for node in one.body["nodes"]})),
        stated={name: earliest.get(name) for name in ("gpu_type", "capacity", "zone", "tier")},
        ended_by=None if not ends else (known[0] if known else "unknown"),
        exit_code=ends[0].body.get("exit_code") if ends else None,
        signal=ends[0].body.get("signal") if ends else None,
        codes=codes,
    )
    add_own_codes(attempt)
    return attempt


def add_own_codes(attempt: Attempt) -> None:
    """Rules 14 to 16 and 26: findings about the attempt's own interval and events."""
    if attempt.end is None:
        attempt.codes.add("open_attempt")
    if attempt.length < 0:
        attempt.codes.add("reversed_interval")  # Rule 15.
    for one in attempt.of("telemetry.job_stats"):
        if moment_us(one.body["end"]) < moment_us(one.body["start"]):
            attempt.codes.add("reversed_interval")  # Rule 26, under `clock`.
    if len(attempt.of(*MUST_BE_INSIDE)) > len(attempt.inside(*MUST_BE_INSIDE)):
        attempt.codes.add("event_outside_attempt")  # Rule 16.


def start_facts(record: Record) -> tuple[Any, ...]:
    """Give what rule 11 compares between the starts of one attempt."""
    body = record.body
    return (record.at, *(body.get(name) for name in ("gpu_type", "capacity", "zone", "tier")))


def last_sign(own: tuple[Record, ...]) -> int:
    """Rule 14: the latest `at` of the records that show an open attempt holding its GPUs."""
    return max(at_of(one) for one in own if one.kind in SIGN_OF_HOLDING)


def relate(attempt: Attempt, earlier: list[Attempt], later: list[Attempt]) -> None:
    """Rule 17: the wait for the next attempt, and overlaps with earlier ones."""
    if later and attempt.end is not None and later[0].start >= attempt.end:
        attempt.wait_us = later[0].start - attempt.end
    for other in earlier:
        if min(attempt.stop, other.stop) > max(attempt.start, other.start):
            attempt.codes.add("overlapping_attempts")


# -- what concerns a run's producers and segments ------------------------------------------


def add_sequence_gaps(run: Run, admitted: Admitted) -> None:
    """Rule 10: a missing number of a producer is a finding on every run that it speaks of."""
    keys = {one.key for one in run.attempts} | set(run.missing)
    gpus = {uuid for one in run.attempts for uuid in one.uuids}
    speakers = {
        one.name
        for one in admitted.records
        if one.attempt in keys
        or names_run(one, run.id)
        or (one.kind == "attempt.same" and {one.body["attempt"], one.body["same_as"]} & keys)
        or (one.kind == "telemetry.points" and one.body["gpu"] in gpus)
    }
    for (name, _), numbers in admitted.numbers.items():
        if name in speakers and len(numbers) < max(numbers) - min(numbers) + 1:
            run.findings.append(("sequence_gap", None))


def add_unread_segments(run: Run, records: tuple[Record, ...]) -> None:
    """Rule 20: a segment that names a GPU of the run and overlaps an attempt is not read."""
    gpus = {uuid for one in run.attempts for uuid in one.uuids}
    for record in records:
        if record.kind != "telemetry.samples" or gpus.isdisjoint(record.body["gpus"]):
            continue
        span = (moment_us(record.body["from"]), moment_us(record.body["to"]))
        if any(overlaps(span, (one.start, one.stop)) for one in run.attempts):
            run.findings.append(("segment_not_read", None))
            return


def overlaps(span: Span, window: Span) -> bool:
    """Whether they share time, or the span is one moment inside the half-open window."""
    if span[0] == span[1]:
        return window[0] <= span[0] < window[1]
    return max(span[0], window[0]) < min(span[1], window[1])
