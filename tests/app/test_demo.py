"""Laying out the demo: where it may write, and what it leaves alone."""

from importlib.resources import files
from pathlib import Path

import pytest

from tallystick.app.demo import KEY_FILES, MARK, lay_out_demo
from tallystick.app.errors import UnwritableFileError


def test_a_new_folder_gets_all_inputs(tmp_path: Path) -> None:
    """Every file that the package carries is there, byte for byte."""
    data = Path(str(files("tallystick") / "demo_data"))
    carried = {path.relative_to(data): path.read_bytes() for path in data.rglob("*.*")}

    lay_out_demo(tmp_path / "a" / "b")

    laid = {
        path.relative_to(tmp_path / "a" / "b"): path.read_bytes()
        for path in tmp_path.rglob("*.*")
        if path.is_file()
    }
    assert laid == carried
    assert carried[Path("README.md")].startswith(MARK)


def test_an_empty_folder_will_do(tmp_path: Path) -> None:
    """A folder without files is laid out like a new one."""
    lay_out_demo(tmp_path)

    assert (tmp_path / "contract.toml").is_file()


def test_an_earlier_demo_is_renewed(tmp_path: Path) -> None:
    """Its inputs are as at first and its key is gone; a file of the reader's stays."""
    lay_out_demo(tmp_path)
    contract = (tmp_path / "contract.toml").read_bytes()
    for name in (*KEY_FILES, "contract.toml", "notes.txt"):
        (tmp_path / name).write_text("mine", encoding="utf-8")

    lay_out_demo(tmp_path)

    assert [name for name in KEY_FILES if (tmp_path / name).exists()] == []
    assert (tmp_path / "contract.toml").read_bytes() == contract
    assert (tmp_path / "notes.txt").read_text(encoding="utf-8") == "mine"


@pytest.mark.parametrize("name", ["contract.toml", "README.md", "provider.key"])
def test_a_folder_with_other_files_is_refused(tmp_path: Path, name: str) -> None:
    """Nothing of a folder that is no demo's is changed or added."""
    (tmp_path / name).write_text("mine", encoding="utf-8")

    with pytest.raises(UnwritableFileError) as caught:
        lay_out_demo(tmp_path)

    assert str(caught.value).endswith("it holds files, and not those of a demo")
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).read_text(encoding="utf-8") == "mine"


def test_a_file_in_the_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    """The path of a file is no folder to write to."""
    (tmp_path / "demo-out").write_text("mine", encoding="utf-8")

    with pytest.raises(UnwritableFileError):
        lay_out_demo(tmp_path / "demo-out")

    assert (tmp_path / "demo-out").read_text(encoding="utf-8") == "mine"
