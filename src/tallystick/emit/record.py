"""Evidence records, made with the standard library alone.

The bytes are those of ``tallystick.evidence.draft`` and ``tallystick.core.canonical`` (a test
compares them), so a record made on a node is the same fact as one that a collector makes.
"""

from __future__ import annotations

import hashlib
import json
from datetime import datetime, timedelta, timezone
from typing import Any, NamedTuple

SCHEMA = "tallystick.evidence/1"
INTEGER_MAX = 2**53 - 1

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


class Numbered(NamedTuple):
    """A producer with the place of one record in its numbering; without one after a loss."""

    name: str
    boot: str | None = None
    seq: int | None = None


def canonical_bytes(value: Any) -> bytes:
    """Serialise a value of strings, integers, lists and objects with printable-ASCII keys."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return text.encode()


def format_instant(us: int) -> str:
    """Write microseconds since the epoch as ``2026-01-01T00:00:00.000000Z``."""
    return (_EPOCH + timedelta(microseconds=us)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def draft_record(
    kind: str,
    body: dict[str, Any],
    *,
    producer: Numbered,
    at_us: int | None,
    observed_us: int,
) -> dict[str, Any]:
    """Put one fact into the evidence envelope; the id follows from kind, time and body.

    Args:
        kind: Kind of the record, such as ``allocation.started``.
        body: Facts of that kind; times are already text, no floats.
        producer: Who saw it, and its number.
        at_us: Time of the event by the source's clock, None where the kind has none.
        observed_us: When the producer saw it.
    """
    at = None if at_us is None else format_instant(at_us)
    content = canonical_bytes({"at": at, "body": body, "kind": kind})
    named = {name: value for name, value in producer._asdict().items() if value is not None}
    return {
        "schema": SCHEMA,
        "id": f"{kind}:{hashlib.sha256(content).hexdigest()[:24]}",
        "producer": named,
        "kind": kind,
        "at": at,
        "observed": format_instant(observed_us),
        "body": body,
    }
