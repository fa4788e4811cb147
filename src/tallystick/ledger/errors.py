"""Why an account, an entry or a ledger is refused: one class per reason.

What cannot be said in the ledger is misuse (exit 2); a ledger that does not hold, once it is
read back, is a failed check (exit 1).
"""

from decimal import Decimal

from tallystick.core.errors import TallystickError
from tallystick.core.wording import quoted


class BadCustomerError(TallystickError):
    """A customer's name cannot be that of an account: it is empty or too long."""

    code = "bad_customer"

    def __init__(self, customer: str, bytes_max: int) -> None:
        super().__init__(customer, bytes_max)

    def __str__(self) -> str:
        customer, bytes_max = self.args
        return f"expected a customer's name of 1 to {bytes_max} bytes, got {quoted(customer)}"


class BadAccountError(TallystickError):
    """A text is not that of an account of the chart."""

    code = "bad_account"

    def __init__(self, text: str) -> None:
        super().__init__(text)

    def __str__(self) -> str:
        return f"expected an account like assets:receivable:Acme, got {quoted(self.args[0])}"


class BadPostedAmountError(TallystickError):
    """An amount cannot be posted: it is not finite, or has more digits than any price."""

    code = "bad_posted_amount"

    def __init__(self, amount: Decimal, digits_max: int) -> None:
        super().__init__(amount, digits_max)

    def __str__(self) -> str:
        amount, digits_max = self.args
        return (
            f"expected an amount of at most {digits_max} digits on either side of the point, "
            f"got {quoted(str(amount))}"
        )


class BadEntryIdError(TallystickError):
    """An entry is not named by a receipt's digest and one of its lines."""

    code = "bad_entry_id"

    def __init__(self, receipt: str, line: str) -> None:
        super().__init__(receipt, line)

    def __str__(self) -> str:
        receipt, line = self.args
        return (
            "expected an entry named by sha256:HEX and a line like 3 or superseded 3, "
            f"got {quoted(receipt, 80)} and {quoted(line)}"
        )


class EmptyEntryError(TallystickError):
    """An entry has no postings, so it would say nothing."""

    code = "entry_must_not_be_empty"

    def __init__(self, entry_id: str) -> None:
        super().__init__(entry_id)

    def __str__(self) -> str:
        return f"entry {self.args[0]}: expected postings, got none"


class UnbalancedEntryError(TallystickError):
    """The postings of an entry do not sum to zero in some currency."""

    code = "entry_must_balance"

    def __init__(self, entry_id: str, residual: Decimal, currency: str) -> None:
        super().__init__(entry_id, residual, currency)

    def __str__(self) -> str:
        entry_id, residual, currency = self.args
        return f"entry {entry_id}: postings must sum to zero, got {residual} {currency}"


class EntryConflictError(TallystickError):
    """An entry is in the ledger already, with other postings."""

    code = "entry_conflict"

    def __init__(self, entry_id: str) -> None:
        super().__init__(entry_id)

    def __str__(self) -> str:
        return f"entry {self.args[0]}: expected what the ledger has under this id, got another"


class RepeatedEntryError(TallystickError):
    """Two entries of a ledger have one id."""

    code = "entry_repeated"
    exit_status = 1

    def __init__(self, entry_id: str, position: int) -> None:
        super().__init__(entry_id, position)

    def __str__(self) -> str:
        entry_id, position = self.args
        return f"entry {entry_id}: expected once, got again at place {position}"


class UnbalancedLedgerError(TallystickError):
    """The entries of a ledger, up to one of them, do not sum to zero in some currency."""

    code = "ledger_must_balance"
    exit_status = 1

    def __init__(self, position: int, residual: Decimal, currency: str) -> None:
        super().__init__(position, residual, currency)

    def __str__(self) -> str:
        position, residual, currency = self.args
        return f"entries 1 to {position}: must sum to zero, got {residual} {currency}"


class SupersededMismatchError(TallystickError):
    """A receipt does not supersede what was posted before it."""

    code = "superseded_mismatch"

    def __init__(self, field: str, expected: str, found: str) -> None:
        super().__init__(field, expected, found)

    def __str__(self) -> str:
        field, expected, found = self.args
        return f"superseded receipt, {field}: expected {quoted(expected, 80)}, got {found[:80]!r}"
