"""Reading the contracts of one call from their files."""

from collections.abc import Callable, Iterable

from tallystick.app.files import read_file
from tallystick.contract.document import CONTRACT_BYTES_MAX
from tallystick.contract.errors import BadContractError, Mistake
from tallystick.contract.parse import parse_contract
from tallystick.contract.terms import Contract
from tallystick.contract.versions import ContractVersions

ContractFile = tuple[str, bytes, Contract]
"""Name, bytes and terms of a contract."""


def load_contracts(paths: Iterable[str]) -> ContractVersions:
    """Read contracts to rate by; ``-`` is standard input.

    Raises:
        UnreadableFileError: a file cannot be read.
        BadContractError: there are mistakes; the error has those of all files.
        TallystickError: the contracts are no versions of one contract, or there is none.
    """
    return ContractVersions(tuple(contract for _, _, contract in read_contracts(paths)))


def read_contracts(
    paths: Iterable[str], *, zone_exists: Callable[[str], bool] | None = None
) -> tuple[ContractFile, ...]:
    """Read every contract, or raise the mistakes of all files together.

    Raises:
        UnreadableFileError: a file cannot be read.
        BadContractError: there are mistakes; the error has those of all files.
    """
    contracts: list[ContractFile] = []
    mistakes: list[Mistake] = []
    for path in paths:
        name = "standard input" if path == "-" else path
        data = read_file(path, bytes_max=CONTRACT_BYTES_MAX + 1)
        try:
            contracts.append((name, data, parse_contract(data, name, zone_exists=zone_exists)))
        except BadContractError as error:
            mistakes.extend(error.mistakes)
    if mistakes:
        raise BadContractError(tuple(mistakes))
    return tuple(contracts)
