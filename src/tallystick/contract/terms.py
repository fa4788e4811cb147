"""The terms of a contract, as plain values.

A contract is immutable once published: a change of terms is a new version. Times are integer
UTC microseconds, shares and prices exact fractions. A term that the contract does not state
is None, unless the format gives it a default.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Literal

from tallystick.core.money import Rounding, RoundingMode

Disposition = Literal["charge", "credit", "share", "hold", "exclude"]
Unit = Literal["gpu", "node"]
QuantityRounding = Literal["up", "down", "half_even"]
RoundingScope = Literal["line", "receipt"]

SCHEMA: Final = "tallystick.contract/1"

PLAIN_DISPOSITIONS: Final[tuple[Disposition, ...]] = ("charge", "exclude", "hold")
SHARED_DISPOSITIONS: Final[tuple[Disposition, ...]] = ("credit", "share")
UNITS: Final[tuple[Unit, ...]] = ("gpu", "node")
QUANTITY_ROUNDINGS: Final[tuple[QuantityRounding, ...]] = ("up", "down", "half_even")
ROUNDING_MODES: Final[tuple[RoundingMode, ...]] = ("half_even", "half_up", "up", "down")
ROUNDING_SCOPES: Final[tuple[RoundingScope, ...]] = ("line", "receipt")


@dataclass(frozen=True, slots=True)
class Share:
    """A part of a price, from 0 to 1, in lowest terms."""

    numerator: int
    denominator: int

    @property
    def text(self) -> str:
        """The share as contracts and receipts write it, ``n/d``."""
        return f"{self.numerator}/{self.denominator}"

    @property
    def fraction(self) -> Fraction:
        """The share as a number."""
        return Fraction(self.numerator, self.denominator)


@dataclass(frozen=True, slots=True)
class Effect:
    """What a rule does with the time it matches: its ``then``."""

    disposition: Disposition
    share: Share | None = None
    """Stated with credit and share, None with the others."""


@dataclass(frozen=True, slots=True)
class Rate:
    """A price of one unit for one hour, and which attempts it is for; None fits any."""

    clause: str
    per_hour: Fraction
    per_hour_text: str
    """The price as the contract writes it, which is how receipts print it."""
    gpu_type: str | None = None
    capacity: str | None = None
    zone: str | None = None
    tier: str | None = None


@dataclass(frozen=True, slots=True)
class When:
    """The conditions of a rule. All that are stated hold; of a tuple any one word does.

    An empty tuple fits nothing, and neither does a limit of 0.
    """

    ended_by: tuple[str, ...] | None = None
    attempt_shorter_than_us: int | None = None
    first_us: int | None = None
    telemetry: tuple[str, ...] | None = None
    progress: tuple[str, ...] | None = None
    allocation: tuple[str, ...] | None = None
    notice_shorter_than_us: int | None = None
    gpu_type: tuple[str, ...] | None = None
    capacity: tuple[str, ...] | None = None
    zone: tuple[str, ...] | None = None
    tier: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Rule:
    """A clause that decides about time; the first one that matches does."""

    clause: str
    says: str | None
    when: When
    effect: Effect


@dataclass(frozen=True, slots=True)
class Contract:
    """One version of a contract: who, from when to when, how time is metered and priced."""

    id: str
    version: int
    currency: str
    effective_from_us: int
    effective_to_us: int | None
    """The moment at which the version is no longer in force; None is open-ended."""
    provider: str
    customer: str
    time_zone: str | None
    day_close: str | None
    unit: Unit
    gpus_per_node: int | None
    granularity_us: int
    quantity_rounding: QuantityRounding
    minimum_us: int
    rounding: Rounding
    rounding_per: RoundingScope
    gap_factor: Fraction
    rates: tuple[Rate, ...]
    rules: tuple[Rule, ...]
    digest: str
    """``sha256:<hex>`` of the file's bytes."""

    @property
    def name(self) -> str:
        """The contract and its version, as receipts name them: ``acme-spot@3``."""
        return f"{self.id}@{self.version}"
