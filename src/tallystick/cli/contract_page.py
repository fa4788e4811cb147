"""A contract as a page of plain words, 80 columns wide."""

import textwrap
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from tallystick.contract.terms import Contract, Effect, Rate, When
from tallystick.core.instant import HOUR_US, MINUTE_US, SECOND_US, format_instant

WIDTH = 80
_LABEL_WIDTH = 14
_CLAUSE_WIDTH_MAX = 12

_OUTCOMES = {
    "charge": "charged",
    "exclude": "not charged",
    "hold": "held until the parties decide",
    "credit": "charged, and {share} of it given back",
    "share": "{share} of the price charged",
}
_WORD_CONDITIONS = (
    ("ended_by", "ended by"),
    ("telemetry", "telemetry"),
    ("progress", "progress"),
    ("allocation", "allocation"),
    ("gpu_type", "GPU type"),
    ("capacity", "capacity"),
    ("zone", "zone"),
    ("tier", "tier"),
)
_LIMIT_CONDITIONS = (
    ("attempt_shorter_than_us", "attempt shorter than {}"),
    ("first_us", "first {} of the attempt"),
    ("notice_shorter_than_us", "less than {} of notice by who took it back"),
)


def contract_page(source: str, contract: Contract) -> str:
    """Write what a contract says."""
    return "\n".join(
        [
            *_wrapped(f"{contract.name} ({source})", "", "  "),
            f"  {contract.digest}",
            *_facts(contract),
            "",
            *_rates(contract),
            "",
            *_rules(contract),
        ]
    )


def duration_text(duration_us: int) -> str:
    """Write whole seconds in the largest unit that leaves no rest: ``1 h``, ``7 min``."""
    for unit_us, unit in ((HOUR_US, "h"), (MINUTE_US, "min")):
        if duration_us >= unit_us and duration_us % unit_us == 0:
            return f"{duration_us // unit_us} {unit}"
    return f"{duration_us // SECOND_US} s"


def _facts(contract: Contract) -> Iterator[str]:
    zone = contract.time_zone
    yield from _fact("provider", contract.provider)
    yield from _fact("customer", contract.customer)
    yield from _fact("in force", f"from {_moment(contract.effective_from_us, zone)}")
    if contract.effective_to_us is None:
        yield from _fact("", "with no end")
    else:
        yield from _fact("", f"until {_moment(contract.effective_to_us, zone)}")
    if zone is not None:
        yield from _fact("time zone", zone)
    if contract.day_close is not None:
        yield from _fact("day closes", f"at {contract.day_close}")
    yield from _fact("metering", _metering(contract))
    yield from _fact("telemetry", f"samples over {_factor(contract)} cadences apart leave a gap")
    yield from _fact("money", _money(contract))


def _fact(label: str, text: str) -> list[str]:
    first = f"  {label}".ljust(_LABEL_WIDTH)
    return _wrapped(text, first, " " * _LABEL_WIDTH)


def _moment(at_us: int, zone: str | None) -> str:
    text = format_instant(at_us).replace(".000000Z", "Z")
    if zone is None:
        return text
    try:
        local = (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=at_us)).astimezone(
            ZoneInfo(zone)
        )
    except OverflowError:  # The first and the last day of the calendar have no local time.
        return text
    return f"{text} = {local:%Y-%m-%d %H:%M:%S %Z}"


def _metering(contract: Contract) -> str:
    unit = "GPU" if contract.unit == "gpu" else f"node ({contract.gpus_per_node} GPUs)"
    ways = {"up": "up", "down": "down", "half_even": "to the nearer, halves to even,"}
    text = (
        f"time of each {unit} and attempt, "
        f"rounded {ways[contract.quantity_rounding]} to {duration_text(contract.granularity_us)}"
    )
    if contract.minimum_us:
        text += f", at least {duration_text(contract.minimum_us)}"
    return text


def _factor(contract: Contract) -> str:
    factor = contract.gap_factor
    whole = factor.denominator == 1
    return str(factor.numerator) if whole else f"{factor.numerator}/{factor.denominator}"


def _money(contract: Contract) -> str:
    ways = {
        "half_even": "half to even",
        "half_up": "half away from zero",
        "up": "away from zero",
        "down": "toward zero",
    }
    places = contract.rounding.digits
    return (
        f"{contract.currency} with {places} decimal place{'' if places == 1 else 's'}, "
        f"rounded {ways[contract.rounding.mode]} once per {contract.rounding_per}"
    )


def _rates(contract: Contract) -> Iterator[str]:
    unit = "GPU" if contract.unit == "gpu" else "node"
    if not contract.rates:
        yield f"No rates: all {unit} time is held, unless a rule excludes it."
        return
    yield f"Rates in {contract.currency} for one {unit} and hour; the first that fits counts"
    width = _clause_width(contract)
    price_width = max(len(rate.per_hour_text) for rate in contract.rates)
    for rate in contract.rates:
        price = f"{rate.per_hour_text:>{price_width}}  "
        yield from _clause(rate.clause, width, _fits(rate), price)


def _fits(rate: Rate) -> str:
    stated = (
        ("GPU type", rate.gpu_type),
        ("capacity", rate.capacity),
        ("zone", rate.zone),
        ("tier", rate.tier),
    )
    return ", ".join(f"{label} {value}" for label, value in stated if value) or "any"


def _rules(contract: Contract) -> Iterator[str]:
    if not contract.rules:
        yield "No rules: all time is charged."
        return
    yield "Rules; the first that matches decides, and time that none matches is charged"
    width = _clause_width(contract)
    for rule in contract.rules:
        text = f"{_conditions(rule.when)}: {_outcome(rule.effect)}"
        yield from _clause(rule.clause, width, text)
        if rule.says is not None:
            indent = " " * (width + 4)
            yield from _wrapped(f'"{rule.says}"', indent, f"{indent} ")


def _conditions(when: When) -> str:
    conditions = []
    for key, label in _WORD_CONDITIONS:
        words = getattr(when, key)
        if words is not None:
            conditions.append(f"{label} {' or '.join(words) or 'nothing'}")
    for key, label in _LIMIT_CONDITIONS:
        limit_us = getattr(when, key)
        if limit_us is not None:
            conditions.append(label.format(duration_text(limit_us)))
    return ", and ".join(conditions) or "always"


def _outcome(effect: Effect) -> str:
    share = effect.share.text if effect.share is not None else ""
    return _OUTCOMES[effect.disposition].format(share=share)


def _clause_width(contract: Contract) -> int:
    """Give the width of the clause column: that of the longest clause that is not too long."""
    clauses = [rate.clause for rate in contract.rates] + [rule.clause for rule in contract.rules]
    widths = (len(_plain(clause)) for clause in clauses)
    return max((width for width in widths if width <= _CLAUSE_WIDTH_MAX), default=1)


def _clause(clause: str, width: int, text: str, column: str = "") -> Iterator[str]:
    """Put a clause in its column and the text beside it, or below if the clause is too long."""
    name = _plain(clause)
    if len(name) > width:
        yield from _wrapped(name, "  ", "  ")
        name = ""
    first = f"  {name:<{width}}  {column}"
    yield from _wrapped(text, first, " " * len(first))


def _wrapped(text: str, first: str, following: str) -> list[str]:
    return textwrap.wrap(
        _plain(text),
        WIDTH,
        initial_indent=first,
        subsequent_indent=following,
        break_on_hyphens=False,
    )


def _plain(text: str) -> str:
    """Write a text of the file on one line, with nothing that a terminal would obey."""
    return "".join(
        character if character.isprintable() else repr(character)[1:-1]
        for character in " ".join(text.split())
    )
