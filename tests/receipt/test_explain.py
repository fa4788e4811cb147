"""Why a line is what it is: who decided, the arithmetic, the evidence, what would settle it."""

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallystick.receipt.background import Background, ContractNote, RecordNote
from tallystick.receipt.columns import PAGE_COLUMNS, width
from tallystick.receipt.errors import UnknownLineError
from tallystick.receipt.explain import Explanation, decimal_text, explain
from tallystick.receipt.explanation_page import ROWS_MAX, explanation_rows
from tallystick.receipt.reader import read_receipt
from tests.receipt.golden_files import golden
from tests.receipt.samples import GPU_B, change, make_predicate

SENTENCE = "Time without telemetry is held until the parties resolve it."
NOTHING = Background()
BACKGROUND = Background(
    contracts={
        "acme-spot@3": ContractNote(
            frozenset({"4.2", "5.1", "6.1"}), {"4.2": SENTENCE}, "half_even to 2 places"
        )
    },
    records={
        "sha256:" + "1" * 64: RecordNote("telemetry.points", None, "dcgm/node-a"),
        "sha256:" + "2" * 64: RecordNote(
            "allocation.started", "2026-01-01T00:00:00.000000Z", "slurmctld/c1"
        ),
    },
)


def explained(number: int, background: Background = NOTHING, **changed: Any) -> Explanation:
    """Explain a line of the small receipt, some of whose fields are changed."""
    predicate = make_predicate()
    for field, value in changed.items():
        change(predicate, f"lines.{number - 1}.{field}", value)
    return explain(read_receipt(predicate), number, background)


def test_the_explanation_of_each_line() -> None:
    """A page for each outcome: credited, excluded, charged, held, adjusted."""
    receipt = read_receipt(make_predicate())
    pages = [
        "\n".join(explanation_rows(receipt, explain(receipt, n, BACKGROUND), ascii_only=False))
        for n in range(1, 6)
    ]

    text = "\n\n".join(pages) + "\n"

    assert text == golden("explained.txt", text)


@pytest.mark.parametrize(
    ("number", "background", "changed", "decided_by"),
    [
        (4, NOTHING, {}, "clause 4.2"),
        (4, BACKGROUND, {}, "rule 4.2, the first that matched these intervals"),
        (3, BACKGROUND, {}, "no rule matched, so rate 2.1 alone decides"),
        (
            3,
            BACKGROUND,
            {"rule_clause": "9.1"},
            "a decision.resolution under clause 9.1",
        ),
        (
            4,
            BACKGROUND,
            {"rule_clause": None, "rate_clause": None, "per_hour": None},
            "no rule matched, and no rate fits the attempt: such time is held",
        ),
        (
            4,
            BACKGROUND,
            {"rule_clause": None, "contract": None},
            "no contract version was in force, and without one time is held",
        ),
        (5, BACKGROUND, {}, "a decision.adjustment under clause 9.9"),
    ],
)
def test_what_decided_is_named(
    number: int, background: Background, changed: dict[str, Any], decided_by: str
) -> None:
    """A rule, a rate, a decision of the parties, or the want of one."""
    assert explained(number, background, **changed).decided_by == decided_by


def test_the_sentence_of_a_clause_needs_the_contract() -> None:
    """Without the contract at hand the clause is named and not quoted."""
    assert explained(4, BACKGROUND).says == SENTENCE
    assert explained(4).says is None


@pytest.mark.parametrize(
    ("number", "changed", "steps"),
    [
        (3, {}, ("2100 s x 3.60 / 3600 = 21/10 = 2.1",)),
        (
            3,
            {"per_hour": "1.00", "amount": "0.58"},
            ("2100 s x 1.00 / 3600 = 7/12, rounded to 0.58",),
        ),
        (
            1,
            {},
            (
                "1080 s x 3.60 / 3600 = 27/25 = 1.08",
                "given back: 1080 s x 3.60 / 3600 x 1/4 = 27/100 = 0.27",
            ),
        ),
        (
            1,
            {"disposition": "share", "credit": None, "amount": "0.27"},
            ("1080 s x 3.60 / 3600 x 1/4 = 27/100 = 0.27",),
        ),
        (2, {}, ("120 s x 3.60 / 3600 = 3/25 = 0.12, of which nothing is charged",)),
        (
            4,
            {"quantity": "-300.000000", "at_least": "-0.30", "at_most": "0.00"},
            (
                "-300 s x 3.60 / 3600 = -3/10 = -0.3",
                "until it is settled: at least -0.30, at most 0.00",
            ),
        ),
        (
            4,
            {"per_hour": None, "at_most": None},
            ("300 s, and no rate to multiply it with: the amount is unknown",),
        ),
        (5, {}, ()),
    ],
)
def test_the_arithmetic_is_written_out(
    number: int, changed: dict[str, Any], steps: tuple[str, ...]
) -> None:
    """Quantity times rate, exact, then rounded; shares and bounds follow."""
    assert explained(number, **changed).steps == steps


def test_the_contract_says_how_an_amount_was_rounded() -> None:
    """With the contract at hand the rounding is named."""
    steps = explained(3, BACKGROUND, per_hour="1.00", amount="0.58").steps

    assert steps == ("2100 s x 1.00 / 3600 = 7/12, rounded to 0.58, half_even to 2 places",)


def test_a_granularity_line_says_what_it_is() -> None:
    """The difference between rounded and exact time follows the outcome of the rest."""
    meaning = explained(3, kind="granularity").meaning

    assert meaning.startswith("the attempt's time as the contract rounds it")
    assert meaning.endswith("charged in full")


def test_a_held_line_says_what_would_settle_it() -> None:
    """The reason of the gap tells which evidence is missing, and the parties may decide."""
    settled_by = explained(4).settled_by

    assert settled_by == (
        "lost_tail: samples up to the end of the attempt, or its job statistics",
        "a decision.resolution of the parties for this attempt and time",
    )


@pytest.mark.parametrize(
    ("changed", "ways"),
    [
        ({"contract": None}, ["a contract version that was in force at that time"]),
        (
            {"rate_clause": None, "per_hour": None, "pieces": []},
            [
                "a contract version with a rate for 2 x H100, capacity spot",
                "a decision.resolution of the parties for this attempt and time, to exclude it",
            ],
        ),
        ({"pieces": []}, ["a decision.resolution of the parties for this attempt and time"]),
    ],
)
def test_what_would_settle_a_line_without_a_gap(changed: dict[str, Any], ways: list[str]) -> None:
    """A missing contract or rate is what is missing; a decision can only exclude unpriced time."""
    assert list(explained(4, **changed).settled_by) == ways


def test_a_settled_line_needs_nothing() -> None:
    """Only what is held can be settled."""
    assert [explained(number).settled_by for number in (1, 2, 3, 5)] == [(), (), (), ()]


def test_a_reason_of_a_later_version_is_not_hidden() -> None:
    """A gap with an unknown reason still says what would fill it."""
    predicate = change(make_predicate(), "coverage.3.gaps.0.reason", "eclipse")

    settled_by = explain(read_receipt(predicate), 4, NOTHING).settled_by

    assert settled_by[0] == "eclipse: samples of that GPU in that time"


@pytest.mark.parametrize("number", [0, 6, -1])
def test_a_line_that_is_not_there_is_refused(number: int) -> None:
    """The message says which lines there are."""
    with pytest.raises(UnknownLineError) as refused:
        explain(read_receipt(make_predicate()), number, NOTHING)

    assert str(refused.value) == f"no line {number}: the receipt has lines 1 to 5"


def test_a_receipt_without_lines_has_no_line_1() -> None:
    """The message does not invent a range."""
    assert str(UnknownLineError(1, 0)) == "no line 1: the receipt has none"


def test_an_explanation_as_json_has_the_same_keys_for_every_line() -> None:
    """Whatever is unknown is null."""
    everything = [explained(number, BACKGROUND).to_json() for number in range(1, 6)]

    assert len({tuple(each) for each in everything}) == 1
    assert everything[3]["exact"] == "3/10"
    assert everything[3]["evidence"][1]["kind"] == "allocation.started"
    assert everything[4]["evidence"][0] == {
        "digest": "sha256:" + "3" * 64,
        "kind": None,
        "at": None,
        "producer": None,
    }


def test_long_lists_are_counted() -> None:
    """A page lists some intervals and records, and says how many more there are."""
    predicate = make_predicate()
    many = ROWS_MAX + 5
    change(predicate, "lines.3.pieces", predicate["lines"][3]["pieces"] * many)
    change(predicate, "lines.3.evidence", ["sha256:" + "1" * 64] * many)
    receipt = read_receipt(predicate)

    rows = explanation_rows(receipt, explain(receipt, 4, NOTHING), ascii_only=True)

    assert rows.count("    and 5 more") == 2


@given(st.text(min_size=1, max_size=200), st.booleans())
def test_no_name_makes_an_explanation_wider(name: str, ascii_only: bool) -> None:  # noqa: FBT001
    """Rows fit whatever a clause, a GPU, an attempt or a sentence is called."""
    predicate = make_predicate()
    for path in ("attempts.1.attempt", "lines.3.attempt", "coverage.3.attempt"):
        change(predicate, path, name)
    change(predicate, "lines.3.rule_clause", name)
    change(predicate, "lines.3.pieces.0.gpus", [name])
    change(predicate, "lines.3.contract", name)
    background = Background(
        contracts={name: ContractNote(frozenset({name}), {name: name}, name)},
        records={"sha256:" + "1" * 64: RecordNote(name, name, name)},
    )
    receipt = read_receipt(predicate)

    rows = explanation_rows(receipt, explain(receipt, 4, background), ascii_only=ascii_only)

    assert max(map(width, rows)) <= PAGE_COLUMNS
    assert all(row.isprintable() for row in rows)
    assert not ascii_only or all(row.isascii() for row in rows)


def test_a_gpu_without_a_name_is_told() -> None:
    """An interval of one GPU without UUID says so, and several are counted."""
    predicate = make_predicate()
    change(predicate, "lines.3.pieces.0.gpus", [None])
    change(predicate, "lines.2.pieces.1.gpus", [GPU_B, None])
    receipt = read_receipt(predicate)

    rows = [
        "\n".join(explanation_rows(receipt, explain(receipt, n, NOTHING), ascii_only=True))
        for n in (3, 4)
    ]

    assert "0:05:00, 2 GPUs" in rows[0]
    assert "0:05:00, a GPU without UUID" in rows[1]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Fraction(0), "0"),
        (Fraction(-3, 2), "-1.5"),
        (Fraction(1, 16), "0.0625"),
        (Fraction(1, 3), None),
        (Fraction(1, 2**13), None),
    ],
)
def test_only_a_short_decimal_is_written_as_one(value: Fraction, text: str | None) -> None:
    """A fraction that no short decimal equals stays a fraction."""
    assert decimal_text(value) == text
