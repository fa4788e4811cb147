"""Segments: Parquet files of samples become the episodes of their windows."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tallystick.app.errors import UnreadableFileError
from tallystick.app.segments import scan_segments
from tallystick.timeline.windows import Windows

GPUS = ("GPU-a", "GPU-b")
METRIC = "gpu_util"

Row = tuple[str | None, int | None, int | None]
ROWS: tuple[Row, ...] = (
    ("GPU-a", 10, 5),
    ("GPU-b", 12, 100),
    ("GPU-x", 13, 5),
    ("GPU-a", 20, 0),
    (None, 21, 5),
    ("GPU-b", None, 5),
    ("GPU-b", 22, None),
    ("GPU-b", 35, 101),
    ("GPU-a", 50, 7),
    ("GPU-a", 15, 7),
)
EPISODES = [[0, 0, 1], [10, 50, 12], [20, 50, 12], [1, 1], [22, 35], [1]]


def write(
    path: Path, rows: Sequence[Row] = ROWS, *, value: pa.DataType | None = None, per_group: int = 3
) -> Path:
    """Write rows as a segment."""
    gpu, at_us, values = zip(*rows, strict=True)
    table = pa.table(
        {
            "gpu": pa.array(gpu, pa.string()),
            "at_us": pa.array(at_us, pa.int64()),
            "value": pa.array(values, value or pa.int32()),
        }
    )
    pq.write_table(table, path, row_group_size=per_group)
    return path


def scan(*paths: Path, threads: int = 2, pending_rows_max: int = 100) -> list[list[int]]:
    """Scan segments through one window per GPU."""
    windows = Windows(*np.array([[0, 0, 100, 10], [1, 0, 100, 10]], np.int64).T.copy())
    found = scan_segments(
        paths,
        windows,
        GPUS,
        metric=METRIC,
        threads=threads,
        pending_rows_max=pending_rows_max,
    )
    return [column.tolist() for column in found]


@pytest.mark.parametrize("value", [pa.int32(), pa.int64(), pa.float64()], ids=str)
def test_row_groups_give_episodes_and_blanks(tmp_path: Path, value: pa.DataType) -> None:
    """Rows of other GPUs or without a time are passed over; null and 101 % are blanks.

    Of the two only 101 % is impossible.
    """
    segment = write(tmp_path / "segment.parquet", value=value)

    found = scan(segment)

    assert found == EPISODES


@pytest.mark.parametrize("threads", [1, 3])
def test_files_row_groups_and_threads_do_not_matter(tmp_path: Path, threads: int) -> None:
    """The same rows in other files and groups, some of them twice, give the same."""
    first = write(tmp_path / "1.parquet", ROWS[4:], per_group=2)
    second = write(tmp_path / "2.parquet", ROWS[:6], per_group=100)

    found = scan(first, second, first, threads=threads)

    assert found == EPISODES


def test_joining_early_changes_nothing(tmp_path: Path) -> None:
    """A thread may join its partial results after every row group."""
    segment = write(tmp_path / "segment.parquet", per_group=1)

    found = scan(segment, pending_rows_max=0)

    assert found == EPISODES


def test_a_dictionary_of_uuids_is_read_as_it_stands(tmp_path: Path) -> None:
    """A column that was written as a dictionary needs no other treatment."""
    path = tmp_path / "segment.parquet"
    table = pq.read_table(write(path))
    pq.write_table(table.set_column(0, "gpu", table.column("gpu").dictionary_encode()), path)

    found = scan(path)

    assert found == EPISODES


def test_few_gpus_are_found_among_many(tmp_path: Path) -> None:
    """Rows of a large fleet around those that are asked for change nothing."""
    fleet: list[Row] = [(f"GPU-{number}", 30 + number, 5) for number in range(9)]
    path = write(tmp_path / "segment.parquet", [*fleet, *ROWS, *fleet], per_group=100)

    found = scan(path)

    assert found == EPISODES


def test_no_segments_give_no_episodes() -> None:
    """Nothing to read is nothing found."""
    found = scan()

    assert found == [[]] * 6


def test_only_what_was_stated_can_be_impossible(tmp_path: Path) -> None:
    """A null is blank where a number below zero is impossible."""
    rows = [("GPU-a", 10, None), ("GPU-b", 10, -1), ("GPU-b", 11, None)]

    found = scan(write(tmp_path / "segment.parquet", rows))

    assert found[3:] == [[0, 1, 1], [10, 10, 11], [1]]


def test_every_batch_is_shown(tmp_path: Path) -> None:
    """Whoever looks on sees all rows, also those that no window asks for."""
    seen: list[int] = []
    windows = Windows(*np.array([[0, 0, 100, 10]], np.int64).T.copy())

    scan_segments(
        [write(tmp_path / "segment.parquet")],
        windows,
        GPUS,
        metric=METRIC,
        inspect=lambda batch: seen.append(len(batch)),
    )

    assert sum(seen) == len(ROWS)


@pytest.mark.parametrize(
    ("column", "reason"),
    [
        ({"at_us": pa.array([1.5])}, "expected int64 in column at_us, found double"),
        ({"gpu": pa.array([1])}, "expected string in column gpu, found int64"),
        ({"value": pa.array(["1"])}, "expected int32 or int64 or double in column value"),
        ({"value": None}, "expected a column value, found none"),
    ],
    ids=["time", "gpu", "value", "absent"],
)
def test_a_segment_of_other_columns_is_refused(
    tmp_path: Path, column: dict[str, pa.Array | None], reason: str
) -> None:
    """The message names the column, what was expected and what was found."""
    columns = {"gpu": pa.array(["GPU-a"]), "at_us": pa.array([1]), "value": pa.array([1])} | column
    path = tmp_path / "segment.parquet"
    pq.write_table(pa.table({k: v for k, v in columns.items() if v is not None}), path)

    with pytest.raises(UnreadableFileError, match=reason):
        scan(path)


def test_a_column_that_stands_twice_is_refused(tmp_path: Path) -> None:
    """Nothing says which of them counts."""
    path = tmp_path / "segment.parquet"
    table = pa.table({"gpu": ["GPU-a"], "at_us": [1], "value": [1]})
    pq.write_table(table.append_column("gpu", [["GPU-b"]]), path)

    with pytest.raises(UnreadableFileError, match="expected a column gpu, found 2"):
        scan(path)


def test_a_file_that_is_no_segment_is_refused(tmp_path: Path) -> None:
    """Absent, a folder, another format and damaged pages are one kind of failure."""
    segment = write(tmp_path / "damaged", ROWS * 1_000, per_group=10_000)
    whole = segment.read_bytes()
    segment.write_bytes(whole[:40] + bytes(200) + whole[240:])
    (tmp_path / "text").write_text("gpu,at_us,value\n")
    (tmp_path / "cut").write_bytes(whole[:-9])

    for name in ("absent", "", "text", "cut", "damaged"):
        with pytest.raises(UnreadableFileError) as refused:
            scan(tmp_path / name)
        assert "\n" not in str(refused.value)
