"""Names of others inside a line of plain-text accounting, in ASCII, escaped and back.

What such programs could read as syntax in some place (a colon, a semicolon, two spaces, a
bracket, a line end), and all that is not ASCII, becomes ``%XX``, the bytes of its UTF-8. So a
journal means the same in every locale, and a name has exactly one escaped form.
"""

import re
from typing import Final

_ENCODING: Final = ("utf-8", "surrogatepass")  # Total: half a pair is no reason to lose a name.
_UNSAFE: Final = re.compile(r"[^A-Za-z0-9 &'()+,./@_-]|\A | \Z|(?<= ) ")
_ESCAPED: Final = re.compile(rb"%([0-9A-F]{2})")


def escape(text: str) -> str:
    """Write a text so that it stays one text; ``unescape`` gives it back."""
    return _UNSAFE.sub(_percent, text)


def unescape(text: str) -> str | None:
    """Read an escaped text, None if it is not the escaped form of any."""
    try:
        raw = _ESCAPED.sub(lambda found: bytes.fromhex(found[1].decode()), text.encode("ascii"))
        result = raw.decode(*_ENCODING)
    except UnicodeError:
        return None
    return result if escape(result) == text else None


def _percent(found: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in found[0].encode(*_ENCODING))
