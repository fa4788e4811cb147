"""Ledger entries in a store: read back as they were posted, once, in their order."""

from decimal import Decimal

import pytest

from tallystick.ledger.chart import Account
from tallystick.ledger.entry import Entry, Posting
from tallystick.ledger.errors import EntryConflictError
from tallystick.stores.entries import post_entries, stored_entries
from tallystick.stores.errors import StoreDamagedError
from tallystick.stores.memory import MemoryStore


def entry(line: str, amount: str = "0.10", recorded_us: int = 7) -> Entry:
    """Make an entry of a customer with an odd name."""
    debit = Posting(Account("receivable", "A: c\u00e9"), Decimal(amount), "USD")
    credit = Posting(Account("revenue", "A: c\u00e9"), Decimal(f"-{amount}"), "USD")
    receipt = "sha256:" + "0" * 64
    return Entry(receipt, line, "r", "A: c\u00e9", 1, recorded_us, "why", (debit, credit))


def test_entries_read_back_in_the_order_of_posting() -> None:
    """Amounts keep their places."""
    store = MemoryStore("log")
    posted = [entry("2"), entry("1", "5.00"), entry("superseded 3", "0.001")]

    with store.writing() as log:
        post_entries(log, posted)

    with store.reading() as log:
        assert list(stored_entries(log)) == posted


def test_posting_again_adds_nothing() -> None:
    """Even at another time; something else under the name is an error."""
    store = MemoryStore("log")
    with store.writing() as log:
        post_entries(log, [entry("1")])

    with store.writing() as log:
        post_entries(log, [entry("1", recorded_us=8), entry("2")])
    with pytest.raises(EntryConflictError), store.writing() as log:
        post_entries(log, [entry("1", "0.20")])

    with store.reading() as log:
        assert list(stored_entries(log)) == [entry("1"), entry("2")]


@pytest.mark.parametrize(
    "data", [b"", b"{}", b'{"receipt":"x"}', b"[]"], ids=["empty", "object", "part", "list"]
)
def test_what_is_no_entry_is_damage(data: bytes) -> None:
    """It is named, and never left out."""
    store = MemoryStore("log")
    with store.writing() as log:
        log.put("entry", "x", data)

    with store.reading() as log, pytest.raises(StoreDamagedError):
        list(stored_entries(log))


def test_an_unbalanced_entry_cannot_come_back() -> None:
    """Whoever changes one side is found out."""
    store = MemoryStore("log")
    with store.writing() as log:
        post_entries(log, [entry("1")])
        data = log.document("entry", str(entry("1").id)) or b""
        log.put("entry", "other", data.replace(b'"-0.10"', b'"-0.20"'))

    with store.reading() as log, pytest.raises(StoreDamagedError):
        list(stored_entries(log))
