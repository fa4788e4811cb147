"""The manifest: one spelling, signed, of exactly its own fields."""

import json
from typing import Any

import pytest

from tallystick.core.canonical import canonical_bytes
from tallystick.evidence.admission import Withheld
from tallystick.receipt.bundle.errors import (
    MalformedManifestError,
    MalformedManifestPayloadError,
    UnknownBundleVersionError,
)
from tallystick.receipt.bundle.manifest import (
    BUNDLE_TYPE,
    check_bundler,
    list_withheld,
    open_manifest,
    read_manifest,
    sign_manifest,
)
from tallystick.receipt.bundle.names import MANIFEST
from tallystick.receipt.envelope import Envelope, Signature, envelope_bytes
from tests.receipt.bundle.bundles import RECEIPTS, manifest_of, members_of, small
from tests.receipt.samples import change

BUNDLE = small()[2]
PAYLOAD = open_manifest(memoryview(members_of(BUNDLE)[MANIFEST])).payload


def stated(path: str = "", value: Any = None) -> bytes:
    """Give the payload of the small bundle's manifest with one field changed."""
    fields: dict[str, Any] = json.loads(PAYLOAD)
    return canonical_bytes(change(fields, path, value) if path else fields)


def withheld(*ranges: list[int], boot: str | None = "b1", producer: str = "p") -> dict[str, Any]:
    """Write withheld numbers."""
    return {"producer": producer, "boot": boot, "ranges": list(ranges)}


def test_a_manifest_is_read_as_it_was_signed() -> None:
    """Reading and writing are inverse, and its signer is known by its key."""
    manifest = read_manifest(PAYLOAD)
    signed = sign_manifest(manifest, [RECEIPTS])
    known = {RECEIPTS.verify_key.keyid: RECEIPTS.verify_key}

    assert signed == members_of(BUNDLE)[MANIFEST]
    assert check_bundler(open_manifest(memoryview(signed)), known) == tuple(known)
    assert manifest == manifest_of(BUNDLE)


def test_a_manifest_has_the_documented_fields() -> None:
    """The payload is JSON that needs no program of ours to be read."""
    fields = json.loads(PAYLOAD)

    assert list(fields) == ["log", "members", "receipt", "run", "schema", "withheld"]
    assert fields["schema"] == "tallystick.bundle/1"
    assert list(fields["members"][0]) == ["bytes", "name", "sha256"]
    assert fields["withheld"] == [withheld([3, 3], [6, 6], [8, 8], [16, 16])]


def test_withheld_numbers_are_listed_in_one_order() -> None:
    """By producer, then boot, no boot first; the manifest does not depend on the log's order."""
    boots = [("q", "b"), ("p", "b"), ("p", ""), ("p", None)]

    listed = list_withheld(Withheld(*boot, ((1, 1),)) for boot in boots)

    assert [(each.producer, each.boot) for each in listed] == [
        ("p", None), ("p", ""), ("p", "b"), ("q", "b"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "envelope",
    [
        b"",
        b"{}",
        b" " + members_of(BUNDLE)[MANIFEST],
        envelope_bytes(Envelope("application/vnd.in-toto+json", PAYLOAD, (Signature("", b""),))),
        envelope_bytes(Envelope(BUNDLE_TYPE + "\n", PAYLOAD, (Signature("", b""),))),
        envelope_bytes(Envelope(BUNDLE_TYPE, PAYLOAD, ())),
    ],
)
def test_another_envelope_is_refused(envelope: bytes) -> None:
    """It is DSSE in canonical bytes, of its own type, and signed."""
    with pytest.raises(MalformedManifestError) as refused:
        open_manifest(memoryview(envelope))

    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("run", ""),
        ("run", None),
        ("receipt", "sha256:"),
        ("log", None),
        ("log.origin", ""),
        ("log.size", -1),
        ("log.root", "A" * 44),
        ("log.more", 1),
        ("more", 1),
        ("members", {}),
        ("members.0.name", ""),
        ("members.0.bytes", "1"),
        ("members.0.bytes", -1),
        ("members.0.bytes", 2**53),
        ("members.0.sha256", "A" * 64),
        ("members.0.sha256", "0" * 63),
        ("members.0.more", 1),
        ("members.0", {"name": "z", "bytes": 0, "sha256": "0" * 64}),
        ("members.1.name", "consistency.json"),
        ("withheld", None),
        ("withheld", [withheld()]),
        ("withheld", [withheld([1])]),
        ("withheld", [withheld([1, 2, 3])]),
        ("withheld", [withheld([-1, 2])]),
        ("withheld", [withheld([2, 1])]),
        ("withheld", [withheld([1, 2**53])]),
        ("withheld", [withheld([1, 2], [2, 3])]),
        ("withheld", [withheld([1, 2], [3, 4])]),
        ("withheld", [withheld([5, 6], [1, 2])]),
        ("withheld", [withheld([1, 1]), withheld([3, 3])]),
        ("withheld", [withheld([1, 1]), withheld([1, 1], boot=None)]),
        ("withheld", [withheld([1, 1], boot="b"), withheld([1, 1], boot="a")]),
        ("withheld", [withheld([1, 1], producer="q"), withheld([1, 1])]),
        ("withheld", [withheld([1, 1]) | {"more": 1}]),
    ],
)
def test_a_field_of_another_form_is_refused(path: str, value: Any) -> None:
    """Each field has its form, and there is no other field."""
    with pytest.raises(MalformedManifestPayloadError):
        read_manifest(stated(path, value))


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"[]",
        b"[" * 100_000,
        b'{"schema":1}',
        b'{"schema":"tallystick.bundle/1"}',
        PAYLOAD + b"\n",
        PAYLOAD.replace(b'"run":"run"', b'"run":"r\\u0075n"'),
        PAYLOAD.replace(b'"run":"run"', b'"run":"run","run":"run"'),
    ],
)
def test_a_payload_has_one_spelling(payload: bytes) -> None:
    """JSON that is not the canonical bytes of a manifest is refused."""
    with pytest.raises(MalformedManifestPayloadError):
        read_manifest(payload)


def test_another_version_is_refused_before_its_fields() -> None:
    """What a later version has in it is not known here."""
    with pytest.raises(UnknownBundleVersionError):
        read_manifest(b'{"more":1,"schema":"tallystick.bundle/2"}')
