"""Asking segments: every one that a case needs is found, checked, and read once per series.

A segment counts if its bytes have the SHA-256 that its record states and hold what the record
says. Otherwise nothing of it counts, and the receipts of the runs that it could have told of
say so. Only a disk that fails is an error. Segments that the log says were dropped are not
looked for: what was written down of them counts, whether or not their file is still there.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import pyarrow as pa

from tallystick.app.errors import UnreadableFileError
from tallystick.app.segment_check import Held, OnBytes, agrees, file_sha256, held_in
from tallystick.app.segments import scan_segments
from tallystick.evidence.bodies import Samples
from tallystick.receipt.assemble import Case, asked_of
from tallystick.timeline.asked import Asked
from tallystick.timeline.dropped import restored
from tallystick.timeline.segment_arrays import found_in, window_columns
from tallystick.timeline.segments import Answer, Scanned, SegmentStatus, is_sha256, segment_sha256

Absent = Literal[SegmentStatus.MISSING, SegmentStatus.ALTERED, SegmentStatus.DROPPED]
Locate = Callable[[str], Path | Absent | None]
"""Gives the file of a segment by its SHA-256 in hexadecimal, or says why there is none."""


@dataclass(slots=True)
class _Scan:
    """One scan of a case: how segments are found, and what is known of their files so far."""

    locate: Locate
    on_bytes: OnBytes | None
    files: dict[str, Path | Absent] = field(default_factory=dict)

    def file(self, sha256: str, *, is_checked: bool) -> Path | Absent:
        """Give the file of a segment if its bytes are the right ones; each is hashed once."""
        if sha256 not in self.files:
            self.files[sha256] = self._checked(sha256, is_checked=is_checked)
        return self.files[sha256]

    def _checked(self, sha256: str, *, is_checked: bool) -> Path | Absent:
        # A record may name anything, and no path is made of what is not a SHA-256.
        place = self.locate(sha256) if is_sha256(sha256) else None
        if place is None:
            return SegmentStatus.MISSING
        if is_checked or not isinstance(place, Path):
            return place
        actual = file_sha256(place, self.on_bytes)
        if actual is None:
            return SegmentStatus.MISSING
        return place if actual == sha256 else SegmentStatus.ALTERED


def scan_case(
    case: Case,
    locate: Locate,
    *,
    run: str | None = None,
    segments: Collection[str] | None = None,
    checked: Collection[str] = (),
    threads: int = 2,
    on_bytes: OnBytes | None = None,
) -> Scanned:
    """Ask segments all that the receipts of a case need to know.

    Args:
        case: The grouped evidence.
        locate: Gives the file of a segment by its SHA-256 in hexadecimal, or says why there is
            none; ``get`` of a mapping will do.
        run: Ask only for the receipt of this run.
        segments: Ask only these, by their SHA-256 in hexadecimal; the others stay unread.
        checked: Segments whose bytes the caller has just hashed; they are not hashed again.
        threads: How many row groups are read at a time.
        on_bytes: Is told, as files are hashed, how many more bytes were.

    Raises:
        UnreadableFileError: a file is there, and the disk or its permissions do not let it be
            read.
    """
    scan = _Scan(locate, on_bytes)
    answers: dict[str, Answer] = {}
    said: dict[tuple[object, ...], Answer] = {}
    for asked in asked_of(case, run):
        sha256 = segment_sha256(asked.segment.body.segment)
        if segments is not None and sha256 not in segments:
            continue
        claim = _claim(asked.segment.body)
        if claim not in said:
            dropped = case.telemetry.catalogue.dropped.get(sha256)
            said[claim] = (
                restored(dropped, asked.windows)
                if dropped
                else _ask(asked, scan.file(sha256, is_checked=sha256 in checked), threads)
            )
        answers[asked.segment.digest] = said[claim]
    return Scanned(answers)


def _claim(said: Samples) -> tuple[object, ...]:
    """Give what a record says of a segment, wherever it says that the segment lies."""
    bounds = (said.from_us, said.to_us)
    return said.segment, said.rows, bounds, said.gpus, said.cadence_us, said.metric


def _ask(asked: Asked, place: Path | Absent, threads: int) -> Answer:
    """Read a segment whose bytes are the right ones, and see whether it is as recorded."""
    if not isinstance(place, Path):
        return Answer(place, {})
    said = asked.segment.body
    listed = pa.array(said.gpus, pa.string())
    held: list[Held] = []
    windows, uuids = window_columns(asked.windows)
    try:
        partial = scan_segments(
            [place],
            windows,
            uuids,
            metric=said.metric,
            threads=threads,
            inspect=lambda batch: held.append(held_in(batch, listed)),
        )
    except UnreadableFileError as error:
        return Answer(_status_of(error), {})
    if not agrees(held, said):
        return Answer(SegmentStatus.ALTERED, {})
    return Answer(SegmentStatus.READ, found_in(partial, asked.windows))


def _status_of(error: UnreadableFileError) -> Absent:
    """Tell a file that is no segment from a disk that fails.

    Raises:
        UnreadableFileError: the disk fails, or does not let the file be read.
    """
    cause = error.__cause__
    if isinstance(cause, FileNotFoundError):
        return SegmentStatus.MISSING
    if isinstance(cause, OSError) and cause.errno is not None:
        raise error
    return SegmentStatus.ALTERED
