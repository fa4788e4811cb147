"""A leaf of the evidence log: a record as it was delivered, and when the log took it.

The bytes are made once, at admission, and never written anew: canonical JSON of ``record``
and ``recorded``, in that order, because it is theirs by name. So a record can be cut out of
its leaf, and a leaf can be made around a record, without reading either.
"""

import hashlib
from functools import lru_cache

from tallystick.core.errors import TallystickError
from tallystick.core.instant import format_instant

LOG_PRODUCER = "tallystick/log"
"""Who says what the log itself has to say; no delivery may use this name."""

_HEAD = b'{"record":'
_MIDDLE = b',"recorded":"'
_TAIL = b'"}'
_TIME_BYTES = len("2026-01-01T00:00:00.000000Z")
_REST_BYTES = len(_MIDDLE) + _TIME_BYTES + len(_TAIL)


class BadLeafError(TallystickError):
    """Bytes are not a leaf: a record in its canonical form and the time of its admission."""

    code = "bad_leaf"
    exit_status = 1

    def __init__(self, reason: str) -> None:
        super().__init__(reason)

    def __str__(self) -> str:
        return f"not a leaf of an evidence log: {self.args[0]}"


def leaf_bytes(record: bytes, recorded_us: int) -> bytes:
    """Make a leaf around the canonical bytes of a record."""
    return _HEAD + record + _rest(recorded_us)


@lru_cache(maxsize=16)
def _rest(recorded_us: int) -> bytes:
    """Give what follows the record: the leaves of a batch share it."""
    return _MIDDLE + format_instant(recorded_us).encode() + _TAIL


def leaf_record(leaf: bytes) -> bytes:
    """Cut the record out of a leaf.

    Raises:
        BadLeafError: it has another shape.
    """
    rest = leaf[-_REST_BYTES:]
    if not (leaf.startswith(_HEAD) and rest.startswith(_MIDDLE) and rest.endswith(_TAIL)):
        raise BadLeafError("expected a record and the time at which it was recorded")
    return leaf[len(_HEAD) : -_REST_BYTES]


def leaf_recorded(leaf: bytes) -> str:
    """Cut the time of admission out of a leaf whose shape is known."""
    return leaf[-len(_TAIL) - _TIME_BYTES : -len(_TAIL)].decode()


def identity_key(producer: str, record_id: str) -> bytes:
    """Give 16 bytes that stand for a record's identity, (producer, id)."""
    name = producer.encode()
    return hashlib.sha256(b"%d:%b%b" % (len(name), name, record_id.encode())).digest()[:16]
