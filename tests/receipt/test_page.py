"""The page of a receipt: what it says, and that it fits whatever others called their things."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tallystick.contract.parse import parse_contract
from tallystick.contract.versions import ContractVersions
from tallystick.evidence.admission import admit
from tallystick.receipt.assemble import receipts_of
from tallystick.receipt.background import Background
from tallystick.receipt.columns import PAGE_COLUMNS, width
from tallystick.receipt.diff import diff_receipts, diff_rows
from tallystick.receipt.errors import VerificationError
from tallystick.receipt.explain import explain
from tallystick.receipt.explanation_page import explanation_rows
from tallystick.receipt.page import page
from tallystick.receipt.statement import Statement
from tallystick.receipt.verify import open_receipt
from tests.receipt.golden_files import golden, without_digests
from tests.receipt.samples import (
    FIRST,
    GPU_B,
    SECOND,
    change,
    make_predicate,
    moment,
    sign,
    state,
)

CASES = Path(__file__).parent.parent / "conformance" / "cases"


def text_of(statement: Statement, *, parties: str | None = None, ascii_only: bool = False) -> str:
    """Write the page as one text."""
    return "\n".join(page(statement, parties=parties, ascii_only=ascii_only)) + "\n"


def case_statements(name: str) -> list[Statement]:
    """State the receipts of a conformance case."""
    case = CASES / name
    contracts = [parse_contract(path.read_bytes(), path.name) for path in case.glob("*.toml")]
    evidence = admit(
        path.read_bytes().split(b"\n") for path in sorted(case.glob("evidence*.jsonl"))
    )
    receipts = receipts_of(evidence, ContractVersions(tuple(contracts)))
    return [state(predicate) for predicate in receipts.predicates]


def test_the_page_of_a_small_receipt() -> None:
    """A page tells who, what happened, how far it came, what is owed, and what is open."""
    text = text_of(state(make_predicate()), parties="Example Cloud and Acme")

    assert text == golden("small.txt", text)


@pytest.mark.parametrize(
    "case",
    [
        "022-flagship",
        "021-node-unit-one-gpu-dark",
        "023-twenty-short-attempts-per-line",
        "024-no-rate-and-no-contract",
        "026-open-attempt",
        "031-nobody-said-what-was-restored",
    ],
)
def test_the_pages_of_whole_stories(case: str) -> None:
    """The published cases read as they should."""
    text = "\n".join(without_digests(text_of(each)) for each in case_statements(case))

    assert text == golden(f"{case}.txt", text)


def test_a_page_says_whether_signatures_were_checked() -> None:
    """A receipt that was only opened names no signer."""
    checked = text_of(state(make_predicate()))
    opened = text_of(open_receipt(sign(make_predicate())))

    assert "signed by    provider.example+17ee1df4" in checked
    assert "signed by    not checked" in opened


def test_unknown_time_is_seen_without_colour() -> None:
    """The lane of the GPU that went dark has question marks, and the other has none."""
    rows = text_of(state(make_predicate())).splitlines()

    lanes = [row.split()[-1] for row in rows if row.split()[1:2] == ["GPU"]]

    assert ["?" in lane for lane in lanes] == [False, True]
    assert f"? 00:30:00 to 00:35:00  lost_tail  {GPU_B}"[:70] in "\n".join(rows)


def test_fractions_of_seconds_are_whole_in_the_table_of_attempts() -> None:
    """A notice of 16.625 s is not cut, and the row still fits."""
    predicate = make_predicate()
    change(predicate, "attempts.0.notice_seconds", "16.625000")

    text = text_of(state(predicate))

    assert "0:00:16.625000" in text
    assert max(map(width, text.splitlines())) <= PAGE_COLUMNS


def test_an_unknown_amount_is_a_word() -> None:
    """A held line without a rate has no figure, and neither has the net."""
    predicate = make_predicate()
    for path in ("lines.3.per_hour", "lines.3.at_most", "totals.held_at_most"):
        change(predicate, path, None)
    change(predicate, "totals.net.at_most", None)

    text = text_of(state(predicate))

    assert "at most unknown" in text
    assert "net          USD at least 2.41, at most unknown" in text


def test_a_negative_hold_shows_both_bounds() -> None:
    """A held rounding that takes time away may lower the amount."""
    predicate = make_predicate()
    line = {
        **predicate["lines"][3],
        "line": 5,
        "kind": "granularity",
        "quantity": "-60.000000",
        "at_least": "-0.06",
        "at_most": "0.00",
        "pieces": [],
    }
    predicate["lines"].insert(4, line)
    change(predicate, "lines.5.line", 6)

    text = text_of(state(predicate))

    assert "rounding of time" not in text.split("LINES")[0]
    assert "at least -0.06" in text


def test_a_run_without_attempts_has_a_page() -> None:
    """Every block says that there is nothing in it."""
    predicate = make_predicate()
    for name in ("attempts", "coverage", "lines", "timeline", "findings", "contracts"):
        predicate[name] = []
    predicate["progress"]["interruptions"] = []
    predicate["progress"]["last_valid_checkpoint"] = None
    for block in (predicate["usage"], predicate["progress"]["gpu_seconds"]):
        block.update({name: "0.000000" for name in block if name != "unit"})
    predicate["totals"].update(
        charged="0.00", credits="0.00", adjustments="0.00", held_at_most="0.00", net="0.00"
    )

    text = text_of(state(predicate))

    assert text.count("\n  none\n") == 4
    assert "contract     none rated a part of this run" in text


def test_an_attempt_of_no_length_has_no_lanes() -> None:
    """An attempt that ended when it started, or before, is told and not drawn."""
    predicate = make_predicate()
    attempt = {**predicate["attempts"][1], "attempt": "brief", "end": moment(15)}
    predicate["attempts"].append(attempt)
    predicate["timeline"].append({"attempt": "brief", "allocation": [], "progress": []})

    text = text_of(state(predicate))

    assert "2026-01-01 00:15:00 to 00:15:00, no time to show" in text


def test_a_figure_that_is_not_stated_is_not_told() -> None:
    """The lost GPU time is an optional field."""
    predicate = change(make_predicate(), "progress.lost_gpu_seconds", ...)

    assert "lost GPU-seconds" not in text_of(state(predicate))


def _rename(value: Any, names: dict[str, str]) -> Any:
    """Give every name in a receipt another one."""
    if isinstance(value, str):
        return names.get(value, value)
    if isinstance(value, dict):
        return {key: _rename(item, names) for key, item in value.items()}
    if isinstance(value, list):
        return [_rename(item, names) for item in value]
    return value


NAMES = (
    *("run-7", "pretrain", "acme-spot", "acme-spot@3", FIRST, SECOND, GPU_B, "H100", "spot"),
    *("provider", "completed", "lost_tail", "ckpt-60", "2.1", "4.2", "sequence_gap", "held"),
    *("2 records of dcgm/node-a are missing", "advancing"),
)

nasty = st.one_of(
    st.text(min_size=1, max_size=200),
    st.text("\u6f22\u00e9\u0301\u202e \t\x1b\\x", min_size=1, max_size=200),
    st.just("\u6f22" * 200),
    st.just("a " * 100),
)


@given(st.lists(nasty, min_size=len(NAMES), max_size=len(NAMES), unique=True), st.booleans())
def test_no_name_makes_a_page_wider(names: list[str], ascii_only: bool) -> None:  # noqa: FBT001
    """A page is 80 columns wide at most, and in a plain terminal it is plain."""
    predicate = _rename(make_predicate(), dict(zip(NAMES, names, strict=True)))
    statement = state(predicate)

    rows = page(statement, parties=names[0], ascii_only=ascii_only)

    assert max(map(width, rows)) <= PAGE_COLUMNS
    assert all(row.isprintable() for row in rows)
    assert not ascii_only or all(row.isascii() for row in rows)


def _places(value: Any, path: str = "") -> list[str]:
    """List every place in a predicate."""
    inner = value.items() if isinstance(value, dict) else enumerate(value)
    return [
        place
        for name, item in inner
        for place in (
            f"{path}{name}",
            *(_places(item, f"{path}{name}.") if isinstance(item, dict | list) else ()),
        )
        if place != "run" and not place.startswith("run.")
    ]


odd: st.SearchStrategy[Any] = st.sampled_from(
    [
        *(None, True, 0, -1, "", "x", [], {}, "0.000000", "-1.000000", "1/1", "0.00"),
        *("9" * 900, "0001-01-01T00:00:00.000000Z", "9999-12-31T23:59:59.999999Z"),
        *("2026-01-01T00:05:00.000000Z", {"at_least": None, "at_most": None}),
    ]
)


@settings(max_examples=300)
@given(st.sampled_from(_places(make_predicate())), odd)
def test_whatever_is_opened_can_be_shown(place: str, value: Any) -> None:
    """A signed oddity is refused, or else every reader gets through it."""
    data = sign(change(make_predicate(), place, value))
    try:
        statement = open_receipt(data)
    except VerificationError:
        return

    receipt = statement.receipt
    explanations = [
        explain(receipt, number, Background()) for number in range(1, len(receipt.lines) + 1)
    ]
    rows = page(statement, parties=None, ascii_only=True)
    for each in explanations:
        rows += explanation_rows(receipt, each, ascii_only=True)
    rows += diff_rows(diff_receipts(make_predicate(), statement.predicate), ascii_only=True)

    assert max(map(len, rows)) <= PAGE_COLUMNS


def test_long_figures_are_cut_where_it_shows() -> None:
    """A figure that does not fit its column is cut with dots, never silently."""
    predicate = make_predicate()
    big = "9" * 60
    change(predicate, "lines.4.amount", f"{big}.00")
    change(predicate, "totals.adjustments", f"{big}.00")
    change(predicate, "totals.net.at_least", f"{int(big) + 2}.91")
    change(predicate, "totals.net.at_most", f"{int(big) + 3}.21")

    rows = page(state(predicate), parties=None, ascii_only=True)

    adjusted = next(row for row in rows if "adjusted" in row)
    assert "999...9" in adjusted
    assert max(map(len, rows)) <= PAGE_COLUMNS


def test_many_gaps_are_counted() -> None:
    """A page lists the first gaps of an attempt and says how many more there are."""
    predicate = make_predicate()
    minutes = [
        {
            "start": f"2026-01-01T00:30:{second:02}.000000Z",
            "end": f"2026-01-01T00:30:{second + 1:02}.000000Z",
            "reason": "blank",
        }
        for second in range(0, 60, 2)
    ]
    change(predicate, "coverage.3.gaps", minutes)
    change(predicate, "coverage.3.observed_seconds", "1170.000000")

    text = text_of(state(predicate))

    assert "? and 18 more gaps" in text
