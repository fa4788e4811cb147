"""Contracts in a store: published once, in the log, and never changed."""

from collections.abc import Iterable
from dataclasses import dataclass

from tallystick.app.admit import clock_us
from tallystick.app.contracts import read_contracts
from tallystick.app.errors import (
    ContractChoiceError,
    ContractNotFoundError,
    ContractPublishedError,
)
from tallystick.contract.parse import parse_contract
from tallystick.contract.terms import Contract
from tallystick.contract.versions import ContractVersions
from tallystick.evidence.codec import read_line
from tallystick.evidence.leaf import leaf_record, leaf_recorded
from tallystick.stores.delivery import write_own
from tallystick.stores.protocol import Reading, Store, Writing


@dataclass(frozen=True, slots=True)
class Published:
    """A contract version in the log; ``is_new`` if it was put there just now."""

    contract: Contract
    leaf: int
    recorded: str
    is_new: bool = False


def publish_contracts(store: Store, paths: Iterable[str]) -> tuple[Published, ...]:
    """Put contract versions into the log, all or none; the same bytes again change nothing.

    Raises:
        UnreadableFileError: a file cannot be read.
        BadContractError: there are mistakes; the error has those of all files.
        ContractPublishedError: a version is published already, with other bytes.
        TallystickError: they are no versions of one contract, or the store cannot be written.
    """
    files = read_contracts(paths)
    with store.writing() as log:
        known = {each.contract.name: each for each in published(log)}
        for _, _, contract in files:
            _check_agrees(contract, known)
        return tuple(
            known[contract.name]
            if contract.name in known
            else Published(contract, *_publish(log, contract, data), is_new=True)
            for _, data, contract in files
        )


def published(log: Reading, size: int | None = None) -> tuple[Published, ...]:
    """Give the contract versions that are in the log, or in its first ``size`` leaves."""
    found = []
    for document in log.documents("contract"):
        leaf = int(document.data)
        if size is None or leaf < size:
            data = next(log.leaves(leaf, leaf + 1))
            found.append(Published(contract_of(data), leaf, leaf_recorded(data)))
    return tuple(found)


def contract_ids(log: Reading) -> list[str]:
    """Name the contracts that are in the log, in order."""
    return sorted({each.contract.id for each in published(log)})


def contract_of(leaf: bytes) -> Contract:
    """Read the contract that a leaf of kind ``contract.published`` holds."""
    body = read_line(leaf_record(leaf)).body
    assert isinstance(body, dict), "the log writes no typed body for this kind"
    return parse_contract(body["toml"].encode(), body["contract"])


def stored_versions(log: Reading, contract_id: str | None, size: int) -> ContractVersions:
    """Give the versions to rate by: of the contract that is named, or of the only one.

    Raises:
        ContractNotFoundError: none was published, or none of that id.
        ContractChoiceError: there are several contracts and none is named.
    """
    contracts = [each.contract for each in published(log, size)]
    ids = sorted({contract.id for contract in contracts})
    if contract_id is None and len(ids) > 1:
        raise ContractChoiceError(tuple(ids))
    wanted = contract_id if contract_id is not None else next(iter(ids), None)
    chosen = tuple(contract for contract in contracts if contract.id == wanted)
    if not chosen:
        raise ContractNotFoundError(contract_id, tuple(ids))
    return ContractVersions(chosen)


def _check_agrees(contract: Contract, known: dict[str, Published]) -> None:
    """Refuse what would replace, or could not be rated beside, what is published."""
    same = known.get(contract.name)
    if same is not None and same.contract.digest != contract.digest:
        raise ContractPublishedError(contract.name, same.contract.digest)
    others = [each.contract for each in known.values() if each.contract.id == contract.id]
    ContractVersions((contract, *others))


def _publish(log: Writing, contract: Contract, data: bytes) -> tuple[int, str]:
    body = {
        "contract": contract.id,
        "version": contract.version,
        "digest": contract.digest,
        "toml": data.decode(),
    }
    leaf = write_own(log, "contract.published", body, clock_us())
    log.put("contract", contract.name, str(leaf).encode())
    return leaf, leaf_recorded(next(log.leaves(leaf, leaf + 1)))
