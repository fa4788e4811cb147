"""Admission to a log: each record once, each delivery answered, each remark made once."""

import json
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tallystick.core.canonical import canonical_bytes, sha256_digest
from tallystick.core.finding import InputFinding
from tallystick.evidence.admission import Evidence, admit, admit_leaves
from tallystick.evidence.codec import REFUSALS, read_line
from tallystick.evidence.leaf import (
    LOG_PRODUCER,
    identity_key,
    leaf_bytes,
    leaf_record,
    leaf_recorded,
)
from tallystick.evidence.record import Record
from tallystick.evidence.remarks import read_remark
from tallystick.stores.delivery import Answer, deliver, write_own
from tallystick.stores.errors import StoreBusyError, StoreDamagedError
from tallystick.stores.memory import MemoryStore
from tallystick.stores.protocol import NewLeaf, Store
from tallystick.stores.sqlite import create_sqlite_store, open_sqlite_store, rows
from tallystick.tree.merkle import leaf_hash
from tests.evidence.records import Json, as_line, by, moment_us, numbered, record, step
from tests.stores.samples import ORIGIN, content_now

NOW = "12:00"
STEP = step("00:10", 7)
OTHER_STEP = STEP | {"body": STEP["body"] | {"step": 8}}
"""Another record of the same identity."""
STEP_DIGEST = read_line(as_line(STEP)).digest
OTHER_DIGEST = read_line(as_line(OTHER_STEP)).digest

REFUSED = [
    (None, "bad_json"),
    (b"", "bad_json"),
    (b"x", "bad_json"),
    (b"\xff", "bad_json"),
    (b"1", "not_an_object"),
    (b'{"a":1,"a":1}', "duplicate_key"),
    (b'{"\\ud800":1,"\\ud800":1}', "duplicate_key"),
    (b'{"\\ud800":1}', "bad_key"),
    (b'{"a":"\\ud800"}', "bad_string"),
    (b'{"a":1.5}', "float_refused"),
    (b'{"a":9007199254740992}', "integer_out_of_range"),
    (b"{}", "bad_record"),
    (as_line(STEP | {"observed": "noon"}), "bad_time"),
    (as_line(STEP | {"body": {}}), "bad_body"),
    (as_line(STEP | {"at": None}), "time_missing"),
    (as_line(by(LOG_PRODUCER, STEP)), "reserved_producer"),
]


@pytest.fixture
def store() -> MemoryStore:
    """Give an empty store."""
    return MemoryStore(ORIGIN, wait_s=0)


def send(store: Store, *sent: Json | bytes | None, at: str = NOW) -> tuple[Answer, ...]:
    """Deliver records, or lines as they are, in one batch."""
    lines = [as_line(each) if isinstance(each, dict) else each for each in sent]
    return deliver(store, lines, lambda: moment_us(at))


def words(answers: Sequence[Answer]) -> list[str]:
    """Give the words of some answers."""
    return [answer.word for answer in answers]


def stored(store: Store) -> list[Record]:
    """Give the records of a log that others delivered."""
    found = (read_line(leaf_record(data)) for data in content_now(store).leaves)
    return [each for each in found if each.producer != LOG_PRODUCER]


def remarks(store: Store) -> list[tuple[str, Any]]:
    """Give what a log says of deliveries, in its order."""
    found = (read_line(leaf_record(data)) for data in content_now(store).leaves)
    return [(each.kind, each.body) for each in found if each.producer == LOG_PRODUCER]


# -- accepted ------------------------------------------------------------------------------


def test_a_new_record_is_accepted_and_kept_as_it_is(store: MemoryStore) -> None:
    """Its leaf is its canonical bytes and the time of admission, under its identity."""
    answers = send(store, STEP)

    assert answers == (Answer("accepted", 0),)
    assert content_now(store).leaves == [leaf_bytes(canonical_bytes(STEP), moment_us(NOW))]
    with store.reading() as log:
        assert log.find([identity_key("p", STEP["id"])]) == {identity_key("p", STEP["id"]): 0}
        assert list(log.hashes(0, 1)) == [leaf_hash(content_now(store).leaves[0])]


def test_a_record_is_kept_in_one_form_however_it_is_written(store: MemoryStore) -> None:
    """Blanks, escapes and the order of keys are the sender's own affair."""
    text = json.dumps(STEP | {"note": "é\x7f"}, indent=1, ensure_ascii=True)

    send(store, text.encode())

    assert leaf_record(content_now(store).leaves[0]) == canonical_bytes(STEP | {"note": "é\x7f"})


def test_a_kind_that_is_not_known_is_accepted(store: MemoryStore) -> None:
    """It is kept for whoever knows it."""
    assert words(send(store, record("mood.changed", None, {"to": "good"}))) == ["accepted"]


def test_two_producers_may_use_one_id(store: MemoryStore) -> None:
    """The identity is that of both."""
    assert send(store, STEP, by("q", STEP)) == (Answer("accepted", 0), Answer("accepted", 1))


def test_records_are_numbered_in_the_order_of_the_lines(store: MemoryStore) -> None:
    """Also behind lines that are not accepted."""
    first = send(store, step("00:01", 1), b"x", step("00:02", 2))
    second = send(store, step("00:03", 3))

    assert [answer.leaf for answer in first] == [0, None, 1]
    assert [answer.leaf for answer in second] == [3]


def test_all_of_a_batch_has_one_time(store: MemoryStore) -> None:
    """The clock is read once."""
    times = iter([moment_us("12:00")])

    deliver(store, [as_line(step("00:01", 1)), b"x", as_line(step("00:02", 2))], times.__next__)

    recorded = {leaf_recorded(data) for data in content_now(store).leaves}
    assert recorded == {"2026-03-01T12:00:00.000000Z"}


def test_the_clock_is_read_once_the_log_is_ours(store: MemoryStore) -> None:
    """So the order of the times is that of the log."""

    def clock_us() -> int:
        with pytest.raises(StoreBusyError), store.writing():
            pytest.fail("the clock was read before the log was ours")
        return 0

    assert words(deliver(store, [as_line(STEP)], clock_us)) == ["accepted"]


def test_nothing_may_be_delivered(store: MemoryStore) -> None:
    """There is nothing to answer."""
    assert send(store) == ()
    assert content_now(store).leaves == []


def test_many_lines_may_be_delivered_at_once(store: MemoryStore) -> None:
    """Twice, and each is answered in its place."""
    lines = [step("00:10", number) for number in range(2500)]

    first, second = send(store, *lines), send(store, *reversed(lines))

    assert first == tuple(Answer("accepted", number) for number in range(2500))
    assert second == tuple(Answer("exists", number) for number in reversed(range(2500)))


# -- exists --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "again", [STEP, STEP | {"observed": "2026-03-02T00:00:00.000000Z"}], ids=["same", "observed"]
)
def test_an_equal_record_exists(store: MemoryStore, again: Json) -> None:
    """The answer names the one that is there, nothing is added, whenever it was observed."""
    send(store, step("00:01", 1), STEP)
    before = content_now(store)

    answers = send(store, again, at="13:00")

    assert answers == (Answer("exists", 1),)
    assert content_now(store) == before


def test_an_equal_record_exists_within_a_batch(store: MemoryStore) -> None:
    """The first is accepted."""
    assert send(store, STEP, STEP) == (Answer("accepted", 0), Answer("exists", 0))
    assert len(content_now(store).leaves) == 1


def test_a_new_number_of_an_equal_record_is_remarked(store: MemoryStore) -> None:
    """Once, however often it comes, in one batch and in several."""
    send(store, numbered(STEP, 1))

    answers = [send(store, numbered(STEP, 2), numbered(STEP, 2)) for _ in range(3)]

    assert {words(each) == ["exists", "exists"] for each in answers} == {True}
    body = {"producer": "p", "id": STEP["id"], "boot": "b1", "seq": 2}
    assert remarks(store) == [("delivery.repeated", body)]


@pytest.mark.parametrize(
    ("first", "again", "said"),
    [
        (numbered(STEP, 1), numbered(STEP, 1), []),
        (numbered(STEP, 1), STEP, []),
        (STEP, STEP | {"producer": {"name": "p", "boot": "b1"}}, []),
        (STEP, numbered(STEP, 0), [("b1", 0)]),
        (STEP, numbered(STEP, 0, boot=None), [(None, 0)]),
        (numbered(STEP, 1), numbered(STEP, 1, boot="b2"), [("b2", 1)]),
        (numbered(STEP, 1), numbered(STEP, 1, boot=None), [(None, 1)]),
        (numbered(STEP, 1, boot=None), numbered(STEP, 1, boot=None), []),
    ],
)
def test_a_number_is_new_if_the_first_had_another(
    store: MemoryStore, first: Json, again: Json, said: list[tuple[str | None, int]]
) -> None:
    """A number is that of its boot; without one there is nothing to remark."""
    send(store, first)

    answers = send(store, again)

    assert words(answers) == ["exists"]
    assert [(body["boot"], body["seq"]) for _, body in remarks(store)] == said


def test_each_new_number_is_remarked(store: MemoryStore) -> None:
    """Those of one batch together."""
    send(store, numbered(STEP, 5), numbered(STEP, 3), numbered(STEP, 4), numbered(STEP, 5))

    assert [body["seq"] for _, body in remarks(store)] == [3, 4]


# -- conflict ------------------------------------------------------------------------------


def test_of_two_records_of_one_identity_the_first_stays(store: MemoryStore) -> None:
    """The other is a conflict, with its digest, and is remarked."""
    send(store, step("00:01", 1), STEP)

    (answer,) = send(store, OTHER_STEP)

    assert (answer.word, answer.leaf) == ("conflict", 1)
    assert answer.finding is not None
    assert (answer.finding.code, answer.finding.digest) == ("record_conflict", OTHER_DIGEST)
    assert [each.digest for each in stored(store)][1:] == [STEP_DIGEST]
    body = {"producer": "p", "id": STEP["id"], "boot": None, "seq": None, "digest": OTHER_DIGEST}
    assert remarks(store) == [("delivery.conflict", body)]


def test_a_conflict_within_a_batch_is_settled_by_its_order(store: MemoryStore) -> None:
    """The first line stays."""
    answers = send(store, OTHER_STEP, STEP, OTHER_STEP)

    assert words(answers) == ["accepted", "conflict", "exists"]
    assert [each.digest for each in stored(store)] == [OTHER_DIGEST]


def test_a_conflict_is_remarked_once(store: MemoryStore) -> None:
    """However often it comes; with another number or other content it is another."""
    send(store, STEP)
    third = STEP | {"body": STEP["body"] | {"step": 9}}

    for _ in range(3):
        send(store, OTHER_STEP, numbered(OTHER_STEP, 4), OTHER_STEP, third)

    said = [(body["digest"], body["seq"]) for _, body in remarks(store)]
    third_digest = read_line(as_line(third)).digest
    assert said == [(OTHER_DIGEST, None), (OTHER_DIGEST, 4), (third_digest, None)]


def test_members_that_are_not_known_are_content(store: MemoryStore) -> None:
    """Of the record, its body and its producer."""
    send(store, STEP)

    answers = send(
        store,
        STEP | {"more": 1},
        STEP | {"body": STEP["body"] | {"more": 1}},
        STEP | {"producer": {"name": "p", "more": 1}},
    )

    assert words(answers) == ["conflict"] * 3


def test_a_record_that_would_be_refused_today_is_compared_with(store: MemoryStore) -> None:
    """An earlier version may have admitted what this one would not."""
    lax = STEP | {"body": {}}
    data = leaf_bytes(canonical_bytes(lax), 0)
    with store.writing() as log:
        log.append([NewLeaf(data, leaf_hash(data), identity_key("p", lax["id"]))])

    assert words(send(store, STEP)) == ["conflict"]


@pytest.mark.parametrize("again", [STEP, OTHER_STEP])
def test_a_stored_record_that_was_changed_is_not_compared_with(
    store: MemoryStore, again: Json
) -> None:
    """Nothing is answered and nothing admitted; the error names the leaf."""
    send(store, step("00:01", 1))
    data = leaf_bytes(canonical_bytes(STEP), 0)
    with store.writing() as log:
        log.append([NewLeaf(data, b"\0" * 32, identity_key("p", STEP["id"]))])

    with pytest.raises(StoreDamagedError, match="leaf 1 is not the one that was admitted"):
        send(store, step("00:02", 2), again)

    assert len(content_now(store).leaves) == 2


# -- refused -------------------------------------------------------------------------------


def test_every_refusal_is_provoked_below() -> None:
    """Those of a line, and one that only a log has."""
    assert {code for _, code in REFUSED} == {*REFUSALS, "reserved_producer"}


@pytest.mark.parametrize(("line", "code"), REFUSED)
def test_a_line_that_cannot_be_admitted_is_refused(
    store: MemoryStore, line: bytes | None, code: str
) -> None:
    """With its code and digest, and it is remarked once, however often it comes."""
    digest = None if line is None else sha256_digest(line)

    answers = [*send(store, line, line), *send(store, line)]

    ((kind, body),) = remarks(store)
    finding = InputFinding(code, body["message"], digest=digest)
    assert answers == [Answer("refused", finding=finding)] * 3
    assert (kind, body) == (
        "delivery.refused",
        {"code": code, "message": finding.message, "digest": digest},
    )


def test_two_lines_that_are_refused_are_two_remarks(store: MemoryStore) -> None:
    """Also for one reason."""
    send(store, b"x", b"y", b"x", None)

    assert [body["digest"] for _, body in remarks(store)] == [
        sha256_digest(b"x"),
        sha256_digest(b"y"),
        None,
    ]


@pytest.mark.parametrize("name", ["tallystick/log2", "tallystick/", "Tallystick/log", "log"])
def test_only_the_name_of_the_log_itself_is_reserved(store: MemoryStore, name: str) -> None:
    """Others that look like it are somebody's."""
    assert words(send(store, by(name, STEP))) == ["accepted"]


def test_what_the_log_says_cannot_be_delivered(store: MemoryStore) -> None:
    """Not even word for word, and not before it is said."""
    send(store, b"x")
    own = leaf_record(content_now(store).leaves[0])

    answers = [*send(store, own), *send(MemoryStore("another"), own)]

    assert words(answers) == ["refused", "refused"]


@given(st.one_of(st.binary(max_size=40), st.text(max_size=40).map(str.encode)))
def test_every_line_is_answered(line: bytes) -> None:
    """Whatever it is, and what the log says of it can be read."""
    store = MemoryStore(ORIGIN)

    (answer,) = send(store, line)

    assert answer.word == "refused"
    assert len(remarks(store)) == 1


# -- remarks -------------------------------------------------------------------------------


def test_a_remark_is_a_record_of_the_log_itself(store: MemoryStore) -> None:
    """Of no time of its own, observed at admission, behind the records of its batch."""
    send(store, b"x", STEP, at="12:30")

    own = json.loads(leaf_record(content_now(store).leaves[1]))

    assert own["producer"] == {"name": LOG_PRODUCER}
    assert (own["at"], own["observed"]) == (None, "2026-03-01T12:30:00.000000Z")


def test_remarks_stand_in_the_order_of_refusals_and_then_of_the_rest(store: MemoryStore) -> None:
    """Each in the order of the lines."""
    send(store, STEP, numbered(STEP, 1), b"x", OTHER_STEP, b"y")

    assert [kind for kind, _ in remarks(store)] == [
        "delivery.refused",
        "delivery.refused",
        "delivery.repeated",
        "delivery.conflict",
    ]


def test_every_remark_can_be_read(store: MemoryStore) -> None:
    """By whoever takes the log as evidence."""
    send(store, STEP, numbered(STEP, 1), OTHER_STEP, *(line for line, _ in REFUSED))
    own = [read_line(leaf_record(data)) for data in content_now(store).leaves][1:]

    read = [read_remark(each) for each in own]

    assert len(read) == 2 + len(REFUSED)
    assert None not in read


def test_what_the_log_says_it_says_once(store: MemoryStore) -> None:
    """The number of the first is given again, whenever it is said."""
    with store.writing() as log:
        numbers = [
            write_own(log, "key.rotated", {"new": "k"}, 1),
            write_own(log, "key.rotated", {"new": "l"}, 2),
            write_own(log, "key.rotated", {"new": "k"}, 3),
            write_own(log, "key.rotated", {"new": "k"}, 3, at_us=3),
        ]
    with store.writing() as log:
        numbers.append(write_own(log, "key.rotated", {"new": "k"}, 4))

    assert numbers == [0, 1, 0, 2, 0]


# -- failures ------------------------------------------------------------------------------


def test_without_a_clock_nothing_is_admitted(store: MemoryStore) -> None:
    """The whole batch fails."""

    def clock_us() -> int:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        deliver(store, [as_line(STEP), b"x"], clock_us)

    assert content_now(store).leaves == []


def test_while_others_write_nothing_is_admitted(store: MemoryStore) -> None:
    """And nothing is answered."""
    with store.writing(), pytest.raises(StoreBusyError):
        send(store, STEP)

    assert content_now(store).leaves == []


# -- any deliveries ------------------------------------------------------------------------

A_LINE = st.builds(
    lambda one, number, observed, indent: json.dumps(
        (one if number is None else numbered(one, *number))
        | {"observed": f"2026-03-0{observed}T00:00:00.000000Z"},
        indent=indent,
    ).encode(),
    one=st.builds(
        lambda id_, content, producer: by(producer, step("00:10", content)) | {"id": id_},
        id_=st.sampled_from(["i", "j", "é"]),
        content=st.integers(1, 2),
        producer=st.sampled_from("pq"),
    ),
    number=st.none() | st.tuples(st.integers(0, 4), st.sampled_from([None, "b1", "b2"])),
    observed=st.integers(1, 2),
    indent=st.sampled_from([None, 1]),
)
A_REFUSED_LINE = st.sampled_from(
    [line for line, code in REFUSED if line != b"" and code != "reserved_producer"]
)
LINES = st.lists(st.one_of(A_LINE, A_LINE, A_LINE, A_REFUSED_LINE), max_size=14)
Told = tuple[str, str | None, str | None]
"""A word, the digest of the record that is in the log, and the code of the finding."""

CUTS = st.lists(st.integers(0, 14), max_size=5)


def batches(lines: list[bytes | None], cuts: list[int]) -> list[list[bytes | None]]:
    """Split lines at some places; batches may be empty."""
    places = sorted(min(cut, len(lines)) for cut in cuts)
    return [lines[start:stop] for start, stop in pairwise([0, *places, len(lines)])]


def answered(store: Store, lines: list[bytes | None], cuts: list[int]) -> list[Told]:
    """Deliver lines in batches; give each word, what is in the log, and the finding's code."""
    found: list[Told] = []
    for batch in batches(lines, cuts):
        for answer in deliver(store, batch, lambda: 0):
            with store.reading() as log:
                leaf = (
                    None if answer.leaf is None else next(log.leaves(answer.leaf, answer.leaf + 1))
                )
            digest = None if leaf is None else read_line(leaf_record(leaf)).digest
            code = None if answer.finding is None else answer.finding.code
            found.append((answer.word, digest, code))
    return found


def expected_answers(lines: list[bytes | None]) -> list[Told]:
    """Say line by line what has to be answered."""
    firsts: dict[tuple[str, str], str] = {}
    expected: list[Told] = []
    for line in lines:
        evidence = admit([[line]])
        if evidence.findings:
            expected.append(("refused", None, evidence.findings[0].code))
            continue
        (one,) = evidence.records
        is_new = (one.producer, one.id) not in firsts
        first = firsts.setdefault((one.producer, one.id), one.digest)
        if is_new:
            expected.append(("accepted", first, None))
        elif first == one.digest:
            expected.append(("exists", first, None))
        else:
            expected.append(("conflict", first, "record_conflict"))
    return expected


def check_any_deliveries(store: Store, lines: list[bytes | None], cuts: list[int]) -> None:
    """Deliver lines in batches, and compare with what their evidence is."""
    whole = admit([lines])

    assert answered(store, lines, cuts) == expected_answers(lines)
    assert tuple(sorted(stored(store), key=lambda each: each.order)) == whole.records
    again = admit_leaves(content_now(store).leaves)
    assert again.sequence_gaps == whole.sequence_gaps
    assert reasons(again) == reasons(whole)
    size = len(content_now(store).leaves)
    answered(store, lines, [])
    assert len(content_now(store).leaves) == size


def reasons(evidence: Evidence) -> set[tuple[str, str]]:
    """Give what was wrong, each once."""
    return {(finding.code, finding.message) for finding in evidence.findings}


@given(lines=LINES, cuts=CUTS)
def test_however_lines_are_split_the_log_is_their_evidence(
    lines: list[bytes | None], cuts: list[int]
) -> None:
    """Same answers, same records, same gaps, same findings; and again it adds nothing."""
    check_any_deliveries(MemoryStore(ORIGIN), lines, cuts)


@settings(max_examples=20)
@given(lines=LINES, cuts=CUTS)
def test_the_same_holds_in_a_file(lines: list[bytes | None], cuts: list[int]) -> None:
    """Where identities settle often and rows are short."""
    with (
        TemporaryDirectory() as folder,
        patch.object(rows, "SETTLE_LEAVES", 3),
        patch.object(rows, "BATCH_LEAVES_MAX", 2),
    ):
        create_sqlite_store(Path(folder) / "log.db", ORIGIN)
        store = open_sqlite_store(Path(folder) / "log.db")
        try:
            check_any_deliveries(store, lines, cuts)
        finally:
            store.close()
