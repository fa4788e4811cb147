"""One checkpoint, judged: first by its structure, then by every byte of it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from tallystick.emit.checkpoint.errors import ChangedFileError, NotAFileError
from tallystick.emit.checkpoint.formats import look_at
from tallystick.emit.checkpoint.reading import TornError, UntoldError, unreadable
from tallystick.emit.checkpoint.stated import stated_of
from tallystick.emit.checkpoint.steps import is_draft, step_in
from tallystick.emit.checkpoint.threads import run_all
from tallystick.emit.checkpoint.tree import read_tree, touched
from tallystick.emit.checkpoint.verdict import (
    COMPLETE,
    TORN,
    UNFINISHED,
    UNKNOWN,
    VALID,
    VERIFIED,
    Fault,
    Step,
    worst,
)

if TYPE_CHECKING:
    from pathlib import Path

    from tallystick.emit.checkpoint.hashing import OnBytes
    from tallystick.emit.checkpoint.ocdbt import Unzstd
    from tallystick.emit.checkpoint.stated import Stated
    from tallystick.emit.checkpoint.tree import Tree
    from tallystick.emit.checkpoint.verdict import Job, Look

BY_STRUCTURE = "by structure"
BY_BYTES = "by bytes"
_REASONS = {
    VERIFIED: "every byte is that of its manifest",
    COMPLETE: "it is whole as far as its format can tell",
}
_AS_STATED = "its files are as long as its manifest states; their bytes were not read"
_UNREAD = "its structure is whole; its bytes were not read"
_OPEN = "nothing says which files belong to it: it has no manifest"


class Checkpoint(NamedTuple):
    """What became of one checkpoint. Names in it are relative to the checkpoint."""

    name: str
    kind: str
    step: Step | None
    state: str
    reason: str
    file: str | None
    judged: str
    files: int
    total_bytes: int
    digests: tuple[str, ...]
    run: str | None
    attempt: str | None
    unchecked: tuple[str, ...]
    remarks: tuple[str, ...]

    @property
    def is_valid(self) -> bool:
        """Tell whether one can start from it."""
        return self.state in VALID


class Seen(NamedTuple):
    """A checkpoint whose structure is known, and what of it is still to be read."""

    tree: Tree
    look: Look
    stated: Stated | None
    step: Step | None
    faults: tuple[Fault, ...]
    jobs: tuple[Job, ...]
    remarks: tuple[str, ...]

    @property
    def unread_bytes(self) -> int:
        """Add up what is still to be read."""
        return sum(job.size for job in self.jobs)

    @property
    def may_be_valid(self) -> bool:
        """Tell whether reading it could still show that it is valid."""
        return not self.faults and (self.stated is not None or self.look.is_closed)


def see(path: Path, unzstd: Unzstd = None) -> Seen:
    """Look at the structure of a checkpoint; of its bytes only what describes others is read."""
    tree = read_tree(path)
    look = look_at(tree, unzstd)
    stated = stated_of(tree)
    drafts = [Fault(UNFINISHED, "has the name of something that is still being written")]
    faults = (
        *(drafts if is_draft(path.name) else ()),
        *tree.faults,
        *look.faults,
        *(stated.faults if stated else ()),
    )
    if not faults and not tree.files:
        faults = (Fault(TORN, "holds no file"),)
    covered = stated.covered if stated else frozenset()
    jobs = (
        *(stated.jobs if stated else ()),
        *(job for job in look.jobs if job.file not in covered),
    )
    steps = _steps(path.name, look, stated)
    remarks = (*tree.remarks, *look.remarks, *_remarks(steps, stated))
    return Seen(tree, look, stated, steps[0] if steps else None, faults, jobs, remarks)


def _steps(name: str, look: Look, stated: Stated | None) -> list[Step]:
    """Give what names the step, what is closest to the save first."""
    steps = []
    if stated and stated.manifest and stated.manifest.step is not None:
        steps.append(Step(stated.manifest.step, "manifest"))
    steps += look.steps
    by_name = step_in(name)
    return steps if by_name is None else [*steps, Step(by_name, "name")]


def _remarks(steps: list[Step], stated: Stated | None) -> list[str]:
    remarks = []
    if len({step.number for step in steps}) > 1:
        said = ", ".join(f"{step.number} by its {step.source}" for step in steps)
        remarks.append(f"its step is told in several ways: {said}")
    if stated and stated.uncovered:
        count, first = len(stated.uncovered), stated.uncovered[0]
        remarks.append(f"{count} of its files are in no manifest, {first!a:.120} first")
    return remarks


def judge(seen: Seen, on_bytes: OnBytes | None = None, threads: int | None = None) -> Checkpoint:
    """Judge a checkpoint by its structure, or with ``on_bytes`` by every byte of it."""
    faults = seen.faults
    unchecked = dict.fromkeys(seen.look.unchecked)
    is_read = on_bytes is not None and seen.may_be_valid
    if is_read and on_bytes is not None:
        found = run_all([partial(_do, job, on_bytes) for job in seen.jobs], threads)
        faults = tuple(each for each in found if isinstance(each, Fault))
        for each in found:
            if not isinstance(each, Fault):
                unchecked.update(dict.fromkeys(each))
    changed = touched(seen.tree)
    if changed is not None:
        reason = "changes while it is looked at: wait until the save is over"
        faults = (Fault(UNKNOWN, reason, changed),)
    state, reason, file = _verdict(seen, worst(faults), is_read=is_read)
    manifest = seen.stated.manifest if seen.stated else None
    if state == VERIFIED and seen.stated and not seen.stated.uncovered:
        unchecked = {}
    return Checkpoint(
        seen.tree.path.name,
        seen.look.kind,
        seen.step,
        state,
        reason,
        file,
        BY_BYTES if is_read else BY_STRUCTURE,
        len(seen.tree.files),
        seen.tree.total_bytes,
        seen.stated.digests if seen.stated else (),
        manifest.run if manifest else None,
        manifest.attempt if manifest else None,
        tuple(unchecked),
        seen.remarks,
    )


def _verdict(seen: Seen, fault: Fault | None, *, is_read: bool) -> tuple[str, str, str | None]:
    if fault is not None:
        return fault.state, fault.reason, fault.file
    if seen.stated is not None:
        return (VERIFIED, _REASONS[VERIFIED], None) if is_read else (COMPLETE, _AS_STATED, None)
    if seen.look.is_closed:
        return COMPLETE, _REASONS[COMPLETE] if is_read or not seen.jobs else _UNREAD, None
    return UNKNOWN, _OPEN, None


def _do(job: Job, on_bytes: OnBytes) -> Fault | tuple[str, ...]:
    """Read what a job is about; give what is wrong with it, or what could not be checked."""
    told = _Told(on_bytes)
    try:
        read = job.check(told)
    except TornError as error:
        return Fault(TORN, str(error), job.file)
    except ChangedFileError:
        return Fault(UNKNOWN, "changes while it is read: wait until the save is over", job.file)
    except (UntoldError, NotAFileError, OSError) as error:
        return Fault(UNKNOWN, unreadable(error), job.file)
    finally:
        on_bytes(job.size - told.count)
    return read.unchecked if read.wrong is None else Fault(TORN, read.wrong, job.file)


class _Told:
    """Passes on how many bytes were read, and counts them."""

    def __init__(self, on_bytes: OnBytes) -> None:
        self._on_bytes = on_bytes
        self.count = 0

    def __call__(self, count: int) -> None:
        self.count += count
        self._on_bytes(count)
