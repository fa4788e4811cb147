"""The contract of a bundle: all versions that the log had, as they were published."""

from typing import Any

import pytest

from tallystick.contract import parse_contract
from tallystick.receipt.bundle.contents import BundleLeaf
from tallystick.receipt.bundle.contracts import read_contracts
from tallystick.receipt.bundle.errors import BundledContractError
from tallystick.receipt.reader import ContractName, Receipt
from tallystick.receipt.verify import open_receipt
from tests.evidence import records as r
from tests.rating.rated import contract
from tests.receipt.bundle.bundles import CONTRACT, Log, record_of, story

RECEIPT = open_receipt(story().receipt()).receipt
OTHER = contract().replace(b'"acme"', b'"other"')


def leaves_of(log: Log) -> list[BundleLeaf]:
    """Give the leaves of a log."""
    return [BundleLeaf(number, leaf, record_of(leaf)) for number, leaf in enumerate(log.leaves())]


def published(*texts: bytes) -> list[BundleLeaf]:
    """Publish contracts."""
    log = Log()
    for toml in texts:
        log.publish(toml)
    return leaves_of(log)


def naming(*names: ContractName) -> Receipt:
    """Give the receipt as if it named other versions."""
    fields = {name: getattr(RECEIPT, name) for name in Receipt.__struct_fields__}
    return Receipt(**fields | {"contracts": names})


def said(**changed: Any) -> list[BundleLeaf]:
    """Publish the contract with something else said of it."""
    log = Log()
    terms = parse_contract(CONTRACT)
    body = {"contract": terms.id, "version": terms.version, "digest": terms.digest}
    log.say("contract.published", **body | {"toml": CONTRACT.decode()} | changed)
    return leaves_of(log)


def test_every_version_of_the_named_contract_counts() -> None:
    """Also one that rated nothing; another contract does not."""
    versions = read_contracts(published(OTHER, contract(version=2), CONTRACT), RECEIPT)

    assert [each.name for each in versions.versions] == ["acme@1", "acme@2"]


def test_a_receipt_that_names_none_is_rated_by_the_only_contract() -> None:
    """No version was in force, but its currency is that of the totals."""
    versions = read_contracts(published(CONTRACT), naming())

    assert [each.name for each in versions.versions] == ["acme@1"]
    with pytest.raises(BundledContractError, match="one id"):
        read_contracts(published(CONTRACT, OTHER), naming())
    with pytest.raises(BundledContractError):
        read_contracts([], naming())


@pytest.mark.parametrize(
    "name",
    [
        ContractName("acme", 1, "sha256:" + "0" * 64),
        ContractName("acme", 2, parse_contract(CONTRACT).digest),
        ContractName("ac\nme", 1, parse_contract(CONTRACT).digest),
    ],
)
def test_a_version_that_the_receipt_names_has_to_be_there(name: ContractName) -> None:
    """By id, number and digest; the message is one line."""
    with pytest.raises(BundledContractError, match="it is not published") as refused:
        read_contracts(published(CONTRACT), naming(*RECEIPT.contracts, name))

    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    "changed",
    [
        {"contract": "other"},
        {"version": 2},
        {"digest": "sha256:" + "0" * 64},
        {"toml": CONTRACT.decode() + "\n"},
        {"toml": "x"},
        {"toml": None},
    ],
)
def test_a_contract_is_what_the_log_says_of_it(changed: dict[str, Any]) -> None:
    """Its text gives id, version and digest, and is a contract."""
    with pytest.raises(BundledContractError, match="leaf 0"):
        read_contracts(said(**changed), naming())


def test_two_texts_of_one_version_are_refused() -> None:
    """A version is published once."""
    clash = contract(per_hour="9.99")

    with pytest.raises(BundledContractError):
        read_contracts(published(CONTRACT, clash), RECEIPT)


def test_another_producer_publishes_nothing() -> None:
    """Only what the log itself published is the contract."""
    (ours,) = published(CONTRACT)
    body: Any = ours.record.body
    log = Log()
    log.deliver(r.record("contract.published", None, body))

    with pytest.raises(BundledContractError):
        read_contracts(leaves_of(log), RECEIPT)
