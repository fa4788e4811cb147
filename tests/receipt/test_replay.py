"""Replay: the same bytes, or the first place where they differ."""

from typing import Any

import pytest

from tallystick.core.canonical import canonical_bytes
from tallystick.receipt.envelope import envelope_bytes, sign_payload
from tallystick.receipt.replay import Difference, compare_receipt, first_difference
from tallystick.receipt.statement import statement_payload
from tallystick.receipt.verify import open_receipt
from tests.receipt.samples import PROVIDER, change, make_predicate, state


def test_the_same_receipt_is_identical() -> None:
    """No difference means equal payloads."""
    replay = compare_receipt(state(make_predicate()), make_predicate())

    assert replay.identical
    assert replay.to_json() == {
        "run": "run-7",
        "identical": True,
        "path": None,
        "stated": None,
        "computed": None,
    }


def test_the_first_different_field_is_named() -> None:
    """Path and both values say where evidence and receipt part."""
    computed = change(make_predicate(), "lines.3.at_most", "0.31")

    replay = compare_receipt(state(make_predicate()), computed)

    assert not replay.identical
    assert replay.difference == Difference("$.lines[3].at_most", "0.30", "0.31")


def test_evidence_without_the_run_gives_nothing_to_compare() -> None:
    """A receipt that cannot be computed again is not identical."""
    replay = compare_receipt(state(make_predicate()), None)

    assert replay.difference == Difference("$", "a receipt of this run", None)


def test_what_was_signed_beside_the_receipt_is_a_difference() -> None:
    """A statement with more in it than the receipt is not the same bytes."""
    value = {**state(make_predicate()).predicate}
    payload = statement_payload(value)[:-1] + b',"z":1}'
    statement = open_receipt(envelope_bytes(sign_payload(payload, [PROVIDER])))

    replay = compare_receipt(statement, make_predicate())

    assert replay.difference == Difference("$ (outside the predicate)", None, None)


@pytest.mark.parametrize(
    ("stated", "computed", "difference"),
    [
        ({"a": 1, "b": 2}, {"a": 2, "b": 3}, Difference("$.a", 1, 2)),
        ({"a": 1}, {}, Difference("$.a", 1, None)),
        ({}, {"a": None}, Difference("$.a", None, None)),
        ([1], [1, 2], Difference("$[1]", None, 2)),
        ([1, 2], [1], Difference("$[1]", 2, None)),
        ([[1]], [[2]], Difference("$[0][0]", 1, 2)),
        (1, True, Difference(path="$", stated=1, computed=True)),
        ({}, [], Difference("$", {}, [])),
        ({"a": [1, {"b": "x"}]}, {"a": [1, {"b": "x"}]}, None),
    ],
)
def test_where_two_values_differ_first(
    stated: Any, computed: Any, difference: Difference | None
) -> None:
    """Members are compared in order of name, entries in order of place."""
    found = first_difference(stated, computed)

    assert found == difference
    assert (found is None) == (canonical_bytes(stated) == canonical_bytes(computed))
