"""Node packages check our envelopes and write our canonical JSON."""

import json
import random
from typing import Any

import pytest
import rfc8785
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from tallystick.core.canonical import INTEGER_MAX, canonical_bytes, check_canonical
from tallystick.core.keys import SigningKey
from tests.receipt.samples import CUSTOMER, PROVIDER, make_predicate, sign
from tests.strangers.strangers import HERE, run

DOCUMENTS = 4000
CHARACTERS = (
    'aZ09 "\\/\b\f\n\r\t\x00\x1f\x7f\u0080\u00e9e\u0301\u2028\u2029\ufeff\ufffd\U0001f600\U0010ffff'
)


def pem(key: SigningKey) -> str:
    """Write a public key as others read it."""
    public = Ed25519PublicKey.from_public_bytes(key.verify_key.public_key)
    return public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()


def verified(node: str, envelopes: list[Any]) -> list[list[str]]:
    """Give, for each envelope, the keyids whose signatures hold."""
    keys = {key.verify_key.keyid: pem(key) for key in (PROVIDER, CUSTOMER)}
    cases = [{"envelope": envelope, "keys": keys} for envelope in envelopes]
    done = run([node, HERE / "node" / "verify_dsse.mjs"], stdin=json.dumps(cases).encode())
    assert done.returncode == 0, done.stderr.decode()
    found: list[list[str]] = json.loads(done.stdout)
    return found


def test_sigstore_verifies_our_envelope(node: str) -> None:
    """Both signatures on a receipt of ours hold for it."""
    envelope = json.loads(sign(make_predicate(), PROVIDER, CUSTOMER))

    assert verified(node, [envelope]) == [[PROVIDER.verify_key.keyid, CUSTOMER.verify_key.keyid]]


def test_sigstore_refuses_a_changed_envelope(node: str) -> None:
    """Another type, payload or signature does not hold, and one bad signature is one."""
    good = json.loads(sign(make_predicate(), PROVIDER, CUSTOMER))
    payload = "A" + good["payload"][1:]
    swapped = [
        {"keyid": left["keyid"], "sig": right["sig"]}
        for left, right in zip(good["signatures"], reversed(good["signatures"]), strict=True)
    ]
    one_bad = [good["signatures"][0], swapped[1]]

    found = verified(
        node,
        [
            {**good, "payloadType": "application/json"},
            {**good, "payload": payload},
            {**good, "signatures": swapped},
            {**good, "signatures": one_bad},
        ],
    )

    assert found == [[], [], [], [PROVIDER.verify_key.keyid]]


def document(source: random.Random, depth: int = 0) -> Any:
    """Make a value of the kind that we let in: plain keys, any text, no fractions."""
    kind = source.randrange(5 if depth == 4 else 7)
    if kind == 0:
        return source.choice([None, True, False])
    if kind == 1:
        return source.choice([0, 1, -1, INTEGER_MAX, -INTEGER_MAX, source.randrange(10**6)])
    if kind == 2:
        return source.randrange(-INTEGER_MAX, INTEGER_MAX + 1)
    if kind <= 4:
        return text(source)
    members = [document(source, depth + 1) for _ in range(source.randrange(6))]
    return members if kind == 5 else {key(source): member for member in members}


def text(source: random.Random) -> str:
    """Make a text with characters that are written in various ways."""
    return "".join(source.choice(CHARACTERS) for _ in range(source.randrange(8)))


def key(source: random.Random) -> str:
    """Make a key of printable ASCII; some differ in length or case only."""
    return "".join(chr(source.randrange(0x20, 0x7F)) for _ in range(source.randrange(4)))


@pytest.fixture(scope="module")
def documents() -> list[Any]:
    """Make documents, the same ones each time."""
    source = random.Random(8785)  # noqa: S311 (documents, no secrets)
    made = [document(source) for _ in range(DOCUMENTS)]
    for each in made:
        check_canonical(each)
    return made


def test_canonicalize_writes_our_bytes(node: str, documents: list[Any]) -> None:
    """The npm package gives the same canonical bytes for thousands of documents."""
    ours = [canonical_bytes(each) for each in documents]
    loose = [json.dumps(each, separators=(" , ", " : ")) + "\n" for each in documents]

    done = run([node, HERE / "node" / "canonicalize.mjs"], stdin="".join(loose).encode())

    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout.split(b"\n") == [*ours, b""]


def test_rfc8785_writes_our_bytes(documents: list[Any]) -> None:
    """The Python package gives the same canonical bytes for the same documents."""
    assert [rfc8785.dumps(each) for each in documents] == [
        canonical_bytes(each) for each in documents
    ]
