"""The folder of segments: whole under its name, or not there."""

import hashlib
import io
import os
from pathlib import Path

import pytest

from tallystick.stores.errors import StoreUnusableError, StoreWriteError
from tallystick.stores.segments import SegmentFolder

DATA = b"PAR1" * 700_000
DIGEST = "sha256:" + hashlib.sha256(DATA).hexdigest()


def test_a_segment_is_kept_under_the_name_of_its_bytes(tmp_path: Path) -> None:
    """Twice the same is once, and progress adds up to its size."""
    folder = SegmentFolder(tmp_path)
    told: list[int] = []

    digests = [folder.add(io.BytesIO(DATA), told.append) for _ in range(2)]

    assert digests == [DIGEST, DIGEST]
    assert folder.place(DIGEST).read_bytes() == DATA
    assert list(folder.digests()) == [DIGEST]
    assert sum(told) == 2 * len(DATA)


def test_a_failing_disk_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was not synced is not kept."""

    def fail(_: int) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "fsync", fail)

    with pytest.raises(StoreWriteError) as refused:
        SegmentFolder(tmp_path).add(io.BytesIO(DATA))

    assert "input/output error" in str(refused.value)
    assert list(tmp_path.iterdir()) == []


def test_what_was_never_finished_is_told(tmp_path: Path) -> None:
    """A process that was stopped leaves a file that nobody names."""
    (tmp_path / ".adding.x").touch()

    assert [path.name for path in SegmentFolder(tmp_path).unfinished()] == [".adding.x"]


def test_dropping_what_is_gone_is_no_error(tmp_path: Path) -> None:
    """And one that cannot be removed is."""
    folder = SegmentFolder(tmp_path)
    folder.add(io.BytesIO(DATA))

    folder.drop(DIGEST)
    folder.drop(DIGEST)
    folder.place(DIGEST).mkdir()
    with pytest.raises(StoreUnusableError):
        folder.drop(DIGEST)

    assert folder.place(DIGEST).is_dir()
