"""The manifest: what is in a bundle, signed by whoever made it.

It is a DSSE envelope of its own payload type, written in canonical bytes. It names every
other member by size and SHA-256, the run, the receipt and the tree head that they are about,
and the numbers of records that came to the log and are not in the bundle.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Annotated, Final

import msgspec
from msgspec import Meta, Struct

from tallystick.core.canonical import INTEGER_MAX, canonical_bytes
from tallystick.core.keys import SigningKey, VerifyKey
from tallystick.evidence.admission import Withheld
from tallystick.receipt.bundle.errors import (
    BadBundleSignatureError,
    MalformedManifestError,
    MalformedManifestPayloadError,
    UnknownBundlerError,
    UnknownBundleVersionError,
)
from tallystick.receipt.bundle.exact import NotExactError, read_exact
from tallystick.receipt.bundle.names import MANIFEST
from tallystick.receipt.envelope import (
    Envelope,
    Signature,
    envelope_bytes,
    parse_envelope,
    pre_authentication_encoding,
)
from tallystick.receipt.errors import VerificationError
from tallystick.receipt.reader import Digest, LogPrefix, Name

BUNDLE_TYPE: Final = "application/vnd.tallystick.bundle+json"
SCHEMA: Final = "tallystick.bundle/1"

_Number = Annotated[int, Meta(ge=0, le=INTEGER_MAX)]


class Member(Struct, frozen=True):
    """A member of the bundle beside the manifest."""

    name: Name
    bytes: _Number
    sha256: Annotated[str, Meta(pattern=r"\A[0-9a-f]{64}\Z")]


class WithheldNumbers(Struct, frozen=True):
    """Numbers of one boot of a producer, as pairs of the first and the last."""

    producer: str
    boot: str | None
    ranges: Annotated[tuple[tuple[_Number, _Number], ...], Meta(min_length=1)]


class _Versioned(Struct, frozen=True):
    schema: str


class Manifest(_Versioned, frozen=True):
    """What a bundle says of itself."""

    run: Name
    receipt: Digest
    log: LogPrefix
    members: tuple[Member, ...]
    withheld: tuple[WithheldNumbers, ...]

    @property
    def withheld_numbers(self) -> tuple[Withheld, ...]:
        """The numbers that came and are not here, as admission takes them."""
        return tuple(Withheld(each.producer, each.boot, each.ranges) for each in self.withheld)


def list_members(members: Mapping[str, bytes | memoryview]) -> tuple[Member, ...]:
    """List members by name, size and SHA-256, in order of name."""
    return tuple(
        Member(name, len(data), hashlib.sha256(data).hexdigest())
        for name, data in sorted(members.items())
    )


def list_withheld(withheld: Iterable[Withheld]) -> tuple[WithheldNumbers, ...]:
    """List withheld numbers as the manifest does, in order of producer and boot."""
    listed = (WithheldNumbers(each.producer, each.boot, each.ranges) for each in withheld)
    return tuple(sorted(listed, key=_order))


def sign_manifest(manifest: Manifest, keys: Sequence[SigningKey]) -> bytes:
    """Write a manifest, signed by one key or several."""
    payload = canonical_bytes(manifest)
    message = pre_authentication_encoding(BUNDLE_TYPE, payload)
    signatures = tuple(Signature(key.verify_key.keyid, key.sign(message)) for key in keys)
    return envelope_bytes(Envelope(BUNDLE_TYPE, payload, signatures))


def open_manifest(view: memoryview | None) -> Envelope:
    """Read the envelope of a manifest; nothing in it may be used before it is verified.

    Raises:
        MalformedManifestError: there is none, or it is not the one spelling of one.
    """
    if view is None:
        raise MalformedManifestError(f"expected a member {MANIFEST}, got none")
    data = bytes(view)
    try:
        envelope = parse_envelope(data)
    except VerificationError as error:
        raise MalformedManifestError(str(error)) from error
    if envelope_bytes(envelope) != data:
        raise MalformedManifestError("expected an envelope in canonical bytes")
    if envelope.payload_type != BUNDLE_TYPE:
        found = ascii(envelope.payload_type)[:80]
        raise MalformedManifestError(f"expected payload type {BUNDLE_TYPE}, got {found}")
    return envelope


def check_bundler(envelope: Envelope, known: Mapping[str, VerifyKey]) -> tuple[str, ...]:
    """Give the known keys that signed a manifest; others count for nothing.

    Raises:
        UnknownBundlerError: there is none.
        BadBundleSignatureError: a signature of one does not hold.
    """
    message = envelope.signed_bytes
    signers: list[str] = []
    for signature in envelope.signatures:
        key = known.get(signature.keyid)
        if key is None:
            continue
        if not key.signed(message, signature.value):
            raise BadBundleSignatureError(signature.keyid)
        signers.append(signature.keyid)
    if not signers:
        found = tuple(signature.keyid for signature in envelope.signatures)
        raise UnknownBundlerError(tuple(known), found)
    return tuple(dict.fromkeys(signers))


def read_manifest(payload: bytes) -> Manifest:
    """Read what a manifest states.

    Raises:
        UnknownBundleVersionError: it has another schema.
        MalformedManifestPayloadError: it is not the one spelling of a manifest.
    """
    _check_schema(payload)
    try:
        manifest = read_exact(payload, Manifest)
    except NotExactError as error:
        raise MalformedManifestPayloadError(str(error)) from error
    names = [member.name for member in manifest.members]
    if any(name >= following for name, following in pairwise(names)):
        raise MalformedManifestPayloadError("members: expected each once, in order of name")
    boots = [_order(each) for each in manifest.withheld]
    if any(boot >= following for boot, following in pairwise(boots)):
        raise MalformedManifestPayloadError("withheld: expected each boot once, in order")
    if not all(_is_apart(each.ranges) for each in manifest.withheld):
        raise MalformedManifestPayloadError("withheld: expected ranges that are apart, in order")
    return manifest


def _check_schema(payload: bytes) -> None:
    """Refuse another version before its fields, which are not known."""
    try:
        stated = msgspec.json.decode(payload, type=_Versioned).schema
    except (ValueError, RecursionError) as error:
        raise MalformedManifestPayloadError("expected JSON with a schema") from error
    if stated != SCHEMA:
        raise UnknownBundleVersionError(SCHEMA, stated)


def _order(withheld: WithheldNumbers) -> tuple[str, bool, str]:
    return withheld.producer, withheld.boot is not None, withheld.boot or ""


def _is_apart(ranges: Sequence[tuple[int, int]]) -> bool:
    ordered = all(first <= last for first, last in ranges)
    return ordered and all(one[1] + 1 < other[0] for one, other in pairwise(ranges))
