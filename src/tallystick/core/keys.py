"""Ed25519 keys as text: who signs a receipt, and who checks it.

A public key is a C2SP signed-note verifier key, one line ``<name>+<id>+<base64>`` where the
base64 is of ``0x01 || public key`` and the id is the first four bytes, in hex, of
``SHA-256(name || 0x0A || 0x01 || public key)``. A private key is PKCS#8 PEM, which openssl
reads, after one line ``Name: <name>``, since a PEM block has no place for a name. Signing
with Ed25519 is deterministic; nothing here draws a random number.
"""

import base64
import binascii
import hashlib
from dataclasses import dataclass, field

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from tallystick.core.errors import BadKeyNameError, BadPrivateKeyError, BadPublicKeyError

KEY_NAME_BYTES_MAX = 200
PUBLIC_KEY_BYTES = 32

_ED25519 = b"\x01"
_NAME_FIELD = "Name: "


@dataclass(frozen=True, slots=True)
class VerifyKey:
    """A public key and the name of its owner."""

    name: str
    public_key: bytes

    @property
    def keyid(self) -> str:
        """How a signature names this key: ``<name>+<id>``."""
        hashed = self.name.encode() + b"\n" + _ED25519 + self.public_key
        return f"{self.name}+{hashlib.sha256(hashed).hexdigest()[:8]}"

    def signed(self, message: bytes, signature: bytes) -> bool:
        """Tell whether a signature over a message is of this key."""
        try:
            Ed25519PublicKey.from_public_bytes(self.public_key).verify(signature, message)
        except InvalidSignature:
            return False
        return True


@dataclass(frozen=True, slots=True)
class SigningKey:
    """A private key and the name of its owner; the secret is kept out of its repr."""

    name: str
    secret: bytes = field(repr=False)

    @property
    def verify_key(self) -> VerifyKey:
        """The public half."""
        return VerifyKey(self.name, self._private_key().public_key().public_bytes_raw())

    def sign(self, message: bytes) -> bytes:
        """Sign a message: equal messages get equal signatures."""
        return self._private_key().sign(message)

    def _private_key(self) -> Ed25519PrivateKey:
        return Ed25519PrivateKey.from_private_bytes(self.secret)


def check_key_name(name: str) -> str:
    """Give the name back if it can stand in a public key.

    Raises:
        BadKeyNameError: it is empty, too long, not printable, or has a space or a plus sign.
    """
    if not name.isprintable() or any(c.isspace() or c == "+" for c in name):
        raise BadKeyNameError(name)
    if not 1 <= len(name.encode()) <= KEY_NAME_BYTES_MAX:
        raise BadKeyNameError(name)
    return name


def public_key_text(key: VerifyKey) -> str:
    """Write a public key as its one line, without a line end."""
    return f"{key.keyid}+{base64.b64encode(_ED25519 + key.public_key).decode()}"


def parse_public_key(data: bytes, source: str) -> VerifyKey:
    """Read a public key from its one line.

    Args:
        data: The line, with or without its end.
        source: Where it comes from, for messages.

    Raises:
        BadPublicKeyError: it has another form, type or length, or its id does not match.
    """
    name, stated_id, encoded = _three_parts(data, source)
    try:
        typed = base64.b64decode(encoded, validate=True)
        key = VerifyKey(check_key_name(name), typed[1:])
    except BadKeyNameError as error:
        raise BadPublicKeyError(source, str(error)) from error
    except (binascii.Error, ValueError) as error:
        raise BadPublicKeyError(source, "the part after the second '+' is not base64") from error
    if typed[:1] != _ED25519 or len(typed) != 1 + PUBLIC_KEY_BYTES:
        raise BadPublicKeyError(source, "expected type 01 and 32 bytes of an Ed25519 key")
    if key.keyid != f"{name}+{stated_id}":
        raise BadPublicKeyError(source, "the id is not that of this name and key")
    return key


def _three_parts(data: bytes, source: str) -> tuple[str, str, str]:
    try:
        parts = data.decode().rstrip("\r\n").split("+", 2)
    except UnicodeDecodeError as error:
        raise BadPublicKeyError(source, "it is not text") from error
    if len(parts) != 3:
        raise BadPublicKeyError(source, "expected two '+' signs")
    return parts[0], parts[1], parts[2]


def private_key_text(key: SigningKey) -> str:
    """Write a private key: its name, then PKCS#8 PEM."""
    pem = Ed25519PrivateKey.from_private_bytes(key.secret).private_bytes(
        Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()
    )
    return f"{_NAME_FIELD}{key.name}\n{pem.decode()}"


def parse_private_key(data: bytes, source: str) -> SigningKey:
    """Read a private key and its name.

    Args:
        data: The name's line, then PEM.
        source: Where it comes from, for messages.

    Raises:
        BadPrivateKeyError: the name or the PEM is missing or wrong, or the key is no Ed25519.
    """
    first, _, pem = data.partition(b"\n")
    if not first.startswith(_NAME_FIELD.encode()):
        raise BadPrivateKeyError(source, f"expected a first line '{_NAME_FIELD}NAME'")
    try:
        name = check_key_name(first.decode().removeprefix(_NAME_FIELD).rstrip("\r"))
    except (UnicodeDecodeError, BadKeyNameError) as error:
        raise BadPrivateKeyError(source, "its name cannot stand in a public key") from error
    try:
        private_key = load_pem_private_key(pem, password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:  # TypeError: encrypted.
        raise BadPrivateKeyError(source, "expected an unencrypted PKCS#8 key in PEM") from error
    if not isinstance(private_key, Ed25519PrivateKey):
        raise BadPrivateKeyError(source, "expected an Ed25519 key, got one of another kind")
    return SigningKey(name, private_key.private_bytes_raw())
