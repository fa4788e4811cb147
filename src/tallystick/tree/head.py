"""Tree heads: the log at one size, signed by it (C2SP tlog-checkpoint v1.0.0).

The text is three lines: origin, size, root in base64. Whose log it is follows from the
reader's own key, whose name is the origin, never from the head alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from tallystick.core.keys import SigningKey, VerifyKey
from tallystick.tree.errors import MalformedHeadError, WrongOriginError
from tallystick.tree.merkle import EMPTY_ROOT, HASH_BYTES, TREE_SIZE_MAX
from tallystick.tree.note import Note, parse_note, sign_note, verify_note
from tallystick.tree.spelling import base64_text, parse_base64, parse_decimal


@dataclass(frozen=True, slots=True)
class TreeHead:
    """The log at one size: whose it is, how many leaves it has, and the root over them."""

    origin: str
    size: int
    root: bytes


@dataclass(frozen=True, slots=True)
class SignedHead:
    """A tree head, the note that it was read from, and the trusted keys that signed it."""

    head: TreeHead
    note: Note
    signers: tuple[str, ...]


def head_text(head: TreeHead) -> str:
    """Write the text of a tree head.

    Raises:
        MalformedHeadError: it cannot be written so that it reads back.
    """
    text = f"{head.origin}\n{head.size}\n{base64_text(head.root)}\n"
    if parse_head_text(text) != head:
        raise MalformedHeadError("its parts cannot be told apart")
    return text


def parse_head_text(text: str) -> TreeHead:
    """Read the text of a tree head; lines after the third are allowed and mean nothing.

    Raises:
        MalformedHeadError: it is not one.
    """
    lines = text.split("\n")
    if len(lines) < 4 or lines.pop() or not all(lines):
        raise MalformedHeadError("expected three lines or more, none empty, each with its end")
    origin, size_text, root_text = lines[:3]
    size = parse_decimal(size_text)
    if size is None or size > TREE_SIZE_MAX:
        raise MalformedHeadError("expected a decimal size without leading zeros")
    root = parse_base64(root_text)
    if root is None or len(root) != HASH_BYTES:
        raise MalformedHeadError("expected a root of 32 bytes in base64")
    if size == 0 and root != EMPTY_ROOT:
        raise MalformedHeadError("expected the root of an empty tree")
    return TreeHead(origin, size, root)


def sign_head(head: TreeHead, keys: Sequence[SigningKey]) -> bytes:
    """Write a tree head, signed by the log's own key and any others.

    Raises:
        WrongOriginError: no key has the origin as its name.
        MalformedHeadError: the head cannot be written.
    """
    if head.origin not in {key.name for key in keys}:
        raise WrongOriginError(head.origin, tuple(key.verify_key.keyid for key in keys))
    return sign_note(head_text(head), keys)


def open_head(data: bytes, keys: Sequence[VerifyKey]) -> SignedHead:
    """Verify a tree head and give what it states.

    Args:
        data: The signed note.
        keys: Those that the reader trusts, each named after its log.

    Raises:
        WrongOriginError: no key that signed has the origin as its name.
        TreeError: it is malformed, or no trusted key signed, or a signature does not hold.
    """
    return verify_head(parse_note(data), keys)


def verify_head(note: Note, keys: Sequence[VerifyKey]) -> SignedHead:
    """Verify a tree head that is parsed as a note already; raises as ``open_head`` does."""
    signers = verify_note(note, keys)
    head = parse_head_text(note.text)
    if head.origin not in {key.name for key in keys if key.keyid in signers}:
        raise WrongOriginError(head.origin, signers)
    return SignedHead(head, note, signers)
