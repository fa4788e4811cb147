"""Admission: each fact once, and what is refused or contradicted leaves a finding."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallystick.core.canonical import canonical_bytes
from tallystick.evidence.admission import (
    Evidence,
    SequenceGap,
    Withheld,
    admit,
    admit_leaves,
)
from tallystick.evidence.leaf import LOG_PRODUCER, BadLeafError, leaf_bytes
from tallystick.stores.delivery import deliver
from tallystick.stores.memory import MemoryStore
from tests.evidence.records import (
    Json,
    as_line,
    by,
    evidence,
    numbered,
    record,
    started,
    step,
)

STEP = step("00:10", 7)
CHANGED = STEP | {"body": STEP["body"] | {"step": 8}}


def codes(found: Evidence) -> list[tuple[str, int | None, int | None]]:
    """Give the code, file and line of each finding."""
    return [(each.code, each.file, each.line) for each in found.findings]


def test_lines_and_files_are_counted_from_one() -> None:
    """A finding names the place of the file and the line within it (rule 1)."""
    found = admit([[as_line(STEP)], [b"x", as_line(STEP), b"y"]])

    assert codes(found) == [("bad_json", 2, 1), ("bad_json", 2, 3)]


def test_a_line_of_nothing_is_skipped_and_counted() -> None:
    """Spaces, tabs and CR alone are no line, and the next one keeps its number (rule 1)."""
    found = admit([[b"", b" \t\r", b"x", b"\r"]])

    assert codes(found) == [("bad_json", 1, 3)]


def test_a_line_may_end_in_cr() -> None:
    """Files from Windows are read: CR before LF is white space."""
    found = admit([[as_line(STEP) + b"\r"]])

    assert (len(found.records), codes(found)) == (1, [])


def test_a_vertical_tab_is_no_blank() -> None:
    """Other white space is not skipped."""
    assert codes(admit([[b"\x0b"]])) == [("bad_json", 1, 1)]


def test_a_line_too_long_to_be_held_is_refused() -> None:
    """It comes as None, is a finding, and the rest goes on."""
    found = admit([[None, as_line(STEP)]])

    assert codes(found) == [("bad_json", 1, 1)]
    assert len(found.records) == 1


def test_an_equal_delivery_adds_nothing() -> None:
    """A hook that fires twice is one fact and no finding (rule 2)."""
    again = numbered(STEP | {"observed": "2026-03-02T00:00:00.000000Z"}, 3)

    found = evidence(STEP, again, STEP)

    assert (len(found.records), codes(found)) == (1, [])


def test_in_a_conflict_the_first_stays() -> None:
    """One identity with other content is a finding with its line and digest (rule 3)."""
    found = evidence(STEP, CHANGED, STEP, CHANGED)

    (kept,) = found.records
    assert kept.digest == evidence(STEP).records[0].digest
    assert codes(found) == [("record_conflict", 1, 2), ("record_conflict", 1, 4)]
    assert {each.digest for each in found.findings} == {evidence(CHANGED).records[0].digest}


def test_the_order_of_files_settles_a_conflict() -> None:
    """Files come in the order given, then lines (rule 3)."""
    found = admit([[as_line(CHANGED)], [as_line(STEP)]])

    assert found.records[0].digest == evidence(CHANGED).records[0].digest
    assert codes(found) == [("record_conflict", 2, 1)]


def test_another_producer_may_use_the_same_id() -> None:
    """Identity is the producer's name and the id together."""
    found = evidence(STEP, by("another", CHANGED))

    assert (len(found.records), codes(found)) == (2, [])


def test_findings_stand_in_input_order() -> None:
    """Refusals and conflicts come as the lines do (rule 1)."""
    found = evidence(b"x", STEP, b"[]", CHANGED, b"{}")

    assert [each.code for each in found.findings] == [
        "bad_json",
        "not_an_object",
        "record_conflict",
        "bad_record",
    ]


def sequence(*numbers: int, boot: str | None = "b1", producer: str = "p") -> list[Json]:
    """Give records of one boot with these numbers."""
    return [
        numbered(record("x", None, {"n": each, "boot": boot}, producer=producer), each, boot)
        for each in numbers
    ]


def test_numbers_that_follow_each_other_have_no_gap() -> None:
    """Where they begin and in what order they come does not matter (rule 10)."""
    assert evidence(*sequence(7, 5, 6, 5)).sequence_gaps == ()


def test_missing_numbers_are_one_gap() -> None:
    """The gap lies between the lowest and the highest number."""
    gaps = evidence(*sequence(9, 2, 5)).sequence_gaps

    assert gaps == (SequenceGap("p", "b1", missing=5, lowest=2, highest=9),)


def test_each_boot_counts_for_itself() -> None:
    """A restart begins again, and no boot is a boot of its own."""
    records = [
        *sequence(0, 1),
        *sequence(8, 9, boot="b2"),
        *sequence(3, 5, boot=None),
        *sequence(3, 5, producer="q"),
    ]

    gaps = [(each.producer, each.boot) for each in evidence(*records).sequence_gaps]

    assert gaps == [("p", None), ("q", "b1")]


def test_a_refused_line_leaves_its_mark_in_the_numbers() -> None:
    """Its number is not there, so the others have a gap (rule 10)."""
    first, second, third = sequence(1, 2, 3)

    found = evidence(first, second | {"observed": "noon"}, third)

    assert [gap.missing for gap in found.sequence_gaps] == [1]


def test_a_copy_counts_with_its_own_number() -> None:
    """The numbers of all deliveries are gathered, copies included (rule 10)."""
    found = evidence(numbered(STEP, 1), numbered(STEP, 3))

    assert len(found.records) == 1
    assert [gap.missing for gap in found.sequence_gaps] == [1]


def test_a_record_without_a_number_proves_nothing() -> None:
    """What is not numbered has no gap."""
    assert evidence(STEP, started()).sequence_gaps == ()


@given(st.permutations([numbered(step("00:10", n), n) for n in (1, 2, 4, 5, 9)]), st.data())
def test_neither_order_nor_number_of_lines_matters(
    records: list[Json], data: st.DataObject
) -> None:
    """Any order, any copies, any split over files: the same records and gaps."""
    lines = [as_line(each) for each in records]
    lines += data.draw(st.lists(st.sampled_from(lines), max_size=4))
    place = data.draw(st.integers(0, len(lines)))

    found = admit([lines[:place], lines[place:]])

    once = evidence(*sorted(records, key=lambda each: str(each["id"])))
    assert found == once


def test_a_number_may_be_as_large_as_an_integer() -> None:
    """Gaps are counted, not listed, so a far number costs nothing."""
    (gap,) = evidence(*sequence(0, 2, 2**53 - 1)).sequence_gaps

    assert (gap.missing, gap.lowest, gap.highest) == (2**53 - 3, 0, 2**53 - 1)


def test_a_conflict_is_told_in_one_line() -> None:
    """Names in a message are quoted, so that no record writes to a terminal as it likes."""
    odd = by("p\x1b[31m", STEP) | {"id": "i\nj"}

    (finding,) = evidence(odd, odd | {"kind": "x"}).findings

    assert finding.code == "record_conflict"
    assert finding.message.isprintable()


DIGEST = "sha256:" + "a" * 64


def leaf(one: Json | bytes) -> bytes:
    """Put a record into a leaf, as it would be logged."""
    return leaf_bytes(one if isinstance(one, bytes) else canonical_bytes(one), 0)


def log_says(kind: str, **body: object) -> bytes:
    """Give a leaf in which the log itself says something."""
    return leaf(record(kind, None, dict(body), producer=LOG_PRODUCER))


def repeated(seq: int | None, boot: str | None = "b1") -> bytes:
    """Give a leaf about an equal record that came with another number."""
    return log_says("delivery.repeated", producer="p", id="i", boot=boot, seq=seq)


def withheld(*ranges: tuple[int, int], boot: str | None = "b1") -> Withheld:
    """Say which numbers of a boot are not shown."""
    return Withheld("p", boot, ranges)


def test_leaves_give_the_records_that_they_hold() -> None:
    """A leaf is read as a line is, and when it was recorded has no effect."""
    found = admit_leaves([leaf(step("00:20", 8)), leaf(STEP)])

    assert found == evidence(STEP, step("00:20", 8))


def test_a_number_that_came_with_a_copy_is_no_gap() -> None:
    """The log says with which numbers an equal record came again (rule 10)."""
    found = admit_leaves([leaf(numbered(STEP, 1)), repeated(3), repeated(2)])

    assert (found.sequence_gaps, found.findings) == ((), ())


def test_a_copy_without_a_number_adds_none() -> None:
    """What is not numbered proves nothing, said by the log or not."""
    found = admit_leaves([leaf(numbered(STEP, 1)), repeated(None)])

    assert found.sequence_gaps == ()


def test_a_conflict_in_the_log_is_a_finding() -> None:
    """It has the digest of what conflicts, no line and no file, and its number came."""
    said = log_says("delivery.conflict", producer="p", id="i", boot="b1", seq=3, digest=DIGEST)

    found = admit_leaves([leaf(numbered(STEP, 1)), said])

    assert codes(found) == [("record_conflict", None, None)]
    assert found.findings[0].digest == DIGEST
    assert found.sequence_gaps == (SequenceGap("p", "b1", missing=1, lowest=1, highest=3),)


def test_a_refusal_in_the_log_is_a_finding() -> None:
    """It has the code and the message with which it was refused, on one line."""
    said = log_says("delivery.refused", code="bad_key", message="got\n", digest=None, source=None)

    (finding,) = admit_leaves([said]).findings

    assert (finding.code, finding.message, finding.digest) == ("bad_key", "'got\\n'", None)


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("delivery.repeated", {}),
        ("delivery.repeated", {"producer": "p", "id": "i", "boot": "b1", "seq": -1}),
        ("delivery.repeated", {"producer": "p", "id": "i", "boot": "b1", "seq": True}),
        ("delivery.conflict", {"producer": "p", "id": "i", "boot": "b1", "seq": 1, "digest": "x"}),
        ("delivery.refused", {"code": "A code", "message": "", "digest": None}),
    ],
)
def test_a_remark_of_another_form_is_a_finding(kind: str, body: Json) -> None:
    """What a log says of deliveries is checked as all else is."""
    (finding,) = admit_leaves([log_says(kind, **body)]).findings

    assert finding.code == "bad_body"
    assert finding.message.startswith(f"body of {kind}: ")


def test_only_the_log_itself_remarks() -> None:
    """The same kinds of another producer are records without effect."""
    said = record("delivery.refused", None, {"code": "x", "message": "y", "digest": None})

    found = admit_leaves([leaf(said)])

    assert (len(found.records), found.findings) == (1, ())


def test_in_a_file_a_remark_has_no_effect() -> None:
    """Only a log can say what else was delivered to it."""
    said = record(
        "delivery.repeated",
        None,
        {"producer": "p", "id": "i", "boot": "b1", "seq": 9},
        producer=LOG_PRODUCER,
    )

    assert evidence(numbered(STEP, 1), said).sequence_gaps == ()


def test_bytes_of_another_shape_are_no_leaf() -> None:
    """A log that holds them is damaged, and nothing is made of the rest."""
    with pytest.raises(BadLeafError):
        admit_leaves([as_line(STEP)])


def test_a_leaf_whose_record_is_refused_is_a_finding() -> None:
    """A log may be older than a rule: one record does not stop the rest."""
    found = admit_leaves([leaf(b"[]"), leaf(STEP)])

    assert codes(found) == [("not_an_object", None, None)]
    assert found.records == evidence(STEP).records


def test_withheld_numbers_came() -> None:
    """What is not shown does not look lost, inside and at both ends (S3)."""
    leaves = [leaf(each) for each in sequence(3, 6)]

    found = admit_leaves(leaves, [withheld((0, 2), (4, 5), (7, 2**53 - 1))])

    assert found.sequence_gaps == ()


def test_withheld_numbers_show_a_gap_beyond_what_is_shown() -> None:
    """The gap is that of the whole log."""
    leaves = [leaf(each) for each in sequence(3, 4)]

    found = admit_leaves(leaves, [withheld((0, 0), (4, 6), (9, 9))])

    assert found.sequence_gaps == (SequenceGap("p", "b1", missing=4, lowest=0, highest=9),)


def test_a_boot_may_be_withheld_altogether() -> None:
    """Its numbers are known although no record of it is shown."""
    found = admit_leaves([], [withheld((1, 1), (3, 3), boot=None), withheld((5, 5))])

    assert found.sequence_gaps == (SequenceGap("p", None, missing=1, lowest=1, highest=3),)


@given(
    st.lists(
        st.builds(
            lambda n, seq, boot, changed: numbered(
                step("00:10", n) | {"id": f"i{n}", "kind": "x" if changed else "progress.step"},
                seq,
                boot,
            ),
            st.integers(0, 3),
            st.integers(0, 9),
            st.sampled_from(["b1", "", None]),
            st.booleans(),
        ),
        max_size=12,
    )
)
def test_a_log_gives_the_evidence_of_its_deliveries(records: list[Json]) -> None:
    """Records, gaps and conflicts are those of the same lines in a file."""
    lines = [as_line(each) for each in records]
    store = MemoryStore("log.example")
    for line in lines:
        deliver(store, [line], lambda: 0)

    with store.reading() as log:
        found = admit_leaves(log.leaves(0, log.size))

    expected = admit([lines])
    assert tuple(each for each in found.records if each.producer == "p") == expected.records
    assert found.sequence_gaps == expected.sequence_gaps
    conflicts = [
        {(each.code, each.message, each.digest) for each in said.findings}
        for said in (found, expected)
    ]
    assert conflicts[0] == conflicts[1]
