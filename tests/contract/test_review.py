"""Warnings: what a contract says in vain."""

from pathlib import Path
from typing import Any

import pytest

from tallystick.contract.parse import parse_contract
from tallystick.contract.review import review_contract, review_versions
from tallystick.contract.versions import ContractVersions
from tallystick.contract.vocabulary import CONDITION_WORDS

CASES = Path(__file__).parents[1] / "conformance" / "cases"
RATE = "[[rate]]\nclause = '1'\nper_hour = '1'\n"
RULE = "[[rule]]\nclause = '2'\nthen = 'hold'\n"


def warnings_of(text: str) -> list[tuple[int | None, str, str]]:
    """Give line, key and message of each warning about a contract."""
    data = text.encode()
    warnings = review_contract(data, parse_contract(data))
    return [(warning.line, warning.key, warning.message) for warning in warnings]


@pytest.mark.parametrize("path", sorted(CASES.glob("*/contract*.toml")), ids=str)
def test_published_contracts_have_no_warning(path: Path) -> None:
    """The contracts of the conformance cases say nothing in vain."""
    assert warnings_of(path.read_text("utf-8")) == []


@pytest.mark.parametrize(
    ("addition", "line", "key", "message"),
    [
        (
            f"curency = 1\n{RATE}",
            7,
            "curency",
            "not a term of this format, ignored, did you mean 'currency'?",
        ),
        (f"{RATE}price = 1", 10, "rate[1].price", "not a term of this format, ignored"),
        (
            f"metering.granularity = 1\n{RATE}",
            7,
            "metering.granularity",
            "not a term of this format, ignored, did you mean 'granularity_s'?",
        ),
        ("", None, "rate", "no rate: all time that no rule excludes is held"),
        (
            f"metering.gpus_per_node = 8\n{RATE}",
            7,
            "metering.gpus_per_node",
            "has no effect while the unit is the GPU",
        ),
        (
            f"calendar.day_close = '17:00'\n{RATE}",
            7,
            "calendar.day_close",
            "needs time_zone to be a moment",
        ),
        (
            f"{RATE}capacity = 'sport'",
            10,
            "rate[1].capacity",
            "'sport' is never stated, did you mean 'spot'?",
        ),
        (f"{RATE}{RATE}zone = 'z'", 10, "rate[2]", "never used: rate[1] fits all that it fits"),
        (
            f"{RATE}{RULE}",
            10,
            "rule[1]",
            "no when: it matches all time, which when = {} says outright",
        ),
        (
            f"{RATE}{RULE}when.ended_by = ['user', 'alien']",
            13,
            "rule[1].when.ended_by",
            "'alien' is never stated",
        ),
        (
            f"{RATE}{RULE}when.telemetry = 'unknown:engine'",
            13,
            "rule[1].when.telemetry",
            "'unknown:engine' is never stated, did you mean 'unknown:engine_restart'?",
        ),
        (f"{RATE}{RULE}when.zone = []", 13, "rule[1].when.zone", "an empty list matches nothing"),
        (
            f"{RATE}{RULE}when.first_s = 0",
            13,
            "rule[1].when.first_s",
            "nothing is shorter than 0 seconds",
        ),
        (
            f"{RATE}{RULE}when.telemetry = 'unknown'\n{RULE}when.telemetry = 'unknown:blank'",
            14,
            "rule[2]",
            "never reached: rule[1] matches all that it matches",
        ),
        (
            f"{RATE}{RULE}when.first_s = 60\n{RULE}when = {{ first_s = 60, zone = 'z' }}",
            14,
            "rule[2]",
            "never reached: rule[1] matches all that it matches",
        ),
    ],
)
def test_what_is_said_in_vain_is_a_warning(
    contracts: Any, addition: str, line: int | None, key: str, message: str
) -> None:
    """Each thing that cannot have an effect is one warning with its line."""
    assert warnings_of(contracts.smallest + addition) == [(line, key, message)]


def test_a_currency_that_iso_does_not_have_is_a_warning(contracts: Any) -> None:
    """Stated digits make any code usable, but it may be a misspelt one."""
    text = f"{contracts.smallest.replace('USD', 'UDS')}rounding.digits = 2\n{RATE}"

    warnings = warnings_of(text)

    assert warnings == [
        (4, "currency", "expected an ISO 4217 currency with a minor unit, got 'UDS'")
    ]


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ("telemetry = 'unknown:blank'", "telemetry = 'unknown'"),
        ("zone = 'a'", "zone = 'a:b'"),
        ("zone = 'a'", "zone = ['a', 'b']"),
        ("zone = 'a'", "tier = 'a'"),
        ("first_s = 60", "first_s = 61"),
        ("attempt_shorter_than_s = 60", "zone = 'a'"),
        ("telemetry = 'observed'", "telemetry = 'unknown'"),
    ],
)
def test_a_rule_that_can_still_match_is_no_warning(
    contracts: Any, earlier: str, later: str
) -> None:
    """A later rule stands if it matches something that the earlier ones do not."""
    text = f"{contracts.smallest}{RATE}{RULE}when.{earlier}\n{RULE}when.{later}\n"

    assert warnings_of(text) == []


@pytest.mark.parametrize("key", sorted(CONDITION_WORDS))
def test_every_known_word_is_free_of_warnings(contracts: Any, key: str) -> None:
    """A rule may name each word that evidence and lanes can state."""
    words = ", ".join(f"'{word}'" for word in CONDITION_WORDS[key])

    assert warnings_of(f"{contracts.smallest}{RATE}{RULE}when.{key} = [{words}]\n") == []


def test_gaps_and_overlaps_of_versions_are_warnings(contracts: Any) -> None:
    """Time without a version is held, and time with two is decided by the higher."""
    ranges = [
        "2026-01-01T00:00:00Z\neffective_to = 2026-02-01T00:00:00Z",
        "2026-03-01T00:00:00Z",
        "2026-04-01T00:00:00Z\neffective_to = 2026-05-01T00:00:00Z",
    ]
    versions = ContractVersions(
        tuple(
            parse_contract(
                contracts.smallest.replace("version = 1", f"version = {number}")
                .replace("2026-01-01T00:00:00Z", span)
                .encode()
            )
            for number, span in enumerate(ranges)
        )
    )

    warnings = review_versions(versions)

    assert [warning.text for warning in warnings] == [
        (
            "acme: no version is in force from 2026-02-01T00:00:00.000000Z "
            "to 2026-03-01T00:00:00.000000Z: time there is held"
        ),
        (
            "acme: acme@1 and acme@2 are in force from 2026-04-01T00:00:00.000000Z "
            "to 2026-05-01T00:00:00.000000Z: acme@2 decides"
        ),
    ]
