"""Chunks of Zarr that Zstandard packed: followed to their end, never inflated."""

import json
import struct
from pathlib import Path
from typing import Any

import pytest

from tallystick.emit.checkpoint.judge import judge, see
from tallystick.emit.checkpoint.verdict import COMPLETE, TORN
from tests.emit.checkpoint.made import write_orbax


def block(data: bytes, *, last: bool, kind: int = 0, size: int | None = None) -> bytes:
    """Write a block of Zstandard."""
    stated = len(data) if size is None else size
    return struct.pack("<I", stated << 3 | kind << 1 | last)[:3] + data


def frame(*blocks: bytes, descriptor: int = 0x24, more: bytes = b"\4\0\0\0\0") -> bytes:
    """Write a frame: by default of known size, with a checksum behind it."""
    return b"\x28\xb5\x2f\xfd" + bytes([descriptor]) + more[:1] + b"".join(blocks) + more[1:]


WHOLE = frame(block(b"abc", last=False), block(b"d", last=True, kind=1, size=100))


def packed(folder: Path, chunk: bytes, **changed: Any) -> str:
    """Put a chunk into an array whose chunks are packed; give the state of it."""
    write_orbax(folder)
    about = folder / "state" / "a" / ".zarray"
    stated = json.loads(about.read_bytes())
    about.write_text(
        json.dumps({**stated, "compressor": {"id": "zstd", "level": 1}, **changed}), "utf-8"
    )
    for name in "01":
        (folder / "state" / "a" / name).write_bytes(chunk)
    return judge(see(folder)).state


def test_a_whole_frame_is_complete(tmp_path: Path) -> None:
    """With the checksum that it announces."""
    assert packed(tmp_path / "1", WHOLE) == COMPLETE


def test_a_frame_that_is_cut_anywhere_is_torn(tmp_path: Path) -> None:
    """So is one with something behind it."""
    states = {packed(tmp_path / f"x{end}", WHOLE[:end]) for end in range(len(WHOLE))}

    assert states | {packed(tmp_path / "more", WHOLE + b"x")} == {TORN}


@pytest.mark.parametrize(
    "chunk",
    [
        b"garbage!",
        frame(block(b"", last=True, kind=3)),
        frame(block(b"abc", last=True, size=2**20)),
        frame(block(b"abc", last=False)),
    ],
)
def test_what_is_no_frame_is_torn(tmp_path: Path, chunk: bytes) -> None:
    """Another beginning, a block that there is not, one that is too long, and no last one."""
    assert packed(tmp_path / "1", chunk) == TORN


def test_what_others_packed_is_left_alone(tmp_path: Path) -> None:
    """Only that the chunk is there is known."""
    assert packed(tmp_path / "1", b"anything", compressor={"id": "gzip"}) == COMPLETE


def test_chunks_of_the_third_version_have_other_names(tmp_path: Path) -> None:
    """They lie in a folder of their own, one level for each dimension."""
    folder = write_orbax(tmp_path / "1")
    array = folder / "state" / "a"
    (array / ".zarray").unlink()
    stated = {
        "zarr_format": 3,
        "shape": [3, 2],
        "chunk_grid": {"configuration": {"chunk_shape": [2, 2]}},
    }
    (array / "zarr.json").write_text(json.dumps(stated), encoding="utf-8")
    for row in (0, 1):
        (array / "c" / str(row)).mkdir(parents=True)
        (array / "c" / str(row) / "0").write_bytes(b"x")
    before = judge(see(folder))
    (array / "c" / "1" / "0").unlink()

    after = judge(see(folder))

    assert before.state == COMPLETE
    assert (after.state, after.file) == (TORN, "state/a/c/1/0")


@pytest.mark.parametrize(
    "changed",
    [
        {"shape": "x"},
        {"shape": [2**62, 2**62], "chunks": [1, 1]},
        {"chunks": []},
        {"shape": [0]},
        {"shape": [1e999]},
        {"dimension_separator": 5},
        {"shape": [1] * 10**5, "chunks": [1] * 10**5},
    ],
)
def test_absurd_shapes_cost_nothing(tmp_path: Path, changed: dict[str, Any]) -> None:
    """A grid of more chunks than are looked for is not looked at."""
    assert packed(tmp_path / "1", WHOLE, **changed) in {TORN, COMPLETE}
