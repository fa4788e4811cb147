"""What is done with a receipt: issue, verify, open, replay, explain, compare."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tallystick.app.contracts import load_contracts
from tallystick.app.errors import RunNotFoundError
from tallystick.app.files import read_file, read_lines, write_file
from tallystick.app.keys import load_signing_keys, load_verify_keys
from tallystick.app.rate import rate_files
from tallystick.contract.terms import Contract
from tallystick.core.finding import InputFinding
from tallystick.core.instant import format_instant
from tallystick.evidence.admission import admit
from tallystick.evidence.record import Record
from tallystick.receipt.background import Background, ContractNote, RecordNote
from tallystick.receipt.bundle.replay import PLACE
from tallystick.receipt.diff import Change, diff_receipts
from tallystick.receipt.envelope import ENVELOPE_BYTES_MAX, envelope_bytes, sign_payload
from tallystick.receipt.explain import Explanation, explain
from tallystick.receipt.replay import Replay, compare_receipt
from tallystick.receipt.statement import Statement, statement_payload
from tallystick.receipt.verify import open_receipt, verify_receipt
from tallystick.timeline.grouping import group_records


@dataclass(frozen=True, slots=True)
class Issued:
    """A receipt that was signed and written, and findings about lines of the evidence."""

    statement: Statement
    findings: tuple[InputFinding, ...]


def issue_receipt_file(
    target: Path,
    *,
    evidence: Sequence[str],
    contracts: Sequence[str],
    run: str,
    keys: Sequence[str],
) -> Issued:
    """Rate a run and write its receipt, signed by each key.

    The receipt is verified before it is written, so that none is issued that would not be
    accepted.

    Raises:
        RunNotFoundError: the evidence does not name the run.
        TallystickError: a file cannot be read or written, or is not what it should be.
    """
    signing_keys = load_signing_keys(keys)
    rated = rate_files(evidence, contracts, run)
    if not rated.receipts:
        known = tuple(each.run for each in group_records(rated.evidence.records).runs)
        raise RunNotFoundError(run, known)
    data = envelope_bytes(sign_payload(statement_payload(rated.receipts[0]), signing_keys))
    statement = verify_receipt(data, [key.verify_key for key in signing_keys])
    write_file(target, data)
    return Issued(statement, rated.findings)


def verify_receipt_file(path: str, keys: Sequence[str]) -> Statement:
    """Verify a receipt against public keys.

    Raises:
        VerificationError: a step of ``verify_receipt`` fails.
        TallystickError: a file cannot be read, or is no key.
    """
    return verify_receipt(_read(path), load_verify_keys(keys))


def open_receipt_file(path: str, keys: Sequence[str]) -> Statement:
    """Read a receipt: verified if there are keys, otherwise all but its signatures.

    Raises:
        VerificationError: a step fails.
        TallystickError: a file cannot be read, or is no key.
    """
    return verify_receipt_file(path, keys) if keys else open_receipt(_read(path))


def replay_receipt_file(
    path: str, *, evidence: Sequence[str], contracts: Sequence[str], keys: Sequence[str]
) -> Replay:
    """Compute a receipt again from evidence and contracts, and compare the payloads.

    Raises:
        VerificationError: the receipt itself does not hold.
        TallystickError: a file cannot be read, or is not what it should be.
    """
    statement = open_receipt_file(path, keys)
    rated = rate_files(evidence, contracts, statement.receipt.run.id)
    if not rated.receipts:
        return compare_receipt(statement, None)
    # Its place in a log does not follow from files; a receipt without one has to be as computed.
    has_place = statement.receipt.log is not None
    place = {name: statement.predicate[name] for name in PLACE if has_place}
    return compare_receipt(statement, rated.receipts[0] | place)


def explain_receipt(
    statement: Statement, line: int | None, background: Background
) -> tuple[Explanation, ...]:
    """Explain one line of a receipt, or all.

    Raises:
        UnknownLineError: there is no such line.
    """
    numbers = [line] if line is not None else range(1, len(statement.receipt.lines) + 1)
    return tuple(explain(statement.receipt, number, background) for number in numbers)


def diff_receipt_files(before: str, after: str, keys: Sequence[str]) -> tuple[Change, ...]:
    """Compare two receipts.

    Raises:
        VerificationError: one of them does not hold.
        TallystickError: a file cannot be read, or is no key.
    """
    old, new = open_receipt_file(before, keys), open_receipt_file(after, keys)
    return diff_receipts(old.predicate, new.predicate)


def load_background(evidence: Sequence[str], contracts: Sequence[str]) -> Background:
    """Read what is at hand beside a receipt; either may be missing.

    Raises:
        TallystickError: a file cannot be read, or a contract has mistakes.
    """
    versions = load_contracts(contracts).versions if contracts else ()
    admitted = admit(read_lines(path) for path in evidence)
    return Background(
        parties=_parties(versions),
        contracts={contract.name: _contract_note(contract) for contract in versions},
        records={record.digest: _record_note(record) for record in admitted.records},
    )


def statement_json(statement: Statement) -> dict[str, Any]:
    """Name a receipt: its run, its payload, and who signed it (none: not checked)."""
    return {
        "run": statement.receipt.run.id,
        "revision": statement.receipt.revision,
        "payload": statement.payload_digest,
        "signers": list(statement.signers),
    }


def _read(path: str) -> bytes:
    return read_file(path, bytes_max=ENVELOPE_BYTES_MAX + 1)


def _parties(versions: Sequence[Contract]) -> str | None:
    if not versions:
        return None
    return f"{versions[-1].provider} (provider), {versions[-1].customer} (customer)"


def _contract_note(contract: Contract) -> ContractNote:
    places = f"{contract.rounding.mode} to {contract.rounding.digits} places"
    per_line = contract.rounding_per == "line"
    return ContractNote(
        rule_clauses=frozenset(rule.clause for rule in contract.rules),
        sentences={rule.clause: rule.says for rule in reversed(contract.rules) if rule.says},
        rounding=places if per_line else f"for reading only: totals are rounded, {places}",
    )


def _record_note(record: Record) -> RecordNote:
    at = None if record.at_us is None else format_instant(record.at_us)
    return RecordNote(record.kind, at, record.producer)
