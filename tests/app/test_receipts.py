"""From evidence files to a receipt file, and back again."""

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from tallystick.app.errors import RunNotFoundError, UnwritableFileError
from tallystick.app.keys import new_key
from tallystick.app.receipts import (
    Issued,
    diff_receipt_files,
    explain_receipt,
    issue_receipt_file,
    load_background,
    open_receipt_file,
    replay_receipt_file,
    statement_json,
    verify_receipt_file,
)
from tallystick.receipt.background import Background
from tallystick.receipt.errors import NoKeysError, OversizedReceiptError, WrongFigureError
from tallystick.receipt.statement import statement_payload

CASE = Path(__file__).parent.parent / "conformance" / "cases" / "022-flagship"
EVIDENCE = [str(CASE / "evidence.jsonl")]
CONTRACTS = [str(CASE / "contract-3.toml"), str(CASE / "contract-4.toml")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a folder with the keys of two parties and a receipt that both signed."""
    made = tmp_path_factory.mktemp("receipts")
    keys = [str(new_key(made / name).private_path) for name in ("provider", "customer")]
    issue(made / "flagship.receipt", keys)
    return made


def issue(target: Path, keys: list[str], evidence: list[str] | None = None) -> Issued:
    """Issue the flagship's receipt."""
    return issue_receipt_file(
        target, evidence=evidence or EVIDENCE, contracts=CONTRACTS, run="flagship", keys=keys
    )


def test_an_issued_receipt_verifies_with_either_key(folder: Path) -> None:
    """Whoever holds one party's public key can check the receipt."""
    path = str(folder / "flagship.receipt")

    statements = [
        verify_receipt_file(path, [str(folder / f"{name}.vkey")])
        for name in ("provider", "customer")
    ]

    assert [each.signers[0].partition("+")[0] for each in statements] == ["provider", "customer"]
    assert statements[0].payload == statements[1].payload


def test_a_receipt_can_be_written_again(folder: Path, tmp_path: Path) -> None:
    """Issuing over an older receipt replaces it whole, with the same bytes for the same facts."""
    target = tmp_path / "again.receipt"
    target.write_text("old", encoding="utf-8")
    keys = [str(folder / "provider"), str(folder / "customer")]

    issue(target, keys)

    assert target.read_bytes() == (folder / "flagship.receipt").read_bytes()
    assert [path.name for path in tmp_path.iterdir()] == ["again.receipt"]


@pytest.mark.parametrize(
    ("seed", "environment"),
    [
        (1, {"PYTHONHASHSEED": "1", "TZ": "Pacific/Auckland", "LC_ALL": "C"}),
        (2, {"PYTHONHASHSEED": "2", "TZ": "America/St_Johns", "LC_ALL": "C.UTF-8"}),
    ],
)
def test_a_receipt_is_the_same_everywhere(
    folder: Path, tmp_path: Path, seed: int, environment: dict[str, str]
) -> None:
    """Other order, copies, hash seed, zone, locale and process: the same bytes."""
    lines = Path(EVIDENCE[0]).read_bytes().splitlines(keepends=True)
    rng = random.Random(seed)  # noqa: S311 (an order to test with, not a secret)
    delivered = [line for line in lines for _ in range(rng.randint(1, 3))]
    rng.shuffle(delivered)
    (tmp_path / "evidence").write_bytes(b"".join(delivered))
    command = [sys.executable, "-c", "from tallystick.cli.main import main; main()"]
    command += ["receipt", "issue", "--evidence", str(tmp_path / "evidence")]
    command += ["--contract", *reversed(CONTRACTS), "--run", "flagship"]
    command += ["--key", str(folder / "provider"), str(folder / "customer")]
    command += ["-o", str(tmp_path / "receipt")]

    subprocess.run(
        command,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **environment},
        check=True,
        capture_output=True,
    )

    assert (tmp_path / "receipt").read_bytes() == (folder / "flagship.receipt").read_bytes()


def test_an_unknown_run_is_refused_with_the_known_ones(folder: Path, tmp_path: Path) -> None:
    """The message lists the runs that there are, and nothing is written."""
    with pytest.raises(RunNotFoundError) as refused:
        issue_receipt_file(
            tmp_path / "receipt",
            evidence=EVIDENCE,
            contracts=CONTRACTS,
            run="flagships",
            keys=[str(folder / "provider")],
        )

    assert refused.value.code == "run_not_found"
    assert str(refused.value) == "no run 'flagships' in the evidence, which has 'flagship'"
    assert list(tmp_path.iterdir()) == []


def test_known_runs_are_counted_if_they_are_many() -> None:
    """A message stays short, and evidence without any run says so."""
    assert str(RunNotFoundError("x", ())) == "no run 'x' in the evidence, which has no run at all"
    assert str(RunNotFoundError("x", tuple("a" * n for n in range(1, 24)))).endswith("and 3 more")


def test_a_receipt_that_would_not_hold_is_not_written(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is issued is verified first."""

    def tampering(predicate: dict[str, dict[str, str]]) -> bytes:
        predicate["totals"]["charged"] = "0.00"
        return statement_payload(predicate)

    monkeypatch.setattr("tallystick.app.receipts.statement_payload", tampering)

    with pytest.raises(WrongFigureError):
        issue(tmp_path / "receipt", [str(folder / "provider")])

    assert list(tmp_path.iterdir()) == []


def test_a_receipt_needs_a_folder(folder: Path, tmp_path: Path) -> None:
    """A receipt is not written into a folder that is not there."""
    with pytest.raises(UnwritableFileError):
        issue(tmp_path / "missing" / "receipt", [str(folder / "provider")])


def test_findings_about_lines_come_with_the_receipt(folder: Path, tmp_path: Path) -> None:
    """A line that was refused does not stop the rest, and is told."""
    torn = tmp_path / "torn.jsonl"
    torn.write_bytes(b"{\n")

    issued = issue(tmp_path / "receipt", [str(folder / "provider")], [*EVIDENCE, str(torn)])

    assert [(each.code, each.file, each.line) for each in issued.findings] == [("bad_json", 2, 1)]


def test_without_a_key_nothing_is_verified(folder: Path) -> None:
    """Verifying against no key fails, and opening without one names no signer."""
    path = str(folder / "flagship.receipt")

    with pytest.raises(NoKeysError):
        verify_receipt_file(path, [])

    assert open_receipt_file(path, []).signers == ()
    assert len(open_receipt_file(path, [str(folder / "customer.vkey")]).signers) == 1


def test_a_giant_file_is_not_read_whole(folder: Path, tmp_path: Path) -> None:
    """Of a file beyond the limit only one byte too many is read."""
    with (tmp_path / "giant").open("wb") as stream:
        stream.truncate(65 * 1024 * 1024)

    with pytest.raises(OversizedReceiptError):
        verify_receipt_file(str(tmp_path / "giant"), [str(folder / "provider.vkey")])


def test_the_same_evidence_gives_the_same_receipt(folder: Path) -> None:
    """Replay finds no difference."""
    path = str(folder / "flagship.receipt")

    replay = replay_receipt_file(path, evidence=EVIDENCE, contracts=CONTRACTS, keys=[])

    assert replay.identical


def test_one_record_less_gives_another_receipt(folder: Path, tmp_path: Path) -> None:
    """Replay names where the receipts part, also if the run is gone altogether."""
    path = str(folder / "flagship.receipt")
    lines = Path(EVIDENCE[0]).read_bytes().splitlines(keepends=True)
    kept = [line for line in lines if json.loads(line)["kind"] != "output.accepted"]
    (tmp_path / "less").write_bytes(b"".join(kept))
    (tmp_path / "nothing").write_bytes(b"")

    replays = [
        replay_receipt_file(path, evidence=[str(tmp_path / name)], contracts=CONTRACTS, keys=[])
        for name in ("less", "nothing")
    ]

    paths = [each.difference.path for each in replays if each.difference is not None]
    assert paths == ["$.run.accepted", "$"]


def test_a_held_line_is_explained_from_files(folder: Path) -> None:
    """The clause comes from the contract, and each record from the evidence."""
    statement = open_receipt_file(str(folder / "flagship.receipt"), [])

    (held,) = explain_receipt(statement, 5, load_background(EVIDENCE, CONTRACTS))

    assert held.says == "Time without telemetry is held until the parties resolve it."
    assert held.decided_by == "rule 4.2, the first that matched these intervals"
    assert held.settled_by[0].startswith("lost_tail:")
    assert {note.kind for _, note in held.evidence if note is not None} >= {"allocation.started"}
    assert None not in [note for _, note in held.evidence]


def test_every_record_behind_a_line_is_in_the_evidence(folder: Path) -> None:
    """No digest on the receipt names a record that was not given."""
    statement = open_receipt_file(str(folder / "flagship.receipt"), [])

    explanations = explain_receipt(statement, None, load_background(EVIDENCE, []))

    assert len(explanations) == len(statement.receipt.lines)
    for explanation in explanations:
        assert explanation.evidence
        assert all(note is not None for _, note in explanation.evidence)


def test_nothing_at_hand_is_an_empty_background() -> None:
    """Explaining needs neither contract nor evidence."""
    assert load_background([], []) == Background()


def test_a_background_knows_parties_and_rounding(tmp_path: Path) -> None:
    """How a version rounds is said in words."""
    text = Path(CONTRACTS[0]).read_text(encoding="utf-8")
    (tmp_path / "c.toml").write_text(f'{text}\n[rounding]\nper = "receipt"\n', encoding="utf-8")

    plain, exact = load_background([], CONTRACTS), load_background([], [str(tmp_path / "c.toml")])

    assert plain.parties == "Example Cloud (provider), Acme (customer)"
    assert plain.contracts["acme-spot@3"].rounding == "half_even to 2 places"
    assert exact.contracts["acme-spot@3"].rounding == (
        "for reading only: totals are rounded, half_even to 2 places"
    )


def test_two_receipts_are_compared_from_files(folder: Path, tmp_path: Path) -> None:
    """A receipt equals itself, and differs from one made of more evidence."""
    path = str(folder / "flagship.receipt")
    decision = {
        "schema": "tallystick.evidence/1",
        "id": "decision.adjustment:x",
        "producer": {"name": "desk"},
        "kind": "decision.adjustment",
        "at": "2026-03-09T00:00:00.000000Z",
        "observed": "2026-03-09T00:00:00.000000Z",
        "body": {
            "run": "flagship",
            "amount": "-1.00",
            "currency": "USD",
            "clause": "9.8",
            "by": "both",
            "note": "",
        },
    }
    (tmp_path / "more").write_text(json.dumps(decision), encoding="utf-8")
    issue(tmp_path / "receipt", [str(folder / "provider")], [*EVIDENCE, str(tmp_path / "more")])

    same = diff_receipt_files(path, path, [])
    changes = diff_receipt_files(path, str(tmp_path / "receipt"), [str(folder / "provider.vkey")])

    assert same == ()
    assert ("lines", "adjustment, clause 9.8") in [(each.section, each.entry) for each in changes]


def test_a_statement_as_json_names_its_payload(folder: Path) -> None:
    """Two parties compare the payload's digest to know that they agree."""
    statement = open_receipt_file(str(folder / "flagship.receipt"), [])

    fields = statement_json(statement)

    assert fields["run"] == "flagship"
    assert fields["payload"] == statement.payload_digest
    assert fields["signers"] == []
