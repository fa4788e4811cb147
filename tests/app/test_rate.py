"""Rating files: evidence and contracts in, receipts and findings out."""

from pathlib import Path

import pytest

from tallystick.app.errors import UnreadableFileError
from tallystick.app.rate import rate_files
from tallystick.contract.errors import BadContractError, NoContractGivenError
from tests.evidence.records import Json, as_line, ended, of, started
from tests.rating.rated import contract


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Give a folder with the evidence of two runs in two files, and a contract."""
    write(tmp_path / "a.jsonl", started(), ended())
    write(tmp_path / "b.jsonl", *of("b", started(run="other"), ended()))
    (tmp_path / "contract.toml").write_bytes(contract())
    return tmp_path


def write(path: Path, *records: Json) -> None:
    """Write evidence."""
    path.write_bytes(b"".join(as_line(each) + b"\n" for each in records))


def test_every_run_of_the_files_is_rated(folder: Path) -> None:
    """The result has what it was made from, for replay and explanation."""
    evidence = [str(folder / "a.jsonl"), str(folder / "b.jsonl")]

    rated = rate_files(evidence, [str(folder / "contract.toml")])

    assert [each["run"]["id"] for each in rated.receipts] == ["other", "run"]
    assert len(rated.evidence.records) == 4
    assert rated.contracts.highest.name == "acme@1"
    assert rated.findings == ()


def test_one_run_may_be_asked_for(folder: Path) -> None:
    """Others are read and not printed (rule 66)."""
    evidence = [str(folder / "a.jsonl"), str(folder / "b.jsonl")]

    rated = rate_files(evidence, [str(folder / "contract.toml")], "run")

    assert [each["run"]["id"] for each in rated.receipts] == ["run"]
    assert len(rated.evidence.records) == 4


def test_a_finding_names_the_place_of_its_file(folder: Path) -> None:
    """Files are counted as they stand on the command line (rule 1)."""
    (folder / "bad.jsonl").write_bytes(b"\n\nx")
    evidence = [str(folder / "a.jsonl"), str(folder / "bad.jsonl")]

    rated = rate_files(evidence, [str(folder / "contract.toml")])

    assert [(each.code, each.file, each.line) for each in rated.findings] == [("bad_json", 2, 3)]


def test_a_file_that_cannot_be_read_rates_nothing(folder: Path) -> None:
    """Half of the evidence would give another receipt."""
    with pytest.raises(UnreadableFileError):
        rate_files([str(folder / "a.jsonl"), str(folder)], [str(folder / "contract.toml")])


def test_a_bad_contract_is_told_before_evidence_is_read(folder: Path) -> None:
    """A mistake in it costs no reading."""
    (folder / "contract.toml").write_bytes(b"")

    with pytest.raises(BadContractError):
        rate_files([str(folder / "absent")], [str(folder / "contract.toml")])


def test_no_contract_is_an_error(folder: Path) -> None:
    """There is nothing to rate by."""
    with pytest.raises(NoContractGivenError):
        rate_files([str(folder / "a.jsonl")], [])
