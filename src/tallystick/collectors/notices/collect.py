"""From announcements on a node to notices of the attempts that held its GPUs then."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tallystick.collectors.collected import Collected, Source
from tallystick.collectors.notices.documents import Announced, read_announced
from tallystick.core.finding import InputFinding
from tallystick.core.instant import format_instant
from tallystick.evidence.bodies import AllocationEnded, AllocationStarted
from tallystick.evidence.codec import RefusedLineError, read_line
from tallystick.evidence.draft import draft_record

_MARK = b'"tallystick.evidence/'


@dataclass(frozen=True, slots=True)
class NoticeOptions:
    """Where and when the answers were read, and who held the GPUs.

    Args:
        node: Name of the node, as attempts name it.
        read_us: When the metadata service was asked.
        observed_us: When the inputs were read.
        attempts: Keys of attempts that are known to have held its GPUs.
        resources: Other names that the provider has for the node.
    """

    node: str
    read_us: int
    observed_us: int
    attempts: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()


def collect_notices(sources: Sequence[Source], options: NoticeOptions) -> Collected:
    """Read answers of metadata services, and evidence lines that say who held the node."""
    collected = Collected()
    announced: list[Announced] = []
    starts: dict[str, int] = {}
    ends: dict[str, int] = {}
    for source in sources:
        if _is_evidence(source.data):
            collected.findings.extend(_read_evidence(source, options.node, starts, ends))
            continue
        for item in read_announced(source):
            if isinstance(item, InputFinding):
                collected.findings.append(item)
            else:
                announced.append(item)
    for each in announced:
        for output in _describe(each, starts, ends, options):
            if isinstance(output, InputFinding):
                collected.findings.append(output)
            else:
                collected.add(output)
    if not collected.records and not collected.findings:
        collected.findings.append(InputFinding("nothing_collected", "the inputs announce nothing"))
    return collected


def _is_evidence(data: bytes) -> bool:
    first = data.lstrip().partition(b"\n")[0]
    return first.startswith(b"{") and _MARK in first


def _read_evidence(
    source: Source, node: str, starts: dict[str, int], ends: dict[str, int]
) -> Iterator[InputFinding]:
    """Keep when attempts held the node; the records themselves are not handed on."""
    for place, line in source.lines():
        try:
            record = read_line(line)
        except RefusedLineError as error:
            yield place.finding(error.code, error.message)
            continue
        body, at_us = record.body, record.at_us
        if isinstance(body, AllocationStarted) and at_us is not None and node in body.nodes:
            starts[body.attempt] = min(at_us, starts.get(body.attempt, at_us))
        elif isinstance(body, AllocationEnded) and at_us is not None:
            ends[body.attempt] = min(at_us, ends.get(body.attempt, at_us))


def _describe(
    announced: Announced,
    starts: dict[str, int],
    ends: dict[str, int],
    options: NoticeOptions,
) -> Iterator[dict[str, Any] | InputFinding]:
    names = {name.lower() for name in (options.node, *options.resources)}
    if announced.resources and not names & {name.lower() for name in announced.resources}:
        message = f"it is about {', '.join(announced.resources)[:80]}; give --resource if that is"
        message = f"{message} {options.node}"
        yield announced.place.finding("other_resource", message)
        return
    at_us = options.read_us if announced.at_us is None else announced.at_us
    deadline = None
    if announced.deadline_us is not None:
        deadline = format_instant(announced.deadline_us)
    yield _record(
        "provider.signal",
        at_us,
        {
            "node": options.node,
            "provider": announced.provider,
            "signal": announced.signal,
            "read": format_instant(options.read_us),
            "deadline": deadline,
            "raw": announced.raw,
        },
        options,
    )
    if not announced.is_notice:
        return
    held = [
        attempt
        for attempt, start_us in starts.items()
        if start_us <= at_us and (attempt not in ends or at_us <= ends[attempt])
    ]
    attempts = tuple(dict.fromkeys([*options.attempts, *held]))
    if not attempts:
        message = f"no attempt is known to have held {options.node} then; give --attempt KEY"
        yield announced.place.finding("notice_not_joined", message)
    for attempt in attempts:
        body = {"attempt": attempt, "by": "provider", "deadline": deadline}
        said_by = f"{announced.provider}/{announced.signal}"
        yield _record("allocation.notice", at_us, body | {"said_by": said_by}, options)


def _record(kind: str, at_us: int, body: dict[str, Any], options: NoticeOptions) -> dict[str, Any]:
    return draft_record(
        kind,
        body,
        producer=f"provider-notice/{options.node}",
        at_us=at_us,
        observed_us=options.observed_us,
    )
