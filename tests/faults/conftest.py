"""Folders for stores: on disk where the disk matters, in memory where only the bytes do."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

MEMORY = Path("/dev/shm")  # noqa: S108 (a file system that forgets, which is all one here)


@pytest.fixture
def fast_folder(tmp_path: Path) -> Iterator[Path]:
    """Give a folder in memory, where there is such a file system."""
    if not os.access(MEMORY, os.W_OK):
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir=MEMORY) as name:
        yield Path(name)
