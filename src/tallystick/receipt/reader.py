"""The fields of a receipt, typed, as whoever reads one needs them.

What another party wrote is checked here once: every field, with the form of every time,
digest and decimal. After that the page, the explanation and the checks can rely on it.
Fields that this version does not name are ignored; none of them may carry money.
"""

from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta, Struct

from tallystick.core.errors import BadInstantError
from tallystick.core.instant import parse_instant
from tallystick.receipt.errors import MalformedPredicateError, UnknownReceiptVersionError

SCHEMAS: Final = ("tallystick.receipt/1",)
KERNELS: Final = ("1",)

_NUMBER_LENGTH_MAX = 1000  # Python refuses to read an integer of more than 4300 digits.


class Moment(int):
    """A time in microseconds since the epoch, stated as text."""


Name = Annotated[str, Meta(min_length=1)]
Count = Annotated[int, Meta(ge=0)]
Digest = Annotated[str, Meta(pattern=r"\Asha256:[0-9a-f]{64}\Z")]
Root = Annotated[str, Meta(pattern=r"\A[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=\Z")]
"""A hash of 32 bytes in base64, which has one spelling."""
Seconds = Annotated[
    str,
    Meta(
        pattern=r"\A(?!-0\.0*\Z)-?(0|[1-9][0-9]*)\.[0-9]{6}\Z",
        max_length=_NUMBER_LENGTH_MAX,
    ),
]
Money = Annotated[
    str,
    Meta(
        pattern=r"\A(?!-0(\.0*)?\Z)-?(0|[1-9][0-9]*)(\.[0-9]+)?\Z",
        max_length=_NUMBER_LENGTH_MAX,
    ),
]
Price = Annotated[str, Meta(pattern=r"\A[0-9]+(\.[0-9]+)?\Z", max_length=_NUMBER_LENGTH_MAX)]
Ratio = Annotated[
    str,
    Meta(pattern=r"\A-?(0|[1-9][0-9]*)/[1-9][0-9]*\Z", max_length=_NUMBER_LENGTH_MAX),
]


class Run(Struct, frozen=True):
    """Whose work it was, and whether its output was accepted."""

    id: Name
    job_class: str | None
    accepted: bool | None


class ContractName(Struct, frozen=True):
    """A contract version that rated a part of the run, by the digest of its file."""

    id: Name
    version: int
    digest: Digest


class LogPrefix(Struct, frozen=True):
    """The leaves of a log that the receipt was computed from: so many, with this root."""

    origin: Name
    size: Count
    root: Root


class Attempt(Struct, frozen=True):
    """One execution of the run."""

    attempt: Name
    start: Moment
    end: Moment | None
    gpus: Count
    gpu_uuids: tuple[Name, ...]
    gpu_type: str | None
    capacity: str | None
    ended_by: str | None
    notice_seconds: Seconds | None
    replacement_wait_seconds: Seconds | None


class Gap(Struct, frozen=True):
    """Time of one GPU without samples, and why."""

    start: Moment
    end: Moment
    reason: Name


class GpuCoverage(Struct, frozen=True):
    """What was seen of one GPU of one attempt; a GPU of None has no UUID."""

    attempt: Name
    gpu: str | None
    observed_seconds: Seconds
    gaps: tuple[Gap, ...]


class Checkpoint(Struct, frozen=True):
    """Saved training state."""

    checkpoint: str
    step: int
    attempt: Name


class CountRange(Struct, frozen=True):
    """A number of steps that the evidence only bounds; None is an unknown bound."""

    at_least: int | None
    at_most: int | None


class SecondsRange(Struct, frozen=True):
    """A duration that the evidence only bounds."""

    at_least: Seconds | None
    at_most: Seconds | None


class MoneyRange(Struct, frozen=True):
    """An amount that is not settled; None is an unknown bound."""

    at_least: Money | None
    at_most: Money | None


class Interruption(Struct, frozen=True):
    """An attempt's end that was not its completion, and what it cost in steps."""

    attempt: Name
    last_step: int | None
    restored_step: int | None
    lost_steps: int | CountRange | None
    avoidable_lost_steps: int | None


class ProgressSeconds(Struct, frozen=True):
    """GPU time by what the run did with it."""

    starting: Seconds
    advancing: Seconds
    replaying: Seconds
    discarded: Seconds
    saving: Seconds
    waiting: Seconds
    mixed: Seconds
    unknown: Seconds


class Progress(Struct, frozen=True):
    """How far the run came, and what it had to do twice."""

    steps_completed: int | None
    last_valid_checkpoint: Checkpoint | None
    interruptions: tuple[Interruption, ...]
    replayed_steps: int | CountRange | None
    gpu_seconds: ProgressSeconds
    lost_gpu_seconds: Seconds | SecondsRange | None = None


class Usage(Struct, frozen=True):
    """Metered time and where each second of it went."""

    metered: Seconds
    net_billed: Seconds
    excluded: Seconds
    credited: Seconds
    held: Seconds
    unit: Literal["gpu_seconds", "node_seconds"]


class Piece(Struct, frozen=True):
    """An interval of a line; GPUs of None are all of the attempt."""

    start: Moment
    end: Moment
    gpus: tuple[str | None, ...] | None


class Line(Struct, frozen=True):
    """An amount, or a bounded one, and everything that led to it."""

    line: int
    kind: Literal["usage", "granularity", "adjustment"]
    attempt: str | None
    contract: str | None
    rate_clause: str | None
    rule_clause: str | None
    disposition: Literal["charge", "credit", "share", "hold", "exclude"] | None
    quantity: Seconds | None
    per_hour: Price | None
    amount: Money | None
    pieces: tuple[Piece, ...]
    evidence: tuple[Digest, ...]
    share: Ratio | None = None
    credit: Money | None = None
    at_least: Money | None = None
    at_most: Money | None = None
    amount_exact: Ratio | None = None


class LaneSpan(Struct, frozen=True):
    """A stretch of one lane with one class."""

    start: Moment
    end: Moment
    name: str = msgspec.field(name="class")


class Lanes(Struct, frozen=True):
    """The allocation and progress lanes of one attempt."""

    attempt: Name
    allocation: tuple[LaneSpan, ...]
    progress: tuple[LaneSpan, ...]


class Totals(Struct, frozen=True):
    """The sums of the lines."""

    currency: Annotated[str, Meta(pattern=r"\A[A-Z]{3}\Z")]
    charged: Money
    credits: Money
    adjustments: Money
    held_at_most: Money | None
    net: Money | MoneyRange


class ReceiptFinding(Struct, frozen=True):
    """What the evidence does not settle, or contradicts."""

    code: Name
    message: str
    attempt: str | None


class Receipt(Struct, frozen=True):
    """A whole receipt; ``log`` is None if it was computed from files."""

    schema: str
    kernel: str
    run: Run
    revision: Annotated[int, Meta(ge=1)]
    supersedes: Digest | None
    contracts: tuple[ContractName, ...]
    log: LogPrefix | None
    attempts: tuple[Attempt, ...]
    coverage: tuple[GpuCoverage, ...]
    progress: Progress
    usage: Usage
    lines: tuple[Line, ...]
    timeline: tuple[Lanes, ...]
    totals: Totals
    findings: tuple[ReceiptFinding, ...]


def read_receipt(predicate: Any) -> Receipt:
    """Read the typed fields of a predicate that came as JSON.

    Raises:
        UnknownReceiptVersionError: its schema or kernel is not one of ours.
        MalformedPredicateError: a field is missing, or has another type or form.
    """
    for field, known in (("schema", SCHEMAS), ("kernel", KERNELS)):
        stated = predicate.get(field) if isinstance(predicate, dict) else None
        if stated not in known:
            raise UnknownReceiptVersionError(field, known, str(stated))
    try:
        return msgspec.convert(predicate, Receipt, dec_hook=_read_moment)
    except msgspec.ValidationError as error:
        raise MalformedPredicateError(str(error)) from error


def _read_moment(kind: type, value: Any) -> Moment:
    assert kind is Moment, "no other type here is unknown to msgspec"
    if not isinstance(value, str):
        raise ValueError("Expected `str`")  # noqa: TRY004 (msgspec adds the path to either)
    try:
        return Moment(parse_instant(value))
    except BadInstantError as error:
        raise ValueError(str(error)) from error
