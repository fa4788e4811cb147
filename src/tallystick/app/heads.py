"""Heads and proofs of a store's log, for others to check."""

from collections.abc import Sequence

from tallystick.app.errors import UnknownHeadSizeError
from tallystick.app.files import read_file
from tallystick.app.keys import load_verify_keys
from tallystick.app.store import OpenStore
from tallystick.stores.tiles import subtree_reader
from tallystick.tree.head import TreeHead, open_head
from tallystick.tree.merkle import consistency_path, inclusion_path
from tallystick.tree.proof import (
    PROOF_BYTES_MAX,
    TlogProof,
    parse_proof,
    proof_bytes,
    verify_proof,
)
from tallystick.tree.update import HeadUpdate, update_bytes


def signed_head(store: OpenStore) -> tuple[TreeHead, bytes]:
    """Sign the head of all that is in the log, and give it with its note.

    Raises:
        TallystickError: the log may not be signed, see ``stores.signing``.
    """
    note = store.issue_head()
    return open_head(note, store.folder.verify_keys()).head, note


def head_update(store: OpenStore, old_size: int) -> bytes:
    """Sign the head, and prove that it goes on from that of an earlier size.

    Raises:
        UnknownHeadSizeError: the log is not that large.
        TallystickError: the log may not be signed.
    """
    head, note = signed_head(store)
    if not 0 <= old_size <= head.size:
        raise UnknownHeadSizeError(old_size, head.size)
    with store.log.reading() as log:
        path = consistency_path(old_size, head.size, subtree_reader(log))
    return update_bytes(HeadUpdate(old_size, path, note))


def leaf_proof(store: OpenStore, index: int) -> tuple[bytes, bytes]:
    """Give a leaf, and the proof file that it is in the log.

    Raises:
        LeafIndexError: there is no such leaf.
        TallystickError: the log may not be signed.
    """
    head, note = signed_head(store)
    with store.log.reading() as log:
        path = inclusion_path(index, head.size, subtree_reader(log))
        leaf = next(log.leaves(index, index + 1))
    return leaf, proof_bytes(TlogProof(index, path, note))


def verify_leaf_proof(proof: str, leaf: str, keys: Sequence[str]) -> tuple[int, TreeHead]:
    """Verify a proof file against a leaf and the log's keys; gives its place and the head.

    Raises:
        TreeError: the proof does not hold, or the head is not to be trusted.
        TallystickError: a file cannot be read.
    """
    parsed = parse_proof(read_file(proof, bytes_max=PROOF_BYTES_MAX + 1))
    head = verify_proof(parsed, read_file(leaf), load_verify_keys(keys)).head
    return parsed.index, head
