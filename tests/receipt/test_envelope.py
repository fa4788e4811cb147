"""The DSSE envelope: the published vector, other people's verifiers, malformed input."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from hypothesis import given
from hypothesis import strategies as st
from securesystemslib.dsse import Envelope as OtherEnvelope
from securesystemslib.signer import Key  # type: ignore[attr-defined]  # It is in its __all__.

from tallystick.receipt import envelope as envelope_module
from tallystick.receipt.envelope import (
    PAYLOAD_TYPE,
    SIGNATURES_MAX,
    envelope_bytes,
    parse_envelope,
    pre_authentication_encoding,
    sign_payload,
)
from tallystick.receipt.errors import MalformedEnvelopeError, OversizedReceiptError
from tests.receipt.samples import CUSTOMER, PROVIDER, make_predicate, sign


def test_the_encoding_is_that_of_the_specification() -> None:
    """The published example of DSSE v1 gives the published bytes."""
    encoded = pre_authentication_encoding("http://example.com/HelloWorld", b"hello world")

    assert encoded == b"DSSEv1 29 http://example.com/HelloWorld 11 hello world"


def test_the_encoding_counts_bytes_and_not_characters() -> None:
    """Lengths are those of the UTF-8 bytes."""
    encoded = pre_authentication_encoding("\u00e9", "\u00e9\u00e9".encode())

    assert encoded == b"DSSEv1 2 \xc3\xa9 4 \xc3\xa9\xc3\xa9"


@given(st.binary(max_size=200))
def test_an_envelope_reads_back_as_it_was_written(payload: bytes) -> None:
    """Payload, type and signatures survive, whoever signed."""
    envelope = sign_payload(payload, [PROVIDER, CUSTOMER])

    assert parse_envelope(envelope_bytes(envelope)) == envelope


def test_both_base64_alphabets_are_read() -> None:
    """An envelope in the URL-safe alphabet is the same envelope."""
    data = envelope_bytes(sign_payload(b"\xff\xfe\xfd\xfb\xef\xbe", [PROVIDER]))
    members = json.loads(data)
    members["payload"] = members["payload"].translate(str.maketrans("+/", "-_"))

    assert "-" in members["payload"] or "_" in members["payload"]
    assert parse_envelope(json.dumps(members).encode()) == parse_envelope(data)


def test_members_of_other_names_are_ignored() -> None:
    """DSSE lets others add members, and a signature need not name its key."""
    members = json.loads(sign(make_predicate()))
    members["note"] = 1
    members["signatures"].append({"sig": "AA==", "cert": "x"})

    envelope = parse_envelope(json.dumps(members).encode())

    assert [each.keyid for each in envelope.signatures] == [PROVIDER.verify_key.keyid, ""]


def test_securesystemslib_verifies_our_envelope() -> None:
    """A verifier that others wrote accepts both signatures over our payload."""
    members = json.loads(sign(make_predicate(), PROVIDER, CUSTOMER))
    keys = [
        Key.from_dict(
            key.verify_key.keyid,
            {
                "keytype": "ed25519",
                "scheme": "ed25519",
                "keyval": {"public": key.verify_key.public_key.hex()},
            },
        )
        for key in (PROVIDER, CUSTOMER)
    ]

    accepted = OtherEnvelope.from_dict(members).verify(keys, 2)

    assert set(accepted) == {PROVIDER.verify_key.keyid, CUSTOMER.verify_key.keyid}


def test_openssl_verifies_our_envelope(tmp_path: Path) -> None:
    """Anybody can check a signature with openssl, and a changed message fails."""
    envelope = parse_envelope(sign(make_predicate()))
    public = Ed25519PublicKey.from_public_bytes(PROVIDER.verify_key.public_key)
    (tmp_path / "key.pem").write_bytes(
        public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    )
    (tmp_path / "sig").write_bytes(envelope.signatures[0].value)
    (tmp_path / "good").write_bytes(envelope.signed_bytes)
    (tmp_path / "bad").write_bytes(envelope.signed_bytes + b" ")

    verify = ["openssl", "pkeyutl", "-verify", "-rawin", "-pubin", "-inkey", "key.pem"]
    verify += ["-sigfile", "sig", "-in"]
    good = subprocess.run([*verify, "good"], cwd=tmp_path, capture_output=True, check=False)
    bad = subprocess.run([*verify, "bad"], cwd=tmp_path, capture_output=True, check=False)

    assert (good.returncode, bad.returncode) == (0, 1)


def _members(**changed: Any) -> bytes:
    members = {
        "payload": "e30=",
        "payloadType": PAYLOAD_TYPE,
        "signatures": [{"keyid": "a", "sig": "AAAA"}],
        **changed,
    }
    return json.dumps({name: value for name, value in members.items() if value != ...}).encode()


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "JSON object"),
        (b"\xff", "JSON object"),
        (b"\xef\xbb\xbf{}", "JSON object"),
        (b"[]", "JSON object"),
        (b"[" * 100_000, "JSON object"),
        (b'{"a": NaN}', "NaN"),
        (b'{"a": 1' + b"0" * 5000 + b"}", "JSON object"),
        (b'{"a": 1, "a": 1}', "twice"),
        (b"{}", "signatures"),
        (_members(signatures=[]), "signatures"),
        (_members(signatures={}), "signatures"),
        (_members(signatures=[1]), "objects"),
        (_members(signatures=[{"keyid": 1, "sig": "AAAA"}]), "keyid"),
        (_members(signatures=[{"keyid": "a"}]), "sig"),
        (_members(signatures=[{"sig": "AAAA"}] * (SIGNATURES_MAX + 1)), "at most"),
        (_members(payload=...), "payload"),
        (_members(payload=1), "payload"),
        (_members(payloadType=...), "payloadType"),
        (_members(payload="e30"), "base64"),
        (_members(payload="e3 0="), "base64"),
        (_members(payload="\u00e9"), "base64"),
        (_members(payload="e31="), "clean padding"),
    ],
)
def test_what_is_no_envelope_is_refused(data: bytes, reason: str) -> None:
    """Input that is not exactly such JSON is one error that names the member."""
    with pytest.raises(MalformedEnvelopeError) as refused:
        parse_envelope(data)

    assert refused.value.code == "bad_envelope"
    assert reason in str(refused.value)


def test_a_giant_input_is_refused_unread(monkeypatch: pytest.MonkeyPatch) -> None:
    """An input beyond the limit is not parsed."""
    monkeypatch.setattr(envelope_module, "ENVELOPE_BYTES_MAX", 10)

    with pytest.raises(OversizedReceiptError) as refused:
        parse_envelope(b"{" * 11)

    assert refused.value.code == "receipt_too_large"
    assert str(refused.value) == "expected a receipt of at most 10 bytes, got more"
