"""Receipts of a store: rated from the log, issued once, revised, posted, bundled."""

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from tallystick.app.admit import admit_files, clock_us
from tallystick.app.bundles import replay_bundle_file, verify_bundle_file
from tallystick.app.errors import BundleDiffersError, ReceiptNotIssuedError, RunNotFoundError
from tallystick.app.heads import signed_head
from tallystick.app.keys import keys_in
from tallystick.app.rate import rate_files
from tallystick.app.store import OpenStore
from tallystick.app.stored_bundles import bundle_run
from tallystick.app.stored_contracts import publish_contracts
from tallystick.app.stored_ledger import read_journal, read_ledger
from tallystick.app.stored_receipts import Issue, issue_receipt, issued, issues, rate_store
from tallystick.core.canonical import canonical_bytes
from tallystick.receipt.envelope import envelope_bytes, sign_payload
from tallystick.receipt.errors import VerificationError
from tallystick.receipt.statement import statement_payload
from tallystick.receipt.verify import open_receipt
from tallystick.stores.delivery import write_own
from tallystick.tree.spelling import base64_text
from tests.app.stores import RUN, contract_file, new_store, size_of, tell, told_store
from tests.evidence.records import ended, numbered, points, resolution, started, step

CASES = sorted((Path(__file__).parent.parent / "conformance" / "cases").iterdir())


def owed(store: OpenStore) -> Decimal:
    """Give what stands on the customer's account."""
    with store.log.reading() as log:
        balances = read_ledger(log).balances
    return sum((each.amount for each in balances if each.account.name == "receivable"), Decimal(0))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_store_rates_as_files_do(case: Path, tmp_path: Path) -> None:
    """Every public case has the same receipts from a log that was told everything twice."""
    evidence = [str(path) for path in sorted(case.glob("evidence*.jsonl"))]
    contracts = [str(path) for path in sorted(case.glob("*.toml"))]
    expected = rate_files(evidence, contracts)

    with new_store(tmp_path) as store:
        publish_contracts(store.log, contracts)
        for _ in range(2):
            admit_files(store.log, evidence, lambda _: None)
        found = rate_store(store)

    assert json.dumps(found.receipts) == json.dumps(expected.receipts)
    assert {each.code for each in found.findings} == {each.code for each in expected.findings}


def test_a_receipt_names_the_head_that_it_follows_from(tmp_path: Path) -> None:
    """Origin, size and root are those of the head before it was issued."""
    with told_store(tmp_path) as store:
        head, _ = signed_head(store)
        found = issue_receipt(store, RUN)

    assert found.statement.predicate["log"] == {
        "origin": head.origin,
        "size": head.size,
        "root": base64_text(head.root),
    }


def test_without_news_the_same_receipt_is_given_again(tmp_path: Path) -> None:
    """Other runs make the log longer, and this receipt no other."""
    with told_store(tmp_path) as store:
        first = issue_receipt(store, RUN)
        tell(store, started(attempt="b", run="another"))
        again = issue_receipt(store, RUN)
        entries = len(_entries(store))

    assert (first.is_new, again.is_new) == (True, False)
    assert again.envelope == first.envelope
    assert entries == 1


def test_late_evidence_makes_a_revision_that_posts_the_difference(tmp_path: Path) -> None:
    """The first receipt stands, and the balance is that of the last."""
    with told_store(tmp_path, unknown="hold") as store:
        first = issue_receipt(store, RUN)
        owed_first = owed(store)
        tell(store, resolution("charge"))
        second = issue_receipt(store, RUN)
        owed_second = owed(store)
        with store.log.reading() as log:
            known = [issue.payload for issue in issues(log, RUN)]
            journal = read_journal(log)

    assert second.statement.receipt.revision == 2
    assert second.statement.receipt.supersedes == first.issue.payload
    assert known == [first.issue.payload, second.issue.payload]
    net = second.statement.predicate["totals"]["net"]
    charged = second.statement.predicate["totals"]["charged"]
    assert (owed_first, owed_second) == (Decimal(0), Decimal(charged))
    assert net == charged
    assert "revision 2" in journal


def test_a_held_line_without_a_price_is_told(tmp_path: Path) -> None:
    """It is not posted, and never as zero."""
    with told_store(tmp_path, story=(started(gpu_type="H200"), ended())) as store:
        found = issue_receipt(store, RUN)

    assert {each.code for each in found.unposted} == {"held_without_price"}


def test_only_runs_that_are_known_have_receipts(tmp_path: Path) -> None:
    """Another run is named with those that there are."""
    with told_store(tmp_path) as store:
        with pytest.raises(RunNotFoundError):
            issue_receipt(store, "nobody")
        with store.log.reading() as log, pytest.raises(ReceiptNotIssuedError) as none:
            issued(log, RUN)
        issue_receipt(store, RUN)
        with store.log.reading() as log, pytest.raises(ReceiptNotIssuedError) as later:
            issued(log, RUN, 2)

    assert none.value.code == "receipt_not_issued"
    assert "no revision 2" in str(later.value)


def test_a_contract_that_came_later_does_not_change_an_earlier_head(tmp_path: Path) -> None:
    """What counts are the versions in the leaves under the head."""
    with told_store(tmp_path) as store:
        size = size_of(store)
        before = rate_store(store)
        publish_contracts(store.log, [contract_file(tmp_path, version=2, per_hour="9.99")])

        assert rate_store(store, size=size).receipts == before.receipts
        assert rate_store(store).receipts != before.receipts


def test_a_bundle_verifies_and_replays_without_its_store(tmp_path: Path) -> None:
    """Earlier revisions too, with gaps in the numbers of producers as they were."""
    story = (numbered(started(), 1), numbered(step("00:10", 1), 4), points("00:20"))
    with told_store(tmp_path, story=story) as store:
        first = issue_receipt(store, RUN)
        tell(store, numbered(started(attempt="b", run="another"), 2), step("00:30", 2))
        issue_receipt(store, RUN)
        made = [bundle_run(store, RUN, revision=each) for each in (1, 2)]
        keys = keys_in(store.folder.keys)
    for number, each in enumerate(made, start=1):
        (tmp_path / f"{number}.bundle").write_bytes(each.data)

    verified = verify_bundle_file(str(tmp_path / "1.bundle"), keys)
    replays = [replay_bundle_file(str(tmp_path / f"{n}.bundle"), keys) for n in (1, 2)]
    unsigned = replay_bundle_file(str(tmp_path / "1.bundle"), ())

    assert verified.statement.payload_digest == first.issue.payload
    assert [each.replay.identical for each in (*replays, unsigned)] == [True] * 3
    codes = [each["code"] for each in first.statement.predicate["findings"]]
    assert "sequence_gap" in codes


def test_a_bundle_does_not_tell_of_other_runs(tmp_path: Path) -> None:
    """What another run did on other GPUs stays in the store."""
    with told_store(tmp_path) as store:
        tell(store, started(attempt="secret", run="another", gpus="g9"))
        issue_receipt(store, RUN)
        data = bundle_run(store, RUN).data

    assert b"secret" not in data


def test_a_bundle_of_a_receipt_that_does_not_follow_is_not_made(tmp_path: Path) -> None:
    """A receipt that was signed and not computed is found out before it is handed over."""
    with told_store(tmp_path) as store:
        found = issue_receipt(store, RUN)
        _forge(store, found.statement.predicate)

        with pytest.raises(BundleDiffersError) as refused:
            bundle_run(store, RUN)

    assert refused.value.code == "bundle_differs"


def test_a_bundle_with_a_changed_byte_is_refused(tmp_path: Path) -> None:
    """Whoever has the keys notices."""
    with told_store(tmp_path) as store:
        issue_receipt(store, RUN)
        data = bytearray(bundle_run(store, RUN).data)
        keys = keys_in(store.folder.keys)
    data[len(data) // 2] ^= 1
    (tmp_path / "changed").write_bytes(data)

    with pytest.raises(VerificationError):
        verify_bundle_file(str(tmp_path / "changed"), keys)


def _entries(store: OpenStore) -> tuple[Any, ...]:
    with store.log.reading() as log:
        return read_ledger(log).entries


def _forge(store: OpenStore, predicate: dict[str, Any]) -> None:
    """Put a second revision into a store, signed by its key, that nothing supports."""
    first = open_receipt(_envelope(store, 1)).payload_digest
    forged = predicate | {"revision": 2, "supersedes": first}
    forged["run"] = predicate["run"] | {"job_class": "forged"}
    key = store.folder.signing_key("receipt")
    envelope = envelope_bytes(sign_payload(statement_payload(forged), [key]))
    payload = open_receipt(envelope).payload_digest
    body = {
        "run": RUN,
        "revision": 2,
        "payload": payload,
        "supersedes": first,
        "contract": "plain",
        "size": forged["log"]["size"],
    }
    with store.log.writing() as log:
        leaf = write_own(log, "receipt.issued", body, clock_us())
        issue = Issue(RUN, 2, payload, "Acme", "plain", leaf)
        log.put("issue", f"2@{RUN}", canonical_bytes(issue))
        log.put("receipt", payload, envelope)


def _envelope(store: OpenStore, revision: int) -> bytes:
    with store.log.reading() as log:
        envelope = log.document("receipt", issued(log, RUN, revision).payload)
    assert envelope is not None
    return envelope
