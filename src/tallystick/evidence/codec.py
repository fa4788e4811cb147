"""Reading one line of evidence: a record, or the first reason to refuse it (rule 4).

Refusals outrank each other in the order of ``REFUSALS``. The JSON is read strictly: what a
usual parser lets pass (the last of two equal keys, NaN, a lone surrogate, a number that
becomes a float) is refused by name, because its canonical bytes would depend on the reader.
"""

import json
import re
from dataclasses import dataclass
from typing import Any, NamedTuple, NoReturn

import msgspec

from tallystick.core.canonical import INTEGER_MAX, canonical_bytes, is_plain_key, is_unicode
from tallystick.core.errors import BadInstantError
from tallystick.core.instant import parse_instant
from tallystick.core.wording import quoted
from tallystick.evidence.draft import SCHEMA
from tallystick.evidence.fields import BadTimeError
from tallystick.evidence.kinds import KINDS, BadBodyError, read_body
from tallystick.evidence.record import Record, Unchecked, content_digest
from tallystick.evidence.wire import read_identity

REFUSALS = (
    "bad_json",
    "not_an_object",
    "duplicate_key",
    "bad_key",
    "bad_string",
    "float_refused",
    "integer_out_of_range",
    "bad_record",
    "bad_time",
    "bad_body",
    "time_missing",
)
NESTING_MAX = 500
_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"', re.DOTALL)
_PLAIN_STRING = re.compile(rb'"[^"]*"')
_INNERMOST = re.compile(rb"\[\]|\{\}")
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_INTEGER_DIGITS_MAX = len(str(INTEGER_MAX))
_DIGITS_AS_0 = bytes.maketrans(b"123456789", b"000000000")
_LONG_NUMBER = b"0" * _INTEGER_DIGITS_MAX


class RefusedLineError(Exception):
    """A line cannot be admitted; caught at admission, where it becomes a finding."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(code, message)
        self.code = code
        self.message = message


class Delivery(NamedTuple):
    """A line that can be admitted: whose record it is, and the bytes in which a log keeps it."""

    producer: str
    id: str
    canonical: bytes


def read_line(line: bytes | None) -> Record:
    """Read a line of evidence; None stands for one that is too long to be held.

    Raises:
        RefusedLineError: the line cannot be admitted, with the first code that applies.
    """
    envelope = _read_envelope(line)
    kind, at_us, body = _check_record(envelope)
    producer: Unchecked = envelope["producer"]
    return Record(
        kind=kind,
        at_us=at_us,
        producer=producer["name"],
        id=envelope["id"],
        boot=producer.get("boot"),
        seq=producer.get("seq"),
        body=body,
        digest=content_digest(envelope),
    )


def read_delivery(line: bytes | None) -> Delivery:
    """Read a line by the same rules for a log, which keeps it and does not yet use it.

    Raises:
        RefusedLineError: the line cannot be admitted, with the first code that applies.
    """
    identity = None if line is None else read_identity(line)
    if line is not None and identity is not None:
        return Delivery(*identity, line)
    envelope = _read_envelope(line)
    _check_record(envelope)
    return Delivery(envelope["producer"]["name"], envelope["id"], canonical_bytes(envelope))


def _read_envelope(line: bytes | None) -> dict[str, Any]:
    if line is None:
        raise RefusedLineError("bad_json", "expected a JSON object, got a line beyond 64 MiB")
    if _is_too_deep(line):
        raise RefusedLineError("bad_json", f"expected JSON, got over {NESTING_MAX} levels of it")
    envelope = _read_canonical(line)
    if envelope is None:
        envelope = _read_object(line)
    _check_envelope(envelope)
    return envelope


class _FloatError(Exception):
    """A number is no integer."""


def _refuse_float(number: str) -> NoReturn:
    raise _FloatError(number)


_CANONICAL = msgspec.json.Decoder(float_hook=_refuse_float)


def _read_canonical(line: bytes) -> dict[str, Any] | None:
    """Read an object that already is canonical bytes in plain ASCII, as programs write it.

    Ten times as fast as reading strictly, and the same: if its canonical bytes are the line,
    no key stood twice; without a backslash or a byte beyond ASCII, no key is odd and no string
    has half a character; without 16 digits in a row, no integer is out of range. None is that
    one of these is not known, and says nothing against the line.
    """
    if not line.isascii() or b"\\" in line or b"\x7f" in line:
        return None
    if _LONG_NUMBER in line.translate(_DIGITS_AS_0):
        return None
    try:
        value = _CANONICAL.decode(line)
    except (msgspec.DecodeError, _FloatError, RecursionError):
        return None
    return value if isinstance(value, dict) and canonical_bytes(value) == line else None


def _is_too_deep(line: bytes) -> bool:
    """Tell whether objects and arrays are nested too deeply, before a parser recurses.

    A parser's own limit depends on its version and on who calls it; a receipt must not. Each
    turn peels the innermost level off the brackets; what is not balanced is left to the parser,
    which stops at it.
    """
    if line.count(b"[") + line.count(b"{") <= NESTING_MAX:
        return False
    string = _STRING if b"\\" in line else _PLAIN_STRING
    shape = string.sub(b"", line).translate(None, delete=_NO_BRACKETS)
    for _ in range(NESTING_MAX):
        peeled = _INNERMOST.sub(b"", shape)
        if len(peeled) == len(shape):
            return False
        shape = peeled
    return bool(shape)


@dataclass(slots=True)
class _Seen:
    """What the parser met: the hooks note it, since raising would hide what outranks it."""

    duplicate: str | None = None
    bad_key: str | None = None
    real: str | None = None
    beyond: str | None = None

    def pairs(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        value = dict(pairs)
        if len(value) != len(pairs):
            names = [name for name, _ in pairs]
            self.duplicate = next(name for name in names if names.count(name) > 1)
        for name in value:
            if not is_plain_key(name):
                self.bad_key = name
        return value

    def float(self, number: str) -> int:
        self.real = number
        return 0

    def int(self, number: str) -> int:
        if len(number) <= _INTEGER_DIGITS_MAX + 1:
            value = int(number)
            if -INTEGER_MAX <= value <= INTEGER_MAX:
                return value
        self.beyond = number
        return 0


def _refuse_constant(name: str) -> None:
    raise RefusedLineError("bad_json", f"expected JSON, got the number {name}")


def _read_object(line: bytes) -> dict[str, Any]:
    seen = _Seen()
    try:
        value = json.loads(
            line.decode(),
            object_pairs_hook=seen.pairs,
            parse_float=seen.float,
            parse_int=seen.int,
            parse_constant=_refuse_constant,
        )
    except UnicodeDecodeError as error:
        raise RefusedLineError("bad_json", f"expected UTF-8, got byte {error.start}") from error
    except RecursionError as error:
        raise RefusedLineError("bad_json", "expected JSON, got brackets without end") from error
    except json.JSONDecodeError as error:
        message = f"expected one JSON object, got: {error.msg.lower()} at column {error.colno}"
        raise RefusedLineError("bad_json", message) from error
    if not isinstance(value, dict):
        raise RefusedLineError("not_an_object", f"expected an object, got {_json_type(value)}")
    _refuse_seen(seen)
    if b"\\u" in line and not _all_unicode(value):
        raise RefusedLineError("bad_string", "expected Unicode, got a lone surrogate")
    _refuse_numbers(seen)
    return value


def _refuse_seen(seen: _Seen) -> None:
    if seen.duplicate is not None:
        raise RefusedLineError("duplicate_key", f"key {quoted(seen.duplicate)} stands twice")
    if seen.bad_key is not None:
        message = f"expected keys in printable ASCII, got {quoted(seen.bad_key)}"
        raise RefusedLineError("bad_key", message)


def _refuse_numbers(seen: _Seen) -> None:
    if seen.real is not None:
        message = f"expected an integer or a decimal string, got the number {quoted(seen.real)}"
        raise RefusedLineError("float_refused", message)
    if seen.beyond is not None:
        message = f"expected an integer within 2^53-1, got {quoted(seen.beyond)}"
        raise RefusedLineError("integer_out_of_range", message)


def _all_unicode(value: Any) -> bool:
    if isinstance(value, str):
        return is_unicode(value)
    if isinstance(value, dict):
        return all(map(_all_unicode, value.values()))
    return not isinstance(value, list) or all(map(_all_unicode, value))


def _check_envelope(envelope: dict[str, Any]) -> None:
    producer = envelope.get("producer")
    if envelope.get("schema") != SCHEMA:
        wrong = f'schema: expected "{SCHEMA}"'
    elif not isinstance(envelope.get("id"), str):
        wrong = "id: expected a string"
    elif not isinstance(producer, dict) or not isinstance(producer.get("name"), str):
        wrong = "producer: expected an object with a name"
    elif not _is_optional(producer.get("boot"), str):
        wrong = "producer.boot: expected a string"
    elif not _is_optional(producer.get("seq"), int) or (producer.get("seq") or 0) < 0:
        wrong = "producer.seq: expected an integer from 0"
    elif not isinstance(envelope.get("kind"), str):
        wrong = "kind: expected a string"
    elif "at" not in envelope or not _is_optional(envelope["at"], str):
        wrong = "at: expected a time or null"
    elif not isinstance(envelope.get("observed"), str):
        wrong = "observed: expected a time"
    elif not isinstance(envelope.get("body"), dict):
        wrong = "body: expected an object"
    else:
        return
    raise RefusedLineError("bad_record", wrong)


def _is_optional(value: Any, wanted: type) -> bool:
    return value is None or type(value) is wanted


def _check_record(envelope: dict[str, Any]) -> tuple[str, int | None, Any]:
    """Check what the envelope holds, and give its kind, its time and its typed body."""
    kind = KINDS.get(envelope["kind"])
    body: Any = envelope["body"]
    try:
        at_us = None if envelope["at"] is None else parse_instant(envelope["at"])
        parse_instant(envelope["observed"])
        typed: Any = body if kind is None else read_body(kind, body)
    except (BadInstantError, BadTimeError) as error:
        message = f"expected a time like 2026-01-01T00:00:00.000000Z, got {quoted(error.args[0])}"
        raise RefusedLineError("bad_time", message) from error
    except BadBodyError as error:
        raise RefusedLineError("bad_body", f"body of {envelope['kind']}: {error}") from error
    if kind is not None and kind.timed and at_us is None:
        raise RefusedLineError("time_missing", f"at: expected the time of {envelope['kind']}")
    return envelope["kind"] if kind is None else kind.name, at_us, typed


def _json_type(value: Any) -> str:
    names: dict[type, str] = {list: "an array", str: "a string", bool: "a boolean"}
    return "null" if value is None else names.get(type(value), "a number")
