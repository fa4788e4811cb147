"""The use case behind ``checkpoint verify``."""

import json
import os
from pathlib import Path

import pyarrow as pa
import pytest

from tallystick.app.checkpoints import survey_json, unzstd, verify_checkpoints
from tallystick.app.errors import UnreadableFileError
from tallystick.core.canonical import canonical_bytes
from tallystick.emit.checkpoint.survey import NEWEST
from tests.app.privileges import as_nobody
from tests.emit.checkpoint.made import vouch, write_dcp, write_lightning, write_plain, write_trainer


def test_a_path_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    """UnreadableFileError names it."""
    with pytest.raises(UnreadableFileError, match="gone: no such file"):
        verify_checkpoints(tmp_path / "gone", read=NEWEST)


def test_the_place_where_one_stands_has_a_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``.`` tells its step as any folder does."""
    monkeypatch.chdir(write_dcp(tmp_path / "step_7"))

    found = verify_checkpoints(Path(), read=NEWEST)

    assert found.last is not None
    assert (found.last.name, found.last.step) == ("step_7", (7, "name"))


def test_what_nobody_may_read_is_unknown(tmp_path: Path) -> None:
    """No rights to a file, a folder or a manifest are no proof that anything is torn."""
    for path in (tmp_path, *tmp_path.parents):
        if path.stat().st_uid == os.geteuid() and path.name.startswith(
            ("test_", "pytest-", "popen-")
        ):
            path.chmod(0o755)
    write_lightning(tmp_path / "step=1.ckpt", 1).chmod(0)
    write_dcp(tmp_path / "step_2").chmod(0)
    vouch(write_plain(tmp_path / "step_3"), step=3).path.chmod(0)
    write_dcp(tmp_path / "step_4")
    (tmp_path / "step_4" / ".metadata").chmod(0)

    with as_nobody():
        found = verify_checkpoints(tmp_path, read=NEWEST)

    assert {each.name: each.state for each in found.checkpoints} == {
        "step_4": "unknown",
        "step_3": "unknown",
        "step_2": "unknown",
        "step=1.ckpt": "unknown",
    }
    assert all("permission denied" in each.reason for each in found.checkpoints)


def test_the_json_of_a_survey_has_these_keys(tmp_path: Path) -> None:
    """They are stable, and unknown is null."""
    manifest = vouch(write_plain(tmp_path / "step_1"), run="r", attempt="a", step=1)
    (tmp_path / "latest").write_text("step_2", encoding="utf-8")

    stated = survey_json(tmp_path, verify_checkpoints(tmp_path, read=NEWEST))

    assert stated == {
        "path": str(tmp_path),
        "valid": 1,
        "last_valid": stated["checkpoints"][0],
        "checkpoints": [
            {
                "name": "step_1",
                "kind": "folder",
                "step": 1,
                "step_by": "manifest",
                "state": "verified",
                "valid": True,
                "reason": "every byte is that of its manifest",
                "file": None,
                "judged": "by bytes",
                "files": 2,
                "bytes": 200,
                "digests": [manifest.digest],
                "run": "r",
                "attempt": "a",
                "unchecked": [],
                "remarks": [],
            }
        ],
        "pointers": [
            {
                "name": "latest",
                "claims": ["step_2"],
                "problem": "'step_2' is no checkpoint here",
            }
        ],
        "others": [],
    }


def test_names_that_are_no_text_are_escaped(tmp_path: Path) -> None:
    """So that the JSON is JSON, wherever such a name stands."""
    raw = os.fsencode(tmp_path)
    Path(os.fsdecode(raw + b"/step_1\xff.ckpt")).write_bytes(b"PK\x03\x04")
    link = Path(os.fsdecode(raw + b"/latest\xfd"))
    link.symlink_to(os.fsdecode(b"step_9\xfe"))
    (tmp_path / os.fsdecode(b"other\xfc")).write_bytes(b"x")

    stated = survey_json(tmp_path, verify_checkpoints(tmp_path, read=NEWEST))

    text = json.loads(canonical_bytes(stated))
    assert text["checkpoints"][0]["name"] == r"step_1\xff.ckpt"
    assert text["checkpoints"][0]["file"] == r"step_1\xff.ckpt"
    assert text["pointers"][0]["name"] == r"latest\xfd"
    assert text["pointers"][0]["claims"] == [r"step_9\xfe"]
    assert text["others"] == [r"other\xfc"]


def test_half_a_character_out_of_json_is_escaped(tmp_path: Path) -> None:
    """An index may name a file that no file system can have."""
    folder = write_trainer(tmp_path / "checkpoint-1", 1)
    index = folder / "model.safetensors.index.json"
    index.write_bytes(rb'{"weight_map": {"a": "\ud800"}}')

    stated = survey_json(tmp_path, verify_checkpoints(tmp_path, read=NEWEST))

    assert json.loads(canonical_bytes(stated))["checkpoints"][0]["file"] == r"\ud800"


def test_a_size_beyond_json_is_null(tmp_path: Path) -> None:
    """A file of holes may be larger than an integer of JSON is exact."""
    write_dcp(tmp_path / "step_1")
    found = verify_checkpoints(tmp_path, read=NEWEST)
    huge = found.checkpoints[0]._replace(total_bytes=2**53)

    stated = survey_json(tmp_path, found._replace(checkpoints=(huge,)))

    assert stated["checkpoints"][0]["bytes"] is None


def test_zstandard_is_inflated_up_to_a_limit() -> None:
    """One byte more tells that there was more; what is none is a ValueError."""
    packed = pa.compress(b"x" * 100_000, codec="zstd", asbytes=True)

    assert unzstd(packed, 200_000) == b"x" * 100_000
    assert len(unzstd(packed, 1000)) == 1001
    with pytest.raises(ValueError, match=r"[Zz][Ss][Tt][Dd]"):
        unzstd(b"garbage", 1000)
