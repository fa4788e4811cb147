"""What may be at hand beside a receipt, and makes it readable: the contract and the evidence.

A receipt names clauses and records; their wording is elsewhere. What is not at hand is
simply not told.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class ContractNote:
    """What an explanation needs of one contract version."""

    rule_clauses: frozenset[str]
    sentences: Mapping[str, str]
    """By rule clause, where the contract states one."""
    rounding: str
    """How the version rounds, such as ``half_even to 2 places, each line``."""


@dataclass(frozen=True, slots=True)
class RecordNote:
    """What an explanation tells of one record: what it says, when it was, who saw it."""

    kind: str
    at: str | None
    producer: str


@dataclass(frozen=True, slots=True)
class Background:
    """The contract versions by name (``acme-spot@3``) and the records by digest."""

    parties: str | None = None
    contracts: Mapping[str, ContractNote] = field(default_factory=dict)
    records: Mapping[str, RecordNote] = field(default_factory=dict)
