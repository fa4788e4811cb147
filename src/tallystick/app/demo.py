"""Laying out the demo: its inputs, which the package carries, in a folder of their own."""

import shutil
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Final

from tallystick.app.errors import UnwritableFileError
from tallystick.app.files import write_file
from tallystick.app.store import SETTINGS

KEY_FILES: Final = ("provider.key", "provider.key.vkey")
STORE: Final = "store"
MARK: Final = b"# Inputs of the demo\n"


def lay_out_demo(folder: Path) -> None:
    """Put the inputs into a folder that is new, empty, or that of an earlier demo.

    Key and store of an earlier demo go, so that every demo begins with fresh ones. What the
    demo does not write itself stays.

    Raises:
        UnwritableFileError: the folder holds something else, or cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()) and not _is_demo(folder):
            raise UnwritableFileError(str(folder), "it holds files, and not those of a demo")
        for name in KEY_FILES:
            (folder / name).unlink(missing_ok=True)
        _remove_store(folder)
        _copy(files("tallystick") / "demo_data", folder)
    except OSError as error:
        raise UnwritableFileError(str(folder), (error.strerror or str(error)).lower()) from error


def _remove_store(folder: Path) -> None:
    """Remove the store of an earlier demo, and the head that is kept beside it."""
    if (folder / STORE / SETTINGS).exists():
        shutil.rmtree(folder / STORE)
        for kept in folder.glob(f"{STORE}.head*"):
            kept.unlink()


def _is_demo(folder: Path) -> bool:
    try:
        return (folder / "README.md").read_bytes().startswith(MARK)
    except FileNotFoundError:
        return False


def _copy(source: Traversable, target: Path) -> None:
    for entry in source.iterdir():
        if entry.is_dir():
            (target / entry.name).mkdir(exist_ok=True)
            _copy(entry, target / entry.name)
        else:
            write_file(target / entry.name, entry.read_bytes())
