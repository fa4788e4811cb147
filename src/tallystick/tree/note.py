"""C2SP signed notes: a text, and who signed it.

A note is its text, an empty line, and a line ``— <name> <base64>`` for each signature, of
``key id || signature``. Parsing and writing are inverse, byte for byte. Signatures of unknown
keys count for nothing; one that claims to be of a trusted key and does not hold rejects all.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from tallystick.core.keys import SigningKey, VerifyKey
from tallystick.tree.errors import (
    AmbiguousTrustError,
    BadNoteSignatureError,
    MalformedNoteError,
    NoTrustedKeysError,
    OversizedTextError,
    UnknownNoteSignerError,
)
from tallystick.tree.spelling import base64_text, parse_base64

NOTE_BYTES_MAX = 1024 * 1024
SIGNATURES_MAX = 64
KEY_HASH_BYTES = 4

_DASH = "\u2014 "
_SPACE = " "
_CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f]")


class Identified(Protocol):
    """A public key of any type of signature."""

    @property
    def keyid(self) -> str:
        """How a signature names this key: ``<name>+<id>``."""
        ...


Key = TypeVar("Key", bound=Identified)


@dataclass(frozen=True, slots=True)
class NoteSignature:
    """One signature, and the key that is said to have made it."""

    name: str
    key_hash: bytes
    signature: bytes

    @property
    def keyid(self) -> str:
        """The key that is said to have signed: ``<name>+<id>``."""
        return f"{self.name}+{self.key_hash.hex()}"


@dataclass(frozen=True, slots=True)
class Note:
    """A text, ending in LF, and its signatures."""

    text: str
    signatures: tuple[NoteSignature, ...]


def parse_note(data: bytes) -> Note:
    """Read a note; nothing in it may be used before it is verified.

    Raises:
        OversizedTextError: there are more than ``NOTE_BYTES_MAX`` bytes.
        MalformedNoteError: they are not exactly in the form of a note.
    """
    if len(data) > NOTE_BYTES_MAX:
        raise OversizedTextError("note", NOTE_BYTES_MAX)
    try:
        whole = data.decode()
    except UnicodeDecodeError as error:
        raise MalformedNoteError("it is not Unicode in UTF-8") from error
    if _CONTROL.search(whole):
        raise MalformedNoteError("expected no control characters but line ends")
    before, separator, block = whole.rpartition("\n\n")
    if not separator or not block.endswith("\n"):
        raise MalformedNoteError("expected a text, an empty line and signature lines")
    lines = block.removesuffix("\n").split("\n")
    if len(lines) > SIGNATURES_MAX:
        raise MalformedNoteError(f"expected at most {SIGNATURES_MAX} signatures, got {len(lines)}")
    return Note(before + "\n", tuple(_signature(line) for line in lines))


def note_bytes(note: Note) -> bytes:
    """Write a note.

    Raises:
        MalformedNoteError: its text or its signatures cannot stand in one.
        OversizedTextError: it has more than ``NOTE_BYTES_MAX`` bytes.
    """
    lines = "".join(f"{_DASH}{each.name} {_blob(each)}\n" for each in note.signatures)
    data = _encoded(f"{note.text}\n{lines}")
    if parse_note(data) != note:  # A text without its LF, a name with a space and the like.
        raise MalformedNoteError("its parts cannot be told apart")
    return data


def sign_note(text: str, keys: Sequence[SigningKey]) -> bytes:
    """Have one key or several sign a text that ends in LF.

    Raises:
        MalformedNoteError: the text cannot stand in a note.
    """
    return note_bytes(Note(text, tuple(_signed(text, key) for key in keys)))


def add_signature(note: Note, key: SigningKey) -> Note:
    """Have one more key sign a note; a key that signed already adds nothing."""
    signature = _signed(note.text, key)
    if signature in note.signatures:
        return note
    return Note(note.text, (*note.signatures, signature))


def verify_note(note: Note, keys: Sequence[VerifyKey]) -> tuple[str, ...]:
    """Give the ids of the trusted keys that signed, in the order of the signatures.

    Raises:
        NoTrustedKeysError: no key is given.
        AmbiguousTrustError: two different keys have one id.
        UnknownNoteSignerError: none of them signed.
        BadNoteSignatureError: a signature that names one of them does not hold.
    """
    known = trusted_by_id(keys)
    message = _encoded(note.text)
    signers: list[str] = []
    for each in note.signatures:
        key = known.get(each.keyid)
        if key is None:
            continue
        if not key.signed(message, each.signature):
            raise BadNoteSignatureError(each.keyid)
        signers.append(each.keyid)
    if not signers:
        raise UnknownNoteSignerError(tuple(known), tuple(each.keyid for each in note.signatures))
    return tuple(dict.fromkeys(signers))


def trusted_by_id(keys: Sequence[Key]) -> dict[str, Key]:
    """Give trusted keys by the id that signatures name them with.

    Raises:
        NoTrustedKeysError: no key is given.
        AmbiguousTrustError: two different keys have one id.
    """
    if not keys:
        raise NoTrustedKeysError
    known: dict[str, Key] = {}
    for key in keys:
        if known.setdefault(key.keyid, key) != key:
            raise AmbiguousTrustError(key.keyid)
    return known


def _encoded(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise MalformedNoteError("it is not Unicode") from error


def _signature(line: str) -> NoteSignature:
    if not line.startswith(_DASH):
        raise MalformedNoteError("expected signature lines that begin with an em dash")
    name, _, encoded = line.removeprefix(_DASH).partition(_SPACE)
    if not name or "+" in name or any(character.isspace() for character in name):
        raise MalformedNoteError("expected a key name without spaces or '+'")
    blob = parse_base64(encoded)
    if blob is None or len(blob) <= KEY_HASH_BYTES:
        raise MalformedNoteError("expected a signature in base64 after a key id of 4 bytes")
    return NoteSignature(name, blob[:KEY_HASH_BYTES], blob[KEY_HASH_BYTES:])


def _blob(signature: NoteSignature) -> str:
    return base64_text(signature.key_hash + signature.signature)


def _signed(text: str, key: SigningKey) -> NoteSignature:
    _, _, key_hash = key.verify_key.keyid.rpartition("+")
    return NoteSignature(key.name, bytes.fromhex(key_hash), key.sign(_encoded(text)))
