"""The tree head of a bundle: whose log it is, by the reader's own keys.

A log may have changed its key since the reader learned it. Each change is a leaf, signed by
the key before, so the reader follows those that begin at a key of their own.
"""

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from tallystick.core.keys import VerifyKey, public_key_text
from tallystick.evidence.leaf import LOG_PRODUCER
from tallystick.receipt.bundle.contents import BundleLeaf
from tallystick.receipt.bundle.errors import UntrustedHeadError
from tallystick.receipt.reader import LogPrefix
from tallystick.tree.errors import TreeError
from tallystick.tree.head import SignedHead, open_head, parse_head_text
from tallystick.tree.note import parse_note
from tallystick.tree.rotation import Rotation, follow_rotations
from tallystick.tree.spelling import base64_text

KIND: Final = "key.rotated"


def keys_of_log(leaves: Iterable[BundleLeaf], keys: Sequence[VerifyKey]) -> tuple[VerifyKey, ...]:
    """Give the keys of the reader, and their successors as the log names them.

    Raises:
        UntrustedHeadError: a change of a key of the reader does not hold.
    """
    known = {public_key_text(key) for key in keys}
    rotations = []
    for leaf in leaves:
        if leaf.record.producer == LOG_PRODUCER and leaf.record.kind == KIND:
            rotation = _read_rotation(leaf)
            if rotation.old in known:  # Of a key that the reader never trusted nothing follows.
                rotations.append(rotation)
                known.add(rotation.new)
    try:
        return follow_rotations(keys, rotations)
    except TreeError as error:
        raise UntrustedHeadError(str(error)) from error


def check_head(note: bytes, keys: Sequence[VerifyKey] | None, stated: LogPrefix) -> SignedHead:
    """Give the tree head, if it is signed and the one that the manifest states.

    Args:
        note: The signed note.
        keys: The keys of the log, as ``keys_of_log`` gives them; None is not to ask who signed.
        stated: What the manifest states.

    Raises:
        UntrustedHeadError: it is not.
    """
    try:
        signed = _unsigned(note) if keys is None else open_head(note, keys)
    except TreeError as error:
        raise UntrustedHeadError(str(error)) from error
    head = signed.head
    if LogPrefix(head.origin, head.size, base64_text(head.root)) != stated:
        raise UntrustedHeadError("expected origin, size and root that the manifest states")
    return signed


def _unsigned(note: bytes) -> SignedHead:
    parsed = parse_note(note)
    return SignedHead(parse_head_text(parsed.text), parsed, ())


def _read_rotation(leaf: BundleLeaf) -> Rotation:
    try:
        return msgspec.convert(leaf.record.body, Rotation)
    except msgspec.ValidationError as error:
        reason = ascii(str(error))[1:-1]
        raise UntrustedHeadError(f"key rotation in leaf {leaf.number}: {reason}") from error
