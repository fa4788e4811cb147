"""Ledger entries as the documents of a store: canonical JSON, kept once by receipt and line."""

from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from tallystick.core.canonical import canonical_bytes
from tallystick.core.errors import TallystickError
from tallystick.ledger.append import new_entries
from tallystick.ledger.chart import parse_account
from tallystick.ledger.entry import Entry, Posting
from tallystick.ledger.exact import amount_text
from tallystick.stores.errors import StoreDamagedError
from tallystick.stores.protocol import Reading, Writing

_Amount = Annotated[str, Meta(pattern=r"\A-?[0-9]{1,40}(\.[0-9]{1,40})?\Z")]


class _Posting(Struct, frozen=True):
    account: str
    amount: _Amount
    currency: str


class _Entry(Struct, frozen=True):
    receipt: str
    line: str
    run: str
    customer: str
    revision: int
    recorded_us: int
    sentence: str
    postings: tuple[_Posting, ...]


def post_entries(log: Writing, entries: Sequence[Entry]) -> None:
    """Keep entries; those that are there already add nothing.

    Raises:
        EntryConflictError: there is one of that receipt and line that moves something else.
        StoreDamagedError: one that is there cannot be read.
    """
    known = (log.document("entry", str(entry.id)) for entry in entries)
    posted = [_read_entry(data) for data in known if data is not None]
    for entry in new_entries(entries, {each.id: each for each in posted}):
        log.put("entry", str(entry.id), _entry_bytes(entry))


def stored_entries(log: Reading) -> Iterator[Entry]:
    """Give all entries, in the order in which they were posted.

    Raises:
        StoreDamagedError: one cannot be read as the balanced entry that was posted.
    """
    return (_read_entry(document.data) for document in log.documents("entry"))


def _entry_bytes(entry: Entry) -> bytes:
    return canonical_bytes(
        _Entry(
            entry.receipt,
            entry.line,
            entry.run,
            entry.customer,
            entry.revision,
            entry.recorded_us,
            entry.sentence,
            tuple(
                _Posting(each.account.text, amount_text(each.amount), each.currency)
                for each in entry.postings
            ),
        )
    )


def _read_entry(data: bytes) -> Entry:
    try:
        stored = msgspec.json.decode(data, type=_Entry)
        return Entry(
            receipt=stored.receipt,
            line=stored.line,
            run=stored.run,
            customer=stored.customer,
            revision=stored.revision,
            recorded_us=stored.recorded_us,
            sentence=stored.sentence,
            postings=tuple(
                Posting(parse_account(each.account), Decimal(each.amount), each.currency)
                for each in stored.postings
            ),
        )
    except (TallystickError, msgspec.MsgspecError) as error:
        raise StoreDamagedError("ledger", f"an entry cannot be read: {error}") from error
