"""Which leaves of a log bear on one run, and which numbers of their producers are left out.

A record bears on a run if it names the run, or an attempt that a record of the run names
(under any key that is said to be the same), or if it is about the GPUs and nodes that these
attempts held. From these records alone the run is rated as from the whole log. Beside them
stands what the log itself says: of deliveries of the same producers, of the contract, of the
receipts of the run, and of its own keys.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from tallystick.evidence.admission import Withheld
from tallystick.evidence.bodies import (
    AllocationStarted,
    AttemptSame,
    DeviceInventory,
    EngineStarted,
    Points,
    Samples,
    ScrapeFailed,
    SegmentDropped,
    TelemetryWatch,
)
from tallystick.evidence.kinds import BadBodyError
from tallystick.evidence.leaf import LOG_PRODUCER
from tallystick.evidence.record import Record
from tallystick.evidence.remarks import Numbering, Repeated, number_of, read_remark
from tallystick.timeline.segments import segment_sha256


class Logged(NamedTuple):
    """A record and the number of its leaf."""

    number: int
    record: Record


@dataclass(frozen=True, slots=True)
class RunLeaves:
    """The numbers of the leaves that a bundle of a run needs, and what it leaves out."""

    numbers: tuple[int, ...]
    withheld: tuple[Withheld, ...]


@dataclass(slots=True)
class _Scope:
    """What the records of a run are about; segments by their SHA-256."""

    run: str
    attempts: set[str]
    gpus: set[str] = field(default_factory=set)
    nodes: set[str] = field(default_factory=set)
    segments: set[str] = field(default_factory=set)

    def holds(self, record: Record) -> bool:
        """Tell whether a record of evidence bears on the run."""
        body = record.body
        match body:
            case dict():
                return self._named_by(body.get("run"), body.get("attempt"))
            case Points():
                return body.gpu in self.gpus
            case Samples():
                return not self.gpus.isdisjoint(body.gpus)
            case SegmentDropped():
                return self._is_dropped(body)
            case DeviceInventory():
                seen = (device.uuid for device in body.devices)
                return body.node in self.nodes or not self.gpus.isdisjoint(seen)
            case TelemetryWatch():
                return body.node in self.nodes or not self.gpus.isdisjoint(body.gpus or ())
            case EngineStarted() | ScrapeFailed():
                return body.node in self.nodes
        return self._named_by(getattr(body, "run", None), getattr(body, "attempt", None))

    def _is_dropped(self, body: SegmentDropped) -> bool:
        """Tell whether it may answer for a segment of the run; the rest is of other GPUs."""
        if segment_sha256(body.segment) not in self.segments:
            return False
        return not body.windows or any(window.gpu in self.gpus for window in body.windows)

    def _named_by(self, run: object, attempt: object) -> bool:
        return run == self.run or (isinstance(attempt, str) and attempt in self.attempts)


def leaves_of_run(logged: Sequence[Logged], run: str, *, contract: str, size: int) -> RunLeaves:
    """Choose the leaves that a bundle of a run needs.

    Args:
        logged: All records of the log, in its order.
        run: The run.
        contract: The id of the contract that it is rated by.
        size: How many leaves its receipt was computed from; of those after them, only what the
            log says of its receipts, its keys and the samples that were dropped.
    """
    evidence = [each for each in logged if each.number < size]
    scope = _scope([each.record for each in evidence], run)
    chosen = {each.number for each in evidence if scope.holds(each.record)}
    producers = {each.record.producer for each in evidence if each.number in chosen}
    chosen |= {
        each.number
        for each in evidence
        if _is_contract(each.record, contract)
        or ((remark := _remark(each.record)) is not None and remark.producer in producers)
    }
    withheld = _withheld(evidence, chosen, producers)
    chosen |= {each.number for each in logged if _is_later(each.record, run, scope)}
    return RunLeaves(tuple(sorted(chosen)), withheld)


def _scope(records: Sequence[Record], run: str) -> _Scope:
    """Find what a run is about: its attempts, then what they held, then where samples are."""
    scope = _Scope(run, _attempts(records, run))
    for record in records:
        body = record.body
        if isinstance(body, AllocationStarted) and body.attempt in scope.attempts:
            scope.nodes.update(body.nodes)
            scope.nodes.update(gpu.node for gpu in body.gpus or ())
            scope.gpus.update(gpu.uuid for gpu in body.gpus or ())
    scope.segments.update(
        segment_sha256(record.body.segment)
        for record in records
        if isinstance(record.body, Samples) and scope.holds(record)
    )
    return scope


def _attempts(records: Iterable[Record], run: str) -> set[str]:
    """Name the attempts that records of a run name, and all that are said to be the same.

    The run's own name is among them: an attempt that no record links is a run of its own. An
    alias that is ignored because another contradicts it counts too, since both must be shown.
    """
    same: dict[str, set[str]] = defaultdict(set)
    pending = [run]
    for record in records:
        body = record.body
        if isinstance(body, AttemptSame):
            same[body.attempt].add(body.same_as)
            same[body.same_as].add(body.attempt)
        elif getattr(body, "run", None) == run and (attempt := getattr(body, "attempt", None)):
            pending.append(attempt)
    found: set[str] = set()
    while pending:
        name = pending.pop()
        if name not in found:
            found.add(name)
            pending += same[name]
    return found


def _remark(record: Record) -> Repeated | None:
    """Read what the log says of a delivery with an identity, if a record is that."""
    try:
        remark = read_remark(record)
    except BadBodyError:
        return None
    return remark if isinstance(remark, Repeated) else None


def _is_contract(record: Record, contract: str) -> bool:
    return (
        record.producer == LOG_PRODUCER
        and record.kind == "contract.published"
        and isinstance(record.body, dict)
        and record.body.get("contract") == contract
    )


def _is_later(record: Record, run: str, scope: _Scope) -> bool:
    """Tell whether the log says of a receipt of the run, its own key, or samples that went."""
    if record.producer != LOG_PRODUCER:
        return False
    if isinstance(record.body, SegmentDropped):
        return scope.holds(record)
    if not isinstance(record.body, dict):
        return False
    is_issue = record.kind == "receipt.issued" and record.body.get("run") == run
    return is_issue or record.kind == "key.rotated"


def _withheld(
    evidence: Iterable[Logged], chosen: set[int], producers: set[str]
) -> tuple[Withheld, ...]:
    """Give the numbers of some producers that the log has, and the chosen leaves have not."""
    rest: dict[Numbering, set[int]] = defaultdict(set)
    shown: dict[Numbering, set[int]] = defaultdict(set)
    for number, record in evidence:
        came = number_of(record, _remark(record))
        if came is not None and came[0].producer in producers:
            (shown if number in chosen else rest)[came[0]].add(came[1])
    hidden = ((boot, numbers - shown[boot]) for boot, numbers in rest.items())
    return tuple(Withheld(*boot, _ranges(numbers)) for boot, numbers in hidden if numbers)


def _ranges(numbers: Iterable[int]) -> tuple[tuple[int, int], ...]:
    """Give the runs of neighbours among some numbers."""
    ranges: list[tuple[int, int]] = []
    for number in sorted(numbers):
        if ranges and ranges[-1][1] + 1 == number:
            ranges[-1] = (ranges[-1][0], number)
        else:
            ranges.append((number, number))
    return tuple(ranges)
