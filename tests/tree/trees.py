"""Trees for tests: small logs, their keys, and RFC 6962 word for word as a reference."""

import hashlib
from collections.abc import Sequence

from tallystick.core.keys import SigningKey
from tallystick.tree.head import TreeHead, sign_head
from tallystick.tree.merkle import (
    SubtreeHash,
    inclusion_path,
    leaf_hash,
    root_of,
    subtrees_of,
)
from tallystick.tree.proof import TlogProof

LOG = SigningKey("log.example/acme", bytes(range(32)))
NEXT = SigningKey("log.example/acme", bytes(range(1, 33)))
OTHER = SigningKey("other.example", bytes(range(2, 34)))
WITNESS = SigningKey("witness.example/w1", bytes(range(3, 35)))


def entries(size: int) -> list[bytes]:
    """Give the entries of a log of that size, each different."""
    return [b"entry %d" % index for index in range(size)]


def leaves(size: int) -> list[bytes]:
    """Give their leaf hashes."""
    return [leaf_hash(entry) for entry in entries(size)]


def tree(size: int) -> SubtreeHash:
    """Give their tree, as a store would read it."""
    return subtrees_of(leaves(size))


def head_of(size: int) -> TreeHead:
    """Give the head of that log."""
    return TreeHead(LOG.name, size, root_of(leaves(size)))


def proof_of(index: int, size: int) -> TlogProof:
    """Give the proof of one entry of that log, under a head that the log signed."""
    path = inclusion_path(index, size, tree(size))
    return TlogProof(index, path, sign_head(head_of(size), [LOG]))


def mth(data: Sequence[bytes]) -> bytes:
    """Hash a list of entries, as RFC 6962 section 2.1 defines it."""
    if not data:
        return hashlib.sha256(b"").digest()
    if len(data) == 1:
        return hashlib.sha256(b"\x00" + data[0]).digest()
    k = _k(len(data))
    return hashlib.sha256(b"\x01" + mth(data[:k]) + mth(data[k:])).digest()


def path(m: int, data: Sequence[bytes]) -> list[bytes]:
    """Give the audit path of entry m, as section 2.1.1 defines it."""
    if len(data) == 1:
        return []
    k = _k(len(data))
    if m < k:
        return [*path(m, data[:k]), mth(data[k:])]
    return [*path(m - k, data[k:]), mth(data[:k])]


def proof(m: int, data: Sequence[bytes]) -> list[bytes]:
    """Give the consistency proof for the first m entries, as section 2.1.2 defines it."""
    return _subproof(m, data, whole=True)


def _subproof(m: int, data: Sequence[bytes], *, whole: bool) -> list[bytes]:
    n = len(data)
    if m == n:
        return [] if whole else [mth(data)]
    k = _k(n)
    if m <= k:
        return [*_subproof(m, data[:k], whole=whole), mth(data[k:])]
    return [*_subproof(m - k, data[k:], whole=False), mth(data[:k])]


def _k(n: int) -> int:
    k = 1
    while k * 2 < n:
        k *= 2
    return k
