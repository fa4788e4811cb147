"""Cosignatures of witnesses on tree heads (C2SP tlog-cosignature v1, type 0x04, Ed25519).

A witness states that, at a time, this was the largest head of this log that it had seen, and
that each head extended the one before. It signs the time and the text of the head together.
The key must serve one witness only, since the signed message does not name it.
"""

import base64
import binascii
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from tallystick.core.errors import BadKeyNameError, BadPublicKeyError
from tallystick.core.keys import PUBLIC_KEY_BYTES, SigningKey, VerifyKey, check_key_name
from tallystick.tree.errors import BadCosignatureError, UnknownNoteSignerError
from tallystick.tree.head import parse_head_text
from tallystick.tree.note import Note, NoteSignature, trusted_by_id

TIME_S_MAX = 2**63 - 1

_COSIGNATURE = b"\x04"
_TIME_BYTES = 8
_SIGNATURE_BYTES = 64


@dataclass(frozen=True, slots=True)
class WitnessKey:
    """The public key of a witness, and its name; another type than that of a log's key."""

    name: str
    public_key: bytes

    @property
    def keyid(self) -> str:
        """How a cosignature names this key: ``<name>+<id>``."""
        hashed = self.name.encode() + b"\n" + _COSIGNATURE + self.public_key
        return f"{self.name}+{hashlib.sha256(hashed).hexdigest()[:8]}"

    def signed(self, message: bytes, signature: bytes) -> bool:
        """Tell whether a signature over a message is of this key."""
        return VerifyKey(self.name, self.public_key).signed(message, signature)


class Cosignature(NamedTuple):
    """Which witness saw a head, and when, in seconds since the epoch."""

    witness: str
    time_s: int


def witness_key(key: SigningKey) -> WitnessKey:
    """Give the public half of a key that cosigns."""
    return WitnessKey(key.name, key.verify_key.public_key)


def witness_key_text(key: WitnessKey) -> str:
    """Write the public key of a witness as its one line, without a line end."""
    return f"{key.keyid}+{base64.b64encode(_COSIGNATURE + key.public_key).decode()}"


def parse_witness_key(data: bytes, source: str) -> WitnessKey:
    """Read the public key of a witness from its one line.

    Args:
        data: The line, with or without its end.
        source: Where it comes from, for messages.

    Raises:
        BadPublicKeyError: it has another form, type or length, or its id does not match.
    """
    try:
        name, stated_id, encoded = data.decode().rstrip("\r\n").split("+", 2)
        typed = base64.b64decode(encoded, validate=True)
        key = WitnessKey(check_key_name(name), typed[1:])
    except BadKeyNameError as error:
        raise BadPublicKeyError(source, str(error)) from error
    except (binascii.Error, ValueError) as error:  # ValueError: not text, or not three parts.
        raise BadPublicKeyError(source, "expected a name, an id and base64") from error
    if typed[:1] != _COSIGNATURE or len(typed) != 1 + PUBLIC_KEY_BYTES:
        raise BadPublicKeyError(source, "expected type 04 and 32 bytes of an Ed25519 key")
    if key.keyid != f"{name}+{stated_id}":
        raise BadPublicKeyError(source, "the id is not that of this name and key")
    return key


def cosignature_message(text: str, time_s: int) -> bytes:
    """Give what a witness signs: the time and the text of a tree head."""
    return f"cosignature/v1\ntime {time_s}\n{text}".encode()


def cosign(note: Note, key: SigningKey, time_s: int) -> Note:
    """Add a witness's signature to a tree head.

    The caller has verified the head, and that it extends the last one this witness signed.

    Args:
        note: The head, as the log signed it.
        key: The witness's own.
        time_s: When it cosigns, in seconds since the epoch.

    Raises:
        MalformedHeadError: the note is not about a tree head.
        BadCosignatureError: the time is out of range.
    """
    parse_head_text(note.text)
    keyid = witness_key(key).keyid
    if not 0 <= time_s <= TIME_S_MAX:
        raise BadCosignatureError(keyid, f"expected a time of 0 to {TIME_S_MAX} s, got {time_s}")
    stamped = time_s.to_bytes(_TIME_BYTES) + key.sign(cosignature_message(note.text, time_s))
    key_hash = bytes.fromhex(keyid.rpartition("+")[2])
    return Note(note.text, (*note.signatures, NoteSignature(key.name, key_hash, stamped)))


def verify_cosignatures(note: Note, keys: Sequence[WitnessKey]) -> tuple[Cosignature, ...]:
    """Give each cosignature of a known witness, in the order of the signatures.

    Whether the log itself signed is another question; see ``verify_head``.

    Raises:
        NoTrustedKeysError: no key is given.
        AmbiguousTrustError: two different keys have one id.
        MalformedHeadError: the note is not about a tree head.
        UnknownNoteSignerError: no known witness cosigned.
        BadCosignatureError: a cosignature that names a known witness does not hold.
    """
    known = trusted_by_id(keys)
    parse_head_text(note.text)
    found = tuple(
        _cosignature(note.text, each, known[each.keyid])
        for each in note.signatures
        if each.keyid in known
    )
    if not found:
        raise UnknownNoteSignerError(tuple(known), tuple(each.keyid for each in note.signatures))
    return found


def _cosignature(text: str, stated: NoteSignature, key: WitnessKey) -> Cosignature:
    blob = stated.signature
    if len(blob) != _TIME_BYTES + _SIGNATURE_BYTES:
        raise BadCosignatureError(stated.keyid, f"expected 72 bytes, got {len(blob)}")
    time_s = int.from_bytes(blob[:_TIME_BYTES])
    if time_s > TIME_S_MAX:
        raise BadCosignatureError(stated.keyid, f"expected a time up to {TIME_S_MAX} s")
    if not key.signed(cosignature_message(text, time_s), blob[_TIME_BYTES:]):
        raise BadCosignatureError(stated.keyid, "it does not hold for this head and time")
    return Cosignature(key.name, time_s)
