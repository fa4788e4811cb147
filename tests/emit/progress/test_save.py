"""Tests for saves: begun, and committed once every file is there."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tallystick.emit.checkpoint.listing import listing
from tallystick.emit.progress.verifier import Verifier
from tests.emit.progress.jobs import events, kinds, new_run

FACTS = {"checkpoint": "step-10", "step": 10}
SAVE = ("checkpoint.begun", "checkpoint.committed", "checkpoint.abandoned")


def saved(spool: Path) -> list[dict[str, Any]]:
    """Give what was said of saves."""
    return events(spool, *SAVE)


def test_a_block_is_a_save(tmp_path: Path) -> None:
    """Its end is the commit, with the bytes that are there."""
    run, file = new_run(tmp_path / "spool"), tmp_path / "model.pt"

    with run.checkpoint(10, [file], digest=False):
        file.write_bytes(b"12345")

    assert saved(tmp_path / "spool") == [
        {"checkpoint": "step-10", "step": 10, "blocking": True},
        {"checkpoint": "step-10", "step": 10, "blocking": True, "bytes": 5},
    ]


def test_a_file_that_is_not_there_is_no_commit(tmp_path: Path) -> None:
    """Every one that was named has to be."""
    run, file = new_run(tmp_path / "spool"), tmp_path / "shard-0"
    file.write_bytes(b"1")

    with run.checkpoint(10, [file, tmp_path / "shard-1"]):
        pass

    assert kinds(tmp_path / "spool")[-1] == "checkpoint.abandoned"
    assert "shard-1" in saved(tmp_path / "spool")[-1]["reason"]


def test_an_exception_is_no_commit_and_goes_on(tmp_path: Path) -> None:
    """The disk was full, and the job learns it from its own call."""
    run, file = new_run(tmp_path / "spool"), tmp_path / "model.pt"
    file.write_bytes(b"1")

    with pytest.raises(OSError, match="disk"), run.checkpoint(10, [file]):
        raise OSError("disk")

    assert saved(tmp_path / "spool")[-1]["reason"] == "OSError: disk"


def test_one_path_needs_no_list(tmp_path: Path) -> None:
    """A text or a path is one path, not its letters."""
    run, file = new_run(tmp_path / "spool"), tmp_path / "model.pt"
    file.write_bytes(b"123")

    for path in (file, str(file)):
        with run.checkpoint(10, path, digest=False):  # type: ignore[arg-type]
            pass

    assert [each.get("bytes") for each in saved(tmp_path / "spool")] == [None, 3, None, 3]


def test_a_save_by_hand_ends_once(tmp_path: Path) -> None:
    """Whoever is first says how."""
    run = new_run(tmp_path)
    save = run.checkpoint(10, name="mine", blocking=False)

    save.begin()
    save.begin()
    save.commit()
    save.fail("too late")
    save.commit()

    assert saved(tmp_path) == [
        {"checkpoint": "mine", "step": 10, "blocking": False},
        {"checkpoint": "mine", "step": 10, "blocking": False},
    ]


@pytest.mark.parametrize("paths", [7, [7], ["\x00"], [b"\xff"], [""]])
def test_paths_that_are_none_are_no_commit(tmp_path: Path, paths: Any) -> None:
    """And no exception either."""
    run = new_run(tmp_path)

    with run.checkpoint(10, paths):
        pass

    assert kinds(tmp_path)[-1] == "checkpoint.abandoned"


def test_a_manifest_follows_the_commit(tmp_path: Path) -> None:
    """It lies in the checkpoint, and its digest in the evidence."""
    run, folder = new_run(tmp_path / "spool"), tmp_path / "step-10"
    folder.mkdir()
    (folder / "a").write_bytes(b"1")

    with run.checkpoint(10, [folder]):
        pass
    run.close()

    (verified,) = events(tmp_path / "spool", "checkpoint.verified")
    manifest = json.loads((folder / "tallystick-manifest.json").read_bytes())
    assert (verified["ok"], verified["step"]) == (True, 10)
    assert verified["digest"].startswith("sha256:")
    assert (manifest["run"], manifest["attempt"], manifest["step"]) == ("r", "a", 10)


def test_a_checkpoint_that_is_gone_when_it_is_hashed_is_not_verified(tmp_path: Path) -> None:
    """That it was rotated away does not make it bad."""
    folder = tmp_path / "step-10"
    told: list[tuple[str, str]] = []
    folder.mkdir()
    (folder / "a").write_bytes(b"1")
    files = listing([folder])
    (folder / "a").unlink()
    verifier = Verifier(run="r", attempt="a")

    verifier.verify(files, FACTS, lambda kind, body: told.append((kind, body["reason"])))
    verifier.close()

    ((kind, reason),) = told
    assert kind == "checkpoint.unverified"
    assert "changed while it was read" in reason


def test_a_fork_hashes_for_itself(tmp_path: Path) -> None:
    """It has no thread of its parent's."""
    run, file = new_run(tmp_path / "spool"), tmp_path / "model.pt"
    file.write_bytes(b"1")
    with run.checkpoint(10, [file]):
        pass

    child = os.fork()
    if child == 0:
        with run.checkpoint(20, [file]):
            pass
        run.close()
        os._exit(0)
    os.waitpid(child, 0)
    run.close()

    verified = events(tmp_path / "spool", "checkpoint.verified")
    assert sorted(each["step"] for each in verified) == [10, 20]
