"""The ledger as a plain-text journal that the programs ledger and hledger both accept.

One transaction for each entry, in order of the entries, dated by the day (UTC) on which it
was recorded. Accounts, currencies and the one tag that needs it are declared first, so that
the strict modes of both programs accept it too. The text is ASCII: names of others are
escaped (see ``escape``), so the locale of whoever reads it does not matter.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from tallystick.core.instant import format_instant
from tallystick.ledger.entry import Entry, Posting
from tallystick.ledger.escape import escape
from tallystick.ledger.exact import amount_text

_TAGS: Final = ("receipt", "line", "revision")
_CHARACTERS_MAX: Final = 1000  # ledger refuses a line of more than 4095 bytes.


def journal_text(entries: Iterable[Entry]) -> str:
    """Write a journal."""
    listed = tuple(entries)
    blocks = [*_declarations(listed), *map(_transaction, listed)]
    return "\n".join(blocks)


def _declarations(entries: Sequence[Entry]) -> Iterator[str]:
    """Declare all that is used; the format of a currency shows every place that it has."""
    postings = [posting for entry in entries for posting in entry.postings]
    places: dict[str, int] = {}
    for posting in postings:
        places[posting.currency] = max(places.get(posting.currency, 1), _places(posting))
    for currency in sorted(places):
        yield f"commodity {currency}\n    format 1000.{'0' * places[currency]} {currency}\n"
    if postings:
        yield "".join(f"tag {tag}\n" for tag in _TAGS)
    for account in sorted({posting.account.text for posting in postings}):
        yield f"account {account}\n"


def _places(posting: Posting) -> int:
    return len(amount_text(posting.amount).partition(".")[2])


def _transaction(entry: Entry) -> str:
    day = format_instant(entry.recorded_us).partition("T")[0]
    rows = [
        f"{day} run {_fit(entry.run).replace('%3A', ':')}, revision {entry.revision}",
        f"    ; {_fit(entry.sentence)}",
        f"    ; receipt: {entry.receipt}",
        f"    ; line: {entry.line}",
        f"    ; revision: {entry.revision}",
    ]
    rows += [
        f"    {posting.account.text}  {amount_text(posting.amount)} {posting.currency}"
        for posting in entry.postings
    ]
    return "".join(f"{row}\n" for row in rows)


def _fit(text: str) -> str:
    """Escape a text that is only read by people, and cut it."""
    escaped = escape(text)
    if len(escaped) <= _CHARACTERS_MAX:
        return escaped
    return f"{escaped[: _CHARACTERS_MAX - 3]}..."
