"""What the steps of ``verify_bundle`` check: each compares parts of a bundle, and raises or not."""

from collections.abc import Mapping, Sequence

from tallystick.core.keys import VerifyKey
from tallystick.evidence.bodies import Samples
from tallystick.receipt.bundle.contents import BundleLeaf
from tallystick.receipt.bundle.errors import (
    AlteredMemberError,
    BundledReceiptError,
    BundledSegmentError,
    ForeignReceiptError,
    MissingMemberError,
    UnlistedMemberError,
    UnprovenLeavesError,
)
from tallystick.receipt.bundle.manifest import Manifest, Member, list_members
from tallystick.receipt.bundle.names import ALWAYS, CONSISTENCY, is_known, segment_of
from tallystick.receipt.errors import VerificationError
from tallystick.receipt.reader import LogPrefix
from tallystick.receipt.statement import Statement
from tallystick.receipt.verify import open_receipt, verify_receipt
from tallystick.timeline.segments import segment_sha256
from tallystick.tree.errors import TreeError
from tallystick.tree.head import TreeHead
from tallystick.tree.merkle import check_consistency, leaf_hash
from tallystick.tree.selection import root_from_selection
from tallystick.tree.spelling import parse_base64


def check_members(members: Mapping[str, memoryview], listed: Sequence[Member]) -> None:
    """Check that the members are those that are listed, and what they have to be.

    Raises:
        MissingMemberError: one is not there.
        UnlistedMemberError: one is there that is not listed, or that no bundle has.
        AlteredMemberError: one has another size or SHA-256.
    """
    expected = {member.name: member for member in listed}
    for name in (*sorted(ALWAYS), *expected):
        if name not in members:
            raise MissingMemberError(name)
    for name in members:
        if name not in expected or not is_known(name):
            raise UnlistedMemberError(name)
    for found in list_members(members):
        member = expected[found.name]
        if found.bytes != member.bytes:
            raise AlteredMemberError(found.name, f"{member.bytes} bytes", str(found.bytes))
        if found.sha256 != member.sha256:
            raise AlteredMemberError(found.name, f"sha256:{member.sha256}", found.sha256)


def check_inclusion(leaves: Sequence[BundleLeaf], hashes: Sequence[bytes], head: TreeHead) -> None:
    """Check that leaves are in the tree of a head.

    Raises:
        UnprovenLeavesError: they are not, as far as the hashes show.
    """
    hashed = [(leaf.number, leaf_hash(leaf.data)) for leaf in leaves]
    try:
        root = root_from_selection(hashed, head.size, hashes)
    except TreeError as error:
        raise UnprovenLeavesError(str(error)) from error
    if root != head.root:
        raise UnprovenLeavesError(f"expected root {head.root.hex()}, got {root.hex()}")


def check_bundled_receipt(
    data: bytes, keys: Sequence[VerifyKey] | None, manifest: Manifest
) -> Statement:
    """Verify the receipt, its signatures if there are keys, and that the manifest names it.

    Raises:
        BundledReceiptError: it does not hold, or is another.
    """
    try:
        statement = open_receipt(data) if keys is None else verify_receipt(data, keys)
    except VerificationError as error:
        raise BundledReceiptError(f"{error.code}: {error}") from error
    found = (statement.receipt.run.id, statement.payload_digest)
    if found != (manifest.run, manifest.receipt):
        raise BundledReceiptError("expected the run and the payload that the manifest names")
    return statement


def check_log(log: LogPrefix | None, head: TreeHead, path: Sequence[bytes] | None) -> LogPrefix:
    """Check that the log of a head goes on from that of the receipt, and give the latter.

    Args:
        log: What the receipt states.
        head: The tree head of the bundle.
        path: What shows it; None if there is nothing to show.

    Raises:
        ForeignReceiptError: it does not.
    """
    if log is None:
        raise ForeignReceiptError("expected a receipt from a log, got one from files")
    if log.origin != head.origin:
        raise ForeignReceiptError(f"expected {head.origin!a}, got {ascii(log.origin)[:80]}")
    if (path is None) != (log.size == head.size):
        raise ForeignReceiptError(f"expected {CONSISTENCY} if, and only if, the sizes differ")
    root = parse_base64(log.root)
    assert root is not None, "the reader checked its form"
    try:
        check_consistency(log.size, root, head.size, head.root, path or ())
    except TreeError as error:
        raise ForeignReceiptError(str(error)) from error
    return log


def check_segments(members: Sequence[Member], leaves: Sequence[BundleLeaf]) -> None:
    """Check that each segment, whose SHA-256 is known, is the one of its name and is asked for.

    Raises:
        BundledSegmentError: one is not.
    """
    named = {
        segment_sha256(leaf.record.body.segment)
        for leaf in leaves
        if isinstance(leaf.record.body, Samples)
    }
    for member in members:
        sha256 = segment_of(member.name)
        if sha256 is None:
            continue
        if sha256 != member.sha256:
            raise BundledSegmentError(member.name, f"expected its name, got {member.sha256}")
        if sha256 not in named:
            raise BundledSegmentError(member.name, "expected a leaf that names it, got none")
