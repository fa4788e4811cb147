"""Pieces: cut at every boundary, and held ones resolved by the parties (rules 52, 57, 58)."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.evidence.records import (
    Json,
    declared,
    ended,
    minutes,
    notice,
    of,
    points,
    resolution,
    restored,
    same,
    started,
    step,
)
from tests.rating.rated import (
    HELD_WHEN_DARK,
    columns,
    contract,
    finding_codes,
    metering,
    pieces,
    rate,
    rate_all,
    rule,
)

HELD = contract(HELD_WHEN_DARK)
DARK = (started(), ended())


@pytest.mark.parametrize(
    ("more", "terms", "held"),
    [
        ([notice("00:50")], contract(rule("1", 'allocation = "notice"', "hold")), ["00:50-01:00"]),
        (
            [restored("00:10", 0), step("00:20", 1)],
            contract(rule("1", 'progress = "advancing"', "hold")),
            ["00:10-00:20"],
        ),
        (
            [points(minutes("00:20", "00:30"))],
            contract(HELD_WHEN_DARK),
            ["00:00-00:20", "00:30-01:00"],
        ),
        ([], contract(rule("1", "first_s = 600", "hold")), ["00:00-00:10"]),
        ([], contract(rule("1", "", "hold"), since="00:20", until="00:40"), ["00:20-00:40"]),
        (
            [restored("00:10", 0), step("00:30", 1), points(minutes("00:20", "00:50"))],
            contract(rule("1", 'progress = "advancing", telemetry = "observed"', "hold")),
            ["00:20-00:30"],
        ),
    ],
)
def test_pieces_are_cut_wherever_anything_changes(
    more: list[Json], terms: bytes, held: list[str]
) -> None:
    """At the boundaries of the lanes, of rule windows and of contract versions (rule 52)."""
    receipt = rate([*DARK, *more], terms)

    (line,) = (line for line in receipt["lines"] if line["rule_clause"] in {"1", "4.2"})
    assert pieces(line) == held


# -- resolutions ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("disposition", "line"),
    [
        ("charge", ("charge", None, "9.1", "3.60", None)),
        ("exclude", ("exclude", None, "9.1", "0.00", None)),
        ("credit:2/8", ("credit", "1/4", "9.1", "3.60", "0.90")),
        ("share:2/4", ("share", "1/2", "9.1", "1.80", None)),
        ("share:0/7", ("share", "0/1", "9.1", "0.00", None)),
    ],
)
def test_a_resolution_turns_held_time_into_what_was_decided(
    disposition: str, line: tuple[str, ...]
) -> None:
    """Disposition and clause become its own (rule 57)."""
    receipt = rate((*DARK, resolution(disposition)), HELD)

    assert columns(receipt, "disposition share rule_clause amount credit") == [line]
    assert finding_codes(receipt) == []


def test_a_resolution_decides_what_lies_within_it() -> None:
    """From its start to its end, half-open; the rest stays held (rule 57)."""
    receipt = rate((*DARK, resolution("exclude", "00:10", "00:30")), HELD)

    assert columns(receipt, "disposition quantity") == [
        ("hold", "2400.000000"),
        ("exclude", "1200.000000"),
    ]
    assert pieces(receipt["lines"][1]) == ["00:10-00:30"]


def test_what_was_never_held_is_not_resolved() -> None:
    """Observed time is charged, whatever the parties say of the dark (rule 57)."""
    seen = points(minutes("00:00", "00:30"))

    receipt = rate((*DARK, seen, resolution("exclude")), HELD)

    assert columns(receipt, "disposition quantity") == [
        ("charge", "1800.000000"),
        ("exclude", "1800.000000"),
    ]


def test_resolutions_apply_in_canonical_order() -> None:
    """What the first decided is no longer held (rule 57)."""
    first = resolution("exclude", "00:00", "00:20", at="20:00")
    second = resolution("charge", "00:00", "00:40", at="21:00")

    receipt = rate((*DARK, second, first), HELD)

    assert columns(receipt, "disposition quantity") == [
        ("charge", "1200.000000"),
        ("hold", "1200.000000"),
        ("exclude", "1200.000000"),
    ]


@pytest.mark.parametrize(
    "unused",
    [
        resolution("charge", "02:00", "03:00"),
        resolution("charge", "00:30", "00:10"),
        resolution("charge", gpus=["g9"]),
        resolution("charge", gpus=[]),
    ],
)
def test_a_resolution_that_changes_nothing_is_a_finding(unused: Json) -> None:
    """It names time or GPUs that are not held (rule 57)."""
    receipt = rate((*DARK, unused), HELD)

    assert columns(receipt, "disposition") == [("hold",)]
    assert finding_codes(receipt) == [("resolution_unused", "a")]


def test_each_unused_resolution_is_told() -> None:
    """Once for each record, with the attempt that it names (rule 64)."""
    unused = [resolution("charge", "02:00", at=at) for at in ("20:00", "21:00")]
    stranger = resolution("charge", attempt="b")

    receipt = rate((*DARK, *unused, stranger), HELD)

    assert finding_codes(receipt) == [
        ("resolution_unused", "a"),
        ("resolution_unused", "a"),
        ("resolution_unused", "b"),
    ]


def test_a_resolution_is_for_its_run_and_attempt() -> None:
    """Another attempt stays held, and another run's decision does nothing here (rule 57)."""
    second = of("b", started("02:00"), ended("03:00"))
    elsewhere = resolution("charge", run="other", attempt="b")

    records = (*DARK, *second, resolution("charge"), declared("other"), elsewhere)
    other, run = rate_all(records, HELD).predicates

    assert columns(run, "attempt disposition") == [("a", "charge"), ("b", "hold")]
    assert finding_codes(other) == [("resolution_unused", "b")]


def test_a_resolution_may_name_an_attempt_by_its_alias() -> None:
    """It counts as naming the other key (section 9.1)."""
    receipt = rate((*DARK, same("hook", "a"), resolution("charge", attempt="hook")), HELD)

    assert columns(receipt, "disposition") == [("charge",)]


@pytest.mark.parametrize(
    ("gpus", "resolved"),
    [(None, "10800.000000"), (["g2"], "3600.000000"), (["g1", "g2"], "7200.000000")],
)
def test_a_resolution_may_name_some_gpus(gpus: list[str] | None, resolved: str) -> None:
    """Null is all of the attempt, also those without a name (rule 57)."""
    records = (started(gpus="g1 g2", gpu_count=3), ended(), resolution("charge", gpus=gpus))

    assert rate(records, HELD)["usage"]["net_billed"] == resolved


@pytest.mark.parametrize("terms", [contract(per_hour=None), contract(since="02:00")])
@pytest.mark.parametrize("disposition", ["charge", "credit:1/2", "share:1/2"])
def test_time_without_a_price_cannot_be_charged(terms: bytes, disposition: str) -> None:
    """Nobody named what it costs (rule 58)."""
    receipt = rate((*DARK, resolution(disposition)), terms)

    assert columns(receipt, "disposition") == [("hold",)]
    assert ("resolution_unused", "a") in finding_codes(receipt)


@pytest.mark.parametrize("terms", [contract(per_hour=None), contract(since="02:00")])
def test_time_without_a_price_can_be_let_go(terms: bytes) -> None:
    """Excluding it needs none (rule 58)."""
    receipt = rate((*DARK, resolution("exclude")), terms)

    assert columns(receipt, "disposition rule_clause amount") == [("exclude", "9.1", "0.00")]
    assert ("resolution_unused", "a") not in finding_codes(receipt)
    assert receipt["totals"]["net"] == "0.00"


def test_a_decided_line_names_the_decision() -> None:
    """Its record is among the evidence of the line, and of the rounding that it governs."""
    decision = resolution("charge")
    receipt = rate((*DARK, decision), contract(HELD_WHEN_DARK, metering(granularity_s=7200)))

    digests = [set(line["evidence"]) for line in receipt["lines"]]
    plain = rate(DARK, contract(HELD_WHEN_DARK, metering(granularity_s=7200)))
    new = [
        found - set(line["evidence"]) for found, line in zip(digests, plain["lines"], strict=True)
    ]
    assert [len(each) for each in new] == [1, 1]
    assert new[0] == new[1]


# -- sums ----------------------------------------------------------------------------------


@given(
    st.lists(st.sampled_from(minutes("00:00", "01:00").split()), max_size=30),
    st.lists(
        st.tuples(
            st.sampled_from(minutes("00:00", "01:00").split()),
            st.sampled_from(minutes("00:00", "01:00").split()),
            st.sampled_from(["charge", "exclude", "credit:1/3", "share:1/2"]),
            st.sampled_from([None, ["g1"], ["g2"]]),
        ),
        max_size=4,
    ),
)
def test_dispositions_partition_the_time(
    times: list[str], decisions: list[tuple[str, str, str, list[str] | None]]
) -> None:
    """Whatever was seen and decided, each second of each GPU is on one line."""
    decided = [
        resolution(then, since, until, at=f"20:0{place}", gpus=gpus)
        for place, (since, until, then, gpus) in enumerate(decisions)
    ]
    records = (started(gpus="g1 g2"), ended(), points(" ".join(times)), *decided)

    receipt = rate(records, HELD)

    usage = {name: Decimal(part) for name, part in receipt["usage"].items() if name != "unit"}
    assert usage.pop("metered") == sum(usage.values()) == 7200
