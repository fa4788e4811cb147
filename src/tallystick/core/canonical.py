"""Canonical JSON bytes and digests.

The form is RFC 8785 restricted to printable-ASCII keys, integers within ±(2^53-1), no
floats and no duplicate keys. Inside that profile a sorted serialiser gives the same bytes
as RFC 8785 (tests compare them with the reference library).
"""

import hashlib
from typing import Any

import msgspec

from tallystick.core.errors import NotCanonicalError

INTEGER_MAX = 2**53 - 1

_ENCODER = msgspec.json.Encoder(order="sorted")


def canonical_bytes(value: Any) -> bytes:
    """Serialise a value that is already known to lie in the profile."""
    return _ENCODER.encode(value)


def check_canonical(value: Any) -> None:
    """Refuse a value outside the profile.

    Raises:
        NotCanonicalError: a float, an integer out of range, a key that is not printable
            ASCII, a lone surrogate, or a type that JSON does not have.
    """
    if value is None or isinstance(value, bool):
        return
    if isinstance(value, int):
        if abs(value) > INTEGER_MAX:
            raise NotCanonicalError("an integer beyond 2^53-1")
    elif isinstance(value, str):
        if not is_unicode(value):
            raise NotCanonicalError("a lone surrogate")
    elif isinstance(value, dict):
        for key, item in value.items():
            if not isinstance(key, str) or not is_plain_key(key):
                raise NotCanonicalError("a key outside printable ASCII")
            check_canonical(item)
    elif isinstance(value, list | tuple):
        for item in value:
            check_canonical(item)
    else:
        raise NotCanonicalError(f"a {type(value).__name__}")


def is_plain_key(key: str) -> bool:
    """Tell whether a key has characters U+0020 to U+007E only."""
    return key.isascii() and key.isprintable()


def is_unicode(text: str) -> bool:
    """Tell whether a text is free of lone surrogates."""
    return not any("\ud800" <= character <= "\udfff" for character in text)


def sha256_digest(data: bytes) -> str:
    """Name bytes by their SHA-256, as ``sha256:<hex>``."""
    return "sha256:" + hashlib.sha256(data).hexdigest()
