"""What a log sends to a witness: a new head, and that it goes on from an old one.

The form is the body of the add-checkpoint request of C2SP tlog-witness v1.0.0, so it may be
a file that is handed over as well as a request: the old size, a consistency proof, an empty
line and the head, verbatim.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from tallystick.core.keys import VerifyKey
from tallystick.tree.errors import (
    ConsistencyError,
    MalformedUpdateError,
    OlderHeadError,
    OversizedTextError,
    SplitViewError,
    UnprovenHeadError,
)
from tallystick.tree.head import SignedHead, TreeHead, open_head
from tallystick.tree.merkle import HASH_BYTES, TREE_SIZE_MAX, check_consistency
from tallystick.tree.note import NOTE_BYTES_MAX
from tallystick.tree.spelling import base64_text, parse_base64, parse_decimal

UPDATE_BYTES_MAX: Final = 2 * NOTE_BYTES_MAX
PATH_HASHES_MAX: Final = 63

_OLD: Final = "old "


@dataclass(frozen=True, slots=True)
class HeadUpdate:
    """A head, and the consistency proof from the tree of ``old_size`` leaves to it."""

    old_size: int
    path: tuple[bytes, ...]
    head: bytes


def update_bytes(update: HeadUpdate) -> bytes:
    """Write an update.

    Raises:
        MalformedUpdateError: its parts cannot be written so that they read back.
    """
    lines = [f"{_OLD}{update.old_size}", *map(base64_text, update.path)]
    data = "\n".join(lines).encode() + b"\n\n" + update.head
    if parse_update(data) != update:
        raise MalformedUpdateError("its parts cannot be told apart")
    return data


def parse_update(data: bytes) -> HeadUpdate:
    """Read an update; nothing in it may be used before it is checked.

    Raises:
        OversizedTextError: there are more than ``UPDATE_BYTES_MAX`` bytes.
        MalformedUpdateError: they are not exactly in the form of an update.
    """
    if len(data) > UPDATE_BYTES_MAX:
        raise OversizedTextError("update", UPDATE_BYTES_MAX)
    before, separator, head = data.partition(b"\n\n")
    if not separator or not before.isascii():
        raise MalformedUpdateError("expected ASCII lines, an empty line and a tree head")
    first, *lines = before.decode().split("\n")
    old_size = parse_decimal(first.removeprefix(_OLD)) if first.startswith(_OLD) else None
    if old_size is None or old_size > TREE_SIZE_MAX:
        raise MalformedUpdateError("expected a first line 'old SIZE'")
    path = [parse_base64(line) for line in lines]
    if len(path) > PATH_HASHES_MAX or any(each is None or len(each) != HASH_BYTES for each in path):
        raise MalformedUpdateError(f"expected at most {PATH_HASHES_MAX} hashes in base64")
    return HeadUpdate(old_size, tuple(each for each in path if each is not None), head)


def check_update(
    update: HeadUpdate, known: TreeHead | None, keys: Sequence[VerifyKey]
) -> SignedHead:
    """Check that a log signed the new head, and that it goes on from the one that is known.

    Args:
        update: As parsed.
        known: The last head that was seen of this log; None if there was none.
        keys: The log's own, as the reader trusts them.

    Raises:
        SplitViewError: the new head contradicts the known one.
        UnprovenHeadError: nothing shows that it goes on from the known one.
        OlderHeadError: it is of fewer records.
        MalformedUpdateError: it goes on from another head than the known one.
        TreeError: the head is not to be trusted, or the proof makes no sense.
    """
    signed = open_head(update.head, keys)
    check_extends(known, signed.head, update.old_size, update.path)
    return signed


def check_extends(
    known: TreeHead | None, new: TreeHead, old_size: int, path: Sequence[bytes]
) -> None:
    """Check that a verified head goes on from another verified head of the same log.

    Two heads of one size are proof against the log. A proof that fails is none: anybody may
    have written it.

    Raises:
        SplitViewError: they are of one size and differ: the log told two stories.
        OlderHeadError: the new one is of fewer records.
        UnprovenHeadError: the proof does not lead from the one to the other.
        MalformedUpdateError: the proof is from another size, or the log's name differs.
    """
    if known is None:
        return
    if known.origin != new.origin:
        raise MalformedUpdateError(f"expected a head of {known.origin}, got one of {new.origin}")
    if known.size == new.size:
        if known.root != new.root:
            raise SplitViewError(known.size)
        return
    if new.size < known.size:
        raise OlderHeadError(known.size, new.size)
    if old_size != known.size:
        raise MalformedUpdateError(f"expected a proof from size {known.size}, got {old_size}")
    try:
        check_consistency(known.size, known.root, new.size, new.root, path)
    except ConsistencyError as error:
        raise UnprovenHeadError(known.size, new.size) from error
