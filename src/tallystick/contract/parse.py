"""Reading a contract from the bytes of its file, with all mistakes at once.

Nothing is guessed and nothing half-read comes out: either every term is understood, or the
error names each mistake with its line and key. Keys that version 1 does not know are left
alone, except in ``when``, where ignoring a condition would widen the rule.
"""

import re
from collections.abc import Callable
from fractions import Fraction
from typing import Final

from tallystick.contract.document import contract_document, contract_text
from tallystick.contract.errors import BadContractError, Mistake
from tallystick.contract.locate import key_lines, line_of
from tallystick.contract.table import Note, Table, read_ratio
from tallystick.contract.terms import (
    PLAIN_DISPOSITIONS,
    QUANTITY_ROUNDINGS,
    ROUNDING_MODES,
    ROUNDING_SCOPES,
    SCHEMA,
    SHARED_DISPOSITIONS,
    UNITS,
    Contract,
    Effect,
    Rate,
    Rule,
    Share,
    When,
)
from tallystick.contract.wording import describe, key_text, suggestion
from tallystick.core.canonical import sha256_digest
from tallystick.core.errors import UnknownCurrencyError
from tallystick.core.instant import SECOND_US
from tallystick.core.money import Rounding, minor_unit_digits

DIGITS_MAX: Final = 18
GAP_FACTOR: Final = Fraction(5, 2)

WHEN_KEYS: Final = (
    "ended_by",
    "attempt_shorter_than_s",
    "first_s",
    "telemetry",
    "progress",
    "allocation",
    "notice_shorter_than_s",
    "gpu_type",
    "capacity",
    "zone",
    "tier",
)

_CURRENCY: Final = re.compile(r"[A-Z]{3}")
_DAY_CLOSE: Final = re.compile(r"([01][0-9]|2[0-3]):[0-5][0-9]")


def parse_contract(
    data: bytes,
    name: str = "contract",
    *,
    zone_exists: Callable[[str], bool] | None = None,
) -> Contract:
    """Read a contract.

    Args:
        data: The bytes of the file; their digest becomes part of the contract.
        name: The file's name, for messages.
        zone_exists: Looks a time zone up, which needs a database that rating does without.

    Raises:
        BadContractError: it is no TOML, or it has mistakes; the error has all of them.
    """
    text = contract_text(data, name)
    notes: list[Note] = []
    top = Table(contract_document(text, name), (), notes)
    contract = _contract(top, sha256_digest(data))
    zone = contract.time_zone
    if zone is not None and zone_exists is not None and not zone_exists(zone):
        top.table("calendar").note("time_zone", f"expected an IANA zone, got {describe(zone)}")
    if notes:
        raise BadContractError(located(notes, text, name))
    return contract


def located(notes: list[Note], text: str, name: str) -> tuple[Mistake, ...]:
    """Give each note the line that its key stands on, and put them in order of lines."""
    lines = key_lines(text)
    mistakes = [
        Mistake(line_of(note.path, lines), key_text(note.path), note.message, name)
        for note in notes
    ]
    return tuple(sorted(mistakes, key=lambda mistake: mistake.line or 0))


def _contract(top: Table, digest: str) -> Contract:
    _check_schema(top)
    parties, calendar = top.table("parties"), top.table("calendar")
    metering, rounding, telemetry = (
        top.table(key) for key in ("metering", "rounding", "telemetry")
    )
    currency = top.text("currency")
    effective_from_us, effective_to_us = _range_us(top)
    unit = metering.word("unit", UNITS, "gpu")
    return Contract(
        id=top.text("id"),
        version=top.integer("version", least=0),
        currency=currency,
        effective_from_us=effective_from_us,
        effective_to_us=effective_to_us,
        provider=parties.text("provider"),
        customer=parties.text("customer"),
        time_zone=calendar.optional_text("time_zone"),
        day_close=calendar.matching_text("day_close", _DAY_CLOSE, 'a time of day like "17:00"'),
        unit=unit,
        gpus_per_node=_gpus_per_node(metering, needed=unit == "node"),
        granularity_us=metering.optional_integer("granularity_s", 1, least=1) * SECOND_US,
        quantity_rounding=metering.word("quantity_rounding", QUANTITY_ROUNDINGS, "up"),
        minimum_us=metering.optional_integer("minimum_s", 0, least=0) * SECOND_US,
        rounding=Rounding(
            digits=_digits(top, rounding, currency),
            mode=rounding.word("mode", ROUNDING_MODES, "half_even"),
        ),
        rounding_per=rounding.word("per", ROUNDING_SCOPES, "line"),
        gap_factor=telemetry.factor("gap_factor", GAP_FACTOR),
        rates=tuple(_rate(table) for table in top.tables("rate")),
        rules=tuple(_rule(table) for table in top.tables("rule")),
        digest=digest,
    )


def _check_schema(top: Table) -> None:
    schema = top.text("schema")
    if schema and schema != SCHEMA:
        top.note("schema", f"expected {SCHEMA!r}, got {describe(schema)}")


def _range_us(top: Table) -> tuple[int, int | None]:
    from_us = top.instant_us("effective_from", needed=True)
    to_us = top.instant_us("effective_to", needed=False)
    if from_us is not None and to_us is not None and to_us <= from_us:
        top.note("effective_to", "expected a moment after effective_from")
    return from_us or 0, to_us


def _gpus_per_node(metering: Table, *, needed: bool) -> int | None:
    if needed or "gpus_per_node" in metering:
        return metering.integer("gpus_per_node", least=1)
    return None


def _digits(top: Table, rounding: Table, currency: str) -> int:
    """Read the decimal places of money: those stated, else those of the currency."""
    if currency and _CURRENCY.fullmatch(currency) is None:
        top.note("currency", f"expected an ISO 4217 code like 'USD', got {describe(currency)}")
    elif currency and "digits" not in rounding:
        try:
            return minor_unit_digits(currency)
        except UnknownCurrencyError as error:
            top.note("currency", f"{error}; with rounding.digits stated any code will do")
    return rounding.optional_integer("digits", 0, least=0, most=DIGITS_MAX)


def _rate(table: Table) -> Rate:
    per_hour = table.decimal_text("per_hour")
    return Rate(
        clause=table.text("clause"),
        per_hour=Fraction(per_hour),
        per_hour_text=per_hour,
        gpu_type=table.optional_text("gpu_type"),
        capacity=table.optional_text("capacity"),
        zone=table.optional_text("zone"),
        tier=table.optional_text("tier"),
    )


def _rule(table: Table) -> Rule:
    return Rule(
        clause=table.text("clause"),
        says=table.optional_text("says"),
        when=_when(table.table("when")),
        effect=_effect(table),
    )


def _when(table: Table) -> When:
    for key in table.others(WHEN_KEYS):
        table.note(key, f"unknown condition{suggestion(key, WHEN_KEYS)}")
    return When(
        ended_by=table.words("ended_by"),
        attempt_shorter_than_us=table.limit_us("attempt_shorter_than_s"),
        first_us=table.limit_us("first_s"),
        telemetry=table.words("telemetry"),
        progress=table.words("progress"),
        allocation=table.words("allocation"),
        notice_shorter_than_us=table.limit_us("notice_shorter_than_s"),
        gpu_type=table.words("gpu_type"),
        capacity=table.words("capacity"),
        zone=table.words("zone"),
        tier=table.words("tier"),
    )


def _effect(table: Table) -> Effect:
    then = table.text("then")
    for plain in PLAIN_DISPOSITIONS:
        if then == plain:
            return Effect(plain)
    for shared in SHARED_DISPOSITIONS:
        share = read_ratio(then.removeprefix(f"{shared}:"))
        if then.startswith(shared) and share is not None and share <= 1:
            return Effect(shared, Share(share.numerator, share.denominator))
    if then:
        expected = f"{', '.join(PLAIN_DISPOSITIONS)}, credit:n/d or share:n/d with n/d from 0 to 1"
        table.note("then", f"expected {expected}, got {describe(then)}")
    return Effect("charge")
