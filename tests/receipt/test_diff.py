"""What differs between two receipts, and between a receipt and its replay."""

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallystick.receipt.columns import PAGE_COLUMNS, width
from tallystick.receipt.diff import Change, diff_receipts, diff_rows
from tests.receipt.golden_files import golden
from tests.receipt.samples import GPU_B, SECOND, change, make_predicate

HELD = f"attempt {SECOND}, acme-spot@3, rate 2.1, rule 4.2, hold"


def settled() -> dict[str, Any]:
    """Make the small receipt as it is once the lost tail was found."""
    predicate = make_predicate()
    change(predicate, "coverage.3.gaps", [])
    change(predicate, "coverage.3.observed_seconds", "1200.000000")
    del predicate["lines"][3]
    change(predicate, "lines.3.line", 4)
    change(predicate, "lines.2.quantity", "2400.000000")
    change(predicate, "lines.2.amount", "2.40")
    change(predicate, "usage.held", "0.000000")
    change(predicate, "usage.net_billed", "2400.000000")
    change(predicate, "totals.charged", "3.48")
    change(predicate, "totals.held_at_most", "0.00")
    change(predicate, "totals.net", "2.71")
    change(predicate, "findings", [])
    return predicate


def test_equal_receipts_do_not_differ() -> None:
    """Nothing to say is an empty result."""
    assert diff_receipts(make_predicate(), make_predicate()) == ()


def test_a_later_line_keeps_its_identity() -> None:
    """When a line disappears, those after it are not told as changed."""
    changes = diff_receipts(make_predicate(), settled())

    lines = [each for each in changes if each.section == "lines"]
    assert [(each.entry, each.field) for each in lines] == [
        (f"attempt {SECOND}, acme-spot@3, rate 2.1, rule none, charge", "amount"),
        (f"attempt {SECOND}, acme-spot@3, rate 2.1, rule none, charge", "quantity"),
        (HELD, None),
    ]
    assert lines[-1].kind == "removed"


def test_the_page_of_a_difference() -> None:
    """Changes are told under their block, before and after."""
    rows = diff_rows(diff_receipts(make_predicate(), settled()), ascii_only=True)

    text = "\n".join(rows) + "\n"

    assert text == golden("difference.txt", text)


def test_a_change_as_json_has_its_values() -> None:
    """Programs get both values whole."""
    after = change(make_predicate(), "coverage.3.gaps", [])

    (only,) = diff_receipts(make_predicate(), after)

    assert only.to_json() == {
        "section": "coverage",
        "entry": f"{SECOND}, {GPU_B}",
        "field": "gaps",
        "change": "changed",
        "before": make_predicate()["coverage"][3]["gaps"],
        "after": [],
    }


def _paths(value: Any, path: str = "") -> list[str]:
    """List every leaf and list of a predicate."""
    if isinstance(value, dict):
        return [each for name in value for each in _paths(value[name], f"{path}.{name}")]
    if isinstance(value, list):
        inner = [each for i, item in enumerate(value) for each in _paths(item, f"{path}.{i}")]
        return [path, *inner]
    return [path]


@given(st.sampled_from(_paths(make_predicate())), st.sampled_from([None, "other", 7]))
def test_no_difference_goes_unnoticed(path: str, value: Any) -> None:
    """Whatever field changes, the difference is told, and in both directions."""
    before, after = make_predicate(), change(make_predicate(), path[1:], value)

    changes = diff_receipts(before, after), diff_receipts(after, before)

    assert [bool(each) for each in changes] == [before != after] * 2


def test_another_order_of_equal_entries_is_a_difference() -> None:
    """Receipts without a change are equal in every byte, so order counts."""
    after = make_predicate()
    after["attempts"].reverse()

    changes = diff_receipts(make_predicate(), after)

    assert [(each.section, each.field) for each in changes] == [("attempts", "order")]


def test_members_that_appear_are_told() -> None:
    """A field or a block that one receipt lacks is added or removed, also if it is null."""
    after = copy.deepcopy(make_predicate())
    after["run"]["team"] = None
    after["note"] = {"text": "x"}

    changes = diff_receipts(make_predicate(), after)

    assert changes == (
        Change("run", None, "team", "added", None, None),
        Change("note", None, None, "added", None, {"text": "x"}),
    )
    assert diff_rows(changes, ascii_only=True)[1] == "+   team                   null"
    assert [each.kind for each in diff_receipts(after, make_predicate())] == ["removed"] * 2


def test_what_neither_has_is_no_difference() -> None:
    """A block that both lack is not told."""
    assert diff_receipts({"run": 1}, {"run": 1}) == ()


def test_an_entry_that_appears_is_told_by_its_figures() -> None:
    """A line that is added is told with the fields that its name does not have."""
    after = make_predicate()
    after["lines"].append({**after["lines"][4], "line": 6, "rule_clause": "9.8"})

    rows = diff_rows(diff_receipts(make_predicate(), after), ascii_only=True)

    assert rows == [
        "LINES",
        "+ adjustment, clause 9.8",
        "+   amount                 -0.50",
        "+   pieces                 0 entries",
        "+   evidence               1 entry",
    ]


def test_entries_with_one_name_are_counted() -> None:
    """Two findings of one kind are laid side by side in their order."""
    before, after = make_predicate(), make_predicate()
    before["findings"] *= 2
    after["findings"] = [*before["findings"][:1], {**before["findings"][0], "message": "x"}]

    changes = diff_receipts(before, after)

    assert [(each.entry, each.field) for each in changes] == [("sequence_gap (2)", "message")]


@given(st.text(min_size=1, max_size=200))
def test_no_name_makes_a_difference_wider(name: str) -> None:
    """Rows fit whatever was changed."""
    after = change(make_predicate(), "attempts.0.attempt", name)
    change(after, "run.id", name)
    change(after, "run.accepted", None)

    rows = diff_rows(diff_receipts(make_predicate(), after), ascii_only=True)

    assert max(map(width, rows)) <= PAGE_COLUMNS
    assert all(row.isascii() and row.isprintable() for row in rows)


@pytest.mark.parametrize(
    ("before", "after", "row"),
    [
        ([1, 2], [2, 1], "2 entries -> other 2 entries"),
        ([1], [], "1 entry -> 0 entries"),
        (True, None, "true -> null"),
        ({"a": 1}, "x", "a 1 -> x"),
    ],
)
def test_values_are_told_shortly(before: Any, after: Any, row: str) -> None:
    """Lists are counted, and words are those of JSON."""
    change_ = Change("lines", "one", "field", "changed", before, after)

    rows = diff_rows([change_], ascii_only=True)

    assert rows[-1].endswith(row)
