"""Appending: an entry counts once, and its id is never given to another."""

from typing import Any

import pytest
from hypothesis import given

from tallystick.ledger.append import new_entries
from tallystick.ledger.entry import Entry
from tallystick.ledger.errors import EntryConflictError
from tests.ledger.samples import EARNED, OWED, ledgers, make_entry, post


@given(ledgers())
def test_posting_again_adds_nothing(entries: tuple[Entry, ...]) -> None:
    """All is new at first, and nothing the second time."""
    posted = {entry.id: entry for entry in new_entries(entries, {})}

    assert tuple(posted.values()) == entries
    assert new_entries(entries, posted) == ()
    assert new_entries(entries + entries, {}) == entries


def test_the_first_entry_stands() -> None:
    """Another time of recording, or another wording, makes no new entry and no conflict."""
    first = make_entry()
    again = make_entry(recorded_us=first.recorded_us + 1, sentence="as a later version says it")

    assert new_entries([first, again], {}) == (first,)


@pytest.mark.parametrize(
    "members",
    [
        {"postings": (post(OWED, "2.11"), post(EARNED, "-2.11"))},
        {"run": "run-8"},
        {"customer": "Ajax"},
        {"revision": 2},
    ],
)
def test_an_id_that_moves_something_else_is_a_conflict(members: dict[str, Any]) -> None:
    """What is in the ledger is neither replaced nor kept in silence."""
    first = make_entry()

    with pytest.raises(EntryConflictError) as refused:
        new_entries([make_entry(**members)], {first.id: first})

    assert refused.value.code == "entry_conflict"
    assert str(refused.value) == (
        f"entry {first.id}: expected what the ledger has under this id, got another"
    )
