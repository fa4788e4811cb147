"""What a rehearsal adds to a scheduler's own evidence: whose act an end was, and what it found."""

import socket
from collections.abc import Iterator, Mapping
from typing import Any

from tallystick.app.admit import admit_collected
from tallystick.app.store import OpenStore
from tallystick.collectors.collected import Collected
from tallystick.core.instant import parse_instant
from tallystick.emit.spool import clock_us
from tallystick.evidence.draft import draft_record


def told(kind: str, at_us: int | None, **body: Any) -> dict[str, Any]:
    """Draft a record in the name of the rehearsal."""
    producer = f"rehearsal/{socket.gethostname()}"
    return draft_record(kind, body, producer=producer, at_us=at_us, observed_us=clock_us())


def whose_acts(collected: Collected, struck: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """Say whose act an end was, where the scheduler gives its moment and does not know.

    Args:
        collected: What the scheduler says, with what joins its keys to the job's.
        struck: By the key of each attempt that the rehearsal interrupted, whose act that counts as.
    """
    same = {
        each["body"]["attempt"]: each["body"]["same_as"]
        for each in collected.records
        if each["kind"] == "attempt.same"
    }
    acts = {same.get(key, key): ended_by for key, ended_by in struck.items()}
    for record in collected.records:
        body = record["body"]
        if record["kind"] != "allocation.ended" or body["ended_by"] != "unknown":
            continue
        key = body["attempt"]
        if key in acts:
            at_us = parse_instant(record["at"])
            whose = {"attempt": key, "ended_by": acts[key], "because": "rehearsal"}
            yield told("allocation.ended", at_us, **whose)


def admit(store: OpenStore, collected: Collected, collector: str) -> tuple[str, ...]:
    """Bring what was collected into a store, and give what was found wrong with it.

    Raises:
        TallystickError: the store cannot take more.
    """
    admission = admit_collected(store.log, collected, collector, lambda _: None)
    return tuple(finding.message for finding in admission.findings)
