"""A packet is verified by computing it again from nothing but its folder."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from threading import Event

import pytest

from tallystick.app.errors import BadPacketError, PacketDiffersError, UnreadableFileError
from tallystick.app.keys import keys_in
from tallystick.app.packets import read_packet, verify_packet
from tallystick.app.rehearse import load_rehearsal, run_rehearsal
from tallystick.receipt.errors import VerificationError
from tests.app.test_rehearse import plan_file

Spoil = Callable[[Path], None]


@pytest.fixture(scope="module")
def left(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give what a rehearsal left."""
    plan = plan_file(tmp_path_factory.mktemp("plan"))
    run_rehearsal(load_rehearsal(plan), stop=Event())
    return plan.with_name("plan.rehearsal")


@pytest.fixture
def folder(left: Path, tmp_path: Path) -> Path:
    """Give a copy of the papers that may be spoiled."""
    for name in ("packet.json", "packet.md", "packet.html"):
        shutil.copy(left / name, tmp_path / name)
    for name in ("interrupted.bundle", "uninterrupted.bundle"):
        shutil.copy(left / name, tmp_path / name)
    shutil.copytree(left / "keys", tmp_path / "keys")
    return tmp_path


def verified(folder: Path) -> tuple[str, ...]:
    """Verify a folder against its own keys."""
    return verify_packet(folder, keys_in(folder / "keys")).files


def test_a_packet_follows_from_its_bundles(folder: Path) -> None:
    """Both receipts and all three pages, byte for byte."""
    assert verified(folder) == (
        "interrupted.bundle",
        "uninterrupted.bundle",
        "packet.json",
        "packet.md",
        "packet.html",
    )


@pytest.mark.parametrize("name", ["packet.json", "packet.md", "packet.html"])
def test_a_figure_that_was_changed_is_found(folder: Path, name: str) -> None:
    """The file is named (``packet_differs``)."""
    path = folder / name
    data = path.read_bytes()
    path.write_bytes(data.replace(b"2", b"3", 1))

    with pytest.raises(PacketDiffersError, match=name) as caught:
        verified(folder)

    assert caught.value.code == "packet_differs"


def test_a_bundle_that_was_changed_is_no_bundle(folder: Path) -> None:
    """Nothing is compared with it."""
    path = folder / "uninterrupted.bundle"
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)

    with pytest.raises(VerificationError):
        verified(folder)


def test_without_a_key_nothing_is_verified(folder: Path) -> None:
    """There is nothing to check against."""
    with pytest.raises(VerificationError):
        verify_packet(folder, ())


def test_a_packet_without_its_twin_says_another_thing(folder: Path) -> None:
    """It was made from both."""
    (folder / "uninterrupted.bundle").unlink()

    with pytest.raises(PacketDiffersError, match=r"packet\.json"):
        verified(folder)


def test_a_packet_is_read_as_it_was_written(folder: Path) -> None:
    """Without verifying anything."""
    assert read_packet(folder) == json.loads((folder / "packet.json").read_bytes())


def test_a_folder_without_a_packet_cannot_be_read(tmp_path: Path) -> None:
    """It may be that of something else."""
    with pytest.raises(UnreadableFileError):
        read_packet(tmp_path)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b"{}",
        b"\xff",
        b'{"schema":"tallystick.packet/2"}',
        b'{"schema":"tallystick.packet/1"}',
        b'{"schema":"tallystick.packet/1","run":7,"interruptions":[]}',
        b"[" * 100_000,
    ],
)
def test_what_is_no_packet_is_refused(tmp_path: Path, data: bytes) -> None:
    """With one line that says so (``bad_packet``)."""
    (tmp_path / "packet.json").write_bytes(data)

    with pytest.raises(BadPacketError) as caught:
        read_packet(tmp_path)

    assert caught.value.code == "bad_packet"
