"""The last valid checkpoint of a folder, from what is there and nothing else.

Every candidate's structure is looked at. Then bytes are read from the newest on, until one is
valid: only what is newer than the last valid one must be proven bad. Who wants to know of every
byte of every checkpoint asks for it.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Callable, NamedTuple

from tallystick.emit.checkpoint.candidates import candidates
from tallystick.emit.checkpoint.hashing import silent
from tallystick.emit.checkpoint.judge import Checkpoint, judge, see
from tallystick.emit.checkpoint.pointers import read_pointer
from tallystick.emit.checkpoint.threads import run_all
from tallystick.emit.checkpoint.verdict import VERIFIED

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tallystick.emit.checkpoint.hashing import OnBytes
    from tallystick.emit.checkpoint.judge import Seen
    from tallystick.emit.checkpoint.ocdbt import Unzstd
    from tallystick.emit.checkpoint.pointers import Claim, Pointer

NEWEST, EVERYTHING, STRUCTURE = "newest", "everything", "structure"


class Watch(NamedTuple):
    """Who is told how far the work is, from any thread."""

    looked_at: Callable[[int], None] = silent
    to_read: Callable[[int], None] = silent
    read: OnBytes = silent


class Said(NamedTuple):
    """What a pointer claims, and what is wrong with that; None if it holds."""

    name: str
    claims: tuple[str, ...]
    problem: str | None


class Survey(NamedTuple):
    """What a folder of checkpoints comes to.

    Attributes:
        checkpoints: The newest first; those whose step nobody knows come last.
        last: The last valid one; None if none is valid, or which is the last cannot be told.
        pointers: What claims to know it.
        others: Names of what is neither.
    """

    checkpoints: tuple[Checkpoint, ...]
    last: Checkpoint | None
    pointers: tuple[Said, ...]
    others: tuple[str, ...]

    @property
    def valid(self) -> tuple[Checkpoint, ...]:
        """Give all from which one can start."""
        return tuple(each for each in self.checkpoints if each.is_valid)

    @property
    def newer(self) -> tuple[Checkpoint, ...]:
        """Give those that are newer than the last valid one, so none is valid."""
        if self.last is None or self.last.step is None:
            return ()
        last = self.last.step.number
        return tuple(each for each in self.checkpoints if each.step and each.step.number > last)


def survey(
    path: Path,
    *,
    read: str = NEWEST,
    threads: int | None = None,
    unzstd: Unzstd = None,
    watch: Watch | None = None,
) -> Survey:
    """Find the last valid checkpoint.

    Args:
        path: A checkpoint, or a folder of checkpoints.
        read: ``newest`` to read bytes up to the last valid one, ``everything``, or ``structure``
            for no bytes but those that describe others.
        threads: How much is done at once, None for as many as there are processors.
        unzstd: Inflates Zstandard, for Orbax.
        watch: Is told how far it is.

    Raises:
        OSError: the folder is not there, or cannot be read.
    """
    watch = watch or Watch()
    found = candidates(path)
    seen = run_all([partial(_see, each, unzstd, watch) for each in found.checkpoints], threads)
    seen.sort(key=_newest_first)
    checkpoints = tuple(_judged(seen, read, threads, watch))
    last = _last(checkpoints)
    pointers = (read_pointer(each) for each in found.pointers)
    said = tuple(_said(each, checkpoints, last) for each in pointers if each is not None)
    return Survey(checkpoints, last, said, found.others)


def _see(path: Path, unzstd: Unzstd, watch: Watch) -> Seen:
    seen = see(path, unzstd)
    watch.looked_at(1)
    return seen


def _newest_first(seen: Seen) -> tuple[bool, int, str]:
    step = seen.step
    return step is None, -step.number if step else 0, seen.tree.path.name


def _judged(seen: Sequence[Seen], read: str, threads: int | None, watch: Watch) -> list[Checkpoint]:
    """Judge every checkpoint, and read no more bytes than were asked for."""
    judged = []
    is_found = False
    for each in seen:
        # One without a step cannot be the last if one with a step is valid.
        wanted = read == EVERYTHING or (read == NEWEST and not is_found)
        if wanted and each.may_be_valid:
            watch.to_read(each.unread_bytes)
            made = judge(each, watch.read, threads)
        else:
            made = judge(each)
        is_found = is_found or (made.is_valid and made.step is not None)
        judged.append(made)
    return judged


def _last(checkpoints: tuple[Checkpoint, ...]) -> Checkpoint | None:
    """Give the valid one of the highest step; without steps there must be only one."""
    valid = [each for each in checkpoints if each.is_valid]
    stepped = [(each.step.number, each.state == VERIFIED, each) for each in valid if each.step]
    if stepped:
        return max(stepped, key=lambda each: each[:2])[2]
    return valid[0] if len(valid) == 1 else None


def _said(pointer: Pointer, checkpoints: tuple[Checkpoint, ...], last: Checkpoint | None) -> Said:
    """Compare what a pointer claims with what is there."""
    texts = tuple(claim.text for claim in pointer.claims)
    if pointer.problem is not None:
        return Said(pointer.name, texts, pointer.problem)
    targets = [(claim, _target(claim, checkpoints)) for claim in pointer.claims]
    for claim, target in targets:
        if target is None:
            return Said(pointer.name, texts, f"{claim.text!a:.120} is no checkpoint here")
        if not target.is_valid:
            return Said(pointer.name, texts, f"{target.name!a:.120} is {target.state}")
    steps = [target.step.number for _, target in targets if target is not None and target.step]
    if last is not None and last.step and steps and max(steps) < last.step.number:
        problem = f"it is older than the last valid one, {last.name!a:.120}"
        return Said(pointer.name, texts, problem)
    return Said(pointer.name, texts, None)


def _target(claim: Claim, checkpoints: tuple[Checkpoint, ...]) -> Checkpoint | None:
    """Find what is claimed, by its name or else by its step."""
    for each in checkpoints:
        if each.name == claim.name:
            return each
    for each in checkpoints:
        if claim.step is not None and each.step and each.step.number == claim.step:
            return each
    return None
