"""The chart: accounts have one text, and it leads back to them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallystick.ledger.chart import ACCOUNT_NAMES, CUSTOMER_BYTES_MAX, Account, parse_account
from tallystick.ledger.errors import BadAccountError, BadCustomerError
from tests.ledger.samples import customers


@given(st.sampled_from(ACCOUNT_NAMES), customers())
def test_an_account_is_read_back_from_its_text(name: str, customer: str) -> None:
    """Whatever the customer is called, the text names this account only."""
    account = Account(name, customer)  # type: ignore[arg-type]  # A name drawn from all names.

    assert parse_account(account.text) == account


def test_the_accounts_of_a_customer() -> None:
    """Held amounts stand outside assets and income."""
    assert [Account(name, "Acme Ltd").text for name in ACCOUNT_NAMES] == [
        "assets:receivable:Acme Ltd",
        "assets:dispute:Acme Ltd",
        "income:revenue:Acme Ltd",
        "income:credit:Acme Ltd",
        "income:adjustment:Acme Ltd",
        "memorandum:held:Acme Ltd",
        "memorandum:deferred:Acme Ltd",
    ]


@pytest.mark.parametrize("customer", ["", "x" * (CUSTOMER_BYTES_MAX + 1), "\u682a" * 334])
def test_a_customer_needs_a_name_of_some_length(customer: str) -> None:
    """A name has 1 to 1000 bytes of UTF-8."""
    with pytest.raises(BadCustomerError) as refused:
        Account("receivable", customer)

    assert refused.value.code == "bad_customer"
    assert str(refused.value).startswith("expected a customer's name of 1 to 1000 bytes, got '")


def test_the_longest_name_has_an_account() -> None:
    """The limit itself is inside."""
    assert Account("held", "x" * CUSTOMER_BYTES_MAX).customer == "x" * CUSTOMER_BYTES_MAX


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Acme",
        "receivable:Acme",
        "assets:revenue:Acme",
        "assets:receivable:A:b",
        "assets:receivable:A%3ab",
        "Assets:receivable:Acme",
    ],
)
def test_another_text_is_no_account(text: str) -> None:
    """Class, name and escaped form all count."""
    with pytest.raises(BadAccountError) as refused:
        parse_account(text)

    assert refused.value.code == "bad_account"
    assert str(refused.value) == f"expected an account like assets:receivable:Acme, got {text!r}"


def test_an_account_without_customer_is_refused_when_read() -> None:
    """An empty name is no better in text."""
    with pytest.raises(BadCustomerError):
        parse_account("assets:receivable:")
