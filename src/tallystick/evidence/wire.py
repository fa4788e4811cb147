"""Reading a record whose line is canonical already, in one typed pass.

Programs write canonical lines, and a log has to look at every one. From the table of kinds
each gets a class of its own, told apart by ``kind``, into which a line is decoded; if what was
decoded gives the line again, byte for byte, then it is canonical, no key stood twice and
nothing was left out. What types cannot say is checked by the same functions as ever.

This only ever says yes. Whatever is unusual, a mapping with more than texts for example, is
left to the reader that knows every refusal, and a test shows that the two never disagree.
"""

from collections.abc import Callable, Iterable
from typing import Annotated, Any, Final, Literal, NamedTuple, Union

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from tallystick.core.canonical import INTEGER_MAX
from tallystick.core.errors import BadInstantError
from tallystick.core.instant import parse_instant
from tallystick.evidence import fields as f
from tallystick.evidence.bodies import AllocationStarted
from tallystick.evidence.draft import SCHEMA
from tallystick.evidence.kinds import KINDS, Field, Kind

_Integer = Annotated[int, Meta(ge=-INTEGER_MAX, le=INTEGER_MAX)]
_Scalar = str | _Integer | bool | None

_SHAPES: Final[dict[Any, Any]] = {
    f.text: str,
    f.key: str,
    f.instant: str,
    f.amount: str,
    f.resolved_disposition: str,
    f.integer: _Integer,
    f.gpu_count: _Integer,
    f.boolean: bool,
    f.texts: list[str],
    f.mapping: dict[str, str],
    f.statistic: _Integer | str | None,
    f.allocated_gpus: list[dict[str, _Scalar]],
    f.devices: list[dict[str, _Scalar]],
    f.points: list[list[str | None]],
}
"""For each check of a field the type of all that it accepts; more may fit the type."""

_WHOLLY_TYPED: Final = frozenset({f.text, f.integer, f.boolean, f.texts, f.mapping})
"""Checks that let pass whatever has their type."""


class _Producer(Struct, omit_defaults=True, forbid_unknown_fields=True, gc=False):
    name: str
    boot: str | UnsetType | None = UNSET
    seq: Annotated[int, Meta(ge=0, le=INTEGER_MAX)] | UnsetType | None = UNSET


class _Wire(NamedTuple):
    """How records of a kind are decoded, and what of them is still to be checked."""

    decoded: type[Struct]
    checks: tuple[tuple[str, f.Check], ...]
    is_timed: bool
    needs_gpus: bool


def read_identity(line: bytes) -> tuple[str, str] | None:
    """Read producer and id of a canonical line; None is that it has to be read otherwise."""
    if not line.isascii() or b"\\" in line or b"\x7f" in line:
        return None  # Then a key may be odd, and a string may hold half a character.
    try:
        record = _DECODER.decode(line)
        if _ENCODER.encode(record) != line:
            return None
        _check(record, _WIRES[type(record)])
    except (msgspec.MsgspecError, f.BadFieldError, f.BadTimeError, BadInstantError, _LackingError):
        return None
    return record.producer.name, record.id


class _LackingError(Exception):
    """Something that the kind needs is absent."""


def _check(record: Any, wire: _Wire) -> None:
    """Check what types do not say; the checks raise as they do for any reader."""
    if record.at is not None:
        parse_instant(record.at)
    elif wire.is_timed:
        raise _LackingError
    parse_instant(record.observed)
    body = record.body
    for name, check in wire.checks:
        value = getattr(body, name)
        if value is not None and value is not UNSET:
            check(value)
    if wire.needs_gpus and not (_is_stated(body.gpus) or _is_stated(body.gpu_count)):
        raise _LackingError


def _is_stated(value: Any) -> bool:
    return value is not None and value is not UNSET


def _wires(kinds: Iterable[Kind]) -> dict[type[Struct], _Wire]:
    """Make the classes of all kinds whose fields have a shape."""
    wires = {}
    for kind in kinds:
        shapes = {field.name: _shape(field.check) for field in kind.fields}
        if None in shapes.values():
            continue
        checks = ((field.name, field.check) for field in kind.fields)
        decoded = _record_class(kind, shapes)
        wires[decoded] = _Wire(
            decoded=decoded,
            checks=tuple(each for each in checks if each[1] not in _WHOLLY_TYPED),
            is_timed=kind.timed,
            needs_gpus=kind.body is AllocationStarted,
        )
    return wires


def _shape(check: Any) -> Any:
    """Give the type of what a check accepts, None if it has none here."""
    if isinstance(check, f.Nullable):
        inner = _shape(check.check)
        return None if inner is None else inner | None
    return str if isinstance(check, f.Word) else _SHAPES.get(check)


def _record_class(kind: Kind, shapes: dict[str, Any]) -> type[Struct]:
    body = _struct("Body", [_field(field, shapes[field.name]) for field in kind.fields])
    envelope = [
        ("schema", Literal[SCHEMA]),
        ("id", str),
        ("producer", _Producer),
        ("at", str | None),
        ("observed", str),
        ("body", body),
    ]
    return _struct("Record", envelope, tag=kind.name, tag_field="kind")


def _field(field: Field, shape: Any) -> Any:
    return (field.name, shape) if field.required else (field.name, shape | UnsetType | None, UNSET)


def _struct(name: str, members: list[Any], **options: Any) -> type[Struct]:
    """Make a class that writes exactly what it read: absent fields stay absent."""
    make: Callable[..., type[Struct]] = msgspec.defstruct
    return make(
        name,
        members,
        kw_only=True,
        omit_defaults=True,
        forbid_unknown_fields=True,
        gc=False,
        **options,
    )


_WIRES: Final = _wires(KINDS.values())
_DECODER: Final[msgspec.json.Decoder[Any]] = msgspec.json.Decoder(Union[tuple(_WIRES)])  # noqa: UP007
_ENCODER: Final = msgspec.json.Encoder(order="sorted")
