"""The contract, the slow and literal way: FORMATS 5 and rules 45 to 50."""

import hashlib
import re
import tomllib
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any

from tests.reference.slow_bodies import EPOCH

MONEY = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?")
SHARE = re.compile(r"(credit|share):([0-9]+)/([0-9]+)")
FACTOR = re.compile(r"[0-9]+(\.[0-9]+)?|[0-9]+/[0-9]+")
MATCHED = ("gpu_type", "capacity", "zone", "tier")
WORDS = ("ended_by", "telemetry", "progress", "allocation", *MATCHED)
SECONDS = ("attempt_shorter_than_s", "first_s", "notice_shorter_than_s")
MODES = ("half_even", "half_up", "up", "down")
#: ISO 4217 minor units that are not 2.
MINOR_UNITS = (
    dict.fromkeys(
        [
            "BIF",
            "CLP",
            "DJF",
            "GNF",
            "ISK",
            "JPY",
            "KMF",
            "KRW",
            "PYG",
            "RWF",
            "UGX",
            "UYI",
            "VND",
            "VUV",
            "XAF",
            "XOF",
            "XPF",
        ],
        0,
    )
    | dict.fromkeys(["BHD", "IQD", "JOD", "KWD", "LYD", "OMR", "TND"], 3)
    | dict.fromkeys(["CLF", "UYW"], 4)
)


class MisuseError(Exception):
    """A call that cannot be rated: exit 2 (rules 45 and 46)."""


@dataclass(frozen=True, slots=True)
class Disposition:
    """What becomes of a piece: the bare word, and the share of `credit` and `share`."""

    word: str
    share: Fraction | None = None


@dataclass(frozen=True, slots=True)
class Rate:
    """One price."""

    clause: str
    per_hour: str
    wants: dict[str, str]


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule: `words` and `seconds` are the keys of its `when`, by kind."""

    clause: str
    words: dict[str, list[str]]
    seconds: dict[str, int]
    then: Disposition


@dataclass(frozen=True, slots=True)
class Version:
    """One contract file."""

    id: str
    version: int
    digest: str
    currency: str
    effective_from: int
    effective_to: int | None
    unit: str
    gpus_per_node: int | None
    granularity_s: int
    quantity_rounding: str
    minimum_s: int
    digits: int
    mode: str
    per: str
    gap_factor: Fraction
    rates: tuple[Rate, ...]
    rules: tuple[Rule, ...]

    @property
    def name(self) -> str:
        """Give the name that a line has for it."""
        return f"{self.id}@{self.version}"


def load(files: list[bytes]) -> list[Version]:
    """Rule 46: all files are versions of one id, currency and unit, by version number."""
    versions = [load_one(data) for data in dict.fromkeys(files)]
    if not versions:
        raise MisuseError("no contract")
    if len({(one.id, one.currency, one.unit) for one in versions}) > 1:
        raise MisuseError("the files differ in id, currency or unit")
    if len({one.version for one in versions}) < len(versions):
        raise MisuseError("two files with one version number")
    return sorted(versions, key=lambda one: one.version)


def in_force(versions: list[Version], at: int) -> Version | None:
    """Rule 47: the highest version with effective_from <= t < effective_to."""
    possible = [
        one
        for one in versions
        if one.effective_from <= at and (one.effective_to is None or at < one.effective_to)
    ]
    return max(possible, key=lambda one: one.version, default=None)


# -- reading -------------------------------------------------------------------------------


def load_one(data: bytes) -> Version:
    """Rule 45: what is not a contract is misuse."""
    try:
        table = tomllib.loads(data.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise MisuseError(str(error)) from error
    if take(table, "schema", str) != "tallystick.contract/1":
        raise MisuseError("schema")
    currency = take(table, "currency", str)
    if re.fullmatch("[A-Z]{3}", currency) is None:
        raise MisuseError("currency")
    metering = take(table, "metering", dict, {})
    rounding = take(table, "rounding", dict, {})
    telemetry = take(table, "telemetry", dict, {})
    until = table.get("effective_to")
    unit = one_of(take(metering, "unit", str, "gpu"), "gpu", "node")
    return Version(
        id=take(table, "id", str),
        version=take(table, "version", int),
        digest="sha256:" + hashlib.sha256(data).hexdigest(),  # Rule 68.
        currency=currency,
        effective_from=instant(take(table, "effective_from", datetime)),
        effective_to=None if until is None else instant(until),
        unit=unit,
        gpus_per_node=take(metering, "gpus_per_node", int) if unit == "node" else None,
        granularity_s=take(metering, "granularity_s", int, 1),
        quantity_rounding=one_of(
            take(metering, "quantity_rounding", str, "up"), "up", "down", "half_even"
        ),
        minimum_s=take(metering, "minimum_s", int, 0),
        digits=take(rounding, "digits", int, MINOR_UNITS.get(currency, 2)),
        mode=one_of(take(rounding, "mode", str, "half_even"), *MODES),
        per=one_of(take(rounding, "per", str, "line"), "line", "receipt"),
        gap_factor=factor(take(telemetry, "gap_factor", str, "5/2")),
        rates=tuple(load_rate(one) for one in take(table, "rate", list, [])),
        rules=tuple(load_rule(one) for one in take(table, "rule", list, [])),
    )


def take(table: Any, name: str, kind: type, default: Any = None) -> Any:
    """Give a field of a table, which must have the type; a boolean is no integer."""
    if not isinstance(table, dict):
        raise MisuseError(name)
    value = table.get(name, default)
    if not isinstance(value, kind) or isinstance(value, bool):
        raise MisuseError(name)
    return value


def one_of(value: str, *allowed: str) -> str:
    """Refuse a word that the contract format does not have."""
    if value not in allowed:
        raise MisuseError(value)
    return value


def instant(value: Any) -> int:
    """Rule 45: a local date-time is refused."""
    if not isinstance(value, datetime) or value.tzinfo is None:
        raise MisuseError("a date-time needs an offset")
    delta = value.astimezone(UTC) - EPOCH
    return (delta.days * 86400 + delta.seconds) * 1_000_000 + delta.microseconds


def factor(text: str) -> Fraction:
    """Read `gap_factor`, such as "5/2"."""
    if FACTOR.fullmatch(text) is None or text.endswith("/0"):
        raise MisuseError("gap_factor")
    return Fraction(text)


def load_rate(table: Any) -> Rate:
    """Read one `[[rate]]`; its price is a decimal string."""
    per_hour = take(table, "per_hour", str)
    if MONEY.fullmatch(per_hour) is None:
        raise MisuseError("per_hour")
    wants = {name: take(table, name, str) for name in MATCHED if name in table}
    return Rate(take(table, "clause", str), per_hour, wants)


def load_rule(table: Any) -> Rule:
    """Read one `[[rule]]`."""
    when = take(table, "when", dict)
    words: dict[str, list[str]] = {}
    seconds: dict[str, int] = {}
    for name in when:
        if name in SECONDS:
            seconds[name] = take(when, name, int)
        elif name in WORDS:
            wanted = when[name] if isinstance(when[name], list) else [when[name]]
            if not all(isinstance(one, str) for one in wanted):
                raise MisuseError(name)
            words[name] = wanted
        else:
            raise MisuseError(name)
    return Rule(take(table, "clause", str), words, seconds, disposition(take(table, "then", str)))


def disposition(text: str) -> Disposition:
    """Rule 48: a word, or credit and share with n/d, 0 <= n <= d, d > 0."""
    if text in ("charge", "exclude", "hold"):
        return Disposition(text)
    match = SHARE.fullmatch(text)
    if match is None or not int(match.group(2)) <= int(match.group(3)) > 0:
        raise MisuseError(text)
    return Disposition(match.group(1), Fraction(int(match.group(2)), int(match.group(3))))
