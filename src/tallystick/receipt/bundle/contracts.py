"""The contract of a bundle: its versions stand in the log, as they were published.

All versions count that the log had when the receipt was computed, since one that rated no
part of the run may still have a say in its terms.
"""

from collections.abc import Iterable
from typing import Final

import msgspec
from msgspec import Struct

from tallystick.contract import Contract, ContractVersions, parse_contract
from tallystick.core.errors import TallystickError
from tallystick.evidence.leaf import LOG_PRODUCER
from tallystick.receipt.bundle.contents import BundleLeaf
from tallystick.receipt.bundle.errors import BundledContractError
from tallystick.receipt.reader import Receipt

KIND: Final = "contract.published"


class _Published(Struct, frozen=True):
    contract: str
    version: int
    digest: str
    toml: str


def read_contracts(leaves: Iterable[BundleLeaf], receipt: Receipt) -> ContractVersions:
    """Give the versions of the contract that the receipt names.

    A receipt may name none, if no version was in force; then the leaves must be of one contract.

    Args:
        leaves: Those that the receipt was computed from.
        receipt: The receipt.

    Raises:
        BundledContractError: one that it names is not there, or is not what the log says.
    """
    named = {(each.id, each.version, each.digest) for each in receipt.contracts}
    ids = {each.id for each in receipt.contracts}
    contracts = [
        _read_contract(leaf)
        for leaf in leaves
        if leaf.record.producer == LOG_PRODUCER and leaf.record.kind == KIND
    ]
    chosen = tuple(each for each in contracts if not ids or each.id in ids)
    missing = named - {(each.id, each.version, each.digest) for each in chosen}
    if missing:
        contract_id, version, digest = min(missing)
        name = ascii(f"{contract_id}@{version}")[:80]
        raise BundledContractError(f"expected {name} with {digest}, it is not published")
    try:
        return ContractVersions(chosen)
    except TallystickError as error:
        raise BundledContractError(ascii(str(error))[1:-1][:200]) from error


def _read_contract(leaf: BundleLeaf) -> Contract:
    name = f"leaf {leaf.number}"
    try:
        said = msgspec.convert(leaf.record.body, _Published)
        contract = parse_contract(said.toml.encode(), name)
    except (msgspec.ValidationError, TallystickError) as error:
        raise BundledContractError(f"{name}: {ascii(str(error))[1:-1][:200]}") from error
    stated = (said.contract, said.version, said.digest)
    if (contract.id, contract.version, contract.digest) != stated:
        raise BundledContractError(f"{name}: expected id, version and digest of its own text")
    return contract
