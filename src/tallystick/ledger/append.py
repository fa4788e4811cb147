"""Adding entries to a ledger: each id once, however often it is posted."""

from collections.abc import Iterable, Mapping

from tallystick.ledger.entry import Entry, EntryId
from tallystick.ledger.errors import EntryConflictError


def new_entries(entries: Iterable[Entry], posted: Mapping[EntryId, Entry]) -> tuple[Entry, ...]:
    """Give those of the entries that a ledger does not have yet, in their order.

    What is posted again adds nothing, and the first stands: it may have been recorded at
    another time, and the sentence may have been worded by another version.

    Args:
        entries: What is to be posted.
        posted: The entries that the ledger has under these ids, or more.

    Raises:
        EntryConflictError: an id is there already and moves something else.
    """
    new: dict[EntryId, Entry] = {}
    for entry in entries:
        known = posted.get(entry.id) or new.get(entry.id)
        if known is None:
            new[entry.id] = entry
        elif _what_moves(known) != _what_moves(entry):
            raise EntryConflictError(str(entry.id))
    return tuple(new.values())


def _what_moves(entry: Entry) -> tuple[object, ...]:
    return entry.run, entry.customer, entry.revision, entry.postings
