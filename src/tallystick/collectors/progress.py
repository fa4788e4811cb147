"""Progress and checkpoint events that a training job wrote: a journal, or one JSON object a line.

A journal is what ``tallystick.emit`` leaves in a spool, such as on the disk of a node that is
gone. Else a line is a record of evidence already and passes unchanged, or a bare event
``{"kind": …, "at": …, "body": {…}}`` that gets its envelope here. Either has to be one that
can be admitted, so that nothing is emitted that ``rate`` would refuse.
"""

import json
from collections.abc import Iterable, Iterator
from typing import Any

from tallystick.collectors.collected import Collected, Place, Source
from tallystick.core.errors import BadInstantError
from tallystick.core.finding import InputFinding
from tallystick.core.instant import format_instant, parse_rfc3339
from tallystick.emit.progress.lines import read_header, spell
from tallystick.evidence.codec import RefusedLineError, read_line
from tallystick.evidence.draft import SCHEMA, draft_record

PRODUCER = "progress"
BARE_KINDS = frozenset(
    {
        "attempt.linked",
        "checkpoint.begun",
        "checkpoint.committed",
        "checkpoint.restored",
        "checkpoint.verified",
        "output.accepted",
        "output.rejected",
        "progress.resumed",
        "progress.started",
        "progress.step",
        "progress.waiting",
        "run.declared",
    }
)
_BARE_KEYS = frozenset({"kind", "at", "body"})


def collect_progress(sources: Iterable[Source], observed_us: int) -> Collected:
    """Read event lines: one record each, equal ones once."""
    collected = Collected()
    for source in sources:
        for place, event in _events(source, observed_us):
            if isinstance(event, RefusedLineError):
                message = f"{event.code}: {event.message}"
                collected.findings.append(place.finding("bad_line", message))
            else:
                collected.add(event, place)
    if not collected.records and not collected.findings:
        collected.findings.append(InputFinding("no_events", "no event line in any input"))
    return collected


def _events(
    source: Source, observed_us: int
) -> Iterator[tuple[Place, dict[str, Any] | RefusedLineError]]:
    """Read an input, by what its first line is: the record of each line, or why there is none."""
    header = read_header(source.data.partition(b"\n")[0])
    number = 0 if header is None else header.first
    for place, line in source.lines():
        if header is None:
            try:
                yield place, _record(line, observed_us)
            except RefusedLineError as error:
                yield place, error
        elif place.line != 1:
            spelled = spell(header, number, line)
            number = spelled.next_number
            if spelled.record is not None:
                yield place, spelled.record
            elif spelled.is_bad:
                yield place, RefusedLineError("bad_record", "expected a line of a journal")


def _record(line: bytes, observed_us: int) -> dict[str, Any]:
    try:
        event = json.loads(line.decode(), object_pairs_hook=_without_duplicates)
        if isinstance(event, dict) and "kind" in event and event.keys() <= _BARE_KEYS:
            event = _bare_record(event, observed_us)
        read_line(json.dumps(event).encode())
    except (ValueError, RecursionError) as error:
        raise RefusedLineError("bad_json", f"expected JSON, got {error}") from error
    assert isinstance(event, dict), "only objects are admitted"
    return event


def _bare_record(event: dict[str, Any], observed_us: int) -> dict[str, Any]:
    kind, at, body = event["kind"], event.get("at"), event.get("body")
    if not isinstance(kind, str) or kind not in BARE_KINDS:
        message = f"kind: expected one of {' '.join(sorted(BARE_KINDS))}"
        raise RefusedLineError("bad_record", message)
    try:
        at_us = None if at is None else parse_rfc3339(at)
    except (BadInstantError, TypeError) as error:
        raise RefusedLineError("bad_time", f"at: {error}") from error
    provisional = {
        "schema": SCHEMA,
        "id": "-",
        "producer": {"name": PRODUCER},
        "kind": kind,
        "at": None if at_us is None else format_instant(at_us),
        "observed": format_instant(observed_us),
        "body": body,
    }
    read_line(json.dumps(provisional).encode())  # Only what is admitted has canonical bytes.
    assert isinstance(body, dict)
    return draft_record(kind, body, producer=PRODUCER, at_us=at_us, observed_us=observed_us)


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    event = dict(pairs)
    if len(event) != len(pairs):
        raise RefusedLineError("duplicate_key", "a key stands twice in one object")
    return event
