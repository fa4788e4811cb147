"""Findings about inputs: what is stated is given, and nothing else."""

from tallystick.core.finding import InputFinding


def test_a_finding_gives_its_stated_fields_only() -> None:
    """A field that does not apply is absent, not null."""
    finding = InputFinding("bad_json", "expected JSON", line=3, file=1)

    assert finding.to_json() == {
        "code": "bad_json",
        "message": "expected JSON",
        "file": 1,
        "line": 3,
    }


def test_a_finding_can_name_all_that_it_concerns() -> None:
    """Source, digest, attempt and run stand beside the code."""
    finding = InputFinding("c", "m", source="f", digest="sha256:0", attempt="a", run="r")

    assert list(finding.to_json()) == ["code", "message", "source", "digest", "attempt", "run"]
