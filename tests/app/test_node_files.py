"""The one file for nodes, and what is put beside it."""

import stat
import subprocess
import zipfile
from io import BytesIO
from pathlib import Path

import pytest

from tallystick.app.errors import UnwritableFileError
from tallystick.app.node_files import install_node, node_file, uninstall_node
from tests.emit.slurm.nodes import PYTHON


def test_the_file_is_the_same_wherever_it_is_made() -> None:
    """So its digest tells which version a node has."""
    assert node_file() == node_file()


def test_the_file_holds_the_node_part_alone() -> None:
    """Nothing of it needs a package."""
    names = zipfile.ZipFile(BytesIO(node_file())).namelist()

    assert "tallystick/emit/hook.py" in names
    assert all(
        name in {"__main__.py", "tallystick/__init__.py"} or name.startswith("tallystick/emit/")
        for name in names
    )


def test_the_file_runs_alone(tmp_path: Path) -> None:
    """Without site packages, and from its first line."""
    path = tmp_path / "node.pyz"
    path.write_bytes(node_file())

    ran = subprocess.run([PYTHON, "-IS", path, "--help"], capture_output=True, check=True)

    assert b"tallystick-node ship" in ran.stdout
    assert path.read_bytes().startswith(b"#!/usr/bin/python3 -IS\n")


def test_settings_that_are_there_stay(tmp_path: Path) -> None:
    """An upgrade keeps what the operator wrote."""
    settings = tmp_path / "etc" / "node.env"
    settings.parent.mkdir()
    settings.write_text(f"TALLYSTICK_SPOOL={tmp_path}/mine\n")

    installed = install_node(tmp_path / "etc", spool=None, url=None, python=PYTHON)

    assert installed.spool == tmp_path / "mine"
    assert settings.read_text() == f"TALLYSTICK_SPOOL={tmp_path}/mine\n"


def test_the_unit_names_the_server(tmp_path: Path) -> None:
    """With the settings, the token and the spool that it may write."""
    url = "https://receipts.example:8480"
    install_node(tmp_path / "etc", spool=tmp_path / "spool", url=url, python=PYTHON)

    unit = (tmp_path / "etc" / "tallystick-ship.service").read_text()
    assert f"--to {url} --token-file {tmp_path}/etc/token --follow" in unit
    assert f"ReadWritePaths={tmp_path}/spool" in unit
    assert "@" not in unit


def test_scripts_can_be_run_by_slurm(tmp_path: Path) -> None:
    """By everybody: some hooks run as SlurmUser, some as the job's user."""
    installed = install_node(tmp_path / "etc", spool=tmp_path / "spool", url=None, python=PYTHON)

    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in installed.files}
    assert modes.pop("node.env") == 0o644
    assert set(modes.values()) == {0o755}
    assert installed.slurm_conf[0] == "PrologFlags=Alloc"


def test_uninstalling_leaves_settings_and_spool(tmp_path: Path) -> None:
    """What waits may still be sent."""
    install_node(tmp_path / "etc", spool=tmp_path / "spool", url="http://x", python=PYTHON)

    gone = uninstall_node(tmp_path / "etc")

    assert len(gone) == 7
    assert [path.name for path in (tmp_path / "etc").iterdir()] == ["node.env"]
    assert (tmp_path / "spool").is_dir()
    assert uninstall_node(tmp_path / "etc") == ()


def test_a_folder_that_cannot_be_written_is_one_error(tmp_path: Path) -> None:
    """It is named."""
    (tmp_path / "etc").write_text("in the way")

    with pytest.raises(UnwritableFileError, match="etc"):
        install_node(tmp_path / "etc", spool=tmp_path / "spool", url=None, python=PYTHON)


def test_a_folder_that_somebody_else_took_is_refused(tmp_path: Path) -> None:
    """What prologs leave there must be theirs alone."""
    (tmp_path / "spool").mkdir()
    (tmp_path / "spool" / "runs").symlink_to(tmp_path)

    with pytest.raises(UnwritableFileError, match="runs belongs to somebody else"):
        install_node(tmp_path / "etc", spool=tmp_path / "spool", url=None, python=PYTHON)


def test_a_folder_named_from_here_is_found_from_everywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Slurm calls hooks from a folder of its own, and the settings name the spool whole."""
    monkeypatch.chdir(tmp_path)

    installed = install_node(Path("etc"), spool=Path("spool"), url=None, python=PYTHON)

    assert f"Prolog={tmp_path}/etc/slurm-prolog" in installed.slurm_conf
    assert f"{tmp_path}/etc/tallystick-node.pyz" in (tmp_path / "etc/slurm-prolog").read_text()
    assert f"TALLYSTICK_SPOOL={tmp_path}/spool" in (tmp_path / "etc/node.env").read_text()
