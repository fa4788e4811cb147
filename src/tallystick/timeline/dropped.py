"""Segments that are no longer kept: what they said is written down, and read back exactly.

``condense`` writes the bodies of ``telemetry.dropped`` from what a segment was found to say,
``restored`` reads them. Nothing is summed up or rounded: a window that was recorded gives the
same coverage as before, and one that was not (another end, another reach) gives nothing.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tallystick.core.instant import format_instant
from tallystick.evidence.bodies import KeptWindow, SegmentDropped
from tallystick.timeline.catalogue import Catalogue
from tallystick.timeline.seen import Seen
from tallystick.timeline.segments import (
    Answer,
    Found,
    Scanned,
    SegmentStatus,
    SeriesWindow,
    segment_sha256,
)

# As a line of evidence a million moments take 30 MiB, half of the longest line there may be.
MOMENTS_MAX = 1_000_000
_MOMENTS_OF_A_WINDOW = 12  # About as many bytes as a window takes beside its moments.


def said_by_segment(
    segment: str, catalogue: Catalogue, scanned: Scanned
) -> dict[SeriesWindow, Found]:
    """Gather what a segment was found to say of every window that it was asked about.

    Args:
        segment: Its SHA-256, as records write it.
        catalogue: The records that name it.
        scanned: What was found.
    """
    said: dict[SeriesWindow, Found] = {}
    for record in catalogue.named.get(segment_sha256(segment), ()):
        if (answer := scanned.answers.get(record.digest)) is not None:
            said |= answer.found
    return said


def condense(
    segment: str,
    policy: str,
    said: Mapping[SeriesWindow, Found],
    *,
    moments_max: int = MOMENTS_MAX,
) -> tuple[dict[str, Any], ...]:
    """Write down what a segment said before it is dropped, as bodies of ``telemetry.dropped``.

    All bodies together stand for the segment: the log has to hold every one of them before
    the segment goes.

    Args:
        segment: Its SHA-256, as records write it.
        policy: Why it is dropped.
        said: What it said of every window that it was asked about.
        moments_max: How many times one body may hold; a window is never divided.
    """
    parts: list[list[dict[str, Any]]] = [[]]
    held = 0
    for window, found in sorted(said.items()):
        moments = 2 * len(found.episodes) + len(found.blank_us) + _MOMENTS_OF_A_WINDOW
        if parts[-1] and held + moments > moments_max:
            parts.append([])
            held = 0
        parts[-1].append(_window_json(window, found))
        held += moments
    return tuple({"segment": segment, "policy": policy, "windows": part} for part in parts)


def _window_json(window: SeriesWindow, found: Found) -> dict[str, Any]:
    return {
        "gpu": window.gpu,
        "metric": window.metric,
        "cadence_us": window.cadence_us,
        "start": format_instant(window.start_us),
        "end": format_instant(window.end_us),
        "reach_us": str(window.reach_us),
        "episodes": [[format_instant(at) for at in episode] for episode in found.episodes],
        "blank": [format_instant(at) for at in found.blank_us],
        "impossible": found.has_impossible,
    }


def restored(records: Sequence[Seen[SegmentDropped]], windows: Iterable[SeriesWindow]) -> Answer:
    """Answer for a segment that was dropped, from what was written down.

    Where two records hold the same window, the first in canonical order counts (rule 7).
    """
    kept: dict[SeriesWindow, tuple[Found, str]] = {}
    for record in records:
        for window, found in map(_read_window, record.body.windows):
            kept.setdefault(window, (found, record.digest))
    asked = {window: kept[window] for window in windows if window in kept}
    return Answer(
        status=SegmentStatus.DROPPED,
        found={window: found for window, (found, _) in asked.items()},
        kept_by=tuple(sorted({digest for _, digest in asked.values()})),
    )


def _read_window(kept: KeptWindow) -> tuple[SeriesWindow, Found]:
    window = SeriesWindow(
        kept.gpu, kept.metric, kept.cadence_us, kept.start_us, kept.end_us, kept.reach_us
    )
    return window, Found(kept.episodes, kept.blank_us, kept.has_impossible)
