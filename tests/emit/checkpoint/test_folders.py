"""Folders of the libraries, whole and torn, each with the file that is at fault."""

import os
import pickle
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallystick.emit.checkpoint.judge import BY_STRUCTURE, Checkpoint, judge, see
from tallystick.emit.checkpoint.verdict import COMPLETE, STATES, TORN, UNFINISHED, UNKNOWN
from tests.emit.checkpoint.made import (
    torch_bytes,
    write_dcp,
    write_lightning,
    write_orbax,
    write_plain,
    write_trainer,
)

Tear = Callable[[Path], object]


def judged(path: Path) -> Checkpoint:
    """Read every byte of a checkpoint."""
    return judge(see(path), lambda _: None)


def cut(name: str, left: int = -1) -> Tear:
    """Make a file shorter."""
    return lambda folder: (folder / name).write_bytes((folder / name).read_bytes()[:left])


def gone(name: str) -> Tear:
    """Take a file away."""

    def tear(folder: Path) -> None:
        path = folder / name
        shutil.rmtree(path) if path.is_dir() else path.unlink()

    return tear


def put(name: str, text: str = "") -> Tear:
    """Write a file."""
    return lambda folder: (folder / name).write_text(text, encoding="utf-8")


def moved(name: str, to: str) -> Tear:
    """Name a file otherwise."""
    return lambda folder: (folder / name).rename(folder / to)


def test_whole_folders_are_complete(tmp_path: Path) -> None:
    """Each says itself what belongs to it, and all of it is there."""
    found = [
        judged(write_dcp(tmp_path / "dcp")),
        judged(write_trainer(tmp_path / "checkpoint-10", 10)),
        judged(write_orbax(tmp_path / "10")),
        judged(write_lightning(tmp_path / "epoch=1-step=10.ckpt", 10)),
    ]

    assert [each.state for each in found] == [COMPLETE] * 4
    assert [each.kind for each in found] == ["dcp", "huggingface", "orbax", "lightning"]
    assert [each.step and each.step.number for each in found] == [None, 10, 10, 10]


@pytest.mark.parametrize(
    ("tear", "state", "file"),
    [
        (gone(".metadata"), UNFINISHED, ".metadata"),
        (moved(".metadata", ".metadata.tmp"), UNFINISHED, ".metadata.tmp"),
        (put(".metadata.tmp"), UNFINISHED, ".metadata.tmp"),
        (cut(".metadata"), TORN, ".metadata"),
        (put(".metadata", "garbage"), TORN, ".metadata"),
        (gone("__1_0.distcp"), TORN, "__1_0.distcp"),
        (cut("__1_0.distcp"), TORN, "__1_0.distcp"),
        (moved(".metadata", "__0.metadata"), UNKNOWN, "__0.metadata"),
        (put("meta.pt"), TORN, "meta.pt"),
    ],
)
def test_a_torn_dcp_folder_is_told(tmp_path: Path, tear: Tear, state: str, file: str) -> None:
    """Every file that the metadata names has to be there, as long as it says."""
    folder = write_dcp(tmp_path / "dcp")
    tear(folder)

    found = judged(folder)

    assert (found.state, found.file) == (state, file)


def test_a_byte_that_changed_in_a_piece_is_found(tmp_path: Path) -> None:
    """Pieces of torch distributed checkpoint are archives with checksums."""
    folder = write_dcp(tmp_path / "dcp")
    path = folder / "__0_0.distcp"
    data = bytearray(path.read_bytes())
    second = len(data) // 2
    data[second + data[second:].index(b"\x01\x02\x03\x04")] ^= 1
    path.write_bytes(bytes(data))

    found = judged(folder)

    assert (found.state, found.file) == (TORN, "__0_0.distcp")
    assert f"in the piece at byte {second}" in found.reason


def test_a_hole_in_a_piece_is_found(tmp_path: Path) -> None:
    """A crash can leave a file of the right length and nothing in it."""
    folder = write_dcp(tmp_path / "dcp")
    path = folder / "__0_0.distcp"
    path.write_bytes(b"\0" * path.stat().st_size)

    found = judged(folder)

    assert found.state == TORN
    assert "zeros" in found.reason


def test_pieces_of_another_kind_are_said_to_be_unchecked(tmp_path: Path) -> None:
    """Where a writer packs pieces in its own way, only their places are compared."""
    folder = write_dcp(tmp_path / "dcp")
    path = folder / "__0_0.distcp"
    path.write_bytes(b"?" * path.stat().st_size)

    found = judged(folder)

    assert found.state == COMPLETE
    assert "pieces of .distcp files that are no torch archives" in found.unchecked


@pytest.mark.parametrize(
    ("stated", "state"),
    [
        ({"relative_path": "__0_0.distcp", "offset": 2**70, "length": 1}, TORN),
        ({"relative_path": "__0_0.distcp", "offset": -1, "length": 1}, TORN),
        ({"relative_path": "../../etc/passwd", "offset": 0, "length": 1}, TORN),
        ({"relative_path": 7, "offset": 0, "length": 1}, TORN),
        ({}, UNKNOWN),
    ],
)
def test_absurd_places_of_pieces_are_refused(
    tmp_path: Path, stated: dict[str, object], state: str
) -> None:
    """No file outside of the folder is looked at, and no place outside of a file."""
    folder = write_dcp(tmp_path / "dcp")

    class Piece:
        def __reduce__(self) -> tuple[object, ...]:
            return dict, (), stated

    (folder / ".metadata").write_bytes(pickle.dumps([Piece()]))

    assert judged(folder).state == state


@pytest.mark.parametrize(
    ("tear", "state", "file"),
    [
        (put("checkpoint-is-incomplete.txt"), UNFINISHED, "checkpoint-is-incomplete.txt"),
        (gone("trainer_state.json"), UNFINISHED, "trainer_state.json"),
        (cut("trainer_state.json"), TORN, "trainer_state.json"),
        (put("trainer_state.json", "[]"), TORN, "trainer_state.json"),
        (put("trainer_state.json", '{"global_step": 1e3}'), TORN, "trainer_state.json"),
        (
            gone("model-00002-of-00002.safetensors"),
            TORN,
            "model-00002-of-00002.safetensors",
        ),
        (cut("model-00001-of-00002.safetensors"), TORN, "model-00001-of-00002.safetensors"),
        (
            lambda folder: shutil.copy(
                folder / "model-00001-of-00002.safetensors",
                folder / "model-00002-of-00002.safetensors",
            ),
            TORN,
            "model-00002-of-00002.safetensors",
        ),
        (cut("model.safetensors.index.json"), TORN, "model.safetensors.index.json"),
        (put("model.safetensors.index.json", "{}"), TORN, "model.safetensors.index.json"),
        (
            put("model.safetensors.index.json", '{"weight_map": {"a": 1}}'),
            TORN,
            "model.safetensors.index.json",
        ),
        (cut("optimizer.pt", 200), TORN, "optimizer.pt"),
        (cut("optimizer.pt", 0), TORN, "optimizer.pt"),
    ],
)
def test_a_torn_trainer_folder_is_told(tmp_path: Path, tear: Tear, state: str, file: str) -> None:
    """The marker, the state that comes last, every shard of the index, and each file."""
    folder = write_trainer(tmp_path / "checkpoint-10", 10)
    tear(folder)

    found = judged(folder)

    assert (found.state, found.file) == (state, file)


def test_a_folder_that_another_program_named_like_the_trainers_is_unknown(tmp_path: Path) -> None:
    """What comes last in it is not known."""
    folder = write_trainer(tmp_path / "checkpoint-10", 10)
    (folder / "trainer_state.json").unlink()
    (folder / "training_args.bin").unlink()

    found = judged(folder)

    assert (found.state, found.file) == (UNKNOWN, "trainer_state.json")


def test_a_trainer_folder_without_weights_is_torn(tmp_path: Path) -> None:
    """Its state came last, so something took them away."""
    folder = write_trainer(tmp_path / "checkpoint-10", 10)
    for path in folder.glob("model*"):
        path.unlink()

    assert judged(folder).state == TORN


def test_a_trainer_folder_without_an_optimizer_is_remarked(tmp_path: Path) -> None:
    """It may have been saved so; training does not go on from it as it was."""
    folder = write_trainer(tmp_path / "checkpoint-10", 10)
    (folder / "optimizer.pt").unlink()

    found = judged(folder)

    assert found.is_valid
    assert found.remarks == ("holds no optimizer.pt",)


@pytest.mark.parametrize(
    ("tear", "state", "file"),
    [
        (gone("_CHECKPOINT_METADATA"), COMPLETE, None),
        (cut("_CHECKPOINT_METADATA"), TORN, "_CHECKPOINT_METADATA"),
        (put("_CHECKPOINT_METADATA", "[]"), TORN, "_CHECKPOINT_METADATA"),
        (gone("state"), TORN, "state"),
        (gone("state/_METADATA"), TORN, "state/_METADATA"),
        (cut("state/_METADATA"), TORN, "state/_METADATA"),
        (cut("state/_sharding"), TORN, "state/_sharding"),
        (put("state/_METADATA", '{"use_ocdbt": true}'), TORN, "state/manifest.ocdbt"),
        (gone("state/a"), TORN, "state/a"),
        (gone("state/a/.zarray"), TORN, "state/a"),
        (cut("state/a/.zarray"), TORN, "state/a/.zarray"),
        (put("state/a/.zarray", '{"zarr_format": 2}'), TORN, "state/a/.zarray"),
        (gone("state/a/1"), TORN, "state/a/1"),
        (cut("state/a/1"), TORN, "state/a/1"),
        (put("state/manifest.ocdbt", "garbage that is none"), TORN, "state/manifest.ocdbt"),
    ],
)
def test_a_torn_orbax_folder_is_told(
    tmp_path: Path, tear: Tear, state: str, file: str | None
) -> None:
    """Every item, every array and every chunk that is named has to be there."""
    folder = write_orbax(tmp_path / "10")
    tear(folder)

    found = judged(folder)

    assert (found.state, found.file) == (state, file)


def test_an_orbax_folder_without_a_time_of_commit_is_unfinished(tmp_path: Path) -> None:
    """Where a store cannot rename, the note on the save is what tells."""
    found = judged(write_orbax(tmp_path / "10", committed=False))

    assert (found.state, found.file) == (UNFINISHED, "_CHECKPOINT_METADATA")


@pytest.mark.parametrize(
    "name",
    [
        "20.orbax-checkpoint-tmp-1700000000",
        "checkpoint_20tmp",
        "tmp-checkpoint-20",
        "step_20.tmp",
        "checkpoint-20.partial",
        ".tmp-step-20",
        "step_20.dirty",
    ],
)
def test_a_name_that_was_never_made_final_is_unfinished(tmp_path: Path, name: str) -> None:
    """However whole it is: who reads by name never sees it, and nobody committed it."""
    found = judged(write_orbax(tmp_path / name))

    assert found.state == UNFINISHED
    assert found.step == (20, "name")


def test_files_that_nothing_describes_are_unknown(tmp_path: Path) -> None:
    """Each may be whole, and one may lack: that cannot be told from what is there."""
    folder = write_plain(tmp_path / "step_10")
    (folder / "model.pt").write_bytes(torch_bytes())

    found = judged(folder)

    assert found.state == UNKNOWN
    assert "no manifest" in found.reason


def test_what_is_torn_in_them_is_told_all_the_same(tmp_path: Path) -> None:
    """A torn file needs no manifest to be torn."""
    folder = write_plain(tmp_path / "step_10")
    (folder / "optim" / "rank0.pt").write_bytes(torch_bytes()[:-30])

    found = judged(folder)

    assert (found.state, found.file) == (TORN, "optim/rank0.pt")


def test_an_empty_folder_is_torn(tmp_path: Path) -> None:
    """Its writer made it and came no further."""
    (tmp_path / "step_10").mkdir()

    assert judged(tmp_path / "step_10").state == TORN


def test_a_distributed_part_of_a_trainer_folder_is_looked_at(tmp_path: Path) -> None:
    """Sharded training keeps its weights in a folder of their own."""
    folder = write_trainer(tmp_path / "checkpoint-10", 10)
    write_dcp(folder / "optimizer_0")
    (folder / "optimizer_0" / "__1_0.distcp").unlink()

    found = judged(folder)

    assert (found.state, found.file) == (TORN, "optimizer_0/__1_0.distcp")


def test_a_file_that_changes_meanwhile_is_unknown(tmp_path: Path) -> None:
    """A save that is under way is not called torn."""
    path = tmp_path / "a.pt"
    path.write_bytes(torch_bytes())
    seen = see(path)
    path.write_bytes(torch_bytes()[:-10])

    found = judge(seen, lambda _: None)

    assert (found.state, found.file) == (UNKNOWN, "a.pt")
    assert "changes" in found.reason


def test_a_folder_whose_structure_is_torn_is_not_read(tmp_path: Path) -> None:
    """Nothing that is read could make it whole."""
    folder = write_dcp(tmp_path / "dcp")
    (folder / "__1_0.distcp").unlink()
    read: list[int] = []

    found = judge(see(folder), read.append)

    assert found.judged == BY_STRUCTURE
    assert read == []


def test_a_link_to_a_file_is_read_as_that_file(tmp_path: Path) -> None:
    """Caches keep weights elsewhere; a link that leads nowhere is a file that lacks."""
    folder = write_trainer(tmp_path / "checkpoint-10", 10)
    (folder / "optimizer.pt").rename(tmp_path / "blob")
    (folder / "optimizer.pt").symlink_to("../blob")

    before = judged(folder)
    (tmp_path / "blob").unlink()
    after = judged(folder)

    assert before.state == COMPLETE
    assert (after.state, after.file) == (TORN, "optimizer.pt")


def test_pipes_and_circles_hold_nobody_up(tmp_path: Path) -> None:
    """They are remarked and not opened."""
    folder = write_trainer(tmp_path / "checkpoint-10", 10)
    os.mkfifo(folder / "pipe.pt")
    (folder / "circle").symlink_to(".")
    (folder / "self").symlink_to("self")

    found = judged(folder)

    assert found.file == "self"
    assert found.remarks == (
        "'circle' is a link to a folder, and was not followed",
        "'pipe.pt' is neither a file nor a folder",
    )


def test_a_json_file_of_any_depth_is_torn(tmp_path: Path) -> None:
    """Nesting is no way to end the process."""
    folder = write_trainer(tmp_path / "checkpoint-10", 10)
    (folder / "trainer_state.json").write_text("[" * 500_000, encoding="utf-8")

    found = judged(folder)

    assert (found.state, found.file) == (TORN, "trainer_state.json")


WRITERS = (write_dcp, write_orbax, lambda folder: write_trainer(folder, 10))


@given(
    st.sampled_from(WRITERS), st.integers(0), st.integers(0), st.binary(max_size=12), st.integers(0)
)
def test_whatever_a_file_holds_it_is_judged(
    write: Callable[[Path], Path], which: int, at: int, put: bytes, over: int
) -> None:
    """Bytes that change, come or go anywhere give one of the states and nothing else."""
    with tempfile.TemporaryDirectory() as name:
        folder = write(Path(name) / "checkpoint-10")
        files = sorted(path for path in folder.rglob("*") if path.is_file())
        path = files[which % len(files)]
        data = path.read_bytes()
        start = at % (len(data) + 1)
        path.write_bytes(data[:start] + put + data[start + over % 40 :])

        found = judged(folder)

    assert found.state in STATES
    assert found.reason.isprintable()
