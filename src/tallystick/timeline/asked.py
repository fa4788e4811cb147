"""What has to be asked of segments so that runs can be covered: which of them, and what of each.

A segment is asked about every window that it may tell something of, so that what it says can
stand for it later.
"""

from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from typing import NamedTuple

from tallystick.evidence.bodies import Samples
from tallystick.timeline.attempt import Attempt, build_attempt
from tallystick.timeline.catalogue import Catalogue, Look
from tallystick.timeline.grouping import RunRecords
from tallystick.timeline.seen import Seen
from tallystick.timeline.segments import SeriesWindow


class Asked(NamedTuple):
    """A segment, as one record names it, and the windows to ask it about, in order."""

    segment: Seen[Samples]
    windows: tuple[SeriesWindow, ...]


def asked_of_segments(
    runs: Iterable[RunRecords], catalogue: Catalogue, gap_factor_at: Callable[[int], Fraction]
) -> tuple[Asked, ...]:
    """Find the segments that may tell something of some runs, in order of their records.

    Args:
        runs: The runs to be covered.
        catalogue: The segments that there are.
        gap_factor_at: The gap factor in force at a moment (rule 23).
    """
    if not catalogue.of_gpu:
        return ()
    segments: dict[str, Seen[Samples]] = {}
    windows: dict[str, set[SeriesWindow]] = {}
    for run in runs:
        for records in run.attempts:
            if not records.started:
                continue
            attempt = build_attempt(records)
            for segment, window in looks_of(attempt, catalogue, gap_factor_at(attempt.start_us)):
                segments[segment.digest] = segment
                windows.setdefault(segment.digest, set()).add(window)
    return tuple(
        Asked(segments[digest], tuple(sorted(windows[digest]))) for digest in sorted(segments)
    )


def looks_of(attempt: Attempt, catalogue: Catalogue, gap_factor: Fraction) -> Iterator[Look]:
    """Give every segment that may tell something of an attempt, with the window to ask about."""
    if attempt.held is None:
        return
    for gpu in attempt.gpus:
        if gpu.uuid is not None:
            yield from catalogue.looks(gpu.uuid, attempt.held, gap_factor)
