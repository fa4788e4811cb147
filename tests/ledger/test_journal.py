"""The journal: its text, and that other programs read the same balances from it."""

from collections.abc import Iterable

import pytest
from hypothesis import given, settings

from tallystick.ledger.balance import balances
from tallystick.ledger.chart import CUSTOMER_BYTES_MAX, Account
from tallystick.ledger.entry import Entry
from tallystick.ledger.journal import journal_text
from tests.ledger.samples import DAY_US, EARNED, LONG, OWED, RECORDED_US, ledgers, make_entry, post
from tests.ledger.strangers import STRANGERS, Balances, need


def ours(entries: Iterable[Entry]) -> Balances:
    """Give the balances as we compute them, by the text of the account."""
    return {(each.account.text, each.currency): each.amount for each in balances(entries)}


def test_a_journal_reads_like_this() -> None:
    """Declarations first, then one dated transaction for each entry, with its tags."""
    late_us = RECORDED_US + DAY_US - 1
    entries = [
        make_entry(run="slurm:c1:7; x", recorded_us=late_us),
        make_entry(
            post(Account("held", "A:b"), "100", "JPY"),
            post(Account("deferred", "A:b"), "-100", "JPY"),
            line="superseded 4",
            revision=2,
            recorded_us=late_us + 1,
            sentence="takes back: line 4",
        ),
    ]

    assert journal_text(entries) == (
        "commodity JPY\n    format 1000.0 JPY\n"
        "\n"
        "commodity USD\n    format 1000.00 USD\n"
        "\n"
        "tag receipt\ntag line\ntag revision\n"
        "\n"
        "account assets:receivable:Acme\n"
        "\n"
        "account income:revenue:Acme\n"
        "\n"
        "account memorandum:deferred:A%3Ab\n"
        "\n"
        "account memorandum:held:A%3Ab\n"
        "\n"
        "2026-01-01 run slurm:c1:7%3B x, revision 1\n"
        "    ; charge under acme-spot@3, rate 2.1\n"
        f"    ; receipt: sha256:{'1' * 64}\n"
        "    ; line: 3\n"
        "    ; revision: 1\n"
        "    assets:receivable:Acme  2.10 USD\n"
        "    income:revenue:Acme  -2.10 USD\n"
        "\n"
        "2026-01-02 run run-7, revision 2\n"
        "    ; takes back%3A line 4\n"
        f"    ; receipt: sha256:{'1' * 64}\n"
        "    ; line: superseded 4\n"
        "    ; revision: 2\n"
        "    memorandum:held:A%3Ab  100 JPY\n"
        "    memorandum:deferred:A%3Ab  -100 JPY\n"
    )


def test_a_journal_without_entries_is_empty() -> None:
    """There is nothing to declare either."""
    assert journal_text([]) == ""


@pytest.mark.parametrize("program", STRANGERS)
@settings(max_examples=15)
@given(ledgers())
def test_a_stranger_computes_the_same_balances(program: str, entries: tuple[Entry, ...]) -> None:
    """Names of any kind, long amounts and several currencies come out as they went in."""
    found = STRANGERS[program](journal_text(entries))

    assert found == ours(entries)


@pytest.mark.parametrize("program", STRANGERS)
def test_a_stranger_reads_the_longest_that_can_be_posted(program: str) -> None:
    """The limits of names, texts and amounts are within those of both programs."""
    owed = Account("receivable", "\u3000" * (CUSTOMER_BYTES_MAX // 3))
    amount = "9" * 100 + "." + "9" * 100
    entry = make_entry(
        post(owed, amount), post(EARNED, f"-{amount}"), run="\u682a" * 2000, sentence="\n" * 5000
    )

    found = STRANGERS[program](journal_text([entry]))

    assert found == ours([entry])


@pytest.mark.parametrize("program", STRANGERS)
def test_a_stranger_reads_three_places_as_places(program: str) -> None:
    """The point of a currency with three places is not taken for a mark of thousands."""
    entry = make_entry(post(OWED, "1.234", "KWD"), post(EARNED, "-1.234", "KWD"))

    found = STRANGERS[program](journal_text([entry]))

    assert found == ours([entry])


@pytest.mark.parametrize("program", STRANGERS)
def test_a_stranger_refuses_a_journal_that_does_not_balance(program: str) -> None:
    """The strangers do check: a journal with another amount is not accepted."""
    text = journal_text([make_entry(post(OWED, LONG), post(EARNED, LONG.copy_negate()))])
    need(program)

    with pytest.raises(AssertionError, match=r"(?i)balance"):
        STRANGERS[program](text.replace("345.01 USD", "345.02 USD", 1))


def test_a_missing_stranger_is_a_skip(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a machine without the program its tests say why they did not run."""
    monkeypatch.delenv("TALLYSTICK_STRANGERS", raising=False)

    with pytest.raises(pytest.skip.Exception, match="no-such-program is not installed"):
        need("no-such-program")


def test_a_missing_stranger_fails_where_it_is_required(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the programs must be there, their absence is not passed over."""
    monkeypatch.setenv("TALLYSTICK_STRANGERS", "required")

    with pytest.raises(pytest.fail.Exception, match="no-such-program is required here"):
        need("no-such-program")
