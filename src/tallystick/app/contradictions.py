"""What in a store contradicts itself: nothing is damaged, and yet it cannot all be true.

Each is said once, with what a person needs to look it up. Nothing is corrected: which of two
sources is wrong the evidence does not say.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import msgspec

from tallystick.core.instant import SECOND_US, format_instant, parse_instant
from tallystick.emit.slurm.call import HOOK_PRODUCER
from tallystick.evidence.admission import Evidence
from tallystick.evidence.leaf import LOG_PRODUCER, leaf_record, leaf_recorded
from tallystick.evidence.record import Record
from tallystick.timeline.attempt import Attempt, build_attempt
from tallystick.timeline.grouping import AttemptRecords, group_records

CLOCK_US: Final = 2 * SECOND_US
"""How far clocks may be apart before it is said: accounting has whole seconds."""

Remark = tuple[str, str]


def contradictions(evidence: Evidence) -> Iterator[Remark]:
    """Say what contradicts itself among the records of a store."""
    grouped = group_records(evidence.records)
    records = [each for run in grouped.runs for each in run.attempts if each.started]
    attempts = [build_attempt(each) for each in records]
    yield from _shared_gpus(attempts)
    yield from _missing_hooks(records)
    yield from _clocks_apart(records)


def _shared_gpus(attempts: Iterable[Attempt]) -> Iterator[Remark]:
    """Find GPUs that two attempts held at one time."""
    holders: dict[str, list[Attempt]] = defaultdict(list)
    for attempt in attempts:
        for gpu in attempt.gpus:
            if gpu.uuid is not None and attempt.held is not None:
                holders[gpu.uuid].append(attempt)
    for uuid, held in sorted(holders.items()):
        first, *others = sorted(held, key=lambda each: (each.start_us, each.key))
        for later in others:
            if later.start_us < first.until_us:
                until = format_instant(min(first.until_us, later.until_us))
                said = f"{uuid} was held by {first.key} and by {later.key}"
                yield "gpus", f"{said} from {format_instant(later.start_us)} to {until}"
            # Of all before the next one, that which holds longest is the one it may meet.
            first = max(first, later, key=lambda each: each.until_us)


def _missing_hooks(attempts: Sequence[AttemptRecords]) -> Iterator[Remark]:
    """Find attempts that only one of a node's two hooks saw, or none while the node had hooks.

    A node that failed runs no epilog, so this need not be a fault of the hooks.
    """
    times = _hook_times(attempts)
    for attempt in attempts:
        ends = attempt.of("allocation.ended")
        began, ended = _hook_nodes(attempt.started), _hook_nodes(ends)
        for node in sorted(began - ended if ends else ()):
            yield "hooks", f"{attempt.key} has a prolog and no epilog on {node}"
        for node in sorted(ended - began):
            yield "hooks", f"{attempt.key} has an epilog and no prolog on {node}"
        start_us = attempt.started[0].at_us or 0
        for node in sorted(_nodes(attempt) - began - ended):
            first_us, last_us = times.get(node, (start_us, start_us))
            if first_us < start_us < last_us:
                said = f"{attempt.key} has neither prolog nor epilog on {node}"
                yield "hooks", f"{said}, which had hooks then"


def _hook_times(attempts: Iterable[AttemptRecords]) -> dict[str, tuple[int, int]]:
    """Give for each node when its hooks were first and last heard of."""
    times: dict[str, tuple[int, int]] = {}
    for record in (record for each in attempts for record in each.all):
        if record.producer.startswith(HOOK_PRODUCER) and record.at_us is not None:
            node = record.producer.removeprefix(HOOK_PRODUCER)
            first_us, last_us = times.get(node, (record.at_us, record.at_us))
            times[node] = (min(first_us, record.at_us), max(last_us, record.at_us))
    return times


def _hook_nodes(records: Iterable[Record]) -> set[str]:
    names = (record.producer for record in records)
    return {name.removeprefix(HOOK_PRODUCER) for name in names if name.startswith(HOOK_PRODUCER)}


def _nodes(attempt: AttemptRecords) -> set[str]:
    bodies = (record.body for record in attempt.started)
    return {node for body in bodies for node in getattr(body, "nodes", ())}


def _clocks_apart(attempts: Iterable[AttemptRecords]) -> Iterator[Remark]:
    """Find nodes whose hook saw a start before the scheduler made it, by more than a little."""
    worst: dict[str, tuple[int, str]] = {}
    for attempt in attempts:
        stated = [each for each in attempt.started if not each.producer.startswith(HOOK_PRODUCER)]
        first_us = min((each.at_us or 0 for each in stated), default=None)
        for record in attempt.started:
            if first_us is None or not record.producer.startswith(HOOK_PRODUCER):
                continue
            early_us = first_us - (record.at_us or 0)
            node = record.producer.removeprefix(HOOK_PRODUCER)
            worst[node] = max(worst.get(node, (0, "")), (early_us, attempt.key))
    for node, (early_us, key) in sorted(worst.items()):
        if early_us > CLOCK_US:
            said = f"the prolog on {node} saw {key} start {early_us // SECOND_US} s too early"
            yield "clock", f"{said}: its clock and the scheduler's are apart"


def clocks_of_producers(leaves: Iterable[bytes]) -> Iterator[Remark]:
    """Find producers whose clock is ahead of the log's, or jumped while they reported.

    A clock that is ahead saw things after the log had recorded them. One that jumped moved
    against the monotonic clock of the same writer.

    Args:
        leaves: All leaves of the log.
    """
    ahead_us: dict[str, int] = {}
    offsets: dict[tuple[str, str], tuple[int, int]] = {}
    for leaf in leaves:
        envelope: dict[str, Any] = msgspec.json.decode(leaf_record(leaf))
        name = envelope["producer"]["name"]
        if name != LOG_PRODUCER and envelope["observed"] > leaf_recorded(leaf):
            by_us = parse_instant(envelope["observed"]) - parse_instant(leaf_recorded(leaf))
            ahead_us[name] = max(ahead_us.get(name, 0), by_us)
        monotonic_us = envelope["body"].get("monotonic_us")
        if isinstance(monotonic_us, int):
            offset_us = parse_instant(envelope["observed"]) - monotonic_us
            writer = (name, envelope["producer"].get("boot", ""))
            least_us, most_us = offsets.get(writer, (offset_us, offset_us))
            offsets[writer] = (min(least_us, offset_us), max(most_us, offset_us))
    for name, by_us in sorted(ahead_us.items()):
        if by_us > CLOCK_US:
            yield "clock", f"the clock of {name!a} is ahead of the log's by {by_us // SECOND_US} s"
    for (name, boot), (least_us, most_us) in sorted(offsets.items()):
        if most_us - least_us > CLOCK_US:
            said = f"the clock of {name!a} jumped by {(most_us - least_us) // SECOND_US} s"
            yield "clock", f"{said} while {boot!a} reported"
