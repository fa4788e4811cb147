"""Entries to test with: one that balances, and any that do."""

from decimal import Decimal
from typing import Any

from hypothesis import strategies as st

from tallystick.ledger.chart import ACCOUNT_NAMES, Account
from tallystick.ledger.entry import Entry, Posting

RECEIPT = "sha256:" + "1" * 64
RECORDED_US = 1_767_225_600_000_000  # 2026-01-01
DAY_US = 86_400_000_000
OWED = Account("receivable", "Acme")
EARNED = Account("revenue", "Acme")
LONG = Decimal("12345678901234567890123456789012345.01")
"""More digits than the default context of decimal keeps in a sum."""


def post(account: Account, amount: str | Decimal, currency: str = "USD") -> Posting:
    """Make a posting."""
    return Posting(account, Decimal(amount), currency)


def make_entry(*postings: Posting, **members: Any) -> Entry:
    """Make an entry, of 2.10 USD that Acme owes if nothing else is said."""
    return Entry(
        **{
            "receipt": RECEIPT,
            "line": "3",
            "run": "run-7",
            "customer": "Acme",
            "revision": 1,
            "recorded_us": RECORDED_US,
            "sentence": "charge under acme-spot@3, rate 2.1",
            "postings": postings or (post(OWED, "2.10"), post(EARNED, "-2.10")),
            **members,
        }
    )


def amounts() -> st.SearchStrategy[Decimal]:
    """Draw amounts with up to 40 digits on either side of the point."""
    return st.builds(
        lambda units, places: Decimal(f"{units}E-{places}"),
        st.integers(-(10**40), 10**40),
        st.integers(0, 40),
    )


def customers() -> st.SearchStrategy[str]:
    """Draw names, often of what other programs read as syntax."""
    marks = st.sampled_from(" \t\n;:%'\"()[]{}|=@*!&#,~-\\\u00e4\u3000\u682a")
    return st.text(marks | st.sampled_from("aB9") | st.characters(), min_size=1, max_size=12)


@st.composite
def ledgers(draw: st.DrawFn) -> tuple[Entry, ...]:
    """Draw ledgers in which accounts, currencies and days come back."""
    names = draw(st.lists(customers(), min_size=1, max_size=3))
    accounts = st.builds(Account, st.sampled_from(ACCOUNT_NAMES), st.sampled_from(names))
    entries = []
    for number in range(1, draw(st.integers(0, 6)) + 1):
        postings = []
        for _ in range(draw(st.integers(1, 3))):
            amount = draw(amounts())
            currency = draw(st.sampled_from(("USD", "JPY", "KWD")))
            postings += [
                Posting(draw(accounts), amount, currency),
                Posting(draw(accounts), amount.copy_negate(), currency),
            ]
        entries.append(
            make_entry(
                *postings,
                line=str(number),
                run=draw(customers()),
                sentence=draw(customers()),
                recorded_us=RECORDED_US + draw(st.integers(0, 3)) * DAY_US,
            )
        )
    return tuple(entries)
