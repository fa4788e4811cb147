"""Which records belong to which run and attempt (rules 8 and 9, section 9.1).

Grouping is by what records say, never by guessing: an attempt belongs to the run that a link
names, else that its start names, else to a run of its own name.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from tallystick.core.finding import InputFinding
from tallystick.core.vocabulary import PROGRESS_KINDS
from tallystick.evidence.bodies import AllocationStarted, AttemptLinked, AttemptSame
from tallystick.evidence.record import Record

_PROGRESS_KINDS = frozenset(PROGRESS_KINDS)
_RUN_OF_ATTEMPT_KINDS = {"attempt.linked", "allocation.started"}
_DEVICE_KINDS = ("telemetry.", "device.")


@dataclass(slots=True)
class AttemptRecords:
    """The records that name one attempt, in canonical order: all, of progress, by kind."""

    key: str
    all: list[Record] = field(default_factory=list)
    progress: list[Record] = field(default_factory=list)
    by_kind: dict[str, list[Record]] = field(default_factory=dict)

    def add(self, record: Record) -> None:
        """Add the next record in canonical order."""
        kind = record.kind
        self.all.append(record)
        if kind in _PROGRESS_KINDS:
            self.progress.append(record)
        if kind in self.by_kind:
            self.by_kind[kind].append(record)
        else:
            self.by_kind[kind] = [record]

    def of(self, *kinds: str) -> list[Record]:
        """Give the records of some kinds, in canonical order."""
        if len(kinds) == 1:
            return self.by_kind.get(kinds[0], [])
        return [record for record in self.all if record.kind in kinds]

    @property
    def started(self) -> list[Record]:
        """The records that say when it started and with what."""
        return self.of("allocation.started")


@dataclass(slots=True)
class RunRecords:
    """The records that name one run or one of its attempts."""

    run: str
    attempts: list[AttemptRecords] = field(default_factory=list)
    own: list[Record] = field(default_factory=list)
    disagreeing: list[str] = field(default_factory=list)

    def of(self, kind: str) -> list[Record]:
        """Give the run's own records of one kind, in canonical order."""
        return [record for record in self.own if record.kind == kind]


@dataclass(frozen=True, slots=True)
class Grouping:
    """Runs in order of their id, the records of devices, and what names nothing known."""

    runs: tuple[RunRecords, ...]
    devices: tuple[Record, ...]
    findings: tuple[InputFinding, ...]
    aliases: Mapping[str, str]


def group_records(records: Iterable[Record]) -> Grouping:
    """Sort admitted records, given in canonical order, by run and attempt."""
    records = list(records)
    aliases, findings = _aliases(records)
    attempts: dict[str, AttemptRecords] = {}
    named_runs: dict[str, list[Record]] = defaultdict(list)
    devices = []
    for record in records:
        body: Any = record.body
        names_attempt, names_run = _names(body.__class__)
        if names_attempt:
            key = aliases.get(body.attempt, body.attempt)
            if key not in attempts:
                attempts[key] = AttemptRecords(key)
            if record.kind != "attempt.same":
                attempts[key].add(record)
        elif record.kind.startswith(_DEVICE_KINDS):
            devices.append(record)
        if names_run and record.kind not in _RUN_OF_ATTEMPT_KINDS:
            named_runs[body.run].append(record)
    for key in aliases.values():
        attempts.setdefault(key, AttemptRecords(key))
    runs, unknown_attempts = _runs(attempts, named_runs)
    unknown_runs = sorted(named_runs.keys() - runs.keys())
    findings += [
        InputFinding("unknown_attempt", f"no record links or starts attempt {key}", attempt=key)
        for key in unknown_attempts
    ]
    findings += [
        InputFinding("unknown_run", f"no record declares, links or starts run {key}", run=key)
        for key in unknown_runs
    ]
    ordered = tuple(runs[run] for run in sorted(runs))
    return Grouping(ordered, tuple(devices), tuple(findings), aliases)


@cache
def _names(body: type) -> tuple[bool, bool]:
    """Tell whether records of a kind name an attempt, and a run."""
    fields = getattr(body, "__struct_fields__", ())
    return "attempt" in fields, "run" in fields


def _runs(
    attempts: Mapping[str, AttemptRecords], named_runs: Mapping[str, list[Record]]
) -> tuple[dict[str, RunRecords], list[str]]:
    runs: dict[str, RunRecords] = {}
    unknown = []
    for key in sorted(attempts):
        attempt = attempts[key]
        stated = _stated_runs(attempt)
        if not attempt.started and not attempt.of("attempt.linked"):
            unknown.append(key)
            continue
        run = runs.setdefault(
            stated[0] if stated else key, RunRecords(stated[0] if stated else key)
        )
        run.attempts.append(attempt)
        if len(set(stated)) > 1:
            run.disagreeing.append(key)
        for linked in attempt.of("attempt.linked"):
            if isinstance(linked.body, AttemptLinked):
                runs.setdefault(linked.body.run, RunRecords(linked.body.run))
    for name, records in named_runs.items():
        if name in runs or any(record.kind == "run.declared" for record in records):
            runs.setdefault(name, RunRecords(name)).own.extend(records)
    return runs, unknown


def _stated_runs(attempt: AttemptRecords) -> list[str]:
    """Name the runs that records state for an attempt; the one that counts comes first."""
    links = [r.body.run for r in attempt.of("attempt.linked") if isinstance(r.body, AttemptLinked)]
    starts = [r.body.run for r in attempt.started if isinstance(r.body, AllocationStarted)]
    return links + [run for run in starts if run is not None]


def _aliases(records: Iterable[Record]) -> tuple[dict[str, str], list[InputFinding]]:
    """Follow ``attempt.same`` to the key that counts; two targets or a cycle are ignored."""
    targets: dict[str, set[str]] = defaultdict(set)
    for record in records:
        if record.kind == "attempt.same" and isinstance(record.body, AttemptSame):
            targets[record.body.attempt].add(record.body.same_as)
    usable = {key: next(iter(names)) for key, names in targets.items() if len(names) == 1}
    broken = {key for key, names in targets.items() if len(names) > 1}
    broken |= {key for key in usable if _is_on_cycle(key, usable)}
    usable = {key: name for key, name in usable.items() if key not in broken}
    message = "it is said to be the same as two others, or in the end as itself"
    findings = [InputFinding("alias_conflict", message, attempt=key) for key in sorted(broken)]
    return {key: _last(key, usable) for key in usable}, findings


def _is_on_cycle(key: str, targets: Mapping[str, str]) -> bool:
    seen = set()
    name = targets.get(key)
    while name is not None and name not in seen:
        if name == key:
            return True
        seen.add(name)
        name = targets.get(name)
    return False


def _last(key: str, targets: Mapping[str, str]) -> str:
    while key in targets:
        key = targets[key]
    return key
