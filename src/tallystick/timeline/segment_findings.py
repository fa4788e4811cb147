"""What a run is told of segments that could have told about it and did not, or no longer can.

Messages stand in receipts: they name segments by their SHA-256 and nothing of this machine.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from tallystick.core.finding import Finding
from tallystick.core.interval import Interval
from tallystick.core.wording import quoted
from tallystick.evidence.bodies import Samples
from tallystick.timeline.asked import looks_of
from tallystick.timeline.attempt import Attempt
from tallystick.timeline.catalogue import Catalogue, Look
from tallystick.timeline.segments import Answer, SegmentStatus, is_sha256, segment_sha256
from tallystick.timeline.telemetry import Telemetry

_NAMED_MAX = 3


@dataclass(slots=True)
class _Lacking:
    """What a run lacks: segments by their SHA-256, and GPUs of attempts."""

    is_unread: bool = False
    missing: set[str] = field(default_factory=set)
    altered: set[str] = field(default_factory=set)
    dropped: set[str] = field(default_factory=set)
    unrecorded: set[tuple[str, str]] = field(default_factory=set)

    def add(self, attempt: str, look: Look, answer: Answer | None) -> None:
        """Add what one look did not show."""
        is_told = answer is not None and look.window in answer.found
        if answer is None or (answer.status is SegmentStatus.READ and not is_told):
            self.is_unread = True
            return
        name = segment_sha256(look.segment.body.segment)
        match answer.status:
            case SegmentStatus.MISSING:
                self.missing.add(name)
            case SegmentStatus.ALTERED:
                self.altered.add(name)
            case SegmentStatus.DROPPED:
                self.dropped.add(name)
                if not is_told:
                    self.unrecorded.add((attempt, look.window.gpu))


def segment_findings(
    attempts: Sequence[Attempt], telemetry: Telemetry, gap_factor_at: Callable[[int], Fraction]
) -> list[Finding]:
    """Say what the run's coverage lacks of segments: each code once, with their number."""
    lacking = _Lacking()
    if not telemetry.catalogue.of_gpu:
        return []
    if telemetry.scanned is None:
        lacking.is_unread = _is_segment_missed(attempts, telemetry.catalogue)
        return _findings(lacking)
    answers = telemetry.scanned.answers
    for attempt in attempts:
        gap_factor = gap_factor_at(attempt.start_us)
        for look in looks_of(attempt, telemetry.catalogue, gap_factor):
            lacking.add(attempt.key, look, answers.get(look.segment.digest))
    return _findings(lacking)


def _findings(lacking: _Lacking) -> list[Finding]:
    findings = []
    if lacking.is_unread:
        message = "samples are kept in a segment, and no store was given to read it from"
        findings.append(Finding("segment_not_read", message))
    if lacking.missing:
        count = _counted(lacking.missing, "segment is", "segments are")
        message = f"samples could not be read: {count} missing, {_named(lacking.missing)}"
        findings.append(Finding("segment_missing", message))
    if lacking.altered:
        count = _counted(lacking.altered, "segment is", "segments are")
        message = f"samples were not used: {count} not as recorded, {_named(lacking.altered)}"
        findings.append(Finding("segment_altered", message))
    if lacking.dropped:
        findings.append(Finding("segment_dropped", _dropped_message(lacking)))
    return findings


def _dropped_message(lacking: _Lacking) -> str:
    count = _counted(lacking.dropped, "segment was", "segments were")
    message = (
        f"raw samples are gone: {count} dropped, {_named(lacking.dropped)};"
        " coverage is what was recorded of them then"
    )
    if lacking.unrecorded:
        gpus = _counted(lacking.unrecorded, "GPU", "GPUs")
        message += f", and nothing was recorded for {gpus} of attempts as they are now"
    return message


def _counted(things: set[str] | set[tuple[str, str]], one: str, many: str) -> str:
    return f"{len(things)} {one if len(things) == 1 else many}"


def _named(names: Iterable[str]) -> str:
    """Name the first few segments."""
    ordered = sorted(names)
    shown = [f"sha256:{name}" if is_sha256(name) else quoted(name) for name in ordered]
    more = len(ordered) - _NAMED_MAX
    return " ".join(shown[:_NAMED_MAX]) + (f" and {more} more" if more > 0 else "")


def _is_segment_missed(attempts: Sequence[Attempt], catalogue: Catalogue) -> bool:
    """Tell whether a segment about the run's GPUs and time was left unread (rule 20)."""
    uuids = {gpu.uuid for attempt in attempts for gpu in attempt.gpus if gpu.uuid is not None}
    spans = [attempt.held for attempt in attempts if attempt.held is not None]
    return any(
        _meets(span, segment.body)
        for uuid in uuids
        for series in catalogue.of_gpu.get(uuid, {}).values()
        for span in spans
        for segment in series.meeting(*span)
    )


def _meets(span: Interval, segment: Samples) -> bool:
    """Tell whether a segment has time in common with a span; a single moment inside counts."""
    if segment.from_us == segment.to_us:
        return span.start_us <= segment.from_us < span.end_us
    return max(span.start_us, segment.from_us) < min(span.end_us, segment.to_us)
