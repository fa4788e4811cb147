"""Contracts of one call, from their files."""

from pathlib import Path

import pytest

from tallystick.app.contract_check import check_contracts, contract_schema, zone_exists
from tallystick.app.contracts import load_contracts
from tallystick.app.errors import UnreadableFileError
from tallystick.contract.document import CONTRACT_BYTES_MAX
from tallystick.contract.errors import BadContractError, ContractVersionClashError

CONTRACT = """\
schema = "tallystick.contract/1"
id = "acme"
version = 1
currency = "USD"
effective_from = 2026-01-01T00:00:00Z
parties = { provider = "Example Cloud", customer = "Acme" }
rate = [{ clause = "1", per_hour = "2" }]
"""


def written(folder: Path, name: str, was: str = "", becomes: str = "") -> str:
    """Write a contract with one change and give its path."""
    path = folder / name
    path.write_text(CONTRACT.replace(was, becomes) if was else CONTRACT, encoding="utf-8")
    return str(path)


def test_files_are_versions_of_one_contract(tmp_path: Path) -> None:
    """The files of a call are put in order of version, and a repeated one counts once."""
    second = written(tmp_path, "2.toml", "version = 1", "version = 2")
    first = written(tmp_path, "1.toml")

    versions = load_contracts([second, first, first])

    assert [contract.name for contract in versions.versions] == ["acme@1", "acme@2"]


def test_mistakes_of_all_files_are_raised_together(tmp_path: Path) -> None:
    """A second bad file need not wait until the first is put right."""
    paths = [
        written(tmp_path, "a.toml", '"acme"', "5"),
        written(tmp_path, "b.toml"),
        written(tmp_path, "c.toml", '"2"', "2"),
    ]

    with pytest.raises(BadContractError) as raised:
        load_contracts(paths)

    assert [(mistake.source, mistake.key) for mistake in raised.value.mistakes] == [
        (paths[0], "id"),
        (paths[2], "rate[1].per_hour"),
    ]


def test_a_folder_is_no_contract(tmp_path: Path) -> None:
    """What cannot be read is refused by name."""
    with pytest.raises(UnreadableFileError):
        load_contracts([str(tmp_path)])


def test_an_endless_file_is_refused_without_reading_it_all() -> None:
    """No more is read than a contract may have."""
    with pytest.raises(BadContractError) as raised:
        load_contracts(["/dev/zero"])

    assert str(raised.value) == f"/dev/zero: expected at most {CONTRACT_BYTES_MAX} bytes, got more"


def test_one_version_in_two_files_is_refused(tmp_path: Path) -> None:
    """Two different files with one version number leave open which is meant."""
    paths = [written(tmp_path, "a.toml"), written(tmp_path, "b.toml", "Acme", "Other")]

    with pytest.raises(ContractVersionClashError):
        load_contracts(paths)


def test_checking_looks_time_zones_up(tmp_path: Path) -> None:
    """A zone that no database has is a mistake for the check, and of no effect on rating."""
    path = written(tmp_path, "a.toml", "rate =", 'calendar.time_zone = "Mars"\nrate =')

    with pytest.raises(BadContractError) as raised:
        check_contracts([path])

    assert str(raised.value) == f"{path}:7: calendar.time_zone: expected an IANA zone, got 'Mars'"
    assert load_contracts([path]).highest.time_zone == "Mars"


@pytest.mark.parametrize(
    ("name", "exists"),
    [
        ("America/New_York", True),
        ("UTC", True),
        ("America", False),
        ("Mars", False),
        ("../zoneinfo/UTC", False),
        ("x" * 5000, False),
        ("a\0b", False),
    ],
    ids=lambda value: repr(value)[:20],
)
def test_a_zone_is_a_name_of_the_database(name: str, exists: bool) -> None:  # noqa: FBT001 (a parameter of the test)
    """Folders, paths and other texts are no zones."""
    assert zone_exists(name) is exists


def test_checking_gives_contracts_and_warnings_by_file(tmp_path: Path) -> None:
    """Each file comes back with its name, and what it says in vain is listed."""
    path = written(tmp_path, "a.toml", "rate =", "rates = 1\nrate =")

    checked = check_contracts([path])

    assert [(name, contract.name) for name, contract in checked.contracts] == [(path, "acme@1")]
    assert [warning.text for warning in checked.warnings] == [
        f"{path}:7: rates: not a term of this format, ignored, did you mean 'rate'?"
    ]


def test_the_schema_is_shipped() -> None:
    """The package holds the JSON Schema as a file."""
    assert contract_schema().startswith("{")
