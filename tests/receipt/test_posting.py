"""Posting: what a receipt moves is what its totals say, and a revision moves the difference."""

import hashlib
from collections.abc import Iterable, Sequence
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallystick.app.rate import rate_files
from tallystick.core.finding import Finding
from tallystick.core.instant import HOUR_US
from tallystick.core.money import Rounding
from tallystick.ledger.append import new_entries
from tallystick.ledger.balance import balances, check_ledger
from tallystick.ledger.entry import Entry
from tallystick.ledger.errors import BadPostedAmountError, SupersededMismatchError
from tallystick.ledger.journal import journal_text
from tallystick.receipt.errors import WrongFigureError
from tallystick.receipt.posting import Posted, entries_of
from tallystick.receipt.reader import Receipt, read_receipt
from tests.ledger.receipts import Story, Terms, receipt_of, stories, versions
from tests.ledger.strangers import STRANGERS
from tests.receipt.samples import change, make_predicate

HERE = Path(__file__).parent
CASES = tuple(sorted(HERE.parent.glob("conformance/cases/*/expected.json")))
RECORDED_US = 1_767_225_600_000_000
CENTS = [Terms(Rounding(2, "half_even"), per_receipt=True)]


def digest(text: str) -> str:
    """Name something that stands for a payload."""
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


FIRST = Posted(read_receipt(make_predicate()), digest("r1"), "Acme")


def post(receipt: Receipt, name: str = "r1", previous: Posted | None = None) -> tuple[Entry, ...]:
    """Post a receipt for Acme."""
    entries, _ = entries_of(
        receipt, digest(name), customer="Acme", recorded_us=RECORDED_US, previous=previous
    )
    return entries


def moved(entries: Iterable[Entry]) -> dict[str, list[tuple[str, str]]]:
    """Give what each line posts, by the account's text without the customer."""
    return {
        entry.line: [
            (posting.account.text.removesuffix(":Acme"), str(posting.amount))
            for posting in entry.postings
        ]
        for entry in entries
    }


def standing(entries: Iterable[Entry]) -> dict[str, Fraction]:
    """Give balances by the name of the account, over all customers."""
    found: dict[str, Fraction] = {}
    for each in balances(entries):
        name = each.account.name
        found[name] = found.get(name, Fraction(0)) + Fraction(each.amount)
    return found


def stated(receipt: Receipt) -> dict[str, Fraction]:
    """Give the balances that the totals of a receipt ask for; held only if all has a price."""
    totals = receipt.totals
    charged, credits_, adjustments = (
        Fraction(each) for each in (totals.charged, totals.credits, totals.adjustments)
    )
    expected = {
        "receivable": charged - credits_ + adjustments,
        "revenue": -charged,
        "credit": credits_,
        "adjustment": -adjustments,
    }
    if totals.held_at_most is not None:
        expected["held"] = Fraction(totals.held_at_most)
        expected["deferred"] = -expected["held"]
    return {name: amount for name, amount in expected.items() if amount}


def settled(found: dict[str, Fraction], receipt: Receipt) -> dict[str, Fraction]:
    """Leave held amounts out where the receipt states no total of them."""
    if receipt.totals.held_at_most is not None:
        return found
    return {name: each for name, each in found.items() if name not in {"held", "deferred"}}


def again(receipt: Receipt, revision: int, supersedes: str | None) -> Receipt:
    """Give a receipt another place in the chain of revisions."""
    return msgspec.structs.replace(receipt, revision=revision, supersedes=supersedes)


def post_all(receipts: Sequence[Receipt], customers: Sequence[str]) -> tuple[Entry, ...]:
    """Post receipts as revisions of one run, one after the other."""
    ledger: list[Entry] = []
    previous: Posted | None = None
    for number, (receipt, customer) in enumerate(zip(receipts, customers, strict=True), start=1):
        name = digest(f"r{number}")
        revision = again(receipt, number, previous and previous.payload_digest)
        entries, _ = entries_of(
            revision, name, customer=customer, recorded_us=RECORDED_US + number, previous=previous
        )
        ledger += entries
        previous = Posted(revision, name, customer)
    return tuple(ledger)


def resolved() -> dict[str, Any]:
    """Make revision 2 of the small receipt: the held five minutes are charged."""
    predicate = make_predicate()
    predicate |= {"revision": 2, "supersedes": digest("r1")}
    for path, value in (
        ("lines.3.disposition", "charge"),
        ("lines.3.rule_clause", "8.1"),
        ("lines.3.amount", "0.30"),
        ("lines.3.at_least", ...),
        ("lines.3.at_most", ...),
        ("usage.held", "0.000000"),
        ("usage.net_billed", "2400.000000"),
        ("totals.charged", "3.48"),
        ("totals.held_at_most", "0.00"),
        ("totals.net", "2.71"),
    ):
        change(predicate, path, value)
    return predicate


def test_what_each_line_of_a_receipt_posts() -> None:
    """Charged, given back, held and adjusted each have two sides; what is excluded has none."""
    entries = post(read_receipt(make_predicate()))

    assert moved(entries) == {
        "1": [
            ("assets:receivable", "1.08"),
            ("income:revenue", "-1.08"),
            ("income:credit", "0.27"),
            ("assets:receivable", "-0.27"),
        ],
        "3": [("assets:receivable", "2.10"), ("income:revenue", "-2.10")],
        "4": [("memorandum:held", "0.30"), ("memorandum:deferred", "-0.30")],
        "5": [("assets:receivable", "-0.50"), ("income:adjustment", "0.50")],
    }


def test_an_entry_says_what_it_follows_from() -> None:
    """Receipt, line, run, customer, revision, time and the terms of the line are on it."""
    first, *_ = post(read_receipt(make_predicate()))

    assert (first.receipt, first.line, first.run) == (digest("r1"), "1", "run-7")
    assert (first.customer, first.revision, first.recorded_us) == ("Acme", 1, RECORDED_US)
    assert first.sentence == (
        "credit 1/4, usage of attempt slurm:c1:7:1767225590 under acme-spot@3, rate 2.1, rule 6.1"
    )


def test_a_revision_posts_the_difference() -> None:
    """A settled hold is taken back and its charge posted; no other line moves."""
    second = read_receipt(resolved())

    entries = post(second, "r2", FIRST)

    assert moved(entries) == {
        "4": [("assets:receivable", "0.30"), ("income:revenue", "-0.30")],
        "superseded 4": [("memorandum:held", "-0.30"), ("memorandum:deferred", "0.30")],
    }
    assert {entry.receipt for entry in entries} == {digest("r2")}
    assert entries[1].sentence == (
        "takes back line 4 of revision 1: hold, usage of attempt slurm:c1:7:1767226000 "
        "under acme-spot@3, rate 2.1, rule 4.2"
    )


def test_a_line_that_costs_more_posts_what_it_costs_more() -> None:
    """A line keeps its entry of before; the new one names that line."""
    dearer = make_predicate()
    for path, value in (
        ("lines.0.per_hour", "7.20"),
        ("lines.0.amount", "2.16"),
        ("lines.0.credit", "0.54"),
        ("totals.charged", "4.26"),
        ("totals.credits", "0.54"),
        ("totals.net", {"at_least": "3.22", "at_most": "3.52"}),
    ):
        change(dearer, path, value)
    second = again(read_receipt(dearer), 2, digest("r1"))

    entries = post(second, "r2", FIRST)

    assert moved(entries) == {
        "1": [
            ("assets:receivable", "1.08"),
            ("income:revenue", "-1.08"),
            ("income:credit", "0.27"),
            ("assets:receivable", "-0.27"),
        ]
    }
    assert entries[0].sentence.startswith("difference to line 1 of revision 1: credit 1/4, usage")


def test_an_adjustment_is_matched_by_clause_amount_and_order() -> None:
    """A second equal adjustment is a new one, and the first stays."""
    predicate = make_predicate()
    predicate["lines"].append({**predicate["lines"][4], "line": 6})
    change(predicate, "totals.adjustments", "-1.00")
    change(predicate, "totals.net", {"at_least": "1.91", "at_most": "2.21"})
    second = again(read_receipt(predicate), 2, digest("r1"))

    entries = post(second, "r2", FIRST)

    assert moved(entries) == {"6": [("assets:receivable", "-0.50"), ("income:adjustment", "0.50")]}
    assert entries[0].sentence == "adjustment under clause 9.9"


def test_a_customer_of_another_name_takes_the_balances_over() -> None:
    """What was posted under the old name is taken back under that name."""
    receipt = read_receipt(make_predicate())

    ledger = post_all([receipt, receipt], ["Acme", "Acme Ltd"])

    assert balances(ledger) == balances(post_all([receipt], ["Acme Ltd"]))
    assert {entry.line for entry in ledger[4:]} == {"1", "3", "4", "5"}


def test_a_hold_without_a_price_is_a_finding_and_not_a_zero() -> None:
    """The holds that have a price are posted, rounded up: what bounds them must hold."""
    priced = ("usage", "hold", None, 12_000_000, "1.00", 0, "4.2")
    unpriced = ("usage", "hold", None, 60_000_000, None, 0, "4.2")
    receipt = receipt_of(Story((priced, unpriced), (), "Acme"), CENTS)

    entries, findings = entries_of(
        receipt, digest("r1"), customer="Acme", recorded_us=RECORDED_US, previous=None
    )

    assert moved(entries) == {"1": [("memorandum:held", "0.01"), ("memorandum:deferred", "-0.01")]}
    assert findings == (
        Finding(
            "held_without_price",
            "line 2 is held without a price, so nothing is posted for it",
            "a",
        ),
    )


def test_a_difference_of_long_amounts_is_exact() -> None:
    """Nothing is rounded to the digits of the default context of decimal."""
    rate = "12345678901234567890123456789012345.01"
    hours = [
        receipt_of(
            Story((("usage", "charge", None, count * HOUR_US, rate, 0, "4.2"),), (), "Acme"), CENTS
        )
        for count in (1, 2)
    ]

    _, difference = post_all(hours, ["Acme"] * 2)

    assert str(difference.postings[0].amount) == rate


@pytest.mark.parametrize(
    ("revision", "supersedes", "run", "previous", "message"),
    [
        (1, digest("r1"), "run-7", None, f"digest: expected '{digest('r1')}', got 'none'"),
        (1, None, "run-7", FIRST, f"digest: expected 'none', got '{digest('r1')}'"),
        (2, digest("x"), "run-7", FIRST, f"digest: expected '{digest('x')}', got '{digest('r1')}'"),
        (3, digest("r1"), "run-7", FIRST, "revision: expected '2', got '1'"),
        (2, None, "run-7", None, "revision: expected '1', got '0'"),
        (2, digest("r1"), "run-8", FIRST, "run: expected 'run-8', got 'run-7'"),
    ],
)
def test_a_receipt_is_posted_over_what_it_supersedes_only(
    revision: int, supersedes: str | None, run: str, previous: Posted | None, message: str
) -> None:
    """Posting beside the superseded receipt would count it twice."""
    other = again(read_receipt(change(make_predicate(), "run.id", run)), revision, supersedes)

    with pytest.raises(SupersededMismatchError) as refused:
        post(other, "r2", previous)

    assert refused.value.code == "superseded_mismatch"
    assert str(refused.value) == f"superseded receipt, {message}"


def test_a_receipt_that_contradicts_itself_is_not_posted() -> None:
    """The ledger takes totals that follow from their lines, nothing else."""
    receipt = read_receipt(change(make_predicate(), "totals.charged", "3.19"))

    with pytest.raises(WrongFigureError):
        post(receipt)


def test_an_amount_beyond_all_prices_is_not_posted() -> None:
    """A receipt may state longer numbers than other programs read."""
    predicate = make_predicate()
    change(predicate, "lines.4.amount", "1" * 101)
    change(predicate, "totals.adjustments", "1" * 101)
    change(predicate, "totals.net", {"at_least": "1" * 100 + "3.91", "at_most": "1" * 100 + "4.21"})

    with pytest.raises(BadPostedAmountError):
        post(read_receipt(predicate))


@given(stories(), versions())
def test_a_receipt_posts_its_totals(story: Story, under: list[Terms]) -> None:
    """However lines and totals were rounded, the balances are the stated totals."""
    receipt = receipt_of(story, under)

    ledger = post_all([receipt], [story.customer])

    assert settled(standing(ledger), receipt) == stated(receipt)


@given(stories(), versions())
def test_a_line_posts_its_amount_but_for_less_than_a_unit(story: Story, under: list[Terms]) -> None:
    """No line carries the rounding of the others; one that is exact posts what it says."""
    receipt = receipt_of(story, under)
    unit = Fraction(1, 10 ** under[-1].rounding.digits)

    posted = {entry.line: abs(Fraction(entry.postings[0].amount)) for entry in post(receipt)}

    for line in receipt.lines:
        said = line.at_most if line.disposition == "hold" else line.amount
        exact = Fraction(0 if said is None else line.amount_exact or said)
        if line.disposition in {"hold", "exclude"}:
            exact = max(exact, Fraction(0))
        found = posted.get(str(line.line), Fraction(0))
        assert abs(found - abs(exact)) < unit
        assert exact % unit or found == abs(exact)


@given(st.lists(stories(), min_size=1, max_size=4), st.lists(versions(), min_size=4, max_size=4))
def test_revisions_leave_the_balances_of_the_last(
    told: list[Story], under: list[list[Terms]]
) -> None:
    """All revisions one after the other, or the last alone: the balances are the same."""
    receipts = [receipt_of(story, each) for story, each in zip(told, under, strict=False)]

    ledger = post_all(receipts, [story.customer for story in told])

    assert balances(ledger) == balances(post_all(receipts[-1:], [told[-1].customer]))
    assert check_ledger(ledger) == balances(ledger)


@given(st.lists(stories(), min_size=1, max_size=3), versions())
def test_posting_again_adds_nothing(told: list[Story], under: list[Terms]) -> None:
    """Each entry has an id of its own, and the same receipts give the same ids."""
    receipts = [receipt_of(story, under) for story in told]
    customers = [story.customer for story in told]

    ledger = post_all(receipts, customers)

    assert len({entry.id for entry in ledger}) == len(ledger)
    assert new_entries(post_all(receipts, customers), {each.id: each for each in ledger}) == ()


@given(stories(), versions())
def test_a_revision_without_a_change_posts_nothing(story: Story, under: list[Terms]) -> None:
    """Where nothing differs there is no entry."""
    receipt = receipt_of(story, under)

    assert post_all([receipt] * 2, [story.customer] * 2) == post_all([receipt], [story.customer])


def test_the_units_that_rounding_leaves_go_to_the_largest_fractions() -> None:
    """Three lines of a third of a cent are a cent together, and the first has it."""
    line = ("usage", "charge", None, 12_000_000, "1.00", 0, "4.2")
    larger = ("usage", "charge", None, 15_000_000, "1.00", 0, "4.2")
    thirds = receipt_of(Story((line, line, line), (), "Acme"), CENTS)
    unequal = receipt_of(Story((line, larger, line), (), "Acme"), CENTS)

    assert moved(post(thirds)) == {
        "1": [("assets:receivable", "0.01"), ("income:revenue", "-0.01")]
    }
    assert list(moved(post(unequal))) == ["2"]


def rated(case: Path, folder: Path, *, part: int = 1) -> list[Receipt]:
    """Rate a published case, from all of its evidence or from the first part of its lines."""
    files = []
    for path in sorted(case.parent.glob("evidence*.jsonl")):
        lines = path.read_bytes().splitlines(keepends=True)
        files.append(folder / f"{case.parent.name}-{part}-{path.name}")
        files[-1].write_bytes(b"".join(lines[: -(-len(lines) // part)]))
    contracts = sorted(case.parent.glob("contract*.toml"))
    result = rate_files([str(path) for path in files], [str(path) for path in contracts])
    return [read_receipt(predicate) for predicate in result.receipts]


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case.parent.name))
def test_a_published_case_posts_its_totals(case: Path, tmp_path: Path) -> None:
    """What is receivable after a case, and what is held, is what its receipt says."""
    receipts = rated(case, tmp_path)

    for receipt in receipts:
        ledger = post(receipt)

        assert settled(standing(ledger), receipt) == stated(receipt)


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case.parent.name))
def test_late_evidence_of_a_published_case_posts_the_difference(case: Path, tmp_path: Path) -> None:
    """Rated early from half of the evidence and then from all, the balances are those of all."""
    early = {each.run.id: each for each in rated(case, tmp_path, part=2)}

    for receipt in rated(case, tmp_path):
        revisions = [early[receipt.run.id], receipt] if receipt.run.id in early else [receipt]
        ledger = post_all(revisions, ["Acme"] * len(revisions))

        assert check_ledger(ledger) == balances(post(receipt))


@pytest.mark.parametrize("program", STRANGERS)
def test_a_stranger_reads_all_published_cases(program: str, tmp_path: Path) -> None:
    """One journal of every case has the balances that we compute, in both programs."""
    receipts = [(case, each) for case in CASES for each in rated(case, tmp_path)]
    entries = [
        entry
        for case, each in receipts
        for entry in post(each, f"{case.parent.name} {each.run.id}")
    ]

    found = STRANGERS[program](journal_text(entries))

    assert len(CASES) == 31
    assert found == {(each.account.text, each.currency): each.amount for each in balances(entries)}
    assert sum(found.values(), Decimal(0)) == 0
