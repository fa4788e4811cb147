"""The stand-in library, built once, and a folder in which it is told what to say."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tallystick.collectors.nvml.library import Nvml, open_nvml
from tests.collectors.nvml.boards import BOARD, OTHER, build, say, use


@pytest.fixture(scope="session")
def stand_in(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the library."""
    return build(tmp_path_factory.mktemp("nvml"))


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Give a node with two boards."""
    say(tmp_path, BOARD, OTHER)
    return tmp_path


@pytest.fixture
def nvml(stand_in: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Nvml]:
    """Open the library of that node."""
    use(stand_in, home, monkeypatch)
    library = open_nvml()
    yield library
    library.close()
