"""A run as a whole: usage, totals, adjustments, and the version they follow (rules 56 to 62)."""

from decimal import Decimal

import pytest

from tallystick.evidence.record import content_digest
from tests.evidence.records import (
    Json,
    adjustment,
    declared,
    ended,
    minutes,
    of,
    points,
    started,
)
from tests.rating.rated import (
    HELD_WHEN_DARK,
    columns,
    contract,
    finding_codes,
    metering,
    rate,
    rounding,
    rule,
)

HOUR = (started(), ended())


def test_usage_adds_up_by_disposition() -> None:
    """A share counts as net billed, and rounding of time is no usage (section 7)."""
    rules = [
        rule("1", "first_s = 60", "exclude"),
        rule("2", "first_s = 180", "credit:1/2"),
        rule("3", "first_s = 480", "share:1/2"),
        rule("4", "first_s = 1080", "hold"),
    ]

    receipt = rate(HOUR, contract(*rules, metering(granularity_s=7200)))

    assert receipt["usage"] == {
        "metered": "3600.000000",
        "net_billed": "2820.000000",
        "excluded": "60.000000",
        "credited": "120.000000",
        "held": "600.000000",
        "unit": "gpu_seconds",
    }


def test_net_is_what_is_charged_less_credits_with_adjustments() -> None:
    """Held time is added at most (section 7)."""
    rules = [rule("1", "first_s = 600", "credit:1/2"), rule("2", "first_s = 1800", "hold")]

    receipt = rate((*HOUR, adjustment("-1.00")), contract(*rules))

    # 10 min credited, 20 min held, 30 min charged, at 0.06 a minute.
    assert receipt["totals"] == {
        "currency": "USD",
        "charged": "2.40",
        "credits": "0.30",
        "adjustments": "-1.00",
        "held_at_most": "1.20",
        "net": {"at_least": "1.10", "at_most": "2.30"},
    }


def test_what_is_owed_may_be_negative() -> None:
    """An adjustment may give back more than was charged."""
    assert rate((*HOUR, adjustment("-100")))["totals"]["net"] == "-96.40"


def test_an_unknown_price_leaves_the_rest_known() -> None:
    """What is owed at least does not depend on it (rule 63)."""
    receipt = rate(HOUR, contract(until="00:30"))

    assert receipt["totals"] == {
        "currency": "USD",
        "charged": "1.80",
        "credits": "0.00",
        "adjustments": "0.00",
        "held_at_most": None,
        "net": {"at_least": "1.80", "at_most": None},
    }


def test_an_adjustment_is_a_line_of_its_own() -> None:
    """It has clause, amount and the decision's record, and nothing else (rule 59)."""
    decision = adjustment("5")

    (line,) = rate((declared(), decision))["lines"]

    assert line == {
        "line": 1,
        "kind": "adjustment",
        "attempt": None,
        "contract": None,
        "rate_clause": None,
        "rule_clause": "9.2",
        "disposition": None,
        "quantity": None,
        "per_hour": None,
        "amount": "5.00",
        "pieces": [],
        "evidence": [content_digest(decision)],
    }


def test_adjustments_stand_last_in_order_of_decision() -> None:
    """After all lines of attempts, whatever the order of the input (rule 59)."""
    records = (adjustment("2", "21:00", clause="x"), *HOUR, adjustment("1", "20:00", clause="y"))

    assert columns(rate(records), "kind rule_clause amount") == [
        ("usage", None, "3.60"),
        ("adjustment", "y", "1.00"),
        ("adjustment", "x", "2.00"),
    ]


@pytest.mark.parametrize(
    ("amount", "mode", "rounded"),
    [
        ("-0.005", "half_even", "0.00"),
        ("-0.005", "half_up", "-0.01"),
        ("-0.001", "up", "-0.01"),
        ("-0.019", "down", "-0.01"),
        ("+0.015", "half_even", "0.02"),
    ],
)
def test_an_adjustment_is_rounded_like_totals(amount: str, mode: str, rounded: str) -> None:
    """Up is away from zero, down toward it (rules 60 and 62)."""
    receipt = rate((*HOUR, adjustment(amount)), contract(rounding(mode=mode)))

    assert columns(receipt, "amount")[-1] == (rounded,)
    assert receipt["totals"]["adjustments"] == rounded


def test_an_adjustment_in_another_currency_is_no_line() -> None:
    """Each is a finding on no attempt (rules 59 and 64)."""
    strangers = (adjustment("1", currency="EUR"), adjustment("2", currency="EUR"))

    receipt = rate((*HOUR, *strangers))

    assert columns(receipt, "kind") == [("usage",)]
    assert finding_codes(receipt) == [("currency_mismatch", None), ("currency_mismatch", None)]
    assert receipt["totals"]["adjustments"] == "0.00"


def test_a_run_without_attempts_owes_nothing() -> None:
    """Empty lists and zero totals (rule 66)."""
    receipt = rate((declared(),))

    assert (receipt["attempts"], receipt["lines"], receipt["coverage"]) == ([], [], [])
    assert receipt["totals"]["net"] == "0.00"
    assert receipt["usage"]["metered"] == "0.000000"


@pytest.mark.parametrize(
    ("contracts", "net"),
    [
        (
            [
                contract(rounding(digits=2), until="00:30"),
                contract(rounding(digits=3), version=2, since="00:30"),
            ],
            "3.600",
        ),
        (
            [contract(rounding(digits=2)), contract(rounding(digits=3), version=2, since="02:00")],
            "3.60",
        ),
        (
            [
                contract(rounding(digits=2), since="02:00", until="03:00"),
                contract(rounding(digits=3), version=2, since="04:00"),
            ],
            {"at_least": "0.000", "at_most": None},
        ),
    ],
)
def test_totals_follow_the_highest_version_that_rated(
    contracts: list[bytes], net: str | Json
) -> None:
    """Else the highest that was given (rule 62)."""
    assert rate(HOUR, *contracts)["totals"]["net"] == net


def test_the_versions_that_rated_are_named() -> None:
    """By the start of their range, then number; one that rated nothing is not (rule 65)."""
    contracts = [
        contract(version=3, until="00:30"),
        contract(version=1, since="00:30"),
        contract(version=2, since="00:30", until="00:40"),
        contract(version=4, since="02:00"),
    ]

    receipt = rate(HOUR, *contracts)

    assert [each["version"] for each in receipt["contracts"]] == [3, 1, 2]
    assert {each["id"] for each in receipt["contracts"]} == {"acme"}


def test_lines_sum_to_totals() -> None:
    """Rounded lines add up to the total, to the cent."""
    records = (
        *(started(gpus="g1 g2 g3"), points(minutes("00:07", "00:31")), ended("00:59:11")),
        *of("b", started("02:00:01"), ended("02:44:13")),
    )
    terms = contract(HELD_WHEN_DARK, rule("1", "first_s = 77", "credit:1/3"), per_hour="1.2345")

    receipt = rate(records, terms)

    amounts = [Decimal(amount) for (amount,) in columns(receipt, "amount") if amount is not None]
    assert sum(amounts) == Decimal(receipt["totals"]["charged"])
