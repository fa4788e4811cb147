"""The records that a packet is made from: those of two runs, in one order, whatever came first."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from tallystick.core.instant import parse_instant
from tallystick.evidence.record import content_digest

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Seen:
    """One record: its kind, when it happened, what it says, and its digest."""

    kind: str
    at_us: int | None
    body: Json
    digest: str

    @property
    def moment_us(self) -> int:
        """Its time, for kinds that always have one."""
        return self.at_us or 0


@dataclass(frozen=True, slots=True)
class Evidence:
    """Records by attempt and by run, each in canonical order, equal ones once."""

    by_attempt: dict[str, tuple[Seen, ...]]
    by_run: dict[str, tuple[Seen, ...]]

    def of_attempt(self, attempt: str, *kinds: str) -> tuple[Seen, ...]:
        """Give the records of some kinds that name an attempt."""
        return tuple(each for each in self.by_attempt.get(attempt, ()) if each.kind in kinds)

    def of_run(self, run: str, kind: str) -> tuple[Seen, ...]:
        """Give the records of a kind that name a run."""
        return tuple(each for each in self.by_run.get(run, ()) if each.kind == kind)


def gather(records: Iterable[Json]) -> Evidence:
    """Sort records by what they name; an attempt's other names count as its own.

    Args:
        records: Envelopes as they were admitted, in any order, any number of times.
    """
    once = {content_digest(each): each for each in records}
    seen = [_seen(digest, each) for digest, each in once.items()]
    same = {
        each.body["attempt"]: each.body["same_as"] for each in seen if each.kind == "attempt.same"
    }
    by_attempt: defaultdict[str, list[Seen]] = defaultdict(list)
    by_run: defaultdict[str, list[Seen]] = defaultdict(list)
    for each in sorted(seen, key=lambda record: (record.moment_us, record.kind, record.digest)):
        attempt, run = each.body.get("attempt"), each.body.get("run")
        if isinstance(attempt, str):
            by_attempt[_named(attempt, same)].append(each)
        if isinstance(run, str):
            by_run[run].append(each)
    return Evidence(_fixed(by_attempt), _fixed(by_run))


def digests(records: Iterable[Seen]) -> list[str]:
    """Name records, each once, in the order of their text."""
    return sorted({each.digest for each in records})


def _seen(digest: str, envelope: Json) -> Seen:
    at = envelope["at"]
    at_us = None if at is None else parse_instant(at)
    return Seen(envelope["kind"], at_us, envelope["body"], digest)


def _named(attempt: str, same: dict[str, str]) -> str:
    """Follow the names of an attempt to the last; a circle has none, and stays as it is."""
    passed = {attempt}
    name = attempt
    while name in same:
        name = same[name]
        if name in passed:
            return attempt
        passed.add(name)
    return name


def _fixed(found: dict[str, list[Seen]]) -> dict[str, tuple[Seen, ...]]:
    return {name: tuple(records) for name, records in found.items()}


def first(records: Sequence[Seen]) -> Seen | None:
    """Give the first of some records, None if there is none."""
    return records[0] if records else None
