"""What a log says of the receipts that it issued for a run: ``receipt.issued``.

Each revision names the one before it, so the log tells which receipt of a run counts, and
nobody can have two of one revision. A record of this kind stands behind the leaves that its
receipt was computed from.
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Annotated, Final, NamedTuple

import msgspec
from msgspec import Meta, Struct

from tallystick.core.keys import VerifyKey
from tallystick.evidence.leaf import LOG_PRODUCER
from tallystick.receipt.bundle.contents import BundleLeaf
from tallystick.receipt.bundle.errors import BundledIssueError
from tallystick.receipt.bundle.names import ISSUE_PROOF
from tallystick.receipt.reader import Count, Digest, Name
from tallystick.receipt.statement import Statement
from tallystick.tree.errors import TreeError
from tallystick.tree.proof import parse_proof, verify_proof

KIND: Final = "receipt.issued"


class Issued(Struct, frozen=True):
    """What the log says of a receipt that it issued."""

    run: Name
    revision: Annotated[int, Meta(ge=1)]
    payload: Digest
    supersedes: Digest | None
    size: Count | None


class Issue(NamedTuple):
    """A receipt that was issued, and the leaf that says so, with its number."""

    number: int
    leaf: bytes
    said: Issued


def read_issues(leaves: Iterable[BundleLeaf], run: str) -> tuple[Issue, ...]:
    """Read the receipts that the log issued for a run, in its order.

    Raises:
        BundledIssueError: a record is not in its form, or they do not follow each other.
    """
    issues = tuple(
        Issue(leaf.number, leaf.data, _read_issued(leaf))
        for leaf in leaves
        if leaf.record.producer == LOG_PRODUCER and leaf.record.kind == KIND
    )
    issues = tuple(each for each in issues if each.said.run == run)
    if issues and (issues[0].said.revision, issues[0].said.supersedes) != (1, None):
        raise BundledIssueError("expected the first to be revision 1 and to supersede none")
    for one, other in pairwise(issues):
        if (other.said.revision, other.said.supersedes) != (
            one.said.revision + 1,
            one.said.payload,
        ):
            message = f"expected revision {one.said.revision + 1} to supersede the one before"
            raise BundledIssueError(message)
    return issues


def find_issue(issues: Sequence[Issue], statement: Statement) -> Issue | None:
    """Find what the log says of a receipt: None if it was to be issued next.

    Raises:
        BundledIssueError: the log says something else of it.
    """
    receipt, payload = statement.receipt, statement.payload_digest
    size = None if receipt.log is None else receipt.log.size
    stated = (receipt.revision, receipt.supersedes)
    for issue in issues:
        if issue.said.payload == payload:
            if (issue.said.revision, issue.said.supersedes, issue.said.size) != (*stated, size):
                raise BundledIssueError("expected revision, predecessor and size of the receipt")
            if size is not None and issue.number < size:
                raise BundledIssueError(f"expected it behind {size} leaves, got {issue.number}")
            return issue
    before = issues[-1].said if issues else None
    expected = (1, None) if before is None else (before.revision + 1, before.payload)
    if stated != expected:
        raise BundledIssueError(
            f"expected revision {expected[0]} or one that was issued, got {stated[0]}"
        )
    return None


def check_issue_proof(
    data: bytes | None, issue: Issue | None, note: bytes, keys: Sequence[VerifyKey]
) -> None:
    """Check the proof file of a receipt's issue, which is there if the issue is.

    Args:
        data: The proof file, if there is one.
        issue: What the log says of the receipt, if it does.
        note: The tree head that the proof must lead to.
        keys: The keys of the log.

    Raises:
        BundledIssueError: one is there without the other, or the proof does not hold.
    """
    if data is None and issue is None:
        return
    if data is None or issue is None:
        raise BundledIssueError(f"expected {ISSUE_PROOF} if, and only if, a leaf tells of it")
    try:
        proof = parse_proof(data)
        if (proof.index, proof.extra, proof.head) != (issue.number, b"", note):
            raise BundledIssueError(f"expected the proof of leaf {issue.number} in this log")
        verify_proof(proof, issue.leaf, keys)
    except TreeError as error:
        raise BundledIssueError(str(error)) from error


def _read_issued(leaf: BundleLeaf) -> Issued:
    try:
        return msgspec.convert(leaf.record.body, Issued)
    except msgspec.ValidationError as error:
        raise BundledIssueError(f"leaf {leaf.number}: {ascii(str(error))[1:-1]}") from error
