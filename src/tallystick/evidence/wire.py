"""Reading a record whose line is canonical already, in one typed pass.

Programs write canonical lines, and a log has to look at every one. From the table of kinds
each gets a class of its own, told apart by ``kind``, into which a line is decoded; if what was
decoded gives the line again, byte for byte, then it is canonical, no key stood twice and
nothing was left out. What types cannot say of a field is checked by the same function as ever.

This only ever says yes. Whatever is unusual is left to the reader that knows every refusal,
and a test shows that the two never disagree.
"""

from collections.abc import Callable, Iterable
from typing import Annotated, Any, Final, Literal, NamedTuple, Union

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from tallystick.core.canonical import INTEGER_MAX
from tallystick.core.instant import are_instants
from tallystick.evidence import fields as f
from tallystick.evidence.bodies import AllocationStarted
from tallystick.evidence.draft import SCHEMA
from tallystick.evidence.kinds import KINDS, Field, Kind

_Integer = Annotated[int, Meta(ge=-INTEGER_MAX, le=INTEGER_MAX)]


def _json(levels: int) -> Any:
    """Give the type of any JSON without floats, with so many levels at most."""
    scalar: Any = _Integer | str | bool | None
    if not levels:
        return scalar
    inner: Any = _json(levels - 1)
    return scalar | list[inner] | dict[str, inner]


class _Part(Struct, kw_only=True, omit_defaults=True, forbid_unknown_fields=True, gc=False):
    """A part of a record, which writes exactly what it read: absent fields stay absent."""


class _Producer(_Part, kw_only=True, gc=False):
    name: str
    boot: str | UnsetType | None = UNSET
    seq: Annotated[int, Meta(ge=0, le=INTEGER_MAX)] | UnsetType | None = UNSET


class _Gpu(_Part, kw_only=True, gc=False):
    uuid: str
    node: str
    index: _Integer | UnsetType | None = UNSET


class _Device(_Part, kw_only=True, gc=False):
    uuid: str
    index: _Integer
    pci_bus_id: str | UnsetType | None = UNSET
    minor: _Integer | UnsetType | None = UNSET
    mig: bool | UnsetType | None = UNSET


_MAPPING: Final[Any] = dict[str, _json(6)]  # type: ignore[misc]  # Made at run time.

_SHAPES: Final[dict[Any, Any]] = {
    f.text: str,
    f.key: Annotated[str, Meta(min_length=1, max_length=f.KEY_BYTES_MAX)],
    f.instant: str,
    f.amount: str,
    f.resolved_disposition: str,
    f.integer: _Integer,
    f.gpu_count: Annotated[int, Meta(ge=0, le=f.GPUS_MAX)],
    f.boolean: bool,
    f.texts: list[str],
    f.mapping: _MAPPING,
    f.statistic: _Integer | str | None,
    f.allocated_gpus: list[_Gpu],
    f.devices: list[_Device],
    f.points: list[tuple[str, str | None]],
}
"""For each check of a field the type of what it accepts, in a line of printable ASCII."""

_ABSENT: Final = (None, UNSET)

_LOOSE: Final = frozenset({f.amount, f.resolved_disposition, f.statistic})
"""Checks that accept less than their type."""


class _Wire(NamedTuple):
    """What the type of a kind's records does not say."""

    is_timed: bool
    needs_gpus: bool
    instants: tuple[str, ...]
    points: tuple[str, ...]
    checks: tuple[tuple[str, f.Check], ...]


def read_identity(line: bytes) -> tuple[str, str] | None:
    """Read producer and id of a canonical line; None is that it has to be read otherwise."""
    if not line.isascii() or b"\\" in line or b"\x7f" in line:
        return None  # Then a key may be odd, and a string may hold half a character.
    try:
        record = _DECODER.decode(line)
    except (msgspec.DecodeError, RecursionError):
        return None
    if _ENCODER.encode(record) == line and _is_admitted(record, _WIRES[type(record)]):
        return record.producer.name, record.id
    return None


def _is_admitted(record: Any, wire: _Wire) -> bool:
    """Tell whether a record keeps to what its type does not say."""
    is_timed, needs_gpus, instants, points, checks = wire
    at, body = record.at, record.body
    if at is None and is_timed:
        return False
    times = [record.observed] if at is None else [at, record.observed]
    times += [time for name in instants if isinstance(time := getattr(body, name), str)]
    for name in points:
        times += [time for time, _ in getattr(body, name)]
    if not are_instants(times) or (needs_gpus and _lacks_gpus(body)):
        return False
    return not checks or all(_passes(check, getattr(body, name)) for name, check in checks)


def _lacks_gpus(body: Any) -> bool:
    return body.gpus in _ABSENT and body.gpu_count in _ABSENT


def _passes(check: f.Check, value: Any) -> bool:
    try:
        check(value)
    except f.BadFieldError:
        return False
    return True


def _wires(kinds: Iterable[Kind]) -> dict[type[Struct], _Wire]:
    """Make the classes of all kinds whose fields have a shape."""
    return {
        _record_class(kind, shapes): _Wire(
            is_timed=kind.timed,
            needs_gpus=kind.body is AllocationStarted,
            instants=tuple(name for name, check in checks.items() if check is f.instant),
            points=tuple(name for name, check in checks.items() if check is f.points),
            checks=tuple((name, check) for name, check in checks.items() if check in _LOOSE),
        )
        for kind in kinds
        for checks in [{field.name: _not_null(field.check) for field in kind.fields}]
        for shapes in [{field.name: _shape(field.check) for field in kind.fields}]
        if None not in shapes.values()
    }


def _not_null(check: f.Check) -> f.Check:
    return check.check if isinstance(check, f.Nullable) else check


def _shape(check: Any) -> Any:
    """Give the type of what a check accepts, None if it has none here."""
    if isinstance(check, f.Nullable):
        inner = _shape(check.check)
        return None if inner is None else inner | None
    return Literal[check.allowed] if isinstance(check, f.Word) else _SHAPES.get(check)


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
    make: Callable[..., type[Struct]] = msgspec.defstruct
    return make(name, members, bases=(_Part,), kw_only=True, gc=False, **options)


_WIRES: Final = _wires(KINDS.values())
_DECODER: Final[msgspec.json.Decoder[Any]] = msgspec.json.Decoder(Union[tuple(_WIRES)])  # noqa: UP007
_ENCODER: Final = msgspec.json.Encoder(order="sorted")
