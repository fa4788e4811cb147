"""Numbers and bytes as text, where each value has one spelling only.

A second spelling of the same value would let somebody change a signed or stored file
without changing what it says.
"""

import base64
import binascii
import re

_DECIMAL = re.compile(r"0|[1-9][0-9]{0,18}", re.ASCII)


def parse_base64(text: str) -> bytes | None:
    """Read standard base64 with padding, or give None for anything else."""
    try:
        value = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
    return value if base64_text(value) == text else None


def base64_text(value: bytes) -> str:
    """Write bytes as standard base64 with padding."""
    return base64.b64encode(value).decode()


def parse_decimal(text: str) -> int | None:
    """Read a number without sign or leading zeros, below 10^19, or give None."""
    return int(text) if _DECIMAL.fullmatch(text) else None
