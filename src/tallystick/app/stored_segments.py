"""Telemetry segments of a store: taken in, catalogued in the log, asked, dropped by policy.

The file comes first and the record after it when a segment is taken in; the record comes
first and the file goes after it when one is dropped. So the log never names what was not
there, and never loses what a segment said.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow.compute as pc

from tallystick.app.admit import clock_us
from tallystick.app.errors import SegmentUnusableError, UnreadableFileError
from tallystick.app.segment_scan import scan_case
from tallystick.app.segments import read_batches, row_groups
from tallystick.app.store import OpenStore
from tallystick.app.stored_contracts import contract_ids, stored_versions
from tallystick.core.instant import DAY_US, format_instant
from tallystick.evidence.admission import Evidence, admit_leaves
from tallystick.evidence.bodies import Samples, SegmentDropped
from tallystick.receipt.assemble import Case, prepare
from tallystick.stores.delivery import write_own
from tallystick.stores.protocol import Reading
from tallystick.stores.segments import SegmentFolder
from tallystick.timeline.attempt import build_attempt
from tallystick.timeline.dropped import condense, said_by_segment
from tallystick.timeline.segments import (
    Found,
    Scanned,
    SegmentStatus,
    SeriesWindow,
    segment_sha256,
)

OnBytes = Callable[[int], None]
NO_ROWS: Final = "it has no rows with a GPU and a time"


@dataclass(frozen=True, slots=True)
class StoredSegment:
    """A segment as the log names it, and whether its bytes are still kept."""

    digest: str
    metric: str
    rows: int
    from_us: int
    to_us: int
    gpus: int
    is_dropped: bool
    is_there: bool


@dataclass(frozen=True, slots=True)
class Dropping:
    """Segments that a policy drops, and those that it leaves for an attempt that is open."""

    dropped: tuple[StoredSegment, ...]
    kept: tuple[StoredSegment, ...]


class Extent(NamedTuple):
    """What a segment holds, as its record says it."""

    rows: int
    from_us: int
    to_us: int
    gpus: list[str]


def add_segments(
    store: OpenStore,
    paths: Sequence[str],
    *,
    metric: str,
    cadence_us: int,
    on_bytes: OnBytes = lambda _: None,
) -> tuple[StoredSegment, ...]:
    """Keep Parquet files of samples, and name each in the log.

    Args:
        store: Where to.
        paths: Files with the columns gpu, at_us and value.
        metric: What was sampled.
        cadence_us: How often.
        on_bytes: Told how many bytes were copied since the last call.

    Raises:
        UnreadableFileError: a file cannot be read, is no such file, or has no rows.
        StoreWriteError: it cannot be kept.
    """
    folder = SegmentFolder(store.folder.segments)
    extents = {path: _extent(Path(path)) for path in paths}
    added = []
    for path, extent in extents.items():
        digest = _taken(folder, path, on_bytes)
        name_segment(store, digest, extent, metric=metric, cadence_us=cadence_us)
        added.append(digest)
    return tuple(each for each in list_segments(store) if each.digest in added)


def name_segment(
    store: OpenStore, digest: str, extent: Extent, *, metric: str, cadence_us: int
) -> bool:
    """Name a segment that is kept in the log; False if it was named before.

    Raises:
        StoreWriteError: the log cannot take it.
    """
    place = SegmentFolder(store.folder.segments).place(digest)
    body = {
        "segment": digest,
        "path": f"segments/{place.name}",
        "rows": extent.rows,
        "from": format_instant(extent.from_us),
        "to": format_instant(extent.to_us),
        "gpus": extent.gpus,
        "cadence_us": cadence_us,
        "metric": metric,
    }
    with store.log.writing() as log:
        before = log.size
        write_own(log, "telemetry.samples", body, clock_us())
        return log.size > before


def list_segments(store: OpenStore) -> tuple[StoredSegment, ...]:
    """Give the segments that the log names, in order of their time."""
    with store.log.reading() as log:
        return tuple(_stored(store, _evidence(log)))


def scan_store(store: OpenStore, case: Case, run: str | None) -> Scanned:
    """Ask the segments of a store all that the receipts of a case need to know.

    Raises:
        UnreadableFileError: the disk does not let a segment be read.
    """
    return scan_case(case, _locate(store), run=run)


def drop_segments(
    store: OpenStore, *, older_than_days: int, policy: str, now_us: int, is_dry: bool
) -> Dropping:
    """Drop the segments that ended long enough ago, after what they say was written down.

    A segment that an open attempt may still be asked about is left.

    Args:
        store: The store.
        older_than_days: How long ago a segment must have ended.
        policy: Why, for the record.
        now_us: The time.
        is_dry: Whether to say only what would be dropped.

    Raises:
        ContractNotFoundError: no contract is published, so what segments say cannot be asked.
        SegmentUnusableError: a segment is missing or altered, so what it said cannot be kept.
        TallystickError: the store cannot be read or written.
    """
    with store.log.reading() as log:
        evidence = _evidence(log)
        cases = [prepare(evidence, stored_versions(log, each, log.size)) for each in _ids(log)]
    due = [
        each
        for each in _stored(store, evidence)
        if not each.is_dropped and each.to_us < now_us - older_than_days * DAY_US
    ]
    still = _still_asked(cases[0])
    dropped = tuple(each for each in due if each.digest not in still)
    kept = tuple(each for each in due if each.digest in still)
    if not is_dry:
        for segment in dropped:
            _drop(store, cases, segment.digest, policy)
        dropped = tuple(replace(each, is_dropped=True, is_there=False) for each in dropped)
    return Dropping(dropped, kept)


def _taken(folder: SegmentFolder, path: str, on_bytes: OnBytes) -> str:
    try:
        with Path(path).open("rb") as source:
            return folder.add(source, on_bytes)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise UnreadableFileError(path, reason) from error


def _ids(log: Reading) -> Sequence[str | None]:
    return contract_ids(log) or [None]


def _drop(store: OpenStore, cases: Iterable[Case], digest: str, policy: str) -> None:
    said: dict[SeriesWindow, Found] = {}
    for case in cases:
        scanned = scan_case(case, _locate(store), segments={segment_sha256(digest)})
        for answer in scanned.answers.values():
            if answer.status not in {SegmentStatus.READ, SegmentStatus.DROPPED}:
                raise SegmentUnusableError(digest, answer.status.value)
        said |= said_by_segment(digest, case.telemetry.catalogue, scanned)
    now_us = clock_us()
    with store.log.writing() as log:
        for body in _bodies(digest, policy, said):
            write_own(log, "telemetry.dropped", body, now_us, at_us=now_us)
    SegmentFolder(store.folder.segments).drop(digest)


def _bodies(
    digest: str, policy: str, said: Mapping[SeriesWindow, Found]
) -> Iterator[dict[str, Any]]:
    """Write down what a segment said, in records of one GPU each, so that bundles can choose."""
    of_gpu: dict[str, dict[SeriesWindow, Found]] = {}
    for window, found in said.items():
        of_gpu.setdefault(window.gpu, {})[window] = found
    for some in of_gpu.values() or [{}]:
        yield from condense(digest, policy, some)


def _still_asked(case: Case) -> set[str]:
    """Name the segments that an attempt without an end may be asked about later."""
    open_gpus = {
        gpu.uuid
        for run in case.runs()
        for records in run.attempts
        if records.started and (attempt := build_attempt(records)).end_us is None
        for gpu in attempt.gpus
    }
    return {
        segment.body.segment
        for segments in case.telemetry.catalogue.named.values()
        for segment in segments
        if not open_gpus.isdisjoint(segment.body.gpus)
    }


def _locate(store: OpenStore) -> Callable[[str], Path | None]:
    folder = SegmentFolder(store.folder.segments)

    def locate(sha256: str) -> Path | None:
        return folder.place(sha256) if folder.has(sha256) else None

    return locate


def _evidence(log: Reading) -> Evidence:
    return admit_leaves(log.leaves(0, log.size))


def _stored(store: OpenStore, evidence: Evidence) -> Iterator[StoredSegment]:
    folder = SegmentFolder(store.folder.segments)
    bodies = [record.body for record in evidence.records]
    dropped = {body.segment for body in bodies if isinstance(body, SegmentDropped)}
    named = {body.segment: body for body in bodies if isinstance(body, Samples)}
    for body in sorted(named.values(), key=lambda each: (each.from_us, each.segment)):
        yield StoredSegment(
            digest=body.segment,
            metric=body.metric,
            rows=body.rows,
            from_us=body.from_us,
            to_us=body.to_us,
            gpus=len(body.gpus),
            is_dropped=body.segment in dropped,
            is_there=folder.has(body.segment),
        )


def _extent(path: Path) -> Extent:
    """Read how much a segment holds, of which GPUs and times."""
    rows, first_us, last_us = 0, [], []
    gpus: set[str] = set()
    for group in row_groups([path]):
        for batch in read_batches(group):
            rows += batch.num_rows
            gpus.update(gpu for gpu in pc.unique(batch.column("gpu")).to_pylist() if gpu)
            times_us = batch.column("at_us").drop_null().to_numpy()
            if len(times_us):
                first_us.append(int(np.min(times_us)))
                last_us.append(int(np.max(times_us)))
    if not first_us or not gpus:
        raise UnreadableFileError(str(path), NO_ROWS)
    return Extent(rows, min(first_us), max(last_us), sorted(gpus))
