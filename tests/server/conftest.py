"""A server that the tests of a file share."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.server.servers import Server, new_server_store, running


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Make a store of a test's own."""
    return new_server_store(tmp_path)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Run a server with the usual limits for a whole file."""
    with running(new_server_store(tmp_path_factory.mktemp("served"))) as one:
        yield one
