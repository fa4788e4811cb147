"""JSON of other programs, read into the restricted form that evidence may hold.

Numbers that are no integer within 2^53−1 keep their digits as text, a lone surrogate becomes
U+FFFD, and a key outside printable ASCII is spelt out. Nothing is rounded.
"""

import json
from typing import Any

from tallystick.core.canonical import INTEGER_MAX, is_plain_key, is_unicode

_DIGITS_MAX = len(str(INTEGER_MAX)) + 1


class NotJsonError(Exception):
    """A text is not JSON; says what was found. Caught where it becomes a finding."""


def read_json(text: str) -> tuple[Any, str]:
    """Read the JSON value at the start of a text, and give what stands after it.

    Raises:
        NotJsonError: no value could be read.
    """
    start = len(text) - len(text.lstrip())
    try:
        value, end = _DECODER.raw_decode(text, start)
        return _restricted(value), text[end:].strip()
    except json.JSONDecodeError as error:
        raise NotJsonError(f"{error.msg.lower()} on line {error.lineno}") from error
    except RecursionError as error:
        raise NotJsonError("nesting beyond reason") from error


def read_number(value: Any) -> int | None:
    """Give an integer that is stated plainly, as digits, or as an object with ``set`` (r9)."""
    if isinstance(value, dict):
        is_stated = value.get("set") is not False and value.get("infinite") is not True
        return read_number(value.get("number")) if is_stated else None
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= _DIGITS_MAX:
        return int(value)
    return value if type(value) is int else None


def read_text(value: Any) -> str:
    """Give a text, empty if there is none."""
    return value if isinstance(value, str) else ""


def part(value: Any, *path: str) -> Any:
    """Follow keys into nested objects; None where one is absent."""
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def first(value: Any) -> Any:
    """Give the first element of a list, or the value itself if it is no list."""
    if isinstance(value, list):
        return value[0] if value else None
    return value


def _integer(digits: str) -> int | str:
    if len(digits) <= _DIGITS_MAX and abs(int(digits)) <= INTEGER_MAX:
        return int(digits)
    return digits


_DECODER = json.JSONDecoder(parse_float=str, parse_int=_integer, parse_constant=str, strict=False)


def _restricted(value: Any) -> Any:
    if isinstance(value, str):
        return value if is_unicode(value) else _without_surrogates(value)
    if isinstance(value, dict):
        return {_plain_key(key): _restricted(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_restricted(item) for item in value]
    return value


def _without_surrogates(text: str) -> str:
    return "".join(c if is_unicode(c) else "\ufffd" for c in text)


def _plain_key(key: str) -> str:
    if is_plain_key(key):
        return key
    return "".join(c if is_plain_key(c) else f"\\u{{{ord(c):x}}}" for c in key)
