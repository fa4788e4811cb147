"""Receipts in a store: rated from the log, revised when the evidence changed, and posted.

A receipt names the head of the evidence that it follows from. The head is signed first; then
the receipt, the record that it was issued, and its ledger entries are written together. A
crash in between leaves a signed head and nothing else.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from tallystick.app.admit import clock_us
from tallystick.app.cycles import no_cycle_collection
from tallystick.app.errors import ReceiptNotIssuedError, RunNotFoundError
from tallystick.app.heads import signed_head
from tallystick.app.store import OpenStore
from tallystick.app.stored_contracts import stored_versions
from tallystick.contract.versions import ContractVersions
from tallystick.core.canonical import canonical_bytes
from tallystick.core.finding import Finding, InputFinding
from tallystick.core.keys import SigningKey
from tallystick.evidence.admission import admit_leaves
from tallystick.receipt.assemble import Case, asked_of, prepare, receipts_in, with_scanned
from tallystick.receipt.bundle.replay import PLACE
from tallystick.receipt.envelope import envelope_bytes, sign_payload
from tallystick.receipt.posting import Posted, entries_of
from tallystick.receipt.statement import Statement, statement_payload
from tallystick.receipt.verify import open_receipt, verify_receipt
from tallystick.stores.delivery import write_own
from tallystick.stores.entries import post_entries
from tallystick.stores.protocol import Reading, Writing
from tallystick.timeline.segments import Scanned
from tallystick.tree.head import TreeHead
from tallystick.tree.spelling import base64_text


class Issue(msgspec.Struct, frozen=True):
    """A receipt that was issued: its name, whose account it is posted to, and its record."""

    run: str
    revision: int
    payload: str
    customer: str
    contract: str
    leaf: int


@dataclass(frozen=True, slots=True)
class RatedStore:
    """Receipts of what is in a store, which are not issued, and the findings beside them."""

    receipts: tuple[dict[str, Any], ...]
    findings: tuple[InputFinding, ...]
    runs: tuple[str, ...]
    contracts: ContractVersions


@dataclass(frozen=True, slots=True)
class IssuedReceipt:
    """The receipt of a run that counts; ``is_new`` if it was issued just now.

    ``unposted`` tells which of its lines have no price and so no entry.
    """

    issue: Issue
    statement: Statement
    envelope: bytes
    is_new: bool
    unposted: tuple[Finding, ...] = ()
    findings: tuple[InputFinding, ...] = ()


def rate_store(
    store: OpenStore,
    *,
    run: str | None = None,
    contracts: ContractVersions | None = None,
    contract_id: str | None = None,
    size: int | None = None,
) -> RatedStore:
    """Rate the runs in a store, or one of them, and keep nothing.

    Args:
        store: Where the evidence is.
        run: The run; None is all.
        contracts: The versions to rate by; None is those in the store.
        contract_id: Which of the contracts in the store; None if there is one only.
        size: How much of the log counts; None is all.

    Raises:
        TallystickError: there is no contract, or the store cannot be read.
    """
    with store.log.reading() as log, no_cycle_collection():
        end = log.size if size is None else size
        evidence = admit_leaves(log.leaves(0, end))
        versions = contracts or stored_versions(log, contract_id, end)
        case = prepare(evidence, versions)
        rated = receipts_in(with_scanned(case, _scanned(store, case, run)), run)
    runs = tuple(each.run for each in case.grouping.runs)
    return RatedStore(rated.predicates, rated.findings, runs, versions)


def issue_receipt(
    store: OpenStore,
    run: str,
    *,
    keys: Sequence[SigningKey] = (),
    contract_id: str | None = None,
) -> IssuedReceipt:
    """Issue the receipt of a run, or give the last one if nothing has changed since.

    Args:
        store: Where the evidence is, and where the receipt is kept and posted.
        run: The run.
        keys: Who signs it; none is the store's own key for receipts.
        contract_id: Which of the contracts in the store; None if there is one only.

    Raises:
        RunNotFoundError: the evidence does not name the run.
        DocumentConflictError: another process issued this revision meanwhile.
        TallystickError: there is no contract, or the log may not be signed or written.
    """
    head, _ = signed_head(store)
    rated = rate_store(store, run=run, contract_id=contract_id, size=head.size)
    if not rated.receipts:
        raise RunNotFoundError(run, rated.runs)
    computed = rated.receipts[0]
    with store.log.reading() as log:
        before = last_issue(log, run)
        previous = None if before is None else open_receipt(stored_envelope(log, before.payload))
        if before is not None and previous is not None and _is_same(previous.predicate, computed):
            envelope = stored_envelope(log, before.payload)
            return IssuedReceipt(before, previous, envelope, is_new=False, findings=rated.findings)
    signers = keys or [store.folder.signing_key("receipt")]
    payload = statement_payload(computed | _place(head, before))
    envelope = envelope_bytes(sign_payload(payload, signers))
    # Verified before it counts, so that none is issued that would not be accepted.
    statement = verify_receipt(envelope, [key.verify_key for key in signers])
    posted = None
    if before is not None and previous is not None:
        posted = Posted(previous.receipt, before.payload, before.customer)
    with store.log.writing() as log:
        issue = _record(log, statement, rated.contracts)
        unposted = _keep(log, issue, statement, envelope, posted)
    return IssuedReceipt(
        issue, statement, envelope, is_new=True, unposted=unposted, findings=rated.findings
    )


def last_issue(log: Reading, run: str) -> Issue | None:
    """Find the last receipt that was issued for a run."""
    return max(issues(log, run), key=lambda issue: issue.revision, default=None)


def issues(log: Reading, run: str) -> Iterator[Issue]:
    """Give the receipts that were issued for a run, by revision."""
    revision = 1
    while (data := log.document("issue", _issue_name(run, revision))) is not None:
        yield msgspec.json.decode(data, type=Issue)
        revision += 1


def issued(log: Reading, run: str, revision: int | None = None) -> Issue:
    """Give the last receipt that was issued for a run, or a revision of it.

    Raises:
        ReceiptNotIssuedError: there is none.
    """
    found = tuple(issues(log, run))
    wanted = len(found) if revision is None else revision
    if not 1 <= wanted <= len(found):
        raise ReceiptNotIssuedError(run, revision, len(found))
    return found[wanted - 1]


def stored_envelope(log: Reading, payload: str) -> bytes:
    """Give the envelope of a receipt that was issued, by the digest of its payload."""
    envelope = log.document("receipt", payload)
    assert envelope is not None, "it is kept in the transaction that names it"
    return envelope


def _scanned(store: OpenStore, case: Case, run: str | None) -> Scanned:
    """Ask the store's segments what a case needs to know."""
    if not asked_of(case, run):
        return Scanned({})
    from tallystick.app.stored_segments import scan_store  # noqa: PLC0415 (it loads Arrow)

    return scan_store(store, case, run)


def _is_same(previous: dict[str, Any], computed: dict[str, Any]) -> bool:
    return all(previous.get(name) == computed[name] for name in computed if name not in PLACE)


def _place(head: TreeHead, before: Issue | None) -> dict[str, Any]:
    return {
        "log": {"origin": head.origin, "size": head.size, "root": base64_text(head.root)},
        "revision": 1 if before is None else before.revision + 1,
        "supersedes": None if before is None else before.payload,
    }


def _record(log: Writing, statement: Statement, contracts: ContractVersions) -> Issue:
    """Write into the log that a receipt was issued."""
    receipt = statement.receipt
    body = {
        "run": receipt.run.id,
        "revision": receipt.revision,
        "payload": statement.payload_digest,
        "supersedes": receipt.supersedes,
        "contract": contracts.highest.id,
        "size": None if receipt.log is None else receipt.log.size,
    }
    return Issue(
        run=receipt.run.id,
        revision=receipt.revision,
        payload=statement.payload_digest,
        customer=contracts.highest.customer,
        contract=contracts.highest.id,
        leaf=write_own(log, "receipt.issued", body, clock_us()),
    )


def _keep(
    log: Writing, issue: Issue, statement: Statement, envelope: bytes, posted: Posted | None
) -> tuple[Finding, ...]:
    """Keep a receipt and its ledger entries; tell which lines have no price."""
    log.put("issue", _issue_name(issue.run, issue.revision), canonical_bytes(issue))
    log.put("receipt", issue.payload, envelope)
    entries, unposted = entries_of(
        statement.receipt,
        issue.payload,
        customer=issue.customer,
        recorded_us=clock_us(),
        previous=posted,
    )
    post_entries(log, entries)
    return unposted


def _issue_name(run: str, revision: int) -> str:
    return f"{revision}@{run}"
