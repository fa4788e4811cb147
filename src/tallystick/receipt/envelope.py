"""The DSSE v1 envelope: a payload, its type and the signatures over both.

Signatures cover the pre-authentication encoding (PAE) of type and payload, never the JSON
around them. Whoever reads an envelope gets the very bytes that the signatures cover.
"""

import base64
import binascii
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from tallystick.core.canonical import canonical_bytes
from tallystick.core.keys import SigningKey
from tallystick.receipt.errors import MalformedEnvelopeError, OversizedReceiptError

PAYLOAD_TYPE = "application/vnd.in-toto+json"
ENVELOPE_BYTES_MAX = 64 * 1024 * 1024
SIGNATURES_MAX = 64

_URL_SAFE = str.maketrans("-_", "+/")


@dataclass(frozen=True, slots=True)
class Signature:
    """One signature, and the name of the key that is said to have made it (or nothing)."""

    keyid: str
    value: bytes


@dataclass(frozen=True, slots=True)
class Envelope:
    """A payload as it was signed, and who signed."""

    payload_type: str
    payload: bytes
    signatures: tuple[Signature, ...]

    @property
    def signed_bytes(self) -> bytes:
        """What the signatures cover."""
        return pre_authentication_encoding(self.payload_type, self.payload)


def pre_authentication_encoding(payload_type: str, payload: bytes) -> bytes:
    """Encode type and payload so that no other pair gives the same bytes."""
    kind = payload_type.encode()
    return b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(payload), payload)


def sign_payload(payload: bytes, keys: Sequence[SigningKey]) -> Envelope:
    """Have one key or several sign an in-toto Statement."""
    message = pre_authentication_encoding(PAYLOAD_TYPE, payload)
    signatures = tuple(Signature(key.verify_key.keyid, key.sign(message)) for key in keys)
    return Envelope(PAYLOAD_TYPE, payload, signatures)


def envelope_bytes(envelope: Envelope) -> bytes:
    """Write an envelope as JSON without any byte that could be changed unnoticed."""
    return canonical_bytes(
        {
            "payload": base64.b64encode(envelope.payload).decode(),
            "payloadType": envelope.payload_type,
            "signatures": [
                {"keyid": signature.keyid, "sig": base64.b64encode(signature.value).decode()}
                for signature in envelope.signatures
            ],
        }
    )


def parse_envelope(data: bytes) -> Envelope:
    """Read an envelope; members that DSSE does not name are ignored, as it demands.

    Raises:
        OversizedReceiptError: there are more than ``ENVELOPE_BYTES_MAX`` bytes.
        MalformedEnvelopeError: they are not such JSON, or a member appears twice.
    """
    if len(data) > ENVELOPE_BYTES_MAX:
        raise OversizedReceiptError(ENVELOPE_BYTES_MAX)
    members = _json_object(data)
    entries = members.get("signatures")
    if not isinstance(entries, list) or not entries:
        raise MalformedEnvelopeError("signatures: expected a list that is not empty")
    if len(entries) > SIGNATURES_MAX:
        raise MalformedEnvelopeError(f"signatures: expected at most {SIGNATURES_MAX}")
    return Envelope(
        payload_type=_text(members, "payloadType"),
        payload=_base64(_text(members, "payload"), "payload"),
        signatures=tuple(_signature(entry) for entry in entries),
    )


def _signature(entry: object) -> Signature:
    if not isinstance(entry, dict):
        raise MalformedEnvelopeError("signatures: expected objects")
    keyid = _text(entry, "keyid") if "keyid" in entry else ""
    return Signature(keyid, _base64(_text(entry, "sig"), "sig"))


def _json_object(data: bytes) -> dict[str, Any]:
    try:
        members = json.loads(
            data.decode(), object_pairs_hook=_once_each, parse_constant=_refuse_constant
        )
    except (ValueError, RecursionError) as error:  # ValueError: not UTF-8, or not JSON.
        raise MalformedEnvelopeError("expected a JSON object") from error
    if not isinstance(members, dict):
        raise MalformedEnvelopeError("expected a JSON object")
    return members


def _once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise MalformedEnvelopeError("a member appears twice")
    return members


def _refuse_constant(name: str) -> NoReturn:
    raise MalformedEnvelopeError(f"{name} is not JSON")


def _text(members: dict[str, Any], name: str) -> str:
    value = members.get(name)
    if not isinstance(value, str):
        raise MalformedEnvelopeError(f"{name}: expected a string")
    return value


def _base64(text: str, name: str) -> bytes:
    """Decode either alphabet, and refuse a second spelling of the same bytes in either."""
    standard = text.translate(_URL_SAFE)
    try:
        value = base64.b64decode(standard, validate=True)
    except (binascii.Error, ValueError) as error:
        raise MalformedEnvelopeError(f"{name}: expected base64") from error
    if base64.b64encode(value).decode() != standard:
        raise MalformedEnvelopeError(f"{name}: expected base64 with clean padding")
    return value
