"""Making a bundle: from a receipt, the head of a log and leaves of it, to the bytes of a file.

Nothing is looked up and nothing is left to chance: the same parts and keys give the same
bytes. Whoever makes one should verify it before giving it away, as ``verify_bundle`` does.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tallystick.core.keys import SigningKey
from tallystick.evidence.admission import Withheld
from tallystick.receipt.bundle.container import write_container
from tallystick.receipt.bundle.contents import (
    LeafProof,
    read_leaves,
    write_consistency,
    write_leaves,
    write_proof,
)
from tallystick.receipt.bundle.errors import ForeignReceiptError
from tallystick.receipt.bundle.issue import find_issue, read_issues
from tallystick.receipt.bundle.manifest import (
    SCHEMA,
    Manifest,
    list_members,
    list_withheld,
    sign_manifest,
)
from tallystick.receipt.bundle.names import (
    CONSISTENCY,
    HEAD,
    ISSUE_PROOF,
    LEAVES,
    MANIFEST,
    PROOF,
    RECEIPT,
    segment_name,
)
from tallystick.receipt.reader import LogPrefix
from tallystick.receipt.statement import Statement
from tallystick.receipt.verify import open_receipt
from tallystick.tree.head import TreeHead, parse_head_text
from tallystick.tree.merkle import leaf_hash
from tallystick.tree.note import parse_note
from tallystick.tree.proof import TlogProof, proof_bytes
from tallystick.tree.selection import paths_from_selection
from tallystick.tree.spelling import base64_text


@dataclass(frozen=True, slots=True)
class BundleParts:
    """All that a bundle is made of.

    Args:
        receipt: The envelope of the receipt.
        head: The signed note of a tree head, of the size that the receipt states or a later one.
        leaves: Number and bytes of each leaf, in order, as ``leaves_of_run`` chooses them.
        proof: The hashes that prove them in the tree of the head (``selection_proof``).
        consistency: What shows that the head goes on from the size that the receipt states
            (``consistency_path``); empty if it is of that size.
        withheld: The numbers of records that are left out.
        segments: The telemetry that goes with it, by SHA-256 in hexadecimal.
    """

    receipt: bytes
    head: bytes
    leaves: Sequence[tuple[int, bytes]]
    proof: Sequence[bytes]
    consistency: Sequence[bytes] = ()
    withheld: Sequence[Withheld] = ()
    segments: Mapping[str, bytes] = field(default_factory=dict)


def make_bundle(parts: BundleParts, keys: Sequence[SigningKey]) -> bytes:
    """Make a bundle, signed by one key or several.

    If one of the leaves says that the receipt was issued, its proof file is a member as well.

    Raises:
        VerificationError: the receipt does not hold, a leaf is none, or it is all too large.
        TreeError: the head is none, or the hashes prove something else.
    """
    statement = open_receipt(parts.receipt)
    head = parse_head_text(parse_note(parts.head).text)
    if statement.receipt.log is None:
        raise ForeignReceiptError("expected a receipt from a log, got one from files")
    proof = LeafProof(tuple(number for number, _ in parts.leaves), tuple(parts.proof))
    leaves = write_leaves(leaf for _, leaf in parts.leaves)
    members = {
        RECEIPT: parts.receipt,
        HEAD: parts.head,
        LEAVES: leaves,
        PROOF: write_proof(proof),
    }
    members |= {segment_name(sha256): data for sha256, data in parts.segments.items()}
    if statement.receipt.log.size != head.size:
        members[CONSISTENCY] = write_consistency(parts.consistency)
    issue_proof = _issue_proof(parts, statement, head)
    if issue_proof is not None:
        members[ISSUE_PROOF] = issue_proof
    manifest = Manifest(
        schema=SCHEMA,
        run=statement.receipt.run.id,
        receipt=statement.payload_digest,
        log=LogPrefix(head.origin, head.size, base64_text(head.root)),
        members=list_members(members),
        withheld=list_withheld(parts.withheld),
    )
    return write_container({MANIFEST: sign_manifest(manifest, keys), **members})


def _issue_proof(parts: BundleParts, statement: Statement, head: TreeHead) -> bytes | None:
    """Write the proof file of the leaf that says that the receipt was issued, if one does."""
    numbers = [number for number, _ in parts.leaves]
    leaves = read_leaves(write_leaves(leaf for _, leaf in parts.leaves), numbers)
    issue = find_issue(read_issues(leaves, statement.receipt.run.id), statement)
    if issue is None:
        return None
    hashed = [(leaf.number, leaf_hash(leaf.data)) for leaf in leaves]
    (path,) = paths_from_selection([issue.number], hashed, head.size, parts.proof)
    return proof_bytes(TlogProof(issue.number, path, parts.head))
