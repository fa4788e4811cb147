"""Verifying a bundle: one list of steps, in one order, that fails closed.

The steps, each with the error that its failure raises:

0. At least one key is given (``no_keys``), and no two different keys share a name and an id
   (``ambiguous_key``).
1. The file is within the limits (``bundle_too_large``) and a zip whose every byte follows from
   its members (``bad_container``).
2. ``manifest.json`` is a DSSE envelope of the bundle's payload type, in canonical bytes
   (``bad_manifest``).
3. A signature of it names a known key (``no_known_bundler``), and each that does so holds
   (``bad_bundle_signature``).
4. Its schema is known (``unknown_bundle_version``), and it is canonical bytes of its own
   fields, each in its form (``bad_manifest_payload``).
5. Every member that it lists is there, and what every bundle has (``bundle_member_missing``);
   no other is (``bundle_member_not_listed``); each has its size and SHA-256
   (``bundle_member_altered``).
6. Leaves and hashes are in their form: each leaf is a record that can be admitted and a time,
   in canonical bytes (``bad_bundle_member``).
7. The tree head is a signed note of its log, by a key of the reader or one that
   ``key.rotated`` leaves lead to from there, and is the manifest's (``bundle_head_refused``).
8. Leaves, numbers and hashes give the root of that head (``bundle_leaves_not_in_log``).
9. The receipt passes ``verify_receipt``, and has the manifest's run and payload digest
   (``bundle_receipt_refused``).
10. The receipt states a log of this origin, and the tree head goes on from it
    (``bundle_receipt_not_of_log``).
11. The contract versions that the receipt names are published in the leaves that it was
    computed from, each with its digest (``bundle_contract_refused``).
12. Each segment has the SHA-256 that its name says, and such a leaf names it
    (``bundle_segment_refused``).
13. The revisions of the run's receipt follow each other, this one is among them or the next,
    and its proof file holds (``bundle_issue_refused``).

All of this shows that what is in the bundle is the log's. It does not show that nothing else
in the log bears on the run: whoever made the bundle chose the leaves, and states the numbers
of those that were left out. That the receipt follows from the leaves is for ``replay_bundle``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from tallystick.contract import ContractVersions
from tallystick.core.keys import VerifyKey
from tallystick.evidence.admission import Evidence, admit_logged
from tallystick.receipt.bundle.checks import (
    check_bundled_receipt,
    check_inclusion,
    check_log,
    check_members,
    check_segments,
)
from tallystick.receipt.bundle.container import read_container
from tallystick.receipt.bundle.contents import (
    BundleLeaf,
    leaves_before,
    read_consistency,
    read_leaves,
    read_proof,
)
from tallystick.receipt.bundle.contracts import read_contracts
from tallystick.receipt.bundle.issue import Issue, check_issue_proof, find_issue, read_issues
from tallystick.receipt.bundle.log_head import check_head, keys_of_log
from tallystick.receipt.bundle.manifest import (
    BUNDLE_TYPE,
    Manifest,
    check_bundler,
    open_manifest,
    read_manifest,
)
from tallystick.receipt.bundle.names import (
    CONSISTENCY,
    HEAD,
    ISSUE_PROOF,
    LEAVES,
    MANIFEST,
    PROOF,
    RECEIPT,
    segment_of,
)
from tallystick.receipt.reader import LogPrefix
from tallystick.receipt.statement import Statement
from tallystick.receipt.verify import keys_by_id
from tallystick.tree.head import SignedHead

STEPS: Final = (
    "there is a key to check against, and each key has a name of its own",
    "the file is a zip in the one layout of a bundle, within the limits",
    f"there is a manifest: a DSSE envelope in canonical bytes, of type {BUNDLE_TYPE}",
    "a known key signed the manifest, and every signature of a known key holds",
    "the manifest is of a known version, in canonical bytes, every field in its form",
    "the members are those that the manifest lists, each with its size and SHA-256",
    "every leaf is a record in canonical bytes with the time of its admission",
    "the tree head is signed by the log's own key, which is known or follows from a known one",
    "every leaf is in the tree of that head, at its number",
    "the receipt holds by itself, and is the one that the manifest names",
    "the log that the receipt was computed from is the beginning of this one",
    "the contract versions that the receipt names are in the leaves it was computed from",
    "every segment has its SHA-256 as its name, and a leaf names it",
    "what the log says of the receipts that it issued agrees with this one",
)


@dataclass(frozen=True, slots=True)
class VerifiedBundle:
    """What a bundle proves.

    ``bundlers`` are the known keys that signed the manifest. ``log`` is the beginning of the
    log that the receipt was computed from, ``head`` the whole that the leaves were proven in.
    ``issue`` is what the log says of this receipt, None if it was to be issued next; ``issues``
    has all revisions that the bundle tells of, so the last of them counts.
    """

    manifest: Manifest
    bundlers: tuple[str, ...]
    statement: Statement
    log: LogPrefix
    head: SignedHead
    leaves: tuple[BundleLeaf, ...]
    contracts: ContractVersions
    segments: Mapping[str, memoryview]
    issue: Issue | None
    issues: tuple[Issue, ...]

    def evidence(self) -> Evidence:
        """Admit the leaves that the receipt was computed from, with what they leave out."""
        records = (leaf.record for leaf in leaves_before(self.leaves, self.log.size))
        return admit_logged(records, self.manifest.withheld_numbers)


def verify_bundle(data: bytes, keys: Sequence[VerifyKey]) -> VerifiedBundle:
    """Verify a bundle and give what it proves, read from the bytes that were verified.

    Args:
        data: The bytes of the file.
        keys: Public keys that the reader trusts: of the log, of who signs receipts, of who
            made the bundle.

    Raises:
        VerificationError: a step fails; the class says which and why.
    """
    # (0) keys
    keys_by_id(keys)
    return _read_bundle(data, keys)


def open_bundle(data: bytes) -> VerifiedBundle:
    """Read a bundle by the same steps but for the signatures: who made it is not checked.

    Raises:
        VerificationError: a step fails.
    """
    return _read_bundle(data, None)


def _read_bundle(data: bytes, keys: Sequence[VerifyKey] | None) -> VerifiedBundle:
    """Take the steps; without keys all but those that look at signatures."""
    # (1) container
    members = read_container(data)
    # (2), (3), (4) manifest: its envelope, its signatures, what it states
    envelope = open_manifest(members.pop(MANIFEST, None))
    bundlers = () if keys is None else check_bundler(envelope, keys_by_id(keys))
    manifest = read_manifest(envelope.payload)
    # (5) members
    check_members(members, manifest.members)
    segments = {sha256: view for name, view in members.items() if (sha256 := segment_of(name))}
    files = {name: bytes(view) for name, view in members.items() if not segment_of(name)}
    # (6) leaves and hashes
    proof = read_proof(files[PROOF])
    leaves = read_leaves(files[LEAVES], proof.indices)
    path = read_consistency(files.get(CONSISTENCY))
    # (7), (8) tree head, inclusion
    log_keys = None if keys is None else keys_of_log(leaves, keys)
    head = check_head(files[HEAD], log_keys, manifest.log)
    check_inclusion(leaves, proof.hashes, head.head)
    # (9), (10) receipt, and its log
    statement = check_bundled_receipt(files[RECEIPT], keys, manifest)
    log = check_log(statement.receipt.log, head.head, path)
    # (11), (12) contracts and segments, as of then
    before = leaves_before(leaves, log.size)
    contracts = read_contracts(before, statement.receipt)
    check_segments(manifest.members, before)
    # (13) issue
    issues = read_issues(leaves, manifest.run)
    issue = find_issue(issues, statement)
    if log_keys is not None:
        check_issue_proof(files.get(ISSUE_PROOF), issue, files[HEAD], log_keys)
    return VerifiedBundle(
        manifest=manifest,
        bundlers=bundlers,
        statement=statement,
        log=log,
        head=head,
        leaves=leaves,
        contracts=contracts,
        segments=segments,
        issue=issue,
        issues=issues,
    )
