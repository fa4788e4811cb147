"""A record's digest: the same fact has the same one, however it came (rule 2)."""

import json

import pytest

from tallystick.core.canonical import sha256_digest
from tallystick.evidence.record import content_digest
from tests.evidence.records import Json, evidence, numbered, record, started, step

STEP = step("00:10", 7)


@pytest.mark.parametrize(
    "again",
    [
        STEP | {"observed": "2026-04-01T00:00:00.000000Z"},
        numbered(STEP, 17),
        numbered(STEP, 18, None),
        STEP | {"producer": {"name": "p", "boot": "another"}},
        dict(reversed(STEP.items())),
    ],
)
def test_two_deliveries_of_a_fact_have_one_digest(again: Json) -> None:
    """When it was seen, its number and its boot, and the order of keys make no difference."""
    assert content_digest(again) == content_digest(STEP)


@pytest.mark.parametrize(
    "other",
    [
        STEP | {"id": "another"},
        STEP | {"producer": {"name": "another"}},
        STEP | {"producer": {"name": "p", "host": "h"}},
        STEP | {"at": "2026-03-01T00:10:00.000001Z"},
        STEP | {"note": "further"},
        STEP | {"body": STEP["body"] | {"note": "further"}},
        STEP | {"body": STEP["body"] | {"every": 2}},
    ],
)
def test_any_other_difference_is_another_fact(other: Json) -> None:
    """Everything else that a record says counts, further fields included."""
    assert content_digest(other) != content_digest(STEP)


def test_a_digest_is_that_of_canonical_bytes() -> None:
    """Anybody can compute it: sorted keys, no spaces, SHA-256."""
    content = {key: value for key, value in STEP.items() if key != "observed"}
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":")).encode()

    assert content_digest(STEP) == sha256_digest(canonical)


def test_records_stand_in_canonical_order() -> None:
    """By time with null last, then producer, then id, by code point (rule 7)."""
    records = [
        record("x", None, {}, producer="a"),
        record("x", "00:02", {}, producer="a"),
        record("x", "00:01", {}, producer="b"),
        record("x", "00:01", {}, producer="B"),
        record("x", "00:01", {"n": 1}, producer="B") | {"id": "é"},
        record("x", "00:01", {"n": 2}, producer="B") | {"id": "Z"},
    ]

    ordered = [
        (each.at_us is None, each.producer, each.id[0]) for each in evidence(*records).records
    ]

    assert ordered == [
        (False, "B", "Z"),
        (False, "B", "x"),
        (False, "B", "é"),
        (False, "b", "x"),
        (False, "a", "x"),
        (True, "a", "x"),
    ]


def test_a_moment_before_the_epoch_comes_first() -> None:
    """Time zero is not the earliest, and null is not time zero."""
    times = ["2026-03-01T00:00:00.000000Z", "1969-12-31T00:00:00.000000Z", None]
    records = [record("x", None, {"n": n}) | {"at": at} for n, at in enumerate(times)]

    ordered = [each.body for each in evidence(*records).records]

    assert ordered == [{"n": 1}, {"n": 0}, {"n": 2}]


def test_a_record_keeps_what_its_envelope_says() -> None:
    """Kind, producer, id, boot and number are those of the line."""
    (kept,) = evidence(numbered(started(), 4)).records

    stated = (kept.kind, kept.producer, kept.boot, kept.seq)
    assert stated == ("allocation.started", "p", "b1", 4)
