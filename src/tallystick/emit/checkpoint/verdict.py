"""What can be said of a checkpoint, and the words for it.

A checkpoint is *verified* if every byte is that of its manifest, and *complete* if it is whole as
far as its own format can tell; these two are valid. It is *torn* if something is missing or
damaged, *unfinished* if its own writer marks it so, and *unknown* if nothing decides.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Callable, NamedTuple

if TYPE_CHECKING:
    from tallystick.emit.checkpoint.hashing import OnBytes

VERIFIED, COMPLETE, TORN, UNFINISHED, UNKNOWN = (
    "verified",
    "complete",
    "torn",
    "unfinished",
    "unknown",
)
STATES = (VERIFIED, COMPLETE, TORN, UNFINISHED, UNKNOWN)
VALID = frozenset({VERIFIED, COMPLETE})


class Fault(NamedTuple):
    """Why a checkpoint is not valid: the state that follows, and the file that is at fault."""

    state: str
    reason: str
    file: str | None = None


class Read(NamedTuple):
    """What came of reading: what is wrong, if anything, and what could not be checked."""

    wrong: str | None = None
    unchecked: tuple[str, ...] = ()


class Job(NamedTuple):
    """Bytes that are still to be read."""

    file: str
    size: int
    check: Callable[[OnBytes], Read]


class Step(NamedTuple):
    """How many steps are complete in a checkpoint, and what says so."""

    number: int
    source: str


class Look(NamedTuple):
    """What is seen of a file or folder before its bytes are read.

    Attributes:
        kind: Which format it has.
        faults: Why it is not whole; none if nothing speaks against it.
        jobs: What is to be read before it counts as whole.
        is_closed: Whether it tells itself which files belong to it.
        steps: What the files in it say of its step.
        unchecked: What nothing here can check.
        remarks: What is odd about it and makes it no worse.
    """

    kind: str
    faults: tuple[Fault, ...] = ()
    jobs: tuple[Job, ...] = ()
    is_closed: bool = False
    steps: tuple[Step, ...] = ()
    unchecked: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()


def joined(kind: str, looks: list[Look], *, is_closed: bool) -> Look:
    """Make one look of several parts of a checkpoint."""
    return Look(
        kind,
        tuple(fault for look in looks for fault in look.faults),
        tuple(job for look in looks for job in look.jobs),
        is_closed,
        tuple(step for look in looks for step in look.steps),
        tuple(dict.fromkeys(text for look in looks for text in look.unchecked)),
        tuple(dict.fromkeys(text for look in looks for text in look.remarks)),
    )


def worst(faults: tuple[Fault, ...]) -> Fault | None:
    """Give the fault that decides: what was never finished is expected to be torn as well."""
    order = (UNFINISHED, TORN, UNKNOWN)
    return min(faults, key=lambda fault: order.index(fault.state)) if faults else None
