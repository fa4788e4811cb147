"""Manifests: their bytes, their digest, and what is refused."""

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import pytest

from tallystick.emit.checkpoint.errors import BadManifestError, UnnameableFileError
from tallystick.emit.checkpoint.listing import listing
from tallystick.emit.checkpoint.manifest import Part, make_manifest, write_manifest
from tallystick.emit.checkpoint.manifest_text import read_manifest
from tallystick.emit.checkpoint.reading import UntoldError
from tallystick.emit.checkpoint.stated import missing_parts
from tests.emit.checkpoint.made import vouch, write_plain

GOOD = {
    "schema": "tallystick.checkpoint/1",
    "files": [{"name": "a", "size": 1, "sha256": "0" * 64}],
}


def test_a_manifest_says_what_it_says_in_these_bytes(tmp_path: Path) -> None:
    """Canonical JSON and a line feed: others compute the same."""
    (tmp_path / "a").write_bytes(b"abc")
    (tmp_path / "b").symlink_to("a")

    manifest = vouch(tmp_path, run="r1", attempt="x", checkpoint="step-7", step=7)

    assert (tmp_path / "tallystick-manifest.json").read_bytes() == (
        b'{"attempt":"x","checkpoint":"step-7","files":[{"name":"a","sha256":'
        b'"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad","size":3}],'
        b'"links":[{"name":"b","target":"a"}],"run":"r1",'
        b'"schema":"tallystick.checkpoint/1","step":7}\n'
    )
    assert manifest.total_bytes == 3


def test_the_digest_of_a_checkpoint_is_that_of_its_manifest_file(tmp_path: Path) -> None:
    """`sha256sum` of the manifest gives it."""
    manifest = vouch(write_plain(tmp_path / "c"))

    digest = hashlib.sha256(manifest.path.read_bytes()).hexdigest()

    assert manifest.digest == f"sha256:{digest}"


def test_what_is_written_is_what_is_read(tmp_path: Path) -> None:
    """A manifest survives its file, whole and in part, with its digest."""
    for part in (None, Part(1, 4)):
        manifest = vouch(write_plain(tmp_path / f"c{part is None}"), step=3, part=part)

        stated = read_manifest(manifest.path)

        assert stated.manifest == manifest
        assert stated.digest == manifest.digest


def test_unknown_facts_are_left_out(tmp_path: Path) -> None:
    """What nobody stated is absent, not null."""
    manifest = vouch(write_plain(tmp_path / "c"))

    assert json.loads(manifest.text).keys() == {"schema", "files"}


def test_a_manifest_that_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    """Where a folder stands in its place, no draft stays behind."""
    folder = write_plain(tmp_path / "c")
    manifest = make_manifest(listing([folder]))
    manifest.path.mkdir()

    with pytest.raises(OSError, match="directory"):
        write_manifest(manifest)

    assert sorted(path.name for path in folder.iterdir()) == [
        "model.bytes",
        "optim",
        "tallystick-manifest.json",
    ]


def test_the_draft_of_a_killed_writer_is_in_nobodys_way(tmp_path: Path) -> None:
    """The next writer takes its place."""
    folder = write_plain(tmp_path / "c")
    (folder / ".tallystick-manifest.json.tmp").write_bytes(b'{"half')

    vouch(folder)

    assert not (folder / ".tallystick-manifest.json.tmp").exists()


def test_a_name_that_is_no_text_cannot_be_stated(tmp_path: Path) -> None:
    """checkpoint_name_not_utf8: JSON has no way to write it."""
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff")).write_bytes(b"x")

    with pytest.raises(UnnameableFileError, match="udcff"):
        make_manifest(listing([tmp_path]))


@pytest.mark.parametrize(
    "change",
    [
        {"schema": "other"},
        {"schema": None},
        {"schema": [[]]},
        {"files": []},
        {"files": {}},
        {"files": [{"name": "a"}]},
        {"files": [{"name": "a", "size": -1, "sha256": "0" * 64}]},
        {"files": [{"name": "a", "size": True, "sha256": "0" * 64}]},
        {"files": [{"name": "a", "size": 1.5, "sha256": "0" * 64}]},
        {"files": [{"name": "a", "size": 2**53, "sha256": "0" * 64}]},
        {"files": [{"name": "a", "size": 1, "sha256": "Z" * 64}]},
        {"files": [{"name": "../a", "size": 1, "sha256": "0" * 64}]},
        {"files": [{"name": "/a", "size": 1, "sha256": "0" * 64}]},
        {"files": [{"name": "a\0", "size": 1, "sha256": "0" * 64}]},
        {"files": GOOD["files"] * 2},  # type: ignore[operator]
        {"links": [{"name": "b"}]},
        {"step": "7"},
        {"run": 1},
        {"run": "\ud800"},
        {"part": {"rank": 0, "ranks": 2}},
    ],
)
def test_what_is_no_manifest_is_refused(tmp_path: Path, change: dict[str, Any]) -> None:
    """bad_checkpoint_manifest: each field has one form, and a name stays within."""
    path = tmp_path / "tallystick-manifest.json"
    path.write_text(json.dumps({**GOOD, **change}), encoding="utf-8")

    with pytest.raises(BadManifestError) as caught:
        read_manifest(path)

    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "data", [b"", b"{", b"[]", b"[" * 100_000, b"\xff", b'{"schema":' + b"9" * 10_000 + b"}"]
)
def test_what_is_no_json_is_refused(tmp_path: Path, data: bytes) -> None:
    """Cut short, nested without end, or no text at all."""
    path = tmp_path / "tallystick-manifest.json"
    path.write_bytes(data)

    with pytest.raises(BadManifestError):
        read_manifest(path)


def test_a_manifest_of_a_later_version_is_not_called_bad(tmp_path: Path) -> None:
    """It may be right; it is only not known here."""
    path = tmp_path / "tallystick-manifest.json"
    path.write_text(json.dumps({**GOOD, "schema": "tallystick.checkpoint/2"}), encoding="utf-8")

    with pytest.raises(UntoldError, match="not known"):
        read_manifest(path)


def test_fields_that_come_later_are_passed_over(tmp_path: Path) -> None:
    """The schema may grow optional fields."""
    path = tmp_path / "tallystick-manifest.json"
    path.write_text(json.dumps({**GOOD, "later": {"x": 1.5}}), encoding="utf-8")

    assert read_manifest(path).manifest.files[0].name == "a"


@pytest.mark.parametrize(
    ("names", "missing"),
    [
        (["tallystick-manifest.0-of-1.json"], ()),
        (
            ["tallystick-manifest.1-of-3.json", "model"],
            ("tallystick-manifest.0-of-3.json", "tallystick-manifest.2-of-3.json"),
        ),
        (["tallystick-manifest.0-of-1.json", "tallystick-manifest.0-of-2.json"], None),
        (["tallystick-manifest.json"], None),
        (["tallystick-manifest.2-of-2.json", "tallystick-manifest.00-of-2.json"], None),
    ],
)
def test_a_save_by_ranks_is_whole_when_every_part_is_there(
    names: list[str], missing: tuple[str, ...] | None
) -> None:
    """All ranks of one count, and no part of another save."""
    assert missing_parts(names) == missing
