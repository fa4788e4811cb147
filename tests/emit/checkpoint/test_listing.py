"""Listing the files of a checkpoint, and refusing what cannot be one."""

import os
from pathlib import Path

import pytest

from tallystick.emit.checkpoint.errors import (
    BadCheckpointError,
    ChangedFileError,
    LinkOutsideError,
    MissingPathError,
    NoFilesError,
    NotAFileError,
)
from tallystick.emit.checkpoint.hashing import hash_files
from tallystick.emit.checkpoint.listing import Link, listing


def write(path: Path, data: bytes = b"data") -> Path:
    """Write a file and the folders above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def test_a_folder_is_listed_by_name_with_its_manifest_inside(tmp_path: Path) -> None:
    """Names are relative to the folder, sorted, and the manifest belongs into it."""
    write(tmp_path / "c" / "b" / "two", b"22")
    write(tmp_path / "c" / "a", b"1")

    found = listing([tmp_path / "c"])

    assert [(file.name, file.size) for file in found.files] == [("a", 1), ("b/two", 2)]
    assert found.total_bytes == 3
    assert found.manifest == tmp_path / "c" / "tallystick-manifest.json"


def test_the_manifest_of_a_file_lies_beside_it(tmp_path: Path) -> None:
    """A checkpoint of one file is relative to the folder that it lies in."""
    path = write(tmp_path / "last.ckpt")

    found = listing([path])

    assert [file.name for file in found.files] == ["last.ckpt"]
    assert found.manifest == tmp_path / "last.ckpt.tallystick-manifest.json"


def test_several_paths_are_relative_to_the_folder_above_all(tmp_path: Path) -> None:
    """The manifest of several paths lies beside the first, in the folder that holds them all."""
    model = write(tmp_path / "step-1" / "model")
    optim = write(tmp_path / "optim-1")

    found = listing([model, optim])

    assert [file.name for file in found.files] == ["optim-1", "step-1/model"]
    assert found.manifest == tmp_path / "step-1.tallystick-manifest.json"


def test_a_file_that_is_named_twice_is_listed_once(tmp_path: Path) -> None:
    """A folder and a file in it are no two files."""
    path = write(tmp_path / "c" / "a")

    found = listing([tmp_path / "c", path], root=tmp_path / "c")

    assert [file.name for file in found.files] == ["a"]


def test_manifests_and_their_drafts_are_no_part_of_a_checkpoint(tmp_path: Path) -> None:
    """What lies there from an earlier save does not describe itself."""
    write(tmp_path / "a")
    for name in (
        "tallystick-manifest.json",
        "tallystick-manifest.0-of-2.json",
        "a.tallystick-manifest.json",
        ".tallystick-manifest.json.tmp",
    ):
        write(tmp_path / name)

    found = listing([tmp_path])

    assert [file.name for file in found.files] == ["a"]


def test_a_link_that_stays_inside_is_kept_as_a_link(tmp_path: Path) -> None:
    """Its target counts once."""
    write(tmp_path / "a", b"1234")
    (tmp_path / "b").symlink_to("a")

    found = listing([tmp_path])

    assert found.links == (Link("b", "a"),)
    assert found.total_bytes == 4


def test_a_link_that_is_named_stands_for_its_target(tmp_path: Path) -> None:
    """Saving through a link saves the file that it leads to."""
    write(tmp_path / "step-1.ckpt")
    (tmp_path / "last.ckpt").symlink_to("step-1.ckpt")

    found = listing([tmp_path / "last.ckpt"])

    assert [file.name for file in found.files] == ["step-1.ckpt"]


@pytest.mark.parametrize("target", ["../outside", "nowhere", "loop", "/etc/hostname"])
def test_a_link_that_leads_out_or_nowhere_is_refused(tmp_path: Path, target: str) -> None:
    """checkpoint_link_outside: what it leads to may be gone when the checkpoint is needed."""
    write(tmp_path / "outside")
    write(tmp_path / "c" / "a")
    (tmp_path / "c" / "loop").symlink_to(target)

    with pytest.raises(LinkOutsideError, match="loop"):
        listing([tmp_path / "c"])


def test_a_circle_of_folders_ends(tmp_path: Path) -> None:
    """A link to the folder that it lies in is a link, and is not walked into."""
    write(tmp_path / "a")
    (tmp_path / "again").symlink_to(".")

    found = listing([tmp_path])

    assert found.links == (Link("again", "."),)


def test_a_path_that_is_not_there_is_refused(tmp_path: Path) -> None:
    """checkpoint_path_missing: a save whose file never appeared is no save."""
    with pytest.raises(MissingPathError, match="never"):
        listing([tmp_path / "never"])


@pytest.mark.parametrize("paths", [[], ["."]])
def test_nothing_is_no_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, paths: list[str]
) -> None:
    """checkpoint_without_files: an empty list and an empty folder are refused alike."""
    monkeypatch.chdir(tmp_path)

    with pytest.raises(NoFilesError):
        listing(paths)


def test_a_pipe_is_refused_without_being_opened(tmp_path: Path) -> None:
    """checkpoint_not_a_file: reading it would wait for somebody to write."""
    write(tmp_path / "a")
    os.mkfifo(tmp_path / "pipe")

    with pytest.raises(NotAFileError, match="pipe"):
        listing([tmp_path])


def test_a_path_outside_of_the_root_is_refused(tmp_path: Path) -> None:
    """A rank's part lies in the folder that all ranks share."""
    (tmp_path / "c").mkdir()

    with pytest.raises(LinkOutsideError):
        listing([write(tmp_path / "a")], root=tmp_path / "c")


def test_a_file_that_changed_since_it_was_listed_is_not_hashed(tmp_path: Path) -> None:
    """checkpoint_changed: a digest of two saves at once would vouch for neither."""
    path = write(tmp_path / "a")
    found = listing([path])
    write(path, b"longer than before")

    with pytest.raises(ChangedFileError, match="changed"):
        hash_files(found.files)


def test_a_file_that_changes_while_it_is_hashed_is_seen(tmp_path: Path) -> None:
    """What is appended after the first chunk was read shows at the end."""
    path = write(tmp_path / "a", b"x" * (3 << 20))
    found = listing([path])

    def append(_count: int) -> None:
        with path.open("ab") as stream:
            stream.write(b"more")

    with pytest.raises(ChangedFileError):
        hash_files(found.files, append)


def test_a_file_that_vanished_is_a_change(tmp_path: Path) -> None:
    """A checkpoint that was rotated away while it was hashed is told as what it is."""
    path = write(tmp_path / "a")
    found = listing([path])
    path.unlink()

    with pytest.raises(ChangedFileError):
        hash_files(found.files)


@pytest.mark.parametrize("threads", [1, 2, 7, None])
def test_digests_come_in_the_order_of_the_files(tmp_path: Path, threads: int | None) -> None:
    """However many threads there are, and whatever the sizes."""
    for number in range(20):
        write(tmp_path / f"{number:02}", b"x" * (20 - number))
    found = listing([tmp_path])
    told: list[int] = []

    digests = hash_files(found.files, told.append, threads)

    assert digests == tuple(hash_files([file])[0] for file in found.files)
    assert sum(told) == found.total_bytes


def test_every_reason_has_a_code_of_its_own() -> None:
    """Codes are stable and distinct, and each message is one line."""
    classes: list[type[BadCheckpointError]] = [
        BadCheckpointError,
        *BadCheckpointError.__subclasses__(),
    ]

    codes = {each.code for each in classes}

    assert len(codes) == len(classes)
    assert all("\n" not in str(each("a\nb")) for each in classes)
