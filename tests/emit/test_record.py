"""Records of nodes are the very bytes that collectors make."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tallystick.core import canonical, instant
from tallystick.emit.record import Numbered, canonical_bytes, draft_record, format_instant
from tallystick.evidence import draft
from tallystick.evidence.codec import read_line

KEYS = st.text(st.characters(min_codepoint=0x20, max_codepoint=0x7E), max_size=8)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=20,
)
INSTANTS = st.integers(0, 253_402_300_799_999_999)


@given(VALUES)
def test_the_bytes_are_those_of_the_core(value: Any) -> None:
    """A value has one canonical form, whichever serialiser writes it."""
    assert canonical_bytes(value) == canonical.canonical_bytes(value)


@given(INSTANTS)
def test_times_are_written_as_the_core_writes_them(us: int) -> None:
    """A time has one text."""
    assert format_instant(us) == instant.format_instant(us)


@given(st.dictionaries(KEYS, VALUES, max_size=4), INSTANTS | st.none(), INSTANTS)
def test_a_draft_is_that_of_a_collector(
    body: dict[str, Any], at_us: int | None, observed_us: int
) -> None:
    """The same fact has the same envelope and the same id."""
    facts: dict[str, Any] = {"at_us": at_us, "observed_us": observed_us}

    made = draft_record("kind", body, producer=Numbered("p"), **facts)

    assert made == draft.draft_record("kind", body, producer="p", **facts)


def test_a_number_goes_into_the_envelope() -> None:
    """Boot and number stand beside the name of the producer."""
    made = draft_record(
        "k", {}, producer=Numbered("p", "boot", 7), at_us=None, observed_us=1_770_000_000_000_000
    )

    record = read_line(canonical_bytes(made))

    assert (record.producer, record.boot, record.seq) == ("p", "boot", 7)
