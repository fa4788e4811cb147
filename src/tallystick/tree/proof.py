"""Proof files: that an entry is in a log, checked offline (C2SP tlog-proof v1).

A proof is an index, an audit path and a tree head, verbatim. Its extra data is signed by
nobody. Size and root are read from the verified head only.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from tallystick.core.keys import VerifyKey
from tallystick.tree.errors import MalformedProofError, OversizedTextError
from tallystick.tree.head import SignedHead, open_head
from tallystick.tree.merkle import HASH_BYTES, TREE_SIZE_MAX, check_inclusion, leaf_hash
from tallystick.tree.note import NOTE_BYTES_MAX
from tallystick.tree.spelling import base64_text, parse_base64, parse_decimal

PROOF_BYTES_MAX = 2 * NOTE_BYTES_MAX
PATH_HASHES_MAX = 63

_FIRST_LINE: Final = "c2sp.org/tlog-proof@v1"
_EXTRA: Final = "extra "
_INDEX: Final = "index "


@dataclass(frozen=True, slots=True)
class TlogProof:
    """The place of an entry in a log, its audit path, and the tree head that it leads to.

    Args:
        index: Of the entry, from 0.
        path: Hashes from the sibling of the leaf upwards.
        head: The signed note of the tree head, verbatim.
        extra: Data of the application; not authenticated.
    """

    index: int
    path: tuple[bytes, ...]
    head: bytes
    extra: bytes = field(default=b"")


def proof_bytes(proof: TlogProof) -> bytes:
    """Write a proof file.

    Raises:
        MalformedProofError: its parts cannot be written so that they read back.
        OversizedTextError: it has more than ``PROOF_BYTES_MAX`` bytes.
    """
    lines = [_FIRST_LINE]
    if proof.extra:
        lines.append(_EXTRA + base64_text(proof.extra))
    lines.append(f"{_INDEX}{proof.index}")
    lines += [base64_text(each) for each in proof.path]
    data = "\n".join(lines).encode() + b"\n\n" + proof.head
    if parse_proof(data) != proof:
        raise MalformedProofError("its parts cannot be told apart")
    return data


def parse_proof(data: bytes) -> TlogProof:
    """Read a proof file; nothing in it may be used before it is verified.

    Raises:
        OversizedTextError: there are more than ``PROOF_BYTES_MAX`` bytes.
        MalformedProofError: they are not exactly in the form of a proof.
    """
    if len(data) > PROOF_BYTES_MAX:
        raise OversizedTextError("proof", PROOF_BYTES_MAX)
    before, separator, head = data.partition(b"\n\n")
    if not separator or not before.isascii():
        raise MalformedProofError("expected ASCII lines, an empty line and a tree head")
    first, *lines = before.decode().split("\n")
    if first != _FIRST_LINE:
        raise MalformedProofError(f"expected a first line '{_FIRST_LINE}'")
    extra = b""
    if lines and lines[0].startswith(_EXTRA):
        extra = _extra(lines.pop(0))
    if not lines:
        raise MalformedProofError("expected an index")
    index = _index(lines.pop(0))
    if len(lines) > PATH_HASHES_MAX:
        raise MalformedProofError(f"expected at most {PATH_HASHES_MAX} hashes, got {len(lines)}")
    return TlogProof(index, tuple(_hash(line) for line in lines), head, extra)


def verify_proof(proof: TlogProof, leaf: bytes, keys: Sequence[VerifyKey]) -> SignedHead:
    """Verify that an entry is in the log at the index of the proof, and give the tree head.

    Args:
        proof: The proof, as parsed.
        leaf: The bytes of the entry.
        keys: Those that the reader trusts, each named after its log.

    Raises:
        InclusionError: the proof is not of this entry at this index.
        TreeError: the head is not to be trusted, or the proof makes no sense.
    """
    signed = open_head(proof.head, keys)
    head = signed.head
    check_inclusion(leaf_hash(leaf), proof.index, head.size, proof.path, head.root)
    return signed


def _extra(line: str) -> bytes:
    extra = parse_base64(line.removeprefix(_EXTRA))
    if not extra:
        raise MalformedProofError("expected extra data in base64, or no such line")
    return extra


def _index(line: str) -> int:
    index = parse_decimal(line.removeprefix(_INDEX)) if line.startswith(_INDEX) else None
    if index is None or index >= TREE_SIZE_MAX:
        raise MalformedProofError("expected 'index' and a decimal number without leading zeros")
    return index


def _hash(line: str) -> bytes:
    value = parse_base64(line)
    if value is None or len(value) != HASH_BYTES:
        raise MalformedProofError("expected hashes of 32 bytes in base64")
    return value
