"""``tallystick packet``: what it prints of a folder."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tallystick.rehearsal.packet import packet_files
from tests.evidence.records import notice
from tests.rehearsal.packet.packets import interrupted, packet_of, twin

Ran = subprocess.CompletedProcess[str]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Give a folder with the pages of a packet, and no bundles."""
    packet = packet_of(tmp_path, *interrupted(notice("00:29")), *twin())
    for name, data in packet_files(packet).items():
        (tmp_path / name).write_bytes(data)
    return tmp_path


def packet(*words: str) -> Ran:
    """Run the command."""
    argv = [sys.executable, "-m", "tallystick", "packet", *words]
    return subprocess.run(argv, capture_output=True, text=True, check=False)


def test_a_packet_is_shown_in_80_columns(folder: Path) -> None:
    """Its four parts, each number on a line."""
    ran = packet("show", str(folder))

    assert ran.returncode == 0
    assert max(map(len, ran.stdout.splitlines())) <= 80
    for title in ("Detect: interruption 1", "Restore: interruption 1", "Finish", "Reconcile"):
        assert title in ran.stdout.splitlines()
    assert "  lost steps               10\n" in ran.stdout


def test_a_packet_is_shown_as_json(folder: Path) -> None:
    """One object, as the file has it."""
    ran = packet("show", str(folder), "--json")

    assert json.loads(ran.stdout) == json.loads((folder / "packet.json").read_bytes())


def test_what_is_no_packet_is_one_line(tmp_path: Path) -> None:
    """With its code."""
    (tmp_path / "packet.json").write_text("{}")

    ran = packet("show", str(tmp_path))

    assert ran.returncode != 0
    assert ran.stderr.startswith("tallystick: bad_packet: ")
    assert ran.stderr.count("\n") == 1


def test_verifying_needs_the_bundles(folder: Path) -> None:
    """The pages alone prove nothing."""
    ran = packet("verify", str(folder))

    assert ran.returncode != 0
    assert "unreadable_file" in ran.stderr
