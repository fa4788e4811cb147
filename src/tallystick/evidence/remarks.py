"""What a log says of deliveries that are no records of their own.

An equal record that came with a new number, one of other content, one that was refused: each
is a record of the log itself (``LOG_PRODUCER``), so the log alone gives every number that
came and every finding. What another producer says under these kinds is no remark.
"""

from collections.abc import Mapping
from typing import Annotated, NamedTuple

import msgspec
from msgspec import Meta, Struct

from tallystick.core.wording import as_printed
from tallystick.evidence.kinds import BadBodyError
from tallystick.evidence.leaf import LOG_PRODUCER
from tallystick.evidence.record import Record

_Digest = Annotated[str, Meta(pattern=r"\Asha256:[0-9a-f]{64}\Z")]


class Numbering(NamedTuple):
    """One boot of a producer, whose numbers follow each other."""

    producer: str
    boot: str | None


class Repeated(Struct, frozen=True):
    """A record came again, equal to the one that is there, with a number of its own."""

    producer: str
    id: str
    boot: str | None
    seq: Annotated[int, Meta(ge=0)] | None


class Conflict(Repeated, frozen=True):
    """A record came again with other content, which is known by its digest only."""

    digest: _Digest


class Refused(Struct, frozen=True):
    """What came was no record."""

    code: Annotated[str, Meta(pattern=r"\A[a-z0-9_]+\Z")]
    message: str
    digest: _Digest | None


Remark = Repeated | Conflict | Refused

REMARKS: Mapping[str, type[Remark]] = {
    "delivery.repeated": Repeated,
    "delivery.conflict": Conflict,
    "delivery.refused": Refused,
}


def read_remark(record: Record) -> Remark | None:
    """Read a remark of the log, or give None for any other record.

    Raises:
        BadBodyError: it has another form.
    """
    if record.producer != LOG_PRODUCER or record.kind not in REMARKS:
        return None
    try:
        return msgspec.convert(record.body, REMARKS[record.kind])
    except msgspec.ValidationError as error:
        raise BadBodyError(as_printed(str(error))) from error


def number_of(record: Record, remark: Remark | None) -> tuple[Numbering, int] | None:
    """Give the number of the delivery that a record of a log stands for, if it had one.

    Args:
        record: The record.
        remark: The remark that it is, if it is one.
    """
    said = record if remark is None else remark
    if isinstance(said, Refused) or said.seq is None:
        return None
    return Numbering(said.producer, said.boot), said.seq
