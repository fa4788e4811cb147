"""Checking contracts before anybody relies on them, and giving out their schema."""

from collections.abc import Iterable
from dataclasses import dataclass
from importlib.resources import files
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from tallystick.app.contracts import read_contracts
from tallystick.contract.errors import Mistake
from tallystick.contract.review import review_contract, review_versions
from tallystick.contract.terms import Contract
from tallystick.contract.versions import ContractVersions


@dataclass(frozen=True, slots=True)
class CheckedContracts:
    """Contracts without mistakes, and what in them is probably not meant."""

    contracts: tuple[tuple[str, Contract], ...]
    """Each with the name of its file, as given; a file given twice is here twice."""
    warnings: tuple[Mistake, ...]


def check_contracts(paths: Iterable[str]) -> CheckedContracts:
    """Read contracts as versions of one contract; ``-`` is standard input.

    Raises:
        UnreadableFileError: a file cannot be read.
        BadContractError: there are mistakes; the error has those of all files.
        TallystickError: the contracts are no versions of one contract, or there is none.
    """
    read = read_contracts(paths, zone_exists=zone_exists)
    versions = ContractVersions(tuple(contract for _, _, contract in read))
    warnings = [
        warning
        for name, data, contract in read
        for warning in review_contract(data, contract, name)
    ]
    return CheckedContracts(
        contracts=tuple((name, contract) for name, _, contract in read),
        warnings=(*warnings, *review_versions(versions)),
    )


def contract_schema() -> str:
    """Give the JSON Schema of contracts, as the package ships it."""
    return files("tallystick.contract").joinpath("contract.schema.json").read_text("utf-8")


def zone_exists(name: str) -> bool:
    """Look a time zone up in the database of this machine or of the tzdata package."""
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):  # No such name, or one that is a path.
        return False
    return True
