"""What all collectors share: places, lines, and records that are kept once."""

from typing import Any

from tallystick.collectors.collected import Collected, Place, Source
from tallystick.core.finding import InputFinding
from tallystick.evidence.draft import draft_record


def record(step: int, **changes: Any) -> dict[str, Any]:
    """Make a record that differs in its step, and in the named parts of its envelope."""
    body = {"attempt": "a1", "step": step, "every": 1}
    drafted = draft_record("progress.step", body, producer="p", at_us=0, observed_us=0)
    return {**drafted, **changes}


def test_a_source_gives_its_lines_with_their_places() -> None:
    """Lines end at LF only, blank ones are left out, and numbers count them all."""
    source = Source("x", b"one\r\n \t\r\n\ntwo\x0b\xe2\x80\xa8more", file=3)

    lines = list(source.lines())

    assert lines == [
        (Place("x", 3, 1), b"one\r"),
        (Place("x", 3, 4), b"two\x0b\xe2\x80\xa8more"),
    ]


def test_a_finding_names_its_place() -> None:
    """Input, number of the input and line are those of the place."""
    finding = Place("x", 3).on_line(7).finding("bad_line", "expected a number")

    assert finding == InputFinding("bad_line", "expected a number", line=7, file=3, source="x")


def test_a_record_that_comes_again_is_kept_once() -> None:
    """When and in which delivery it came makes no other record."""
    collected = Collected()

    for seq in (1, 2):
        collected.add(record(1, producer={"name": "p", "boot": "b", "seq": seq}))
    collected.add(record(1, observed="2026-01-01T00:00:00.000000Z"))

    assert ([each["body"]["step"] for each in collected.records], collected.findings) == ([1], [])


def test_of_two_contents_with_one_identity_the_first_stays() -> None:
    """The other is a finding where it was read, with its digest."""
    collected = Collected()
    collected.add(record(1, id="same"))

    collected.add(record(2, id="same"), Place("x", 1, 9))

    (finding,) = collected.findings
    assert [each["body"]["step"] for each in collected.records] == [1]
    assert (finding.code, finding.line, finding.source) == ("record_conflict", 9, "x")
    assert finding.digest is not None


def test_a_record_is_that_of_its_producer() -> None:
    """Two producers may use one id."""
    collected = Collected()

    collected.add(record(1, id="same"))
    collected.add(record(2, id="same", producer={"name": "q"}))

    assert [each["body"]["step"] for each in collected.records] == [1, 2]
