"""Reading canonical lines in one typed pass: it only ever says yes, and never too often."""

import copy
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tallystick.core.canonical import canonical_bytes
from tallystick.evidence.codec import RefusedLineError, read_delivery, read_line
from tallystick.evidence.kinds import KINDS
from tallystick.evidence.wire import read_identity
from tests.evidence.records import Json, numbered, started, step, waits
from tests.evidence.test_kinds import NULLABLE, OPTIONAL, RECORDS, ROW

DEEP = 100_000
TYPED = sorted(KINDS.keys() - {"telemetry.dropped"})
ODD_VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**54), 2**54),
    st.floats(allow_nan=False),
    st.sampled_from(
        [
            *("", "x", "charge", "credit:1/2", "share:3/2", "spot", "1.5", "1e5", "user"),
            *("a" * 200, "a" * 201, "\u00e9", "a\u007f", "line\nend", 'quote"', "back\\slash"),
            *("2026-03-01T00:00:00.000000Z", "2026-02-29T00:00:00.000000Z"),
            *("2026-03-01T24:00:00.000000Z", "2026-03-01T00:00:60.000000Z"),
            *("2026-W09-7T00:00:00.000000Z", "2026-03-01 00:00:00.000000Z"),
            *("2026-03-01T00:00:00,000000Z", "0000-03-01T00:00:00.000000Z"),
        ]
    ),
    # Copied, since a list that is drawn may be changed, also to hold itself.
    st.lists(st.sampled_from(["g1", 1, None, "2026-03-01T00:00:00.000000Z", ["t", None]])).map(
        copy.deepcopy
    ),
    st.dictionaries(
        st.sampled_from(["uuid", "node", "index", "k"]), st.sampled_from(["v", 1, 1.5])
    ),
)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Name every place in a record at which something can be changed."""
    inner: list[Any] = []
    if isinstance(value, dict):
        inner = list(value.items())
    elif isinstance(value, list):
        inner = list(enumerate(value))
    return [path, *(place for key, item in inner for place in places(item, (*path, key)))]


@st.composite
def changed_records(draw: st.DrawFn) -> Json:
    """Draw a record of any kind with something changed, added or left out."""
    kind = draw(st.sampled_from(sorted(RECORDS)))
    record = copy.deepcopy(RECORDS[kind])
    record["body"] |= copy.deepcopy(draw(st.sampled_from([{}, OPTIONAL.get(kind, {})])))
    if draw(st.booleans()):
        record = numbered(record, draw(st.integers(-1, 2**53)), draw(st.sampled_from([None, "b"])))
    for _ in range(draw(st.integers(0, 2))):
        *way, last = draw(st.sampled_from(places(record)[1:]))
        target: Any = record
        for key in way:
            target = target[key]
        match draw(st.sampled_from(["change", "remove", "add"])):
            case "change":
                target[last] = draw(ODD_VALUES)
            case "remove":
                del target[last]
            case _ if isinstance(target, dict):
                target[draw(st.sampled_from(["further", "boot", "\u00e9"]))] = draw(ODD_VALUES)
    return record


@settings(max_examples=1500)
@given(changed_records())
def test_what_is_read_fast_is_what_is_read_strictly(record: Json) -> None:
    """A line that is read in one pass is admitted by the other reader, as the same record."""
    line = json.dumps(record, separators=(",", ":"), sort_keys=True, ensure_ascii=False).encode()

    found = read_identity(line)

    if found is not None:
        strictly = read_line(line)
        assert found == (strictly.producer, strictly.id)
        assert line == canonical_bytes(json.loads(line))


@settings(max_examples=1500)
@given(changed_records())
def test_a_delivery_is_admitted_or_refused_as_a_line_is(record: Json) -> None:
    """However it is read, a line has one answer and one form."""
    line = json.dumps(record, separators=(",", ":"), sort_keys=True, ensure_ascii=False).encode()
    try:
        expected: Any = read_line(line).id
    except RefusedLineError as error:
        expected = (error.code, error.message)

    try:
        found: Any = read_delivery(line).id
    except RefusedLineError as error:
        found = (error.code, error.message)

    assert found == expected


@pytest.mark.parametrize("kind", TYPED)
def test_every_kind_is_read_in_one_pass(kind: str) -> None:
    """With and without its optional fields, and with null where it may stand."""
    record = RECORDS[kind]
    whole = record | {"body": record["body"] | OPTIONAL.get(kind, {})}
    nulls = dict.fromkeys([*NULLABLE.get(kind, ()), *OPTIONAL.get(kind, {})])
    empty = record | {"body": record["body"] | nulls}

    found = [read_identity(canonical_bytes(each)) for each in (record, whole, empty)]

    assert found == [(record["producer"]["name"], record["id"])] * 3


def with_raw(text: str) -> bytes:
    """Give a scheduler's row that holds some JSON."""
    return canonical_bytes(ROW).replace(b'"raw":{}', b'"raw":{"field":' + text.encode() + b"}")


@pytest.mark.parametrize(
    "text", ["null", "true", "-9007199254740991", '"7"', "[[],{}]", '{"a":[{"b":[{"c":[1]}]}]}']
)
def test_a_row_of_any_json_is_read_in_one_pass(text: str) -> None:
    """As schedulers nest it."""
    assert read_identity(with_raw(text)) == (ROW["producer"]["name"], ROW["id"])


@pytest.mark.parametrize(
    "line",
    [
        b" " + canonical_bytes(step("00:10", 1)),
        canonical_bytes(step("00:10", 1)).replace(b'"every":1', b'"every":1,"every":1'),
        canonical_bytes(step("00:10", 1)).replace(b'"every":1', b'"every":1.0'),
        canonical_bytes(step("00:10", 1)).replace(b'"every":1', b'"every":9007199254740992'),
        canonical_bytes(step("00:10", 1)).replace(b'"every":1', b'"every":1,"further":1'),
        canonical_bytes(step("00:10", 1, attempt="a\u00e9")),
        canonical_bytes(step("00:10", 1, attempt="a\\b")),
        canonical_bytes(step("00:10", 1)).replace(b"progress.step", b"progress.unheard"),
        canonical_bytes(started()).replace(b'"gpus"', b'"GPUs"'),
        canonical_bytes(step("00:10", 1, attempt="")),
        canonical_bytes(step("00:10", 1, attempt="a" * 201)),
        canonical_bytes(started(gpus=None)),
        canonical_bytes(started(gpus=None, gpu_count=-1)),
        canonical_bytes(waits("00:10", "weather")),
        with_raw("[" * DEEP + "]" * DEEP),
        with_raw('{"a":' * DEEP + "1" + "}" * DEEP),
        with_raw("9" * DEEP),
        with_raw("9007199254740992"),
        with_raw("1.5"),
        with_raw('{"b":1,"a":1}'),
        with_raw('{"a":1,"a":1}'),
        b'{"body":' + b"[" * DEEP,
        b"{}",
        b"",
    ],
    ids=lambda line: line[:40],
)
def test_what_is_unusual_is_left_to_the_other_reader(line: bytes) -> None:
    """Spaces, doubles, floats, further fields, other kinds: not known is no answer."""
    assert read_identity(line) is None
