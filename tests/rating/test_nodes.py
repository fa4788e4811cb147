"""Billing by the node: a node counts once for each piece (rule 51)."""

import pytest

from tests.evidence.records import Json, ended, minutes, points, resolution, started
from tests.rating.rated import (
    HELD_WHEN_DARK,
    columns,
    contract,
    metering,
    pieces,
    rate,
    rule,
)


def node_contract(*parts: str, per_node: int = 4, **terms: int) -> bytes:
    """Write a contract that bills nodes."""
    return contract(*parts, metering(unit="node", gpus_per_node=per_node, **terms))


def seen(gpu: str, since: str = "00:00", until: str = "00:59") -> Json:
    """Sample a GPU every minute."""
    return points(minutes(since, until), gpu=gpu)


def test_a_node_counts_once() -> None:
    """However many GPUs of it were held; usage is in node seconds (rule 56)."""
    receipt = rate((started(gpus="g1@n1 g2@n1 g3@n2"), ended()), node_contract())

    assert columns(receipt, "disposition quantity amount") == [("charge", "7200.000000", "7.20")]
    assert receipt["usage"]["unit"] == "node_seconds"


@pytest.mark.parametrize(
    ("gpus", "count", "nodes", "units"),
    [
        (None, 8, ["n1", "n2"], 2),
        ("g1@n1", 3, ["n1", "n2"], 2),
        ("g1@n1", 3, ["n1", "n2", "n3"], 3),
        ("g1@n1 g2@n2", 3, ["n1", "n2"], 2),
        ("g1@n1", 1, ["n1", "n2"], 1),
        (None, 5, [], 2),
        (None, 4, [], 1),
        (None, 1, [], 1),
        ("g1@n1", 9, [], 1),
        (None, 0, ["n1"], 0),
    ],
)
def test_gpus_without_a_name_are_on_the_nodes_that_are_left(
    gpus: str | None, count: int, nodes: list[str], units: int
) -> None:
    """On nodes without a named GPU, else on the first; else as many nodes as they fill."""
    receipt = rate((started(gpus=gpus, gpu_count=count, nodes=nodes), ended()), node_contract())

    assert receipt["usage"]["metered"] == f"{units * 3600}.000000"


@pytest.mark.parametrize(
    ("samples", "lines"),
    [
        ([], [("hold", "3600.000000")]),
        ([seen("g2")], [("charge", "3600.000000")]),
        ([seen("g1", until="00:30"), seen("g2", since="00:30")], [("charge", "3600.000000")]),
        (
            [seen("g2", until="00:30")],
            [("charge", "1800.000000"), ("hold", "1800.000000")],
        ),
    ],
)
def test_one_dark_gpu_does_not_hold_its_node(
    samples: list[Json], lines: list[tuple[str, str]]
) -> None:
    """A node takes the disposition that goes first of its GPUs (rule 51)."""
    records = (started(gpus="g1 g2"), ended(), *samples)

    assert columns(rate(records, node_contract(HELD_WHEN_DARK)), "disposition quantity") == lines


def test_each_node_is_judged_by_its_own_gpus() -> None:
    """A dark node is held beside a bright one, and the pieces name its GPUs."""
    records = (started(gpus="g1@n1 g2@n1 g3@n2"), ended(), seen("g1"))

    charge, hold = rate(records, node_contract(HELD_WHEN_DARK))["lines"]

    assert (charge["quantity"], pieces(charge)) == ("3600.000000", ["00:00-01:00 g1 g2"])
    assert (hold["quantity"], pieces(hold)) == ("3600.000000", ["00:00-01:00 g3"])


@pytest.mark.parametrize(("bright", "clause"), [("g1", "light"), ("g2", "dark")])
def test_of_one_disposition_the_first_uuid_speaks_for_the_node(bright: str, clause: str) -> None:
    """Precedence first, then UUID (rule 51)."""
    terms = node_contract(
        rule("dark", 'telemetry = "unknown"', "charge"), rule("light", "", "charge")
    )

    receipt = rate((started(gpus="g1 g2"), ended(), seen(bright)), terms)

    assert columns(receipt, "rule_clause quantity") == [(clause, "3600.000000")]


@pytest.mark.parametrize(
    ("dark", "disposition"),
    [
        ("credit:1/2", "credit"),
        ("share:1/2", "share"),
        ("hold", "hold"),
        ("exclude", "exclude"),
    ],
)
def test_dispositions_go_before_each_other(dark: str, disposition: str) -> None:
    """Charge, credit, share, hold, exclude: the weaker one loses against the next (rule 51)."""
    order = ["charge", "credit:1/2", "share:1/2", "hold", "exclude"]
    stronger = order[order.index(dark) - 1]
    records = (started(gpus="g1 g2"), ended(), seen("g2"))

    mixed = node_contract(rule("d", 'telemetry = "unknown"', dark), rule("l", "", stronger))
    alone = node_contract(rule("d", "", dark))

    assert columns(rate(records, mixed), "rule_clause") == [("l",)]
    assert columns(rate(records, alone), "disposition") == [(disposition,)]


def test_unnamed_gpus_are_dark_on_every_bare_node() -> None:
    """Each node that is left is held, since nobody saw any GPU of it."""
    records = (started(gpus="g1@n1", gpu_count=3, nodes=["n1", "n2", "n3"]), ended(), seen("g1"))

    receipt = rate(records, node_contract(HELD_WHEN_DARK))

    assert columns(receipt, "disposition quantity") == [
        ("charge", "3600.000000"),
        ("hold", "7200.000000"),
    ]


def test_unnamed_gpus_join_the_first_node_by_name() -> None:
    """Where every node has a named GPU they change nothing there, if it was seen (rule 51)."""
    records = (
        started(gpus="g1@n2 g2@n1", gpu_count=3, nodes=["n2", "n1"]),
        ended(),
        seen("g1"),
    )

    charge, hold = rate(records, node_contract(HELD_WHEN_DARK))["lines"]

    assert pieces(charge) == ["00:00-01:00 g1"]
    assert pieces(hold) == ["00:00-01:00 g2 None"]


def test_the_highest_version_says_how_many_fill_a_node() -> None:
    """Even if another one is in force (rule 51)."""
    records = (started(gpus=None, gpu_count=6, nodes=[]), ended())
    later = contract(metering(unit="node", gpus_per_node=2), version=2, since="02:00")

    receipt = rate(records, node_contract(per_node=6), later)

    assert receipt["usage"]["metered"] == "10800.000000"


def test_rounding_of_time_counts_nodes() -> None:
    """For each node E-S is rounded (rule 54)."""
    records = (started(gpus="g1@n1 g2@n1 g3@n2"), ended("00:59:30"))

    receipt = rate(records, node_contract(granularity_s=60))

    assert columns(receipt, "kind quantity")[-1] == ("granularity", "60.000000")


def test_a_resolution_of_one_gpu_speaks_for_its_node() -> None:
    """Charge goes before hold (rules 51 and 57)."""
    records = (started(gpus="g1 g2"), ended(), resolution("charge", gpus=["g2"]))

    receipt = rate(records, node_contract(HELD_WHEN_DARK))

    assert columns(receipt, "disposition rule_clause quantity") == [
        ("charge", "9.1", "3600.000000")
    ]
