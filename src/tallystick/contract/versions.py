"""The versions of one contract, and which of them is in force at a moment.

All versions share one id, one currency and one unit, so that amounts of one run can be
added up. Ranges may overlap and may leave gaps; a file given twice counts once.
"""

from dataclasses import dataclass, field
from itertools import pairwise

from tallystick.contract.errors import (
    ContractCurrencyMismatchError,
    ContractIdMismatchError,
    ContractUnitMismatchError,
    ContractVersionClashError,
    NoContractGivenError,
)
from tallystick.contract.terms import Contract


@dataclass(frozen=True, slots=True)
class ContractVersions:
    """Versions of one contract, in order of version number; at least one.

    Raises:
        NoContractGivenError: there is none.
        ContractIdMismatchError: they are versions of different contracts.
        ContractCurrencyMismatchError: their currencies differ.
        ContractUnitMismatchError: one meters GPUs and another nodes.
        ContractVersionClashError: two different files have one version number.
    """

    versions: tuple[Contract, ...]
    boundaries_us: tuple[int, ...] = field(init=False)
    """Every moment at which a version comes into force or goes out of it, in order."""

    def __post_init__(self) -> None:
        ordered = tuple(sorted(set(self.versions), key=lambda each: (each.version, each.digest)))
        if not ordered:
            raise NoContractGivenError
        for contract, following in pairwise(ordered):
            _check_agreement(contract, following)
        object.__setattr__(self, "versions", ordered)
        object.__setattr__(self, "boundaries_us", _boundaries_us(ordered))

    @property
    def highest(self) -> Contract:
        """The version with the highest number."""
        return self.versions[-1]

    def in_force(self, at_us: int) -> Contract | None:
        """Give the highest version whose range holds a moment."""
        for contract in reversed(self.versions):
            if contract.effective_from_us <= at_us and (
                contract.effective_to_us is None or at_us < contract.effective_to_us
            ):
                return contract
        return None


def _check_agreement(one: Contract, other: Contract) -> None:
    if one.id != other.id:
        raise ContractIdMismatchError(one.name, one.id, other.name, other.id)
    if one.currency != other.currency:
        raise ContractCurrencyMismatchError(one.name, one.currency, other.name, other.currency)
    if one.unit != other.unit:
        raise ContractUnitMismatchError(one.name, one.unit, other.name, other.unit)
    if one.version == other.version:
        raise ContractVersionClashError(one.name, one.digest, other.digest)


def _boundaries_us(versions: tuple[Contract, ...]) -> tuple[int, ...]:
    starts_us = {contract.effective_from_us for contract in versions}
    ends_us = {
        contract.effective_to_us for contract in versions if contract.effective_to_us is not None
    }
    return tuple(sorted(starts_us | ends_us))
