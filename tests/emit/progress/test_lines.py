"""Tests for the lines of a journal."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallystick.emit.progress.lines import Header, event_line, read_header, read_line
from tallystick.emit.record import canonical_bytes
from tallystick.evidence.bodies import ProgressStep
from tallystick.evidence.codec import read_line as admit

NUMBERS = st.integers(0, 2**53 - 1)
MOMENTS = st.integers(0, 253_402_300_799_999_999 // 1000)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
HEADER = Header("slurm:c1:7@n1:5", "job/1000@n1", "boot/7-1", "0-7-1")
NODE = {"checkpoint": "c", "step": 1}


@given(TEXTS, TEXTS, TEXTS, TEXTS, NUMBERS, NUMBERS)
def test_a_header_reads_back(a: str, b: str, c: str, d: str, rank: int, first: int) -> None:
    """Whatever its names are."""
    header = Header(a, b, c, d, rank, first)

    assert read_header(header.line()) == header


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"[]",
        b"7",
        b'{"journal":"tallystick.progress/2"}',
        b'{"journal":"tallystick.progress/1"}',
        HEADER.line().replace(b'"rank":0', b'"rank":-1'),
        HEADER.line().replace(b'"rank":0', b'"rank":"0"'),
        HEADER.line().replace(b'"rank":0', b'"rank":true'),
        HEADER.line().replace(b'"rank":0', b'"more":0'),
        HEADER.line().replace(b'"0-7-1"', b'"\\ud800"'),
        HEADER.line().replace(b'"0-7-1"', b"7"),
        b"[" * 100_000,
        b"\xff\xfe",
    ],
)
def test_what_is_no_header_is_none(line: bytes) -> None:
    """A journal without a writer says nothing."""
    assert read_header(line) is None


@given(NUMBERS, MOMENTS, NUMBERS, NUMBERS, st.integers(1, 2**53 - 1))
def test_a_step_becomes_a_record_that_the_log_admits(
    number: int, wall_us: int, monotonic_us: int, step: int, every: int
) -> None:
    """With its number, both clocks and its stride."""
    line = b"s %d %d %d %d" % (wall_us, monotonic_us, step, every)

    record = read_line(HEADER, number, line)

    assert record is not None
    admitted = admit(canonical_bytes(record))
    assert (admitted.kind, admitted.at_us) == ("progress.step", wall_us)
    assert isinstance(admitted.body, ProgressStep)
    assert (admitted.body.step, admitted.body.every) == (step, every)
    assert (admitted.boot, admitted.seq) == ("boot/7-1", number)
    assert record["body"]["monotonic_us"] == monotonic_us


def test_an_event_becomes_a_record() -> None:
    """The header adds who speaks, and of which attempt."""
    line = event_line(5, 6, "checkpoint.begun", {**NODE, "blocking": False})

    record = read_line(HEADER, 3, line[:-1])

    assert record is not None
    assert record["at"] == "1970-01-01T00:00:00.000005Z"
    assert record["body"] == {
        "attempt": "slurm:c1:7@n1:5",
        "blocking": False,
        "checkpoint": "c",
        "monotonic_us": 6,
        "step": 1,
        "writer": "0-7-1",
    }


def test_a_link_has_no_moment() -> None:
    """It holds from the beginning."""
    record = read_line(HEADER, 0, event_line(5, 5, "attempt.linked", {"run": "r"})[:-1])

    assert record is not None
    assert (record["at"], record["observed"]) == (None, "1970-01-01T00:00:00.000005Z")


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"s",
        b"s 1 2 3",
        b"s 1 2 3 4 5",
        b"s -1 2 3 4",
        b"s 1 2 3 4.0",
        b"s 9999999999999999 2 3 4",
        b"s 1 9999999999999999999 3 4",
        b"e 1 2 checkpoint.begun",
        b"e 1 2 checkpoint.begun []",
        b"e 1 2 checkpoint.begun {",
        b'e 1 2 checkpoint.begun {"checkpoint":"\\ud800"}',
        b"e 1 2 CHECKPOINT {}",
        b'e 1 2 a {"b":' + b"[" * 50_000 + b"}",
    ],
)
def test_what_is_no_line_is_none(line: bytes) -> None:
    """It costs its number, and nothing else."""
    assert read_line(HEADER, 0, line) is None


@given(st.binary(max_size=80))
def test_any_bytes_are_a_line_or_none(data: bytes) -> None:
    """Nothing that a user writes stops the reader."""
    record: Any = read_line(HEADER, 0, data)

    assert record is None or record["body"]["attempt"] == HEADER.attempt
