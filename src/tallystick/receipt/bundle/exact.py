"""Reading JSON that has one spelling: the canonical bytes of a known set of fields.

What was read is written again, and has to give the same bytes. So there is no field of
another name, none that stands twice, and no other spelling; anything that could be changed
without being noticed would be noticed here.
"""

from typing import TypeVar

import msgspec

from tallystick.core.canonical import canonical_bytes

_T = TypeVar("_T", bound=msgspec.Struct)


class NotExactError(Exception):
    """Bytes are not the one spelling of such a value; says what was expected."""


def read_exact(data: bytes | memoryview, kind: type[_T]) -> _T:
    """Read the one spelling of a value.

    Raises:
        NotExactError: the bytes are anything else.
    """
    try:
        value = msgspec.json.decode(data, type=kind)
        written = canonical_bytes(value)
    except msgspec.ValidationError as error:
        raise NotExactError(ascii(str(error))[1:-1][:200]) from error
    except (ValueError, RecursionError) as error:
        raise NotExactError("expected JSON in UTF-8") from error
    if written != data:
        raise NotExactError("expected canonical bytes of its own fields, got another spelling")
    return value
