"""What lines cost: exact, rounded once, and null where nobody knows (rules 53, 61 and 63)."""

from typing import Any

import pytest

from tests.evidence.records import ended, of, started
from tests.rating.rated import HELD_WHEN_DARK, columns, contract, metering, rate, rounding, rule

# Three minutes at 0.10 an hour are 0.005, half of a cent.
HALF_CENT = (started(), ended("00:03"))


def cheap(*parts: str, **terms: Any) -> bytes:
    """Write a contract at 0.10 an hour."""
    return contract(*parts, rounding(**terms), per_hour="0.10")


@pytest.mark.parametrize(
    ("mode", "amount"),
    [("half_even", "0.00"), ("half_up", "0.01"), ("up", "0.01"), ("down", "0.00")],
)
def test_an_amount_is_rounded_once_as_the_contract_says(mode: str, amount: str) -> None:
    """Per line, in the mode that it names (section 6)."""
    assert columns(rate(HALF_CENT, cheap(mode=mode)), "amount") == [(amount,)]


@pytest.mark.parametrize(
    ("digits", "amount"), [(0, "0"), (2, "0.00"), (3, "0.005"), (5, "0.00500")]
)
def test_money_has_the_places_of_the_contract(digits: int, amount: str) -> None:
    """Always exactly so many (rule 63)."""
    receipt = rate(HALF_CENT, cheap(digits=digits))

    assert columns(receipt, "amount") == [(amount,)]
    assert receipt["totals"]["net"] == amount


def test_a_credit_is_rounded_from_the_exact_product() -> None:
    """Half of half a cent is nothing, though half of the rounded cent would be one (rule 63)."""
    terms = cheap(rule("1", "", "credit:1/2"), mode="half_up")

    receipt = rate(HALF_CENT, terms)

    assert columns(receipt, "disposition share amount credit") == [
        ("credit", "1/2", "0.01", "0.00")
    ]


def test_a_credit_is_given_back() -> None:
    """The line is charged in full, and the credit stands beside it, positive (section 5)."""
    receipt = rate((started(), ended()), contract(rule("1", "", "credit:1/4")))

    assert columns(receipt, "amount credit") == [("3.60", "0.90")]
    totals = receipt["totals"]
    assert (totals["charged"], totals["credits"], totals["net"]) == ("3.60", "0.90", "2.70")


def test_a_share_is_charged_of_the_price() -> None:
    """The quantity stays whole (section 6)."""
    receipt = rate((started(), ended()), contract(rule("1", "", "share:2/6")))

    assert columns(receipt, "disposition share quantity amount credit") == [
        ("share", "1/3", "3600.000000", "1.20", None)
    ]


def test_excluded_time_costs_nothing() -> None:
    """It has a rate all the same."""
    receipt = rate((started(), ended()), contract(rule("1", "", "exclude")))

    assert columns(receipt, "per_hour amount at_most") == [("3.60", "0.00", None)]


def test_held_time_has_a_range() -> None:
    """No amount, nothing at least, its price at most (rule 63)."""
    receipt = rate((started(), ended()), contract(HELD_WHEN_DARK))

    assert columns(receipt, "amount at_least at_most") == [(None, "0.00", "3.60")]
    assert receipt["totals"]["held_at_most"] == "3.60"
    assert receipt["totals"]["net"] == {"at_least": "0.00", "at_most": "3.60"}


def test_held_time_of_no_price_has_no_range() -> None:
    """Both bounds are equal, so the net is plain (rule 63)."""
    receipt = rate((started(), ended()), contract(HELD_WHEN_DARK, per_hour="0"))

    assert receipt["totals"]["net"] == "0.00"


# -- rounding per receipt ------------------------------------------------------------------

THREE = (
    *HALF_CENT,
    *of("b", started("01:00"), ended("01:03")),
    *of("c", started("02:00"), ended("02:03")),
)


@pytest.mark.parametrize(
    ("per", "mode", "charged"),
    [
        ("line", "half_even", "0.00"),
        ("line", "half_up", "0.03"),
        ("receipt", "half_even", "0.02"),
        ("receipt", "up", "0.02"),
        ("receipt", "down", "0.01"),
    ],
)
def test_only_totals_are_rounded_per_receipt(per: str, mode: str, charged: str) -> None:
    """Amounts are carried exact into the total (rule 61)."""
    receipt = rate(THREE, cheap(per=per, mode=mode))

    assert receipt["totals"]["charged"] == charged


def test_a_line_that_is_not_rounded_carries_its_fraction() -> None:
    """Six more places for reading, and the exact fraction in lowest terms (rule 61)."""
    receipt = rate((started(), ended("00:00:07")), cheap(per="receipt"))

    # 7 s at 0.10 an hour: 0.7 / 3600 = 7/36000 = 0.00019444...
    assert columns(receipt, "amount amount_exact") == [("0.00019444", "7/36000")]


def test_a_line_that_is_rounded_carries_no_fraction() -> None:
    """There is nothing exact to add."""
    assert "amount_exact" not in rate(HALF_CENT, cheap(per="line"))["lines"][0]


def test_the_fraction_of_a_hold_is_that_of_the_held_price() -> None:
    """Its amount is null all the same (rule 61)."""
    receipt = rate((started(), ended("00:00:07")), cheap(HELD_WHEN_DARK, per="receipt"))

    assert columns(receipt, "amount at_least at_most amount_exact") == [
        (None, "0.00000000", "0.00019444", "7/36000")
    ]


def test_an_unknown_price_has_no_fraction() -> None:
    """Null, and not 0/1."""
    terms = contract(rounding(per="receipt"), per_hour=None)

    receipt = rate((started(), ended()), terms)

    assert columns(receipt, "amount at_least at_most amount_exact") == [
        (None, "0.00000000", None, None)
    ]


def test_a_credit_per_receipt_is_exact_too() -> None:
    """It is printed with more places, and only its total is rounded (rule 61)."""
    terms = cheap(rule("1", "", "credit:1/2"), per="receipt", mode="half_up")

    receipt = rate(HALF_CENT, terms)

    assert columns(receipt, "amount credit amount_exact") == [("0.00500000", "0.00250000", "1/200")]
    assert (receipt["totals"]["charged"], receipt["totals"]["credits"]) == ("0.01", "0.00")


def test_rounding_up_goes_away_from_zero() -> None:
    """Of a negative amount too: time that is rounded down gives back (rule 60)."""
    terms = cheap(metering(granularity_s=3600, quantity_rounding="down"), mode="up")

    assert columns(rate(HALF_CENT, terms), "kind amount") == [
        ("usage", "0.01"),
        ("granularity", "-0.01"),
    ]
