"""Making evidence: the envelope that collectors and hooks put around what they saw.

The ``id`` is derived from the content, so a file that is collected twice, or a hook that
fires twice, adds nothing.
"""

from typing import Any

from tallystick.core.canonical import canonical_bytes, sha256_digest
from tallystick.core.instant import format_instant

SCHEMA = "tallystick.evidence/1"


def draft_record(
    kind: str,
    body: dict[str, Any],
    *,
    producer: str,
    at_us: int | None,
    observed_us: int,
) -> dict[str, Any]:
    """Put one fact into the evidence envelope, ready to be written as a JSON line.

    Args:
        kind: Kind of the record, such as ``allocation.started``.
        body: Facts of that kind; times are already text, no floats.
        producer: Name of who saw it, such as ``slurm-accounting/c1``.
        at_us: Time of the event by the source's clock, None where the kind has none.
        observed_us: When the producer saw it.
    """
    at = None if at_us is None else format_instant(at_us)
    digest = sha256_digest(canonical_bytes({"at": at, "body": body, "kind": kind}))
    return {
        "schema": SCHEMA,
        "id": f"{kind}:{digest.removeprefix('sha256:')[:24]}",
        "producer": {"name": producer},
        "kind": kind,
        "at": at,
        "observed": format_instant(observed_us),
        "body": body,
    }
