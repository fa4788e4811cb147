"""Contracts: their terms, how they are read, and which version is in force when."""

from tallystick.contract.errors import BadContractError, Mistake
from tallystick.contract.parse import parse_contract
from tallystick.contract.terms import (
    Contract,
    Disposition,
    Effect,
    Rate,
    Rule,
    Share,
    When,
)
from tallystick.contract.versions import ContractVersions

__all__ = [
    "BadContractError",
    "Contract",
    "ContractVersions",
    "Disposition",
    "Effect",
    "Mistake",
    "Rate",
    "Rule",
    "Share",
    "When",
    "parse_contract",
]
