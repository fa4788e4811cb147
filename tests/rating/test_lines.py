"""Lines: pieces added up, their order, and what rounding of time adds (rules 54, 55, 65)."""

from typing import Any

import pytest

from tests.evidence.records import (
    Json,
    ended,
    minutes,
    notice,
    of,
    points,
    started,
    suspended,
)
from tests.rating.rated import (
    HELD_WHEN_DARK,
    columns,
    contract,
    metering,
    pieces,
    rate,
    rate_text,
    rule,
)

HOUR = (started(), ended())
DARK_LAST = (started(), ended(), points(minutes("00:00", "00:59")))


def granularity(receipt: Json) -> list[tuple[Any, ...]]:
    """Give the granularity lines."""
    rows = columns(receipt, "kind attempt disposition quantity amount")
    return [row[1:] for row in rows if row[0] == "granularity"]


# -- usage lines ---------------------------------------------------------------------------


def test_pieces_under_the_same_terms_are_one_line() -> None:
    """Its quantity is the sum over GPUs, and its pieces are joined (section 6)."""
    records = (started(gpus="g1 g2"), notice("00:50"), ended())

    (line,) = rate(records, contract())["lines"]

    assert (line["quantity"], line["amount"], pieces(line)) == (
        "7200.000000",
        "7.20",
        ["00:00-01:00"],
    )


def test_a_line_names_the_gpus_of_its_pieces() -> None:
    """Null is all of the attempt; neighbours with the same GPUs are joined (section 7)."""
    records = (
        *(started(gpus="g1 g2"), ended(), points(minutes("00:00", "00:59"), gpu="g1")),
        points(minutes("00:20", "00:40"), gpu="g2"),
    )

    charge, hold = rate(records, contract(HELD_WHEN_DARK))["lines"]

    assert pieces(charge) == ["00:00-00:20 g1", "00:20-00:40", "00:40-01:00 g1"]
    assert pieces(hold) == ["00:00-00:20 g2", "00:40-01:00 g2"]


def test_unnamed_gpus_stand_last_in_a_piece() -> None:
    """They have no name to be called by."""
    records = (
        started(gpus="g2 g1", gpu_count=4),
        ended(),
        points(minutes("00:00", "00:59"), gpu="g1"),
    )

    charge, hold = rate(records, contract(HELD_WHEN_DARK))["lines"]

    assert pieces(charge) == ["00:00-01:00 g1"]
    assert pieces(hold) == ["00:00-01:00 g2 None None"]


def test_lines_stand_in_their_order() -> None:
    """Attempt, version with null last, disposition, rule clause with null first (rule 65)."""
    rules = [
        rule("b", "first_s = 60", "hold"),
        rule("a", "first_s = 120", "hold"),
        rule("x", "first_s = 180", "share:1/2"),
        rule("x", "first_s = 240", "share:1/3"),
        rule("x", "first_s = 300", "credit:1/2"),
        rule("c", "first_s = 360", "charge"),
        rule("x", "first_s = 420", "exclude"),
    ]
    one = contract(*rules, version=2, until="00:10")
    two = contract(version=1, since="00:10", until="00:20")
    records = (*HOUR, *of("0", started("02:00"), ended("03:00")))

    rows = columns(rate(records, one, two), "attempt contract disposition rule_clause share")

    assert rows == [
        ("a", "acme@1", "charge", None, None),
        ("a", "acme@2", "charge", None, None),
        ("a", "acme@2", "charge", "c", None),
        ("a", "acme@2", "credit", "x", "1/2"),
        ("a", "acme@2", "share", "x", "1/3"),
        ("a", "acme@2", "share", "x", "1/2"),
        ("a", "acme@2", "hold", "a", None),
        ("a", "acme@2", "hold", "b", None),
        ("a", "acme@2", "exclude", "x", None),
        ("a", None, "hold", None, None),
        ("0", None, "hold", None, None),
    ]


def test_lines_are_numbered_from_one() -> None:
    """Granularity stands after usage within its attempt (rule 65)."""
    records = (*HOUR, *of("b", started("02:00"), ended("03:00")))

    receipt = rate(records, contract(metering(granularity_s=7200)))

    assert columns(receipt, "line attempt kind") == [
        (1, "a", "usage"),
        (2, "a", "granularity"),
        (3, "b", "usage"),
        (4, "b", "granularity"),
    ]


# -- granularity and minimum ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("end", "terms", "added"),
    [
        ("00:59:30", {"granularity_s": 60}, "30.000000"),
        ("00:59:30", {"granularity_s": 60, "quantity_rounding": "up"}, "30.000000"),
        ("00:59:30", {"granularity_s": 60, "quantity_rounding": "down"}, "-30.000000"),
        ("00:59:30", {"granularity_s": 60, "quantity_rounding": "half_even"}, "30.000000"),
        ("00:58:30", {"granularity_s": 60, "quantity_rounding": "half_even"}, "-30.000000"),
        ("00:59:29", {"granularity_s": 60, "quantity_rounding": "half_even"}, "-29.000000"),
        ("00:00:00.000001", {}, "0.999999"),
        ("01:00", {"granularity_s": 60}, None),
        ("01:00", {"minimum_s": 3600}, None),
        ("01:00", {"minimum_s": 3601}, "1.000000"),
        ("00:10", {"minimum_s": 3600}, "3000.000000"),
        ("00:10", {"granularity_s": 3600, "quantity_rounding": "down"}, "-600.000000"),
        (
            "00:10",
            {"granularity_s": 3600, "quantity_rounding": "down", "minimum_s": 90},
            "-510.000000",
        ),
        ("00:10", {"granularity_s": 3600, "minimum_s": 90}, "3000.000000"),
    ],
)
def test_time_is_rounded_then_raised_to_the_minimum(
    end: str, terms: dict[str, Any], added: str | None
) -> None:
    """The line holds the difference, which may be negative; none if it is nothing (rule 54)."""
    receipt = rate((started(), ended(end)), contract(metering(**terms)))

    assert [row[2] for row in granularity(receipt)] == ([] if added is None else [added])


def test_each_gpu_is_rounded() -> None:
    """The quantity is the sum over GPUs, and usage is left as it was measured (rule 54)."""
    records = (started(gpus="g1 g2 g3"), ended("00:59:30"))

    receipt = rate(records, contract(metering(granularity_s=60)))

    assert granularity(receipt) == [("a", "charge", "90.000000", "0.09")]
    assert receipt["usage"]["metered"] == "10710.000000"


@pytest.mark.parametrize("end", ["00:00", "23:00"])
def test_an_attempt_of_no_length_is_not_rounded(end: str) -> None:
    """Neither empty nor reversed, minimum or not (rule 15)."""
    start = "00:00" if end == "00:00" else "23:30"

    receipt = rate((started(start), ended(end)), contract(metering(minimum_s=3600)))

    assert receipt["lines"] == []


def test_an_attempt_without_gpus_has_no_lines() -> None:
    """Nothing was held, so there is nothing to round."""
    records = (started(gpus=None, gpu_count=0), ended())

    assert rate(records, contract(metering(minimum_s=7200)))["lines"] == []


def test_a_dark_second_at_the_end_does_not_hold_the_rounding() -> None:
    """The governing piece is of the disposition that goes first (rule 55)."""
    seen = points(minutes("00:00", "00:50"))
    terms = contract(HELD_WHEN_DARK, metering(granularity_s=7200))

    receipt = rate((started(), ended(), seen), terms)

    assert granularity(receipt) == [("a", "charge", "3600.000000", "3.60")]


def test_held_time_holds_its_rounding() -> None:
    """Nothing else is there to govern it; the range takes the sign into account (rule 63)."""
    terms = contract(HELD_WHEN_DARK, metering(granularity_s=7200, quantity_rounding="down"))

    receipt = rate(HOUR, terms)

    assert columns(receipt, "kind disposition rule_clause quantity at_least at_most") == [
        ("usage", "hold", "4.2", "3600.000000", "0.00", "3.60"),
        ("granularity", "hold", "4.2", "-3600.000000", "-3.60", "0.00"),
    ]


@pytest.mark.parametrize(
    ("then", "row"),
    [
        ("exclude", ("exclude", None, "0.00", None)),
        ("credit:1/4", ("credit", "1/4", "3.60", "0.90")),
        ("share:1/2", ("share", "1/2", "1.80", None)),
    ],
)
def test_rounding_is_governed_like_the_time_it_rounds(then: str, row: tuple[str, ...]) -> None:
    """Its disposition, share and clause are those of the governing piece (rule 55)."""
    receipt = rate(HOUR, contract(rule("1", "", then), metering(granularity_s=7200)))

    (line,) = [line for line in receipt["lines"] if line["kind"] == "granularity"]
    assert tuple(line.get(name) for name in ("disposition", "share", "amount", "credit")) == row
    assert (line["rule_clause"], line["rate_clause"], line["per_hour"]) == ("1", "2.1", "3.60")
    assert line["pieces"] == []


@pytest.mark.parametrize(
    ("rules", "clause"),
    [
        ([rule("early", "first_s = 600", "charge")], None),
        ([rule("early", "first_s = 600", "charge"), rule("late", "", "exclude")], "early"),
        ([rule("early", "first_s = 600", "share:1/2"), rule("late", "", "hold")], "early"),
        ([rule("early", "first_s = 600", "share:1/2"), rule("late", "", "credit:1/2")], "late"),
    ],
)
def test_of_one_disposition_the_last_piece_governs(rules: list[str], clause: str | None) -> None:
    """Charge before credit before share before hold before exclude, then by end (rule 55)."""
    receipt = rate(HOUR, contract(*rules, metering(granularity_s=7200)))

    assert columns(receipt, "kind rule_clause")[-1] == ("granularity", clause)


@pytest.mark.parametrize(("seen", "clause"), [("g2", "light"), ("g1", "dark")])
def test_of_one_end_the_last_uuid_governs(seen: str, clause: str) -> None:
    """The piece of the GPU whose UUID is last (rule 55)."""
    records = (started(gpus="g1 g2"), ended(), points(minutes("00:00", "00:59"), gpu=seen))
    terms = contract(
        rule("dark", 'telemetry = "unknown"', "charge"),
        rule("light", "", "charge"),
        metering(granularity_s=7200),
    )

    assert columns(rate(records, terms), "kind rule_clause")[-1] == ("granularity", clause)


def test_the_governing_piece_brings_its_version() -> None:
    """Its terms of metering count, its rate too (rules 54 and 55)."""
    first = contract(metering(granularity_s=60), until="00:30")
    second = contract(
        rate_text("2.2", "7.20"),
        metering(granularity_s=7200),
        version=2,
        per_hour=None,
        since="00:30",
    )

    receipt = rate(HOUR, first, second)

    assert columns(receipt, "kind contract rate_clause quantity amount")[-1] == (
        "granularity",
        "acme@2",
        "2.2",
        "3600.000000",
        "7.20",
    )


def test_time_under_no_contract_is_not_rounded() -> None:
    """The governing piece has no version, so nobody said how (rule 54)."""
    receipt = rate(HOUR, contract(metering(granularity_s=7200), since="02:00"))

    assert granularity(receipt) == []


def test_a_version_of_some_of_the_time_rounds_all_of_it() -> None:
    """The whole of E-S is rounded once, under the governing piece (rule 54)."""
    terms = contract(metering(granularity_s=7200), until="00:30")

    assert granularity(rate(HOUR, terms)) == [("a", "charge", "3600.000000", "3.60")]


def test_suspended_time_is_rounded_with_the_rest() -> None:
    """The attempt's total is E-S, whatever the allocation did (rule 54)."""
    records = (started(), suspended("00:10"), ended("00:59:30"))

    receipt = rate(records, contract(metering(granularity_s=60)))

    assert [row[2] for row in granularity(receipt)] == ["30.000000"]
