"""Keys as text: the published vector, and every way in which a key can be wrong."""

import subprocess
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
)
from hypothesis import given
from hypothesis import strategies as st

from tallystick.core.errors import BadKeyNameError, BadPrivateKeyError, BadPublicKeyError
from tallystick.core.keys import (
    SigningKey,
    VerifyKey,
    check_key_name,
    parse_private_key,
    parse_public_key,
    private_key_text,
    public_key_text,
)
from tests.receipt.samples import PROVIDER

# The example of C2SP signed-note v1.0.0.
SPECIFIED_VKEY = "example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k"

names = st.text(
    st.characters(exclude_categories=("C", "Z"), exclude_characters="+"), min_size=1, max_size=40
)


def test_the_key_of_the_specification_is_read_and_written() -> None:
    """The published verifier key keeps its name and its id."""
    key = parse_public_key(f"{SPECIFIED_VKEY}\n".encode(), "key")

    assert key.name == "example.com/foo"
    assert key.keyid == "example.com/foo+530d903a"
    assert public_key_text(key) == SPECIFIED_VKEY


@given(names, st.binary(min_size=32, max_size=32))
def test_keys_survive_being_written(name: str, secret: bytes) -> None:
    """Both halves of a key read back as they were."""
    key = SigningKey(name, secret)

    read_private = parse_private_key(private_key_text(key).encode(), "key")
    read_public = parse_public_key(public_key_text(key.verify_key).encode(), "key")

    assert read_private == key
    assert read_public == key.verify_key


def test_signing_twice_gives_the_same_signature() -> None:
    """A signature depends on key and message alone, and only its own key accepts it."""
    signature = PROVIDER.sign(b"message")

    assert PROVIDER.sign(b"message") == signature
    assert PROVIDER.verify_key.signed(b"message", signature)
    assert not PROVIDER.verify_key.signed(b"massage", signature)
    assert not PROVIDER.verify_key.signed(b"message", signature[:-1])
    assert not VerifyKey("provider.example", bytes(32)).signed(b"message", signature)


def test_openssl_reads_a_private_key(tmp_path: Path) -> None:
    """The PEM of a private key is one that openssl derives the same public key from."""
    path = tmp_path / "key"
    path.write_text(private_key_text(PROVIDER), encoding="utf-8")

    done = subprocess.run(
        ["openssl", "pkey", "-in", path, "-pubout", "-outform", "DER"],
        capture_output=True,
        check=True,
    )

    assert done.stdout[-32:] == PROVIDER.verify_key.public_key


def test_a_secret_is_not_printed() -> None:
    """The repr of a private key, which may end up in a log, has its name only."""
    assert repr(PROVIDER) == "SigningKey(name='provider.example')"


@pytest.mark.parametrize("name", ["", "a b", "a+b", "a\n", "x" * 201, "\u00fc" * 101, "\ud800"])
def test_a_name_that_breaks_the_line_is_refused(name: str) -> None:
    """A key name is printable, short and has neither spaces nor plus signs."""
    with pytest.raises(BadKeyNameError) as refused:
        check_key_name(name)

    assert refused.value.code == "bad_key_name"
    assert str(refused.value).isascii()


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "two '+' signs"),
        (b"\xff", "not text"),
        (b"name+0123abcd", "two '+' signs"),
        (b"name+0123abcd+???", "not base64"),
        ("name+0123abcd+\u00e9".encode(), "not base64"),
        (b"+0123abcd+AQ==", "key name"),
        (b"name+0123abcd+AQ==", "32 bytes"),
        (SPECIFIED_VKEY.replace("+Aek", "+Bek").encode(), "type 01"),
        (SPECIFIED_VKEY.replace("530d903a", "530d903b").encode(), "id"),
        (SPECIFIED_VKEY.replace("foo", "fooo").encode(), "id"),
        (f"{SPECIFIED_VKEY}\n{SPECIFIED_VKEY}".encode(), "not base64"),
    ],
)
def test_what_is_no_public_key_is_refused(data: bytes, reason: str) -> None:
    """A verifier key has three parts, and its id covers its name and its bytes."""
    with pytest.raises(BadPublicKeyError) as refused:
        parse_public_key(data, "keys/acme.vkey")

    assert refused.value.code == "bad_public_key"
    assert str(refused.value).startswith("keys/acme.vkey is not")
    assert reason in str(refused.value)


def _pem(key: Ed25519PrivateKey | X25519PrivateKey, password: bytes | None = None) -> bytes:
    encryption = NoEncryption() if password is None else BestAvailableEncryption(password)
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "Name: NAME"),
        (_pem(Ed25519PrivateKey.from_private_bytes(bytes(32))), "Name: NAME"),
        (b"Name: a b\n", "name"),
        (b"Name: \xff\n", "name"),
        (b"Name: acme\n", "PKCS#8"),
        (b"Name: acme\n-----BEGIN PRIVATE KEY-----\nAAAA\n", "PKCS#8"),
        (b"Name: acme\n" + _pem(Ed25519PrivateKey.generate(), b"secret"), "PKCS#8"),
        (b"Name: acme\n" + _pem(X25519PrivateKey.generate()), "another kind"),
    ],
)
def test_what_is_no_private_key_is_refused(data: bytes, reason: str) -> None:
    """A private key has a name and an unencrypted Ed25519 key in PEM."""
    with pytest.raises(BadPrivateKeyError) as refused:
        parse_private_key(data, "acme.key")

    assert refused.value.code == "bad_private_key"
    assert reason in str(refused.value)
