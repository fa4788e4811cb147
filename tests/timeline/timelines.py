"""Timelines of the records of a test, and lanes as one line of text.

A lane reads ``00:00 starting 00:10 advancing 01:00``: each class between its two moments.
"""

from collections.abc import Iterable
from fractions import Fraction

from tallystick.core.finding import Finding
from tallystick.core.instant import format_instant
from tallystick.timeline.grouping import Grouping, group_records
from tallystick.timeline.run import AttemptTimeline, RunTimeline, run_timeline
from tallystick.timeline.spans import Lane
from tallystick.timeline.telemetry import index_telemetry
from tests.evidence.records import Json, admitted, clock

GAP_FACTOR = Fraction(5, 2)


def group(*records: Json) -> Grouping:
    """Group records."""
    return group_records(admitted(records).records)


def draw_all(*records: Json, gap_factor: Fraction = GAP_FACTOR) -> dict[str, RunTimeline]:
    """Draw the timeline of each run."""
    grouping = group(*records)
    telemetry = index_telemetry(grouping.devices)
    return {
        run.run: run_timeline(run, telemetry, grouping.aliases, lambda _: gap_factor)
        for run in grouping.runs
    }


def draw(*records: Json, gap_factor: Fraction = GAP_FACTOR) -> RunTimeline:
    """Draw the timeline of the only run."""
    (timeline,) = draw_all(*records, gap_factor=gap_factor).values()
    return timeline


def draw_attempt(*records: Json, gap_factor: Fraction = GAP_FACTOR) -> AttemptTimeline:
    """Draw the timeline of the only attempt."""
    (attempt,) = draw(*records, gap_factor=gap_factor).attempts
    return attempt


def lane_text(lane: Lane) -> str:
    """Write a lane, which has no holes, in one line."""
    words: list[str] = []
    for start_us, end_us, label in lane:
        start = clock(format_instant(start_us))
        assert not words or words[-1] == start
        words += [*([] if words else [start]), label, clock(format_instant(end_us))]
    return " ".join(words)


def progress_of(*records: Json) -> str:
    """Draw the progress lane of the only attempt."""
    return lane_text(draw_attempt(*records).progress)


def allocation_of(*records: Json) -> str:
    """Draw the allocation lane of the only attempt."""
    return lane_text(draw_attempt(*records).allocation)


def progress_lanes(*records: Json) -> dict[str, str]:
    """Draw the progress lane of each attempt of the only run."""
    return {each.attempt.key: lane_text(each.progress) for each in draw(*records).attempts}


def gaps_of(*records: Json, gap_factor: Fraction = GAP_FACTOR) -> list[str]:
    """Give the gaps of the first attempt's first GPU: ``00:10-00:20 blank``."""
    covered = draw(*records, gap_factor=gap_factor).attempts[0].coverage[0]
    return [
        f"{clock(format_instant(start_us))}-{clock(format_instant(end_us))} {reason}"
        for start_us, end_us, reason in covered.gaps
    ]


def codes(findings: Iterable[Finding]) -> list[tuple[str, str | None]]:
    """Give code and attempt of each finding, in order of code."""
    found = {(each.code, each.attempt) for each in findings}
    return sorted(found, key=lambda each: (each[0], each[1] or ""))


def codes_of(*records: Json) -> list[tuple[str, str | None]]:
    """Give code and attempt of each finding of the only run."""
    return codes(draw(*records).findings)
