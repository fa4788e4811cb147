"""Each line is admitted, or refused for the first reason that applies (rules 4 to 6)."""

import json
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tallystick.core.canonical import canonical_bytes
from tallystick.evidence import codec
from tallystick.evidence.codec import (
    NESTING_MAX,
    REFUSALS,
    RefusedLineError,
    read_delivery,
    read_line,
)
from tallystick.evidence.record import Record
from tests.evidence.records import Json, as_line, record, step

STEP = step("00:10", 7)
DEEP = 100_000

# What each defect puts in its own place of one line, so that any of them can come together.
DEFECTS = {
    "bad_json": ("after", " x"),
    "not_an_object": ("around", "[]"),
    "duplicate_key": ("end", ',"k":1,"k":1'),
    "bad_key": ("end", ',"\\u00e9":1'),
    "bad_string": ("end", ',"s":"\\ud800"'),
    "float_refused": ("end", ',"f":1.5'),
    "integer_out_of_range": ("end", ',"n":9007199254740992'),
    "bad_record": ("id", "7"),
    "bad_time": ("observed", '"noon"'),
    "bad_body": ("body", '"attempt":"a","step":7'),
    "time_missing": ("at", "null"),
}


def refusal(text: bytes | None) -> str | None:
    """Give the code for which a line is refused, None if it is admitted."""
    try:
        read_line(text)
    except RefusedLineError as error:
        return error.code
    return None


def defective(*codes: str) -> bytes:
    """Write a progress step with some defects."""
    parts = {
        "id": '"i"',
        "at": '"2026-03-01T00:10:00.000000Z"',
        "observed": '"2026-03-01T00:10:00.000000Z"',
        "body": '"attempt":"a","step":7,"every":1',
        "end": "",
        "after": "",
        "around": "",
    }
    for code in codes:
        place, text = DEFECTS[code]
        parts[place] = parts[place] + text if place == "end" else text
    text = (
        '{"schema":"tallystick.evidence/1","producer":{"name":"p"},"kind":"progress.step",'
        f'"id":{parts["id"]},"at":{parts["at"]},"observed":{parts["observed"]},'
        f'"body":{{{parts["body"]}}}{parts["end"]}}}'
    )
    if parts["around"]:
        text = f"[{text}]"
    return (text + parts["after"]).encode()


def test_the_order_of_refusals_is_that_of_the_rules() -> None:
    """A line has at most one refusal, the first of these (rule 4)."""
    assert list(DEFECTS) == list(REFUSALS)


def test_a_line_without_defect_is_admitted() -> None:
    """The line that the tests below break is a good one."""
    assert refusal(defective()) is None


@pytest.mark.parametrize("code", REFUSALS)
def test_a_line_with_one_defect_is_refused_for_it(code: str) -> None:
    """Each code is reached."""
    assert refusal(defective(code)) == code


@given(st.sets(st.sampled_from(REFUSALS), min_size=1))
def test_of_several_defects_the_first_counts(codes: set[str]) -> None:
    """Whatever else is wrong with a line, it is refused for what outranks the rest."""
    assert refusal(defective(*codes)) == min(codes, key=REFUSALS.index)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (b"x", "bad_json"),
        (b"{", "bad_json"),
        (b'{"a":1}{"a":1}', "bad_json"),
        (b"{'a':1}", "bad_json"),
        (b'{"a":1,}', "bad_json"),
        (b'{"a":01}', "bad_json"),
        (b'{"a":+1}', "bad_json"),
        (b'{"a":.5}', "bad_json"),
        (b'{"a":NaN}', "bad_json"),
        (b'{"a":Infinity}', "bad_json"),
        (b'{"a":-Infinity}', "bad_json"),
        (b"NaN", "bad_json"),
        (b"[NaN]", "bad_json"),
        (b'{"a":"\t"}', "bad_json"),
        (b'{"a":"\x00"}', "bad_json"),
        (b"\x00", "bad_json"),
        (b"{}\x00", "bad_json"),
        (b"{}\x0b", "bad_json"),
        (b"\xef\xbb\xbf{}", "bad_json"),
        (b'{"a":"\xff"}', "bad_json"),
        (b'{"a":"\xed\xa0\x80"}', "bad_json"),
        (b'{"a":"\xc0\xaf"}', "bad_json"),
        ("{}".encode("utf-16"), "bad_json"),
        (b"[" * DEEP + b"]" * DEEP, "bad_json"),
        (b'{"a":' * DEEP + b"1" + b"}" * DEEP, "bad_json"),
        (None, "bad_json"),
        (b"null", "not_an_object"),
        (b"true", "not_an_object"),
        (b"1", "not_an_object"),
        (b"1.5", "not_an_object"),
        (b'"\\ud800"', "not_an_object"),
        (b'[{"a":1,"a":1}]', "not_an_object"),
        (b'{"a":1,"a":1}', "duplicate_key"),
        (b'{"a":1,"\\u0061":2}', "duplicate_key"),
        (b'{"a":[{"b":{"c":1,"c":1}}]}', "duplicate_key"),
        (b'{"":1,"":1}', "duplicate_key"),
        (b'{"\xc3\xa9":1}', "bad_key"),
        (b'{"a":[{"\\u007f":1}]}', "bad_key"),
        (b'{"\\u0000":1}', "bad_key"),
        (b'{"\\ud800":1}', "bad_key"),
        (b'{"a":"\\ud800"}', "bad_string"),
        (b'{"a":[{"b":["\\udc00\\ud800"]}]}', "bad_string"),
        (b'{"a":1.0}', "float_refused"),
        (b'{"a":[1e0]}', "float_refused"),
        (b'{"a":-0E+1}', "float_refused"),
        (b'{"a":1e400}', "float_refused"),
        (b'{"a":9007199254740992}', "integer_out_of_range"),
        (b'{"a":-9007199254740992}', "integer_out_of_range"),
        (b'{"a":[' + b"9" * 10_000 + b"]}", "integer_out_of_range"),
        (b'{"a":-' + b"9" * 10_000 + b"}", "integer_out_of_range"),
        (b'{"a":9007199254740992,"b":1.5}', "float_refused"),
        (b"{}", "bad_record"),
        (b'{"a":-9007199254740991}', "bad_record"),
        (b'{"a":"\\ud83d\\ude00"}', "bad_record"),
        (b'\t {"a":1} \r', "bad_record"),
    ],
)
def test_a_small_line_is_refused_for_what_it_is(text: bytes | None, code: str) -> None:
    """The smallest lines that provoke a code, and those that just do not."""
    assert refusal(text) == code


@pytest.mark.parametrize(
    "change",
    [
        {"schema": "tallystick.evidence/2"},
        {"schema": None},
        {"id": 7},
        {"id": None},
        {"producer": "p"},
        {"producer": None},
        {"producer": {}},
        {"producer": {"name": 7}},
        {"producer": {"name": "p", "boot": 7}},
        {"producer": {"name": "p", "seq": "7"}},
        {"producer": {"name": "p", "seq": -1}},
        {"producer": {"name": "p", "seq": True}},
        {"kind": None},
        {"kind": 7},
        {"at": 7},
        {"at": []},
        {"observed": None},
        {"observed": 7},
        {"body": None},
        {"body": []},
        {"body": "x"},
    ],
)
def test_an_envelope_of_another_form_is_a_bad_record(change: Json) -> None:
    """Schema, id, producer, kind, at, observed and body have their types (rule 6)."""
    assert refusal(as_line(STEP | change)) == "bad_record"


@pytest.mark.parametrize("key", ["schema", "id", "producer", "kind", "at", "observed", "body"])
def test_an_envelope_lacks_nothing(key: str) -> None:
    """Every field of the envelope is required, `at` too, though it may be null (rule 6)."""
    rest = {name: value for name, value in STEP.items() if name != key}

    assert refusal(as_line(rest)) == "bad_record"


@pytest.mark.parametrize(
    "change",
    [
        {"producer": {"name": "p", "boot": None, "seq": None}},
        {"producer": {"name": "", "seq": 0}},
        {"producer": {"name": "p", "boot": "b", "seq": 9007199254740991, "host": "h"}},
        {"id": ""},
        {"note": "further", "more": {"fields": [1, "é"]}},
    ],
)
def test_an_envelope_may_say_more_or_less(change: Json) -> None:
    """Boot and number are optional, null stands for absent, and further fields are let be."""
    assert refusal(as_line(STEP | change)) is None


@pytest.mark.parametrize("field", ["at", "observed"])
@pytest.mark.parametrize(
    "text",
    [
        "",
        "2026-03-01T00:10:00Z",
        "2026-03-01T00:10:00.000000z",
        "2026-03-01T24:00:00.000000Z",
        "2026-02-29T00:10:00.000000Z",
        "2016-12-31T23:59:60.000000Z",
    ],
)
def test_a_time_of_the_envelope_has_its_one_form(field: str, text: str) -> None:
    """What is a string and no time is a bad time (rule 5)."""
    assert refusal(as_line(STEP | {field: text})) == "bad_time"


@pytest.mark.parametrize("field", ["at", "observed"])
def test_an_unknown_kind_has_times_too(field: str) -> None:
    """The envelope is checked whatever the kind."""
    one = record("telemetry.fan_speed", "00:10", {})

    assert refusal(as_line(one | {field: "noon"})) == "bad_time"


@pytest.mark.parametrize(
    "text",
    [
        b'{"a\\n\\u001b":1,"a\\n\\u001b":1}',
        b'{"a\\n\\u001b":1}',
        as_line(STEP | {"at": "noon\n\x1b[31m" + "!" * 1_000}),
        as_line(STEP | {"body": {"attempt": "a\n\x1b"}}),
        as_line(STEP | {"kind": "progress.step", "body": {}}),
        b'{"a":"\xff"}',
        b'{"a":1.' + b"5" * 10_000 + b"}",
    ],
)
def test_a_refusal_is_told_in_one_line(text: bytes) -> None:
    """Whatever stands in a record, the message is short and printable."""
    with pytest.raises(RefusedLineError) as caught:
        read_line(text)

    assert caught.value.message.isprintable()
    assert len(caught.value.message) < 200


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(text: bytes) -> None:
    """No line ends the reading with another error."""
    assert refusal(text) in {None, *REFUSALS}


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
        max_leaves=6,
    ),
    st.sampled_from(["schema", "id", "producer", "kind", "at", "observed", "body", "more"]),
)
def test_any_json_in_any_place_is_read_or_refused(value: Any, key: str) -> None:
    """A value of the wrong kind somewhere never ends the reading with another error."""
    assert refusal(json.dumps(STEP | {key: value}).encode()) in {None, *REFUSALS}


@given(st.integers(0, len(defective())), st.binary(max_size=3))
def test_a_damaged_line_is_read_or_refused(place: int, damage: bytes) -> None:
    """Bytes put in the middle of a good line are seen, or say the same."""
    text = defective()

    assert refusal(text[:place] + damage + text[place + len(damage) :]) in {None, *REFUSALS}


@pytest.mark.parametrize(
    ("levels", "expected"), [(NESTING_MAX - 2, None), (NESTING_MAX - 1, "bad_json")]
)
def test_the_limit_of_nesting_is_fixed(levels: int, expected: str | None) -> None:
    """A body stands two levels deep; brackets inside a string are none."""
    stated = as_line(record("x", None, {"text": "[" * 2_000 + '"\\', "deep": 7}))

    line = stated.replace(b"7}", b"[" * levels + b"]" * levels + b"}")

    assert stated != line
    assert refusal(line) == expected


# -- two ways to read one line -------------------------------------------------------------

NUMBERS = [
    "0",
    "-0",
    "7",
    "-7",
    "01",
    "1.0",
    "1e5",
    "1E400",
    "-0.0",
    "999999999999999",
    "-999999999999999",
    "1000000000000000",
    "9007199254740991",
    "-9007199254740991",
    "9007199254740992",
    "-9007199254740992",
    "9007199254740993",
    "9223372036854775808",
    "18446744073709551616",
    "9" * 400,
    "NaN",
    "Infinity",
    "-Infinity",
]
"""All that stands where a number may, on both sides of every limit."""

STRINGS = [
    '""',
    '"a"',
    '"/"',
    '"\x7f"',
    '"\x01"',
    '"\t"',
    '"é"',
    '"\\u00e9"',
    '"\\u0061"',
    '"\\/"',
    '"\\n"',
    '"\\""',
    '"\\\\"',
    '"\\ud83d\\ude00"',
    '"\\ud800"',
    '"\\udc00\\ud800"',
    '"😀"',
    '"\u2028"',
    '"[[{{"',
    '"1.5"',
    '"9007199254740993"',
    '"\\x"',
    "'a'",
]

A_TEXT = st.recursive(
    st.sampled_from(["null", "true", "false", *NUMBERS, *STRINGS]),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda items: f"[{','.join(items)}]"),
        st.lists(
            st.tuples(st.sampled_from(['"a"', '"b"', '"c"', *STRINGS]), inner), max_size=3
        ).map(lambda pairs: "{" + ",".join(f"{key}:{value}" for key, value in pairs) + "}"),
        st.tuples(inner, st.sampled_from(" \t\r")).map("".join),
    ),
    max_leaves=8,
)
"""Texts that are JSON or nearly so, canonical or not."""

A_VALUE = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**54), 2**54) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text("ab \x7fé", max_size=2), inner, max_size=3)
    ),
    max_leaves=8,
)


def outcome(line: bytes) -> Record | tuple[str, str]:
    """Give the record that a line is read as, or why it is refused."""
    try:
        return read_line(line)
    except RefusedLineError as error:
        return error.code, error.message


def outcome_of_strict_reading(line: bytes) -> Record | tuple[str, str]:
    """Give the same with the fast way closed."""
    with patch.object(codec, "_read_canonical", lambda _: None):
        return outcome(line)


def with_member(text: str, key: str = "z") -> bytes:
    """Put a text behind everything else in the canonical bytes of a good record."""
    return canonical_bytes(STEP)[:-1] + f',"{key}":{text}}}'.encode()


def is_read_fast(line: bytes) -> bool:
    """Tell whether a line is read the fast way."""
    return codec._read_canonical(line) is not None  # noqa: SLF001


@settings(max_examples=400)
@given(A_TEXT)
def test_both_ways_of_reading_say_the_same(text: str) -> None:
    """Of the text alone and of a record that holds it, to the last word of a refusal."""
    for line in (text.encode(), with_member(text), with_member(text, "a")):
        assert outcome(line) == outcome_of_strict_reading(line)


@settings(max_examples=200)
@given(A_VALUE, st.sampled_from(["z", "a", "body", "id"]))
def test_both_ways_say_the_same_of_canonical_bytes(value: Any, key: str) -> None:
    """Whatever stands in a record, and wherever."""
    line = canonical_bytes(STEP | {key: value})

    assert outcome(line) == outcome_of_strict_reading(line)


@settings(max_examples=200)
@given(st.integers(0, len(canonical_bytes(STEP))), st.binary(max_size=2), st.integers(0, 2))
def test_both_ways_say_the_same_of_a_damaged_line(place: int, damage: bytes, lost: int) -> None:
    """A byte more, less or changed in canonical bytes."""
    line = canonical_bytes(STEP)
    line = line[:place] + damage + line[place + lost :]

    assert outcome(line) == outcome_of_strict_reading(line)


@pytest.mark.parametrize("text", [*NUMBERS, *STRINGS])
def test_both_ways_say_the_same_of_each_number_and_string(text: str) -> None:
    """In a value, alone in a list, and as a key; once and twice."""
    lines = [with_member(text), with_member(f"[{text}]"), with_member(f"{{{text}:1}}")]
    lines += [with_member(f"{{{text}:1,{text}:1}}"), with_member(f'{{"b":1,{text}:1}}')]

    for line in lines:
        assert outcome(line) == outcome_of_strict_reading(line)


@pytest.mark.parametrize("levels", [1, 100, NESTING_MAX - 1, NESTING_MAX, NESTING_MAX + 1])
def test_both_ways_say_the_same_of_nested_lists(levels: int) -> None:
    """Up to the limit and beyond it."""
    line = with_member("[" * levels + "]" * levels)

    assert outcome(line) == outcome_of_strict_reading(line)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (canonical_bytes(STEP), True),
        (with_member("999999999999999"), True),
        (with_member("-999999999999999"), True),
        (with_member('"[[{{"'), True),
        (as_line(STEP), False),
        (canonical_bytes(STEP) + b" ", False),
        (with_member("1", "a"), False),
        (with_member("9007199254740991"), False),
        (with_member("1.5"), False),
        (with_member("NaN"), False),
        (with_member('"é"'), False),
        (with_member('"\x7f"'), False),
        (with_member('"\\n"'), False),
        (with_member('{"a":1,"a":1}'), False),
        (with_member('{"b":1,"a":1}'), False),
        (b"[]", False),
        (b"1", False),
        (b"", False),
    ],
)
def test_the_fast_way_is_taken_by_plain_canonical_bytes_only(line: bytes, expected: bool) -> None:  # noqa: FBT001
    """Of all else nothing is known, and the strict way decides."""
    assert is_read_fast(line) is expected


@settings(max_examples=200)
@given(A_TEXT)
def test_a_delivery_is_read_again_from_its_canonical_bytes(text: str) -> None:
    """As the same record; and the canonical bytes of canonical bytes are they themselves."""
    line = with_member(text)
    try:
        canonical = read_delivery(line).canonical
    except RefusedLineError:
        assert not isinstance(outcome(line), Record)
        return

    assert outcome(canonical) == outcome(line)
    assert read_delivery(canonical).canonical == canonical


@pytest.mark.parametrize("code", REFUSALS)
def test_a_delivery_is_refused_for_what_a_line_is_refused_for(code: str) -> None:
    """By the same rules, in the same words."""
    with pytest.raises(RefusedLineError) as refused:
        read_delivery(defective(code))

    assert (refused.value.code, refused.value.message) == outcome(defective(code))


def test_a_delivery_that_is_too_long_is_refused() -> None:
    """It was never held."""
    with pytest.raises(RefusedLineError) as refused:
        read_delivery(None)

    assert refused.value.code == "bad_json"
