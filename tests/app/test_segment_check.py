"""Whether a segment is what its record says: the bytes of a file, and rows batch by batch."""

import hashlib
from pathlib import Path

import pyarrow as pa
import pytest

from tallystick.app.errors import UnreadableFileError
from tallystick.app.segment_check import Held, agrees, file_sha256, held_in
from tallystick.evidence.bodies import Samples

SAID = Samples(
    segment="sha256:00",
    path="s.parquet",
    rows=5,
    from_us=10,
    to_us=20,
    gpus=("g1", "g2"),
    cadence_us=1,
    metric="m",
)


def batch(gpus: list[str | None], times: list[int | None]) -> pa.RecordBatch:
    """Give rows as they are read."""
    columns = [pa.array(gpus, pa.string()).dictionary_encode(), pa.array(times, pa.int64())]
    return pa.RecordBatch.from_arrays(columns, names=["gpu", "at_us"])


def test_a_file_is_hashed_whole_and_in_chunks(tmp_path: Path) -> None:
    """Whoever waits is told of every byte."""
    data = b"samples" * 400_000
    path = tmp_path / "segment"
    path.write_bytes(data)
    told: list[int] = []

    found = file_sha256(path, told.append)

    assert found == hashlib.sha256(data).hexdigest()
    assert sum(told) == len(data)
    assert len(told) > 1


def test_an_absent_file_has_no_hash(tmp_path: Path) -> None:
    """That is no failure."""
    assert file_sha256(tmp_path / "segment") is None


def test_what_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    """A folder is there, and is no file."""
    with pytest.raises(UnreadableFileError, match="is a directory"):
        file_sha256(tmp_path)


@pytest.mark.parametrize(
    ("gpus", "times", "held"),
    [
        (["g1", "g2", "g1"], [12, 15, 11], Held(3, 11, 15, has_stranger=False)),
        (["g1", "g3"], [12, 15], Held(2, 12, 15, has_stranger=True)),
        ([None, "g1"], [None, 15], Held(2, 15, 15, has_stranger=False)),
        ([None], [None], Held(1, None, None, has_stranger=False)),
        ([], [], Held(0, None, None, has_stranger=False)),
    ],
    ids=["listed", "a stranger", "without GPU or time", "nothing stated", "empty"],
)
def test_a_batch_holds_rows_times_and_gpus(
    gpus: list[str | None], times: list[int | None], held: Held
) -> None:
    """A row without a GPU or a time is a row, and says nothing of either."""
    assert held_in(batch(gpus, times), pa.array(SAID.gpus)) == held


def test_a_stranger_that_no_row_uses_is_none() -> None:
    """A dictionary may hold more than the rows of its column."""
    rows = batch(["g1", "g9", "g2"], [1, 2, 3])
    used = rows.take(pa.array([0, 2]))
    assert used.column("gpu").dictionary.to_pylist() == ["g1", "g9", "g2"]

    assert not held_in(used, pa.array(SAID.gpus)).has_stranger


@pytest.mark.parametrize(
    ("held", "expected"),
    [
        ([Held(2, 10, 15, has_stranger=False), Held(3, 15, 20, has_stranger=False)], True),
        ([Held(5, None, None, has_stranger=False)], True),
        ([Held(4, 10, 20, has_stranger=False)], False),
        ([Held(6, 10, 20, has_stranger=False)], False),
        ([], False),
        ([Held(5, 9, 20, has_stranger=False)], False),
        ([Held(5, 10, 21, has_stranger=False)], False),
        ([Held(5, 10, 20, has_stranger=True)], False),
    ],
)
def test_rows_gpus_and_times_are_those_of_the_record(held: list[Held], expected: bool) -> None:  # noqa: FBT001
    """All rows are there, and none is of another GPU or time."""
    assert agrees(held, SAID) is expected
