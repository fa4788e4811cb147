"""A contract as JSON: the keys of the TOML, every default stated, times as RFC 3339.

The form satisfies the JSON Schema that the package ships, ``contract.schema.json``.
"""

from typing import Any

from tallystick.contract.terms import SCHEMA, Contract, Rate, Rule, When
from tallystick.core.instant import SECOND_US, format_instant
from tallystick.core.money import fraction_text


def contract_json(contract: Contract) -> dict[str, Any]:
    """Give the terms of a contract, leaving out what it does not state and has no default."""
    effective_to_us = contract.effective_to_us
    return _stated(
        schema=SCHEMA,
        id=contract.id,
        version=contract.version,
        currency=contract.currency,
        effective_from=format_instant(contract.effective_from_us),
        effective_to=None if effective_to_us is None else format_instant(effective_to_us),
        parties={"provider": contract.provider, "customer": contract.customer},
        calendar=_stated(time_zone=contract.time_zone, day_close=contract.day_close),
        metering=_stated(
            unit=contract.unit,
            gpus_per_node=contract.gpus_per_node,
            granularity_s=contract.granularity_us // SECOND_US,
            quantity_rounding=contract.quantity_rounding,
            minimum_s=contract.minimum_us // SECOND_US,
        ),
        rounding={
            "digits": contract.rounding.digits,
            "mode": contract.rounding.mode,
            "per": contract.rounding_per,
        },
        telemetry={"gap_factor": fraction_text(contract.gap_factor)},
        rate=[_rate(rate) for rate in contract.rates],
        rule=[_rule(rule) for rule in contract.rules],
    )


def _rate(rate: Rate) -> dict[str, Any]:
    return _stated(
        clause=rate.clause,
        gpu_type=rate.gpu_type,
        capacity=rate.capacity,
        zone=rate.zone,
        tier=rate.tier,
        per_hour=rate.per_hour_text,
    )


def _rule(rule: Rule) -> dict[str, Any]:
    effect = rule.effect
    then = (
        effect.disposition if effect.share is None else f"{effect.disposition}:{effect.share.text}"
    )
    return _stated(clause=rule.clause, says=rule.says, when=_when(rule.when), then=then)


def _when(when: When) -> dict[str, Any]:
    return _stated(
        ended_by=_words(when.ended_by),
        attempt_shorter_than_s=_seconds(when.attempt_shorter_than_us),
        first_s=_seconds(when.first_us),
        telemetry=_words(when.telemetry),
        progress=_words(when.progress),
        allocation=_words(when.allocation),
        notice_shorter_than_s=_seconds(when.notice_shorter_than_us),
        gpu_type=_words(when.gpu_type),
        capacity=_words(when.capacity),
        zone=_words(when.zone),
        tier=_words(when.tier),
    )


def _words(words: tuple[str, ...] | None) -> list[str] | None:
    return None if words is None else list(words)


def _seconds(duration_us: int | None) -> int | None:
    return None if duration_us is None else duration_us // SECOND_US


def _stated(**terms: Any) -> dict[str, Any]:
    return {key: value for key, value in terms.items() if value is not None}
