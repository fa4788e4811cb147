"""The ledger of a store: what the receipts that were issued have posted."""

from dataclasses import dataclass

from tallystick.ledger.balance import Balance, TrialBalance, check_ledger, trial_balance
from tallystick.ledger.entry import Entry
from tallystick.ledger.journal import journal_text
from tallystick.stores.entries import stored_entries
from tallystick.stores.protocol import Reading


@dataclass(frozen=True, slots=True)
class Ledger:
    """All entries, and where they leave the accounts."""

    entries: tuple[Entry, ...]
    balances: tuple[Balance, ...]
    trial: tuple[TrialBalance, ...]


def read_ledger(log: Reading) -> Ledger:
    """Read the ledger, and check that it balances after every entry.

    Raises:
        StoreDamagedError: an entry is not the one that was posted.
        TallystickError: it does not balance, or an entry is there twice.
    """
    entries = tuple(stored_entries(log))
    standing = check_ledger(entries)
    return Ledger(entries, standing, trial_balance(standing))


def read_journal(log: Reading) -> str:
    """Write the ledger as a plain-text journal.

    Raises:
        StoreDamagedError: an entry is not the one that was posted.
    """
    return journal_text(stored_entries(log))
