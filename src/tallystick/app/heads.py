"""Heads and proofs of a store's log, for others to check."""

from collections.abc import Sequence

from tallystick.app.errors import UnknownHeadSizeError
from tallystick.app.files import read_file
from tallystick.app.keys import load_verify_keys
from tallystick.app.store import OpenStore
from tallystick.core.canonical import sha256_digest
from tallystick.stores.issued_head import HEAD_BYTES_MAX
from tallystick.stores.protocol import Reading
from tallystick.stores.signing import check_contains
from tallystick.stores.tiles import subtree_reader
from tallystick.tree.head import TreeHead, open_head
from tallystick.tree.merkle import consistency_path, inclusion_path
from tallystick.tree.note import Note, note_bytes, parse_note
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

    Witnesses that cosigned this very head are on the note.

    Raises:
        TallystickError: the log may not be signed, see ``stores.signing``.
    """
    signed = open_head(store.issue_head(), store.folder.verify_keys())
    with store.log.reading() as log:
        return signed.head, note_bytes(_with_cosignatures(log, signed.note))


def keep_cosigned(store: OpenStore, path: str) -> tuple[TreeHead, tuple[str, ...]]:
    """Keep a head of this log that witnesses cosigned; gives it and who signed beside the log.

    Raises:
        UnreadableFileError: the file cannot be read.
        TreeError: it is no head that this log signed.
        StoreForkedError: it is not of this log, though its key signed it.
    """
    note = read_file(path, bytes_max=HEAD_BYTES_MAX)
    signed = open_head(note, store.folder.verify_keys())
    others = tuple(
        each.keyid for each in signed.note.signatures if each.keyid not in signed.signers
    )
    with store.log.writing() as log:
        check_contains(log, signed.head)
        name = f"{signed.head.size}/{sha256_digest(note)}"
        log.put("head", name, note)
    return signed.head, others


def _with_cosignatures(log: Reading, note: Note) -> Note:
    """Add the signatures that are kept of the same head; the log's own come first."""
    signatures = dict.fromkeys(note.signatures)
    for document in log.documents("head"):
        kept = parse_note(document.data)
        if kept.text == note.text:
            signatures |= dict.fromkeys(kept.signatures)
    return Note(note.text, tuple(signatures))


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
