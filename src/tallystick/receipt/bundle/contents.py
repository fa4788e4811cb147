"""The members of a bundle that are about the log: its leaves, and the proofs of them."""

from collections.abc import Iterable, Sequence
from typing import Annotated, NamedTuple

import msgspec
from msgspec import Meta, Struct

from tallystick.core.canonical import INTEGER_MAX, canonical_bytes
from tallystick.core.errors import BadInstantError
from tallystick.core.instant import parse_instant
from tallystick.evidence.codec import RefusedLineError, read_line
from tallystick.evidence.leaf import BadLeafError, leaf_record, leaf_recorded
from tallystick.evidence.record import Record
from tallystick.receipt.bundle.errors import MalformedMemberError
from tallystick.receipt.bundle.exact import NotExactError, read_exact
from tallystick.receipt.bundle.names import CONSISTENCY, LEAVES, PROOF
from tallystick.tree.merkle import HASH_BYTES
from tallystick.tree.spelling import base64_text, parse_base64


class LeafProof(NamedTuple):
    """The numbers of some leaves, and the hashes that prove them all at once."""

    indices: tuple[int, ...]
    hashes: tuple[bytes, ...]


class BundleLeaf(NamedTuple):
    """A leaf, its number in the log, and what it says."""

    number: int
    data: bytes
    record: Record


class _Proof(Struct, frozen=True):
    indices: tuple[Annotated[int, Meta(ge=0, le=INTEGER_MAX)], ...]
    hashes: tuple[str, ...]


class _Consistency(Struct, frozen=True):
    hashes: tuple[str, ...]


def write_leaves(leaves: Iterable[bytes]) -> bytes:
    """Write leaves, each with a line end."""
    return b"".join(b"%b\n" % leaf for leaf in leaves)


def read_leaves(data: bytes, indices: Sequence[int]) -> tuple[BundleLeaf, ...]:
    """Read leaves, of which each has its number.

    Raises:
        MalformedMemberError: one is not a leaf in canonical bytes, or there are more or fewer.
    """
    *lines, rest = data.split(b"\n")
    if rest or len(lines) != len(indices):
        found = f"{len(lines)} and {len(rest)} bytes more" if rest else str(len(lines))
        raise MalformedMemberError(LEAVES, f"expected {len(indices)} lines, got {found}")
    return tuple(
        BundleLeaf(number, line, _read_record(number, line))
        for number, line in zip(indices, lines, strict=True)
    )


def leaves_before(leaves: Sequence[BundleLeaf], size: int) -> tuple[BundleLeaf, ...]:
    """Give the leaves that the log had when it was of some size."""
    return tuple(leaf for leaf in leaves if leaf.number < size)


def write_proof(proof: LeafProof) -> bytes:
    """Write the proof of some leaves."""
    return canonical_bytes(_Proof(proof.indices, tuple(map(base64_text, proof.hashes))))


def read_proof(data: bytes) -> LeafProof:
    """Read the proof of some leaves.

    Raises:
        MalformedMemberError: it is not the one spelling of one.
    """
    try:
        proof = read_exact(data, _Proof)
    except NotExactError as error:
        raise MalformedMemberError(PROOF, str(error)) from error
    return LeafProof(proof.indices, _hashes(proof.hashes, PROOF))


def write_consistency(path: Sequence[bytes]) -> bytes:
    """Write what shows that the log of the bundle begins with that of the receipt."""
    return canonical_bytes(_Consistency(tuple(map(base64_text, path))))


def read_consistency(data: bytes | None) -> tuple[bytes, ...] | None:
    """Read what shows that the log of the bundle begins with that of the receipt, if it is there.

    Raises:
        MalformedMemberError: it is not the one spelling of that.
    """
    if data is None:
        return None
    try:
        proof = read_exact(data, _Consistency)
    except NotExactError as error:
        raise MalformedMemberError(CONSISTENCY, str(error)) from error
    return _hashes(proof.hashes, CONSISTENCY)


def _read_record(number: int, leaf: bytes) -> Record:
    """Read the record of a leaf whose every byte must be the one that a log would write."""
    try:
        line = leaf_record(leaf)
        parse_instant(leaf_recorded(leaf))
        record = read_line(line)
    except (BadLeafError, BadInstantError, UnicodeDecodeError) as error:
        raise MalformedMemberError(LEAVES, f"leaf {number}: {error}") from error
    except RefusedLineError as error:
        raise MalformedMemberError(LEAVES, f"leaf {number}: {error.message}") from error
    if canonical_bytes(msgspec.json.decode(line)) != line:
        raise MalformedMemberError(LEAVES, f"leaf {number}: expected canonical bytes")
    return record


def _hashes(texts: Sequence[str], name: str) -> tuple[bytes, ...]:
    hashes = tuple(map(parse_base64, texts))
    known = tuple(each for each in hashes if each is not None and len(each) == HASH_BYTES)
    if len(known) != len(hashes):
        raise MalformedMemberError(name, "expected hashes of 32 bytes in base64")
    return known
