"""Checkpoints with manifests: verified by every byte, and what is wrong with those that are not."""

import os
from pathlib import Path

import pytest

from tallystick.emit.checkpoint.judge import Checkpoint, judge, see
from tallystick.emit.checkpoint.manifest import Part
from tallystick.emit.checkpoint.verdict import (
    COMPLETE,
    TORN,
    UNFINISHED,
    UNKNOWN,
    VERIFIED,
)
from tests.emit.checkpoint.made import safetensors_bytes, vouch, write_plain, write_trainer


def judged(path: Path) -> Checkpoint:
    """Read every byte of a checkpoint."""
    return judge(see(path), lambda _: None)


def test_a_folder_of_any_files_is_verified_by_its_manifest(tmp_path: Path) -> None:
    """Step, run, attempt and digest are those that it states."""
    manifest = vouch(write_plain(tmp_path / "x"), run="r1", attempt="a1", step=7)

    found = judged(tmp_path / "x")

    assert found.state == VERIFIED
    assert found.step == (7, "manifest")
    assert (found.run, found.attempt, found.digests) == ("r1", "a1", (manifest.digest,))


def test_a_file_is_verified_by_the_manifest_beside_it(tmp_path: Path) -> None:
    """What its format cannot check, the digest does."""
    path = tmp_path / "a.safetensors"
    path.write_bytes(safetensors_bytes())
    vouch(path)

    found = judged(path)

    assert (found.state, found.unchecked) == (VERIFIED, ())


def test_without_reading_only_sizes_are_compared(tmp_path: Path) -> None:
    """The state is a weaker one, and says so."""
    folder = write_plain(tmp_path / "x")
    vouch(folder)
    (folder / "model.bytes").write_bytes(b"M" * 100)

    found = judge(see(folder))

    assert found.state == COMPLETE
    assert "not read" in found.reason


@pytest.mark.parametrize("data", [b"M" * 100, b"m" * 99, b"m" * 101, None])
def test_a_file_that_is_not_as_it_was_is_at_fault(tmp_path: Path, data: bytes | None) -> None:
    """Other bytes, another length, or gone."""
    folder = write_plain(tmp_path / "x")
    vouch(folder)
    path = folder / "model.bytes"
    path.unlink() if data is None else path.write_bytes(data)

    found = judged(folder)

    assert (found.state, found.file) == (TORN, "model.bytes")


def test_a_file_that_came_later_is_remarked(tmp_path: Path) -> None:
    """It makes the rest no worse, and nobody vouches for it."""
    folder = write_plain(tmp_path / "x")
    vouch(folder)
    (folder / "later").write_bytes(b"x")

    found = judged(folder)

    assert found.state == VERIFIED
    assert found.remarks == ("1 of its files are in no manifest, 'later' first",)


def test_a_link_that_leads_elsewhere_is_at_fault(tmp_path: Path) -> None:
    """A manifest states the text of a link."""
    folder = write_plain(tmp_path / "x")
    (folder / "link").symlink_to("model.bytes")
    vouch(folder)
    before = judged(folder)
    (folder / "link").unlink()
    (folder / "link").symlink_to("optim/state.bytes")

    after = judged(folder)

    assert before.state == VERIFIED
    assert (after.state, after.file) == (TORN, "link")


def test_the_manifest_of_a_torn_save_does_not_make_it_whole(tmp_path: Path) -> None:
    """It vouches for the bytes that were there; the format knows which lack."""
    folder = write_trainer(tmp_path / "checkpoint-10", 10)
    (folder / "checkpoint-is-incomplete.txt").write_bytes(b"")
    vouch(folder)

    found = judged(folder)

    assert (found.state, found.file) == (UNFINISHED, "checkpoint-is-incomplete.txt")


@pytest.mark.parametrize(
    ("data", "state"),
    [(b"{", TORN), (b"{}", TORN), (b'{"schema":"tallystick.checkpoint/2"}', UNKNOWN)],
)
def test_a_manifest_that_cannot_be_used_is_at_fault(
    tmp_path: Path, data: bytes, state: str
) -> None:
    """Then nothing can be compared with it."""
    folder = write_trainer(tmp_path / "checkpoint-10", 10)
    (folder / "tallystick-manifest.json").write_bytes(data)

    found = judged(folder)

    assert (found.state, found.file) == (state, "tallystick-manifest.json")


def by_ranks(folder: Path, ranks: int, *, of: int | None = None) -> Path:
    """Save a folder by several ranks, each of which states its part."""
    folder.mkdir(exist_ok=True)
    for rank in range(ranks):
        path = folder / f"rank{rank}.bytes"
        path.write_bytes(bytes([rank]) * 50)
        vouch(path, root=folder, part=Part(rank, of or ranks), run="r", step=5)
    return folder


def test_a_save_by_ranks_is_verified_by_all_parts(tmp_path: Path) -> None:
    """Each rank vouches for the files that it wrote."""
    found = judged(by_ranks(tmp_path / "x", 3))

    assert found.state == VERIFIED
    assert found.step == (5, "manifest")
    assert len(found.digests) == 3
    assert found.remarks == ()


def test_a_part_that_lacks_leaves_a_save_unfinished(tmp_path: Path) -> None:
    """That rank may have written all of its files, or none."""
    found = judged(by_ranks(tmp_path / "x", 2, of=3))

    assert (found.state, found.file) == (UNFINISHED, "tallystick-manifest.2-of-3.json")


def test_parts_of_two_saves_are_torn(tmp_path: Path) -> None:
    """A save of four ranks over one of two leaves parts of both."""
    by_ranks(tmp_path / "x", 2)
    by_ranks(tmp_path / "x", 3)

    assert judged(tmp_path / "x").state == TORN


def test_parts_that_state_different_steps_are_torn(tmp_path: Path) -> None:
    """One rank was an interval behind."""
    folder = by_ranks(tmp_path / "x", 2)
    vouch(folder / "rank1.bytes", root=folder, part=Part(1, 2), run="r", step=6)

    found = judged(folder)

    assert (found.state, found.file) == (TORN, "tallystick-manifest.1-of-2.json")


def test_a_file_that_two_parts_name_otherwise_is_torn(tmp_path: Path) -> None:
    """Two ranks wrote the same file, one after the other."""
    folder = by_ranks(tmp_path / "x", 2)
    (folder / "rank0.bytes").write_bytes(b"9" * 50)
    vouch(
        folder / "rank0.bytes",
        folder / "rank1.bytes",
        root=folder,
        part=Part(1, 2),
        run="r",
        step=5,
    )

    found = judged(folder)

    assert (found.state, found.file) == (TORN, "rank0.bytes")


def test_the_manifest_of_several_paths_is_found_at_the_first(tmp_path: Path) -> None:
    """Its names lead from the folder that it lies in."""
    model, optim = tmp_path / "m.bytes", tmp_path / "o" / "o.bytes"
    optim.parent.mkdir()
    for path in (model, optim):
        path.write_bytes(b"x" * 10)
    vouch(model, optim)
    before = judged(model)
    optim.write_bytes(b"y" * 10)

    after = judged(model)

    assert before.state == VERIFIED
    assert (after.state, after.file) == (TORN, "o/o.bytes")


def test_bytes_are_told_as_they_are_read(tmp_path: Path) -> None:
    """They add up to what was planned, so progress ends at the end."""
    folder = write_trainer(tmp_path / "checkpoint-10", 10)
    vouch(folder)
    seen = see(folder)
    told: list[int] = []

    judge(seen, told.append, threads=2)

    assert sum(told) == seen.unread_bytes == seen.tree.total_bytes


def test_a_name_that_is_no_text_is_judged_like_any_other(tmp_path: Path) -> None:
    """Bytes of a name that are no UTF-8 reach no message as they are."""
    folder = write_plain(tmp_path / "step_1")
    path = Path(os.fsdecode(os.fsencode(folder) + b"/\xff.pt"))
    path.write_bytes(b"")

    found = judged(folder)

    assert (found.state, found.file) == (TORN, "\udcff.pt")
    assert found.reason.isprintable()
