"""Telemetry segments of a store: taken in, asked, missing, altered, dropped by policy."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tallystick.app.bundles import replay_bundle_file
from tallystick.app.errors import SegmentUnusableError, UnreadableFileError
from tallystick.app.keys import keys_in
from tallystick.app.store import OpenStore
from tallystick.app.stored_bundles import bundle_run
from tallystick.app.stored_receipts import issue_receipt, rate_store
from tallystick.app.stored_segments import (
    Dropping,
    StoredSegment,
    add_segments,
    drop_segments,
    list_segments,
)
from tallystick.core.instant import DAY_US
from tests.app.stores import RUN, STORY, tell, told_store
from tests.evidence.records import ended, moment_us, points, started

MINUTE_US = 60_000_000
METRIC = "sm_util"
TIMES = (*range(10), *range(20, 60))
NOW_US = moment_us("00:00") + 30 * DAY_US


def segment_file(folder: Path, times: tuple[int, ...] = TIMES, gpu: str = "g1") -> str:
    """Write samples of a GPU at some minutes to a Parquet file."""
    at_us = [moment_us("00:00") + minute * MINUTE_US for minute in times]
    columns = {
        "gpu": pa.array([gpu] * len(times)),
        "at_us": pa.array(at_us, pa.int64()),
        "value": pa.array([50] * len(times), pa.int32()),
    }
    path = folder / f"{gpu}-{len(times)}.parquet"
    pq.write_table(pa.table(columns), path)
    return str(path)


def add(store: OpenStore, path: str) -> StoredSegment:
    """Take a segment in."""
    (added,) = add_segments(store, [path], metric=METRIC, cadence_us=MINUTE_US)
    return added


def drop(store: OpenStore, *, is_dry: bool = False, days: int = 1) -> Dropping:
    """Drop what is older than some days."""
    return drop_segments(store, older_than_days=days, policy="a day", now_us=NOW_US, is_dry=is_dry)


def seen(store: OpenStore) -> tuple[Any, list[str]]:
    """Give the coverage of the run, and the codes of its findings."""
    (receipt,) = rate_store(store).receipts
    return receipt["coverage"], [each["code"] for each in receipt["findings"]]


def test_a_segment_counts_as_its_samples_would_inline(tmp_path: Path) -> None:
    """The gap of ten minutes is found, and nothing else."""
    with told_store(tmp_path) as store:
        segment = add(store, segment_file(tmp_path))
        from_segment = seen(store)
        again = add(store, segment_file(tmp_path))
    inline = points(" ".join(f"00:{minute:02}" for minute in TIMES))
    (tmp_path / "inline").mkdir()
    with told_store(tmp_path / "inline", story=(*STORY, inline)) as store:
        from_points = seen(store)

    assert from_segment == from_points
    assert (segment.rows, segment.gpus, segment.is_there) == (50, 1, True)
    assert again == segment


@pytest.mark.parametrize("harm", ["missing", "altered"])
def test_a_segment_that_is_not_what_it_was_counts_for_nothing(tmp_path: Path, harm: str) -> None:
    """Its time is unknown and the receipt says why; it is not dropped either."""
    with told_store(tmp_path) as store:
        segment = add(store, segment_file(tmp_path))
        place = store.folder.segments / f"{segment.digest.removeprefix('sha256:')}.parquet"
        if harm == "missing":
            place.unlink()
        else:
            data = bytearray(place.read_bytes())
            data[len(data) // 2] ^= 1
            place.write_bytes(data)

        (coverage,), codes = seen(store)
        with pytest.raises(SegmentUnusableError) as refused:
            drop(store)

        assert [each.is_dropped for each in list_segments(store)] == [False]
    assert codes == [f"segment_{harm}"]
    assert coverage["observed_seconds"] == "0.000000"
    assert refused.value.code == "segment_unusable"


def test_a_dropped_segment_keeps_its_coverage(tmp_path: Path) -> None:
    """The receipt says that raw samples are gone, and earlier receipts replay still."""
    with told_store(tmp_path) as store:
        add(store, segment_file(tmp_path))
        before, _ = seen(store)
        issue_receipt(store, RUN)
        dry = drop(store, is_dry=True)
        still = [each.is_there for each in list_segments(store)]
        done = drop(store)
        after, codes = seen(store)
        second = issue_receipt(store, RUN)
        bundles = [bundle_run(store, RUN, revision=each).data for each in (1, 2)]
        keys = keys_in(store.folder.keys)
        again = drop(store)
    replays = []
    for number, data in enumerate(bundles):
        (tmp_path / f"{number}.bundle").write_bytes(data)
        replays.append(replay_bundle_file(str(tmp_path / f"{number}.bundle"), keys))

    assert after == before
    assert codes == ["segment_dropped"]
    assert (len(dry.dropped), still) == (1, [True])
    assert [(each.is_dropped, each.is_there) for each in done.dropped] == [(True, False)]
    assert second.statement.receipt.revision == 2
    assert [(each.replay.identical, each.recorded) for each in replays] == [(True, 1), (True, 0)]
    assert again.dropped == ()


def test_what_may_still_be_asked_is_left(tmp_path: Path) -> None:
    """A segment that an attempt without an end needs, and one that is too young."""
    with told_store(tmp_path, story=(started(),)) as store:
        add(store, segment_file(tmp_path))

        left = drop(store)
        young = drop(store, days=40)

    assert (len(left.dropped), len(left.kept)) == (0, 1)
    assert (young.dropped, young.kept) == ((), ())


def test_a_bundle_carries_what_a_dropped_segment_said_of_its_own_gpus(tmp_path: Path) -> None:
    """Windows of other GPUs are in records of their own, which stay in the store."""
    with told_store(tmp_path) as store:
        tell(store, started(attempt="b", run="other", gpus="g2"), ended("01:00", attempt="b"))
        both = [segment_file(tmp_path), segment_file(tmp_path, gpu="g2")]
        table = pa.concat_tables([pq.read_table(path) for path in both])
        pq.write_table(table, tmp_path / "both.parquet")
        add(store, str(tmp_path / "both.parquet"))
        drop(store)
        issue_receipt(store, RUN)
        data = bundle_run(store, RUN).data

    assert data.count(b'"kind":"telemetry.dropped"') == 1


def test_a_file_without_samples_is_no_segment(tmp_path: Path) -> None:
    """An empty table and a text file are refused, and nothing is kept."""
    (tmp_path / "text").write_text("not Parquet", "utf-8")

    with told_store(tmp_path) as store:
        for path in (segment_file(tmp_path, ()), str(tmp_path / "text"), str(tmp_path / "none")):
            with pytest.raises(UnreadableFileError):
                add(store, path)

        assert list(store.folder.segments.iterdir()) == []
