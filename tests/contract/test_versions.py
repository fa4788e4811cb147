"""Which version of a contract is in force, and which contracts do not go together."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallystick.contract.errors import (
    ContractCurrencyMismatchError,
    ContractIdMismatchError,
    ContractUnitMismatchError,
    ContractVersionClashError,
    NoContractGivenError,
)
from tallystick.contract.parse import parse_contract
from tallystick.contract.terms import Contract
from tallystick.contract.versions import ContractVersions
from tallystick.core.instant import SECOND_US, parse_instant

START_US = parse_instant("2026-01-01T00:00:00.000000Z")


def version(number: int, start_s: int, end_s: int | None = None, **changes: str) -> Contract:
    """Read a version that is in force from and to some second of 2026."""
    terms = {"id": "acme", "currency": "USD", "unit": "gpu", **changes}
    end = "" if end_s is None else f"effective_to = 2026-01-01T00:00:{end_s:02}Z\n"
    return parse_contract(
        f"""
schema = "tallystick.contract/1"
id = "{terms["id"]}"
version = {number}
currency = "{terms["currency"]}"
effective_from = 2026-01-01T00:00:{start_s:02}Z
{end}parties = {{ provider = "Example Cloud", customer = "Acme" }}
metering = {{ unit = "{terms["unit"]}", gpus_per_node = 8 }}
""".encode()
    )


def second_us(second: int) -> int:
    """Give a second of 2026."""
    return START_US + second * SECOND_US


def test_ranges_are_half_open() -> None:
    """A version is in force from its first moment and no longer at its last."""
    versions = ContractVersions((version(1, 10, 20),))

    in_force = [versions.in_force(second_us(20) - step) for step in (0, 1, 10 * SECOND_US)]

    assert in_force == [None, versions.highest, versions.highest]


def test_before_and_between_ranges_no_version_is_in_force() -> None:
    """A gap between versions is a gap."""
    versions = ContractVersions((version(1, 10, 20), version(2, 30)))

    assert [versions.in_force(second_us(second)) for second in (9, 25)] == [None, None]


def test_where_ranges_overlap_the_highest_version_decides() -> None:
    """A later version takes over while an open-ended one goes on."""
    versions = ContractVersions((version(2, 10, 20), version(1, 0)))

    in_force = [versions.in_force(second_us(second)) for second in (5, 15, 25)]

    assert [contract.version for contract in in_force if contract] == [1, 2, 1]


def test_boundaries_are_every_start_and_end_in_order() -> None:
    """Time is cut wherever a version comes into force or goes out of it."""
    versions = ContractVersions((version(2, 20, 40), version(1, 10, 20), version(3, 30)))

    assert versions.boundaries_us == tuple(second_us(second) for second in (10, 20, 30, 40))


def test_a_file_given_twice_counts_once() -> None:
    """The same bytes are the same version."""
    versions = ContractVersions((version(1, 0), version(1, 0)))

    assert versions.versions == (version(1, 0),)


@pytest.mark.parametrize(
    ("others", "error", "message"),
    [
        (
            (version(2, 0, id="other"),),
            ContractIdMismatchError,
            "contracts must share one id, got 'acme' in acme@1 and 'other' in other@2",
        ),
        (
            (version(2, 0, currency="EUR"),),
            ContractCurrencyMismatchError,
            "contracts must share one currency, got 'USD' in acme@1 and 'EUR' in acme@2",
        ),
        (
            (version(2, 0, unit="node"),),
            ContractUnitMismatchError,
            "contracts must share one unit, got 'gpu' in acme@1 and 'node' in acme@2",
        ),
    ],
)
def test_contracts_that_are_not_versions_of_one_are_refused(
    others: tuple[Contract, ...], error: type[Exception], message: str
) -> None:
    """All contracts of a call share one id, one currency and one unit."""
    with pytest.raises(error) as raised:
        ContractVersions((version(1, 0), *others))

    assert str(raised.value) == message


def test_two_files_with_one_version_number_are_refused() -> None:
    """A published version never changes, not even in a comment."""
    one, other = version(1, 0), version(1, 1)

    with pytest.raises(ContractVersionClashError) as raised:
        ContractVersions((one, other))

    low, high = sorted((one.digest, other.digest))
    assert str(raised.value) == f"a version must be one file, got two for acme@1: {low} and {high}"


def test_no_contract_is_refused() -> None:
    """There is nothing to rate by without a contract."""
    with pytest.raises(NoContractGivenError) as raised:
        ContractVersions(())

    assert str(raised.value) == "expected at least one contract, got none"


RANGES = st.lists(
    st.tuples(st.integers(0, 20), st.none() | st.integers(1, 20)).map(
        lambda pair: (pair[0], None if pair[1] is None else pair[0] + pair[1])
    ),
    min_size=1,
    max_size=5,
)


@given(RANGES, st.randoms(use_true_random=False), st.integers(0, 45))
def test_the_version_in_force_is_the_highest_whose_range_holds_the_moment(
    ranges: list[tuple[int, int | None]], random: Any, second: int
) -> None:
    """The choice follows the rule, whatever the order of the files."""
    given_versions = [version(number, *span) for number, span in enumerate(ranges)]
    expected = [
        number
        for number, (start_s, end_s) in enumerate(ranges)
        if start_s <= second and (end_s is None or second < end_s)
    ]
    random.shuffle(given_versions)

    chosen = ContractVersions(tuple(given_versions)).in_force(second_us(second))

    assert (chosen and chosen.version) == (expected[-1] if expected else None)
