"""Which records belong to which run and attempt (rules 8 and 9, section 9.1).

Grouping is by what records say, never by guessing: an attempt belongs to the run that a link
names, else that its start names, else to a run of its own name.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from operator import attrgetter
from typing import Any, NamedTuple

from tallystick.core.finding import InputFinding
from tallystick.core.vocabulary import PROGRESS_KINDS
from tallystick.evidence.bodies import AllocationStarted, AttemptLinked, AttemptSame
from tallystick.evidence.record import Record

_RUN_OF_ATTEMPT_KINDS = {"attempt.linked", "allocation.started"}
_DEVICE_KINDS = ("telemetry.", "device.")

_ByKind = dict[str, list[Record]]


@dataclass(slots=True)
class AttemptRecords:
    """The records that name one attempt by kind, those of each kind in canonical order."""

    key: str
    by_kind: _ByKind = field(default_factory=dict)

    def of(self, *kinds: str) -> list[Record]:
        """Give the records of some kinds, one kind after another."""
        if len(kinds) == 1:
            return self.by_kind.get(kinds[0], [])
        return [record for kind in kinds for record in self.by_kind.get(kind, ())]

    @property
    def all(self) -> list[Record]:
        """All of them, one kind after another."""
        return list(chain.from_iterable(self.by_kind.values()))

    @property
    def progress(self) -> list[Record]:
        """The records that show the application at work, in order of time."""
        return sorted(self.of(*PROGRESS_KINDS), key=attrgetter("at_us"))

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
    known: dict[str, _Role] = {}
    said: dict[str, _ByKind] = defaultdict(partial(defaultdict, list))
    named_runs: dict[str, list[Record]] = defaultdict(list)
    devices = []
    for record in records:
        kind = record.kind
        body: Any = record.body
        if kind not in known:
            known[kind] = _role(kind, body.__class__)
        names_attempt, names_run, is_of_device = known[kind]
        if names_attempt:
            said[body.attempt][kind].append(record)
        elif is_of_device:
            devices.append(record)
        if names_run:
            named_runs[body.run].append(record)
    aliases, findings = _aliases(chain.from_iterable(_taken(said, "attempt.same")))
    attempts = _attempts(said, aliases)
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


class _Role(NamedTuple):
    """What the records of a kind name: an attempt, a run of their own, neither but a device."""

    names_attempt: bool
    names_run: bool
    is_of_device: bool


def _role(kind: str, body: type) -> _Role:
    fields = getattr(body, "__struct_fields__", ())
    names_run = "run" in fields and kind not in _RUN_OF_ATTEMPT_KINDS
    return _Role("attempt" in fields, names_run, kind.startswith(_DEVICE_KINDS))


def _taken(said: Mapping[str, _ByKind], kind: str) -> list[list[Record]]:
    """Take the records of one kind away from those that name attempts."""
    return [by_kind.pop(kind, []) for by_kind in said.values()]


def _attempts(said: Mapping[str, _ByKind], aliases: Mapping[str, str]) -> dict[str, AttemptRecords]:
    """Put together what names one attempt, under whichever of its keys."""
    attempts = {
        key: AttemptRecords(key, dict(by_kind))
        for key, by_kind in said.items()
        if key not in aliases
    }
    for key, target in aliases.items():
        into = attempts.setdefault(target, AttemptRecords(target)).by_kind
        for kind, records in said[key].items():
            into[kind] = sorted((*into.get(kind, ()), *records), key=attrgetter("order"))
    return attempts


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
