"""What in valid contracts is probably not meant: terms without effect, rules never reached.

These are warnings. A contract that has some is used as it stands, by its exact words.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, Final

from tallystick.contract.document import contract_document, contract_text
from tallystick.contract.errors import Mistake
from tallystick.contract.parse import located
from tallystick.contract.table import Note
from tallystick.contract.terms import Contract, Rate, When
from tallystick.contract.versions import ContractVersions
from tallystick.contract.vocabulary import CONDITION_WORDS
from tallystick.contract.wording import Path, describe, suggestion
from tallystick.core.errors import UnknownCurrencyError
from tallystick.core.instant import format_instant
from tallystick.core.money import minor_unit_digits
from tallystick.core.vocabulary import CAPACITIES

_TOP_KEYS: Final = (
    *("schema", "id", "version", "currency", "effective_from", "effective_to"),
    *("parties", "calendar", "metering", "rounding", "telemetry", "rate", "rule"),
)
_TABLE_KEYS: Final[dict[str, tuple[str, ...]]] = {
    "parties": ("provider", "customer"),
    "calendar": ("time_zone", "day_close"),
    "metering": ("unit", "gpus_per_node", "granularity_s", "quantity_rounding", "minimum_s"),
    "rounding": ("digits", "mode", "per"),
    "telemetry": ("gap_factor",),
}
_RATE_KEYS: Final = ("clause", "per_hour", "gpu_type", "capacity", "zone", "tier")
_RULE_KEYS: Final = ("clause", "says", "when", "then")

_WORDS: Final = ("ended_by", "telemetry", "progress", "allocation", *_RATE_KEYS[2:])
_LIMITS: Final = ("attempt_shorter_than", "first", "notice_shorter_than")


def review_contract(data: bytes, contract: Contract, name: str = "contract") -> tuple[Mistake, ...]:
    """Give what is probably not meant in a contract that was read from some bytes."""
    text = contract_text(data, name)
    document = contract_document(text, name)
    notes = [
        *_unknown_keys(document),
        *_idle_terms(contract),
        *_idle_rates(contract.rates),
        *_idle_rules(document.get("rule", []), tuple(rule.when for rule in contract.rules)),
    ]
    return located(notes, text, name)


def review_versions(versions: ContractVersions) -> tuple[Mistake, ...]:
    """Give the times for which no version is in force, or more than one."""
    remarks = []
    for start_us, end_us in pairwise((*versions.boundaries_us, None)):
        assert start_us is not None, "only the last boundary has no end"
        active = [each for each in versions.versions if _holds(each, start_us)]
        span = f"from {format_instant(start_us)}"
        if end_us is not None:
            span += f" to {format_instant(end_us)}"
        if not active and end_us is not None:
            remarks.append(f"no version is in force {span}: time there is held")
        elif len(active) > 1:
            names = " and ".join(each.name for each in active)
            remarks.append(f"{names} are in force {span}: {active[-1].name} decides")
    return tuple(Mistake(None, "", remark, versions.highest.id) for remark in remarks)


def _holds(contract: Contract, at_us: int) -> bool:
    return contract.effective_from_us <= at_us and (
        contract.effective_to_us is None or at_us < contract.effective_to_us
    )


def _unknown_keys(document: dict[str, Any]) -> Iterator[Note]:
    yield from _others(document, (), _TOP_KEYS)
    for key, known in _TABLE_KEYS.items():
        yield from _others(document.get(key, {}), (key,), known)
    for key, known in (("rate", _RATE_KEYS), ("rule", _RULE_KEYS)):
        for position, values in enumerate(document.get(key, [])):
            yield from _others(values, (key, position), known)


def _others(values: dict[str, Any], path: Path, known: tuple[str, ...]) -> Iterator[Note]:
    for key in values:
        if key not in known:
            message = f"not a term of this format, ignored{suggestion(key, known)}"
            yield Note((*path, key), message)


def _idle_terms(contract: Contract) -> Iterator[Note]:
    try:
        minor_unit_digits(contract.currency)
    except UnknownCurrencyError as error:
        yield Note(("currency",), str(error))
    if contract.gpus_per_node is not None and contract.unit == "gpu":
        yield Note(("metering", "gpus_per_node"), "has no effect while the unit is the GPU")
    if contract.day_close is not None and contract.time_zone is None:
        yield Note(("calendar", "day_close"), "needs time_zone to be a moment")


def _idle_rates(rates: tuple[Rate, ...]) -> Iterator[Note]:
    if not rates:
        yield Note(("rate",), "no rate: all time that no rule excludes is held")
    for position, rate in enumerate(rates):
        if rate.capacity is not None and rate.capacity not in CAPACITIES:
            yield _unknown_word(("rate", position, "capacity"), rate.capacity, CAPACITIES)
        for earlier in range(position):
            if _rate_covers(rates[earlier], rate):
                message = f"never used: rate[{earlier + 1}] fits all that it fits"
                yield Note(("rate", position), message)
                break


def _rate_covers(earlier: Rate, later: Rate) -> bool:
    return all(
        getattr(earlier, key) in {None, getattr(later, key)}
        for key in ("gpu_type", "capacity", "zone", "tier")
    )


def _idle_rules(stated: list[dict[str, Any]], whens: tuple[When, ...]) -> Iterator[Note]:
    for position, when in enumerate(whens):
        path = ("rule", position, "when")
        if "when" not in stated[position]:
            yield Note(path[:2], "no when: it matches all time, which when = {} says outright")
        yield from _idle_conditions(path, when)
        for earlier in range(position):
            if _when_covers(whens[earlier], when):
                message = f"never reached: rule[{earlier + 1}] matches all that it matches"
                yield Note(path[:2], message)
                break


def _idle_conditions(path: Path, when: When) -> Iterator[Note]:
    for key in _WORDS:
        words = getattr(when, key)
        if words == ():
            yield Note((*path, key), "an empty list matches nothing")
        for word in words or ():
            known = CONDITION_WORDS.get(key, (word,))
            if word not in known:
                yield _unknown_word((*path, key), word, known)
    for key in _LIMITS:
        if getattr(when, f"{key}_us") == 0:
            yield Note((*path, f"{key}_s"), "nothing is shorter than 0 seconds")


def _unknown_word(path: Path, word: str, known: tuple[str, ...]) -> Note:
    return Note(path, f"{describe(word)} is never stated{suggestion(word, known)}")


def _when_covers(earlier: When, later: When) -> bool:
    """Tell whether the earlier conditions hold wherever the later ones do."""
    return all(
        _words_cover(key, getattr(earlier, key), getattr(later, key)) for key in _WORDS
    ) and all(
        _limit_covers(getattr(earlier, f"{key}_us"), getattr(later, f"{key}_us")) for key in _LIMITS
    )


def _words_cover(key: str, earlier: tuple[str, ...] | None, later: tuple[str, ...] | None) -> bool:
    if earlier is None or later is None:
        return earlier is None
    covered = set(earlier)
    if key in {"telemetry", "progress"}:  # There the bare class matches every reason.
        covered |= {word for word in later if word.partition(":")[0] in covered}
    return covered.issuperset(later)


def _limit_covers(earlier_us: int | None, later_us: int | None) -> bool:
    return earlier_us is None or (later_us is not None and later_us <= earlier_us)
