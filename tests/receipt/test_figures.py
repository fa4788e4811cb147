"""A receipt's figures: which of them can be changed alone (none), and how money may round."""

from fractions import Fraction
from typing import Any

import pytest

from tallystick.receipt.errors import MalformedPredicateError, WrongFigureError
from tallystick.receipt.figures import check_figures, exact_price, money_unit, seconds_us
from tallystick.receipt.reader import read_receipt
from tests.receipt.samples import FIRST, SECOND, change, make_predicate, moment


def check(predicate: dict[str, Any]) -> str:
    """Check the figures of a predicate and give its run, the one of the small receipt."""
    receipt = read_receipt(predicate)
    check_figures(receipt)
    return receipt.run.id


def per_receipt() -> dict[str, Any]:
    """Make the small receipt with amounts that are rounded in the totals only."""
    predicate = make_predicate()
    for index, amount, exact in (
        (0, "1.08000000", "27/25"),
        (1, "0.00000000", "0/1"),
        (2, "2.10000000", "21/10"),
    ):
        change(predicate, f"lines.{index}.amount", amount)
        change(predicate, f"lines.{index}.amount_exact", exact)
    change(predicate, "lines.0.credit", "0.27000000")
    change(predicate, "lines.3.at_least", "0.00000000")
    change(predicate, "lines.3.at_most", "0.30000000")
    change(predicate, "lines.3.amount_exact", "3/10")
    return predicate


@pytest.mark.parametrize("make", [make_predicate, per_receipt])
def test_consistent_figures_are_accepted(make: Any) -> None:
    """Amounts that are rounded on each line, or in the totals only, both add up."""
    assert check(make()) == "run-7"


@pytest.mark.parametrize(
    ("path", "value", "found_at"),
    [
        ("lines.1.line", 3, "lines[1].line"),
        ("lines.0.attempt", "nobody", "lines[0].attempt"),
        ("coverage.0.attempt", "nobody", "coverage[0].attempt"),
        ("timeline.0.attempt", "nobody", "timeline[0].attempt"),
        ("progress.interruptions.0.attempt", "nobody", "progress.interruptions[0].attempt"),
        ("attempts.1.attempt", FIRST, "attempts"),
        ("attempts.0.end", moment(11), "coverage[0].observed_seconds"),
        ("coverage.0.observed_seconds", "599.999999", "coverage[0].observed_seconds"),
        ("coverage.3.gaps.0.start", moment(31), "coverage[3].observed_seconds"),
        ("coverage.3.gaps", [], "coverage[3].observed_seconds"),
        ("timeline.0.allocation.1.start", moment(8), "timeline[0].allocation[1].start"),
        ("timeline.0.allocation.0.end", moment(0), "timeline[0].allocation[0].end"),
        ("timeline.0.progress.3.end", moment(11), "timeline[0].progress"),
        ("timeline.0.progress", [], "timeline[0].progress"),
        ("progress.gpu_seconds.unknown", "119.000000", "progress.gpu_seconds"),
        ("usage.metered", "3600.000001", "usage.metered"),
        ("usage.held", "300.000001", "usage.held"),
        ("usage.net_billed", "0.000000", "usage.net_billed"),
        ("lines.0.pieces.0.start", moment(2), "lines[0].quantity"),
        ("lines.2.pieces.1.gpus", [], "lines[2].quantity"),
        ("lines.2.per_hour", "3.80", "lines[2].amount"),
        ("lines.2.amount", "2.11", "lines[2].amount"),
        ("lines.1.amount", "0.12", "lines[1].amount"),
        ("lines.0.share", "1/5", "lines[0].credit"),
        ("lines.0.credit", "0.28", "lines[0].credit"),
        ("lines.3.at_most", "0.31", "lines[3].at_most"),
        ("lines.3.at_least", "0.10", "lines[3].at_least"),
        ("lines.4.amount", "-0.51", "totals.adjustments"),
        ("totals.charged", "3.19", "totals.charged"),
        ("totals.credits", "0.26", "totals.credits"),
        ("totals.adjustments", "0.50", "totals.adjustments"),
        ("totals.held_at_most", "0.31", "totals.held_at_most"),
        ("totals.held_at_most", None, "totals.held_at_most"),
        ("totals.net", "2.41", "totals.net"),
        ("totals.net.at_least", None, "totals.net"),
        ("totals.net.at_least", "2.40", "totals.net"),
        ("totals.net.at_most", None, "totals.net"),
        ("totals.net.at_most", "2.70", "totals.net"),
    ],
)
def test_no_figure_can_be_changed_alone(path: str, value: Any, found_at: str) -> None:
    """A figure that does not follow from the others is named."""
    predicate = change(make_predicate(), path, value)

    with pytest.raises(WrongFigureError) as refused:
        check(predicate)

    assert refused.value.args[0] == found_at


@pytest.mark.parametrize(
    ("path", "value", "found_at"),
    [
        ("lines.0.amount_exact", "28/25", "lines[0].amount_exact"),
        ("lines.3.amount_exact", "1/10", "lines[3].amount_exact"),
        ("totals.charged", "3.17", "totals.charged"),
        ("totals.credits", "0.28", "totals.credits"),
        ("totals.held_at_most", "0.29", "totals.held_at_most"),
    ],
)
def test_exact_amounts_must_be_exact(path: str, value: Any, found_at: str) -> None:
    """Where a line carries its fraction, the fraction counts."""
    with pytest.raises(WrongFigureError) as refused:
        check(change(per_receipt(), path, value))

    assert refused.value.args[0] == found_at


@pytest.mark.parametrize(
    ("index", "field"),
    [
        (0, "share"),
        (0, "credit"),
        (0, "amount"),
        (1, "quantity"),
        (2, "per_hour"),
        (2, "attempt"),
        (3, "at_least"),
        (4, "amount"),
    ],
)
def test_a_line_has_what_its_kind_needs(index: int, field: str) -> None:
    """A field that may be null elsewhere may not be null on a line that is made of it."""
    with pytest.raises(MalformedPredicateError, match=f"needs `{field}`"):
        check(change(make_predicate(), f"lines.{index}.{field}", None))


@pytest.mark.parametrize(
    ("index", "field", "value"),
    [
        (0, "at_most", "1.08"),
        (1, "credit", "0.12"),
        (1, "share", "1/2"),
        (2, "credit", "2.10"),
        (2, "share", "1/2"),
        (3, "amount", "0.30"),
        (4, "amount_exact", "-5/1"),
        (4, "quantity", "1.000000"),
        (4, "attempt", FIRST),
    ],
)
def test_a_line_has_nothing_that_is_not_its_own(index: int, field: str, value: str) -> None:
    """An amount that no total would count cannot stand on a line."""
    with pytest.raises(MalformedPredicateError, match=f"has `{field}`"):
        check(change(make_predicate(), f"lines.{index}.{field}", value))


@pytest.mark.parametrize(("index", "value"), [(2, None), (4, "charge")])
def test_only_an_adjustment_has_no_outcome(index: int, value: str | None) -> None:
    """A line of time has an outcome, and an agreed amount has none."""
    predicate = change(make_predicate(), f"lines.{index}.disposition", value)
    change(predicate, "lines.4.attempt", SECOND)
    change(predicate, "lines.4.quantity", "0.000000")
    change(predicate, "lines.4.per_hour", "1")

    with pytest.raises(MalformedPredicateError, match="disposition"):
        check(predicate)


@pytest.mark.parametrize(("field", "value"), [("per_hour", None), ("at_most", None)])
def test_a_hold_has_a_bound_if_it_has_a_rate(field: str, value: None) -> None:
    """A bound without a rate comes from nowhere, and a rate gives one."""
    with pytest.raises(WrongFigureError) as refused:
        check(change(make_predicate(), f"lines.3.{field}", value))

    assert refused.value.args[0] == "lines[3].at_most"


def test_what_is_excluded_is_exactly_nothing() -> None:
    """Without a rate, too, an excluded line carries no amount."""
    predicate = change(make_predicate(), "lines.1.per_hour", None)

    assert check(change(predicate, "lines.1.amount", None)) == "run-7"
    with pytest.raises(WrongFigureError) as refused:
        check(change(predicate, "lines.1.amount", "0.01"))
    assert refused.value.args[0] == "lines[1].amount"


def test_an_unpriced_hold_leaves_the_net_open() -> None:
    """Without a rate a held line has no bound, and neither has the net."""
    predicate = make_predicate()
    for path in ("lines.3.per_hour", "lines.3.at_most", "totals.held_at_most"):
        change(predicate, path, None)
    change(predicate, "totals.net.at_most", None)

    assert check(predicate) == "run-7"


def test_an_open_attempt_is_checked_as_far_as_its_lanes_go() -> None:
    """Without an end the attempt's own length is unknown, but its parts still fit together."""
    predicate = make_predicate()
    change(predicate, "attempts.1.end", None)

    assert check(predicate) == "run-7"


def test_unnamed_gpus_leave_a_quantity_to_its_sum() -> None:
    """GPUs without UUID cannot be counted in an interval, so it is not held against them."""
    predicate = make_predicate()
    change(predicate, "attempts.1.gpu_uuids", [])
    change(predicate, "lines.2.pieces.1.gpus", [])

    assert check(predicate) == "run-7"


def test_node_time_is_not_gpu_time() -> None:
    """A receipt in node-seconds is not checked against the time of GPUs."""
    predicate = make_predicate()
    change(predicate, "usage.unit", "node_seconds")
    change(predicate, "lines.2.pieces", [])

    assert check(predicate) == "run-7"


def _charging(amount: str, charged: str, at_least: str, at_most: str) -> dict[str, Any]:
    """Make a receipt whose third line is 2100 s at 0.042857 an hour, 0.0249999..."""
    predicate = make_predicate()
    change(predicate, "lines.2.per_hour", "0.042857")
    change(predicate, "lines.2.amount", amount)
    change(predicate, "totals.charged", charged)
    change(predicate, "totals.net.at_least", at_least)
    change(predicate, "totals.net.at_most", at_most)
    return predicate


@pytest.mark.parametrize(
    ("amount", "totals"),
    [("0.02", ("1.10", "0.33", "0.63")), ("0.03", ("1.11", "0.34", "0.64"))],
)
def test_either_neighbour_of_an_amount_is_accepted(amount: str, totals: tuple[str, ...]) -> None:
    """Without the contract it is unknown which way an amount was rounded."""
    assert check(_charging(amount, *totals)) == "run-7"


def test_no_amount_is_a_whole_unit_away() -> None:
    """No way of rounding moves an amount by a unit of its last place."""
    with pytest.raises(WrongFigureError) as refused:
        check(_charging("0.04", "1.12", "0.35", "0.65"))

    assert refused.value.args[0] == "lines[2].amount"


def test_prices_and_units_are_read_exactly() -> None:
    """Seconds become microseconds, and a price is a fraction."""
    receipt = read_receipt(make_predicate())

    assert seconds_us("-0.000001") == -1
    assert seconds_us("28800.000000") == 28_800_000_000
    assert exact_price(receipt.lines[3]) == Fraction(3, 10)
    assert exact_price(receipt.lines[4]) is None
    assert money_unit("12") == 1
    assert money_unit("12.00") == Fraction(1, 100)
