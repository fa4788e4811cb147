"""A record: one fact, admitted.

Two deliveries of one fact differ in ``observed``, ``boot`` and ``seq`` (a hook that fires
twice), so a record's ``digest`` is that of its canonical JSON without them (rule 2): the
same fact has the same digest however it came.
"""

from typing import Any, NamedTuple

import msgspec

from tallystick.core.canonical import canonical_bytes, sha256_digest
from tallystick.evidence.bodies import Body

Unchecked = dict[str, Any]


class Record(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One admitted record; ``body`` is typed, or a plain object for a kind without effect.

    Records are many and hold no cycles, so the collector of cycles need not look at them.
    """

    kind: str
    at_us: int | None
    producer: str
    id: str
    boot: str | None
    seq: int | None
    body: Body | Unchecked
    digest: str

    @property
    def order(self) -> "CanonicalOrder":
        """Place in the canonical order (rule 7)."""
        return CanonicalOrder(self.at_us is None, self.at_us or 0, self.producer, self.id)


class CanonicalOrder(NamedTuple):
    """Time (null last), then producer, then id, by code point (rule 7)."""

    untimed: bool
    at_us: int
    producer: str
    id: str


def content_digest(envelope: dict[str, Any]) -> str:
    """Digest what a record says, without when and in which delivery it was said (rule 2)."""
    producer = {k: v for k, v in envelope["producer"].items() if k not in {"boot", "seq"}}
    content = {k: v for k, v in envelope.items() if k != "observed"}
    content["producer"] = producer
    return sha256_digest(canonical_bytes(content))
