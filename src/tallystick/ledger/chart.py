"""The chart of accounts: what each is for, and how plain-text accounting names it.

Debits are positive. For each customer there are

- ``receivable``: what the customer owes; its other side says why: ``revenue`` for what was
  charged, ``credit`` (a reduction of revenue) for what was given back, ``adjustment`` for
  what the parties decided beside usage;
- ``held`` against ``deferred``: the most that held lines may still cost. Both are memorandum
  accounts, outside assets and income, because nobody owes what is not decided: set against
  revenue it would be income that may never come, and set against receivable a debt that may
  never be. Their sum is zero by itself, so no report on the others changes with it. When a
  hold is settled it is taken back here, and what is then charged is posted like any charge;
- ``dispute``: the part of what is owed that the customer contests, moved here from
  ``receivable``, so that both together stay what the receipts say.

An account is a name and a customer. Customers' names are free text, so they are escaped.
"""

from dataclasses import dataclass
from typing import Final, Literal, get_args

from tallystick.ledger.errors import BadAccountError, BadCustomerError
from tallystick.ledger.escape import escape, unescape

CUSTOMER_BYTES_MAX: Final = 1000

AccountName = Literal[
    "receivable", "dispute", "revenue", "credit", "adjustment", "held", "deferred"
]
ACCOUNT_NAMES: Final[tuple[AccountName, ...]] = get_args(AccountName)

_CLASSES: Final[dict[AccountName, str]] = {
    "receivable": "assets",
    "dispute": "assets",
    "revenue": "income",
    "credit": "income",
    "adjustment": "income",
    "held": "memorandum",
    "deferred": "memorandum",
}


@dataclass(frozen=True, slots=True)
class Account:
    """One account of one customer.

    Raises:
        BadCustomerError: the customer's name is empty or too long.
    """

    name: AccountName
    customer: str

    def __post_init__(self) -> None:
        # Half of a surrogate pair has no UTF-8, and still a length.
        length = len(self.customer.encode(errors="surrogatepass"))
        if not 1 <= length <= CUSTOMER_BYTES_MAX:
            raise BadCustomerError(self.customer, CUSTOMER_BYTES_MAX)

    @property
    def text(self) -> str:
        """How plain-text accounting names it: ``assets:receivable:Acme``."""
        return f"{_CLASSES[self.name]}:{self.name}:{escape(self.customer)}"


def parse_account(text: str) -> Account:
    """Read the one text form of an account.

    Raises:
        BadAccountError: the text is no account of this chart, or has another form.
        BadCustomerError: the customer's name is empty or too long.
    """
    above, _, escaped = text.rpartition(":")
    customer = unescape(escaped)
    for name, group in _CLASSES.items():
        if above == f"{group}:{name}" and customer is not None:
            return Account(name, customer)
    raise BadAccountError(text)
