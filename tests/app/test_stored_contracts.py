"""Contracts in a store: published once, in the log, and never changed."""

from pathlib import Path

import pytest

from tallystick.app.errors import (
    ContractChoiceError,
    ContractNotFoundError,
    ContractPublishedError,
)
from tallystick.app.stored_contracts import publish_contracts, published, stored_versions
from tallystick.contract.errors import BadContractError, ContractCurrencyMismatchError
from tests.app.stores import contract_file, new_store, size_of


def test_a_contract_is_published_with_its_bytes(tmp_path: Path) -> None:
    """What is read from the log is the file, byte for byte."""
    path = Path(contract_file(tmp_path))
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n") + "# \u00e9\U0001f600".encode())

    with new_store(tmp_path) as store:
        (new,) = publish_contracts(store.log, [str(path)])
        (again,) = publish_contracts(store.log, [str(path)])
        with store.log.reading() as log:
            (found,) = published(log)

    assert (new.is_new, again.is_new) == (True, False)
    assert found.contract == new.contract == again.contract


def test_a_version_never_changes(tmp_path: Path) -> None:
    """Other terms under a known number are refused, and nothing of that call is kept."""
    with new_store(tmp_path) as store:
        publish_contracts(store.log, [contract_file(tmp_path)])
        before = size_of(store)
        second = contract_file(tmp_path, version=2)
        dearer = contract_file(tmp_path, per_hour="4.00")

        with pytest.raises(ContractPublishedError) as refused:
            publish_contracts(store.log, [second, dearer])

        assert size_of(store) == before
    assert refused.value.code == "contract_published"


def test_versions_have_to_fit_what_is_published(tmp_path: Path) -> None:
    """A version in another currency could never be rated beside the others."""
    path = Path(contract_file(tmp_path, version=2))
    path.write_text(path.read_text("utf-8").replace('"USD"', '"EUR"'), "utf-8")

    with new_store(tmp_path) as store:
        publish_contracts(store.log, [contract_file(tmp_path)])

        with pytest.raises(ContractCurrencyMismatchError):
            publish_contracts(store.log, [str(path)])


def test_mistakes_publish_nothing(tmp_path: Path) -> None:
    """A contract with mistakes is not one."""
    (tmp_path / "bad.toml").write_text('id = "x"', "utf-8")

    with new_store(tmp_path) as store:
        with pytest.raises(BadContractError):
            publish_contracts(store.log, [contract_file(tmp_path), str(tmp_path / "bad.toml")])

        assert size_of(store) == 0


def test_which_contract_counts_has_to_be_known(tmp_path: Path) -> None:
    """None, one, several, and one that is not there."""
    with new_store(tmp_path) as store:
        with store.log.reading() as log, pytest.raises(ContractNotFoundError) as none:
            stored_versions(log, None, log.size)
        publish_contracts(store.log, [contract_file(tmp_path)])
        with store.log.reading() as log:
            assert stored_versions(log, None, log.size).highest.id == "plain"
        publish_contracts(store.log, [contract_file(tmp_path, contract_id="other")])
        with store.log.reading() as log:
            with pytest.raises(ContractChoiceError) as several:
                stored_versions(log, None, log.size)
            assert stored_versions(log, "other", log.size).highest.id == "other"
            assert stored_versions(log, None, 1).highest.id == "plain"
            with pytest.raises(ContractNotFoundError) as absent:
                stored_versions(log, "third", log.size)

    assert (none.value.code, several.value.code) == ("contract_not_found", "contract_not_chosen")
    assert "'other', 'plain'" in str(absent.value)
