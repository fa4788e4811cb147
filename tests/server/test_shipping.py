"""From the spool of a node to a server: nothing is lost, nothing is told twice."""

import signal
import subprocess
import time
from pathlib import Path

import pytest

from tallystick.app.node_files import node_file
from tests.emit.slurm.nodes import PYTHON
from tests.emit.spools import HOOK, aside, files, new_spool
from tests.server.servers import Server, running, stored, token_of

COUNT = 60


@pytest.fixture
def node(tmp_path: Path) -> Path:
    """Make a node with the one file, and a spool in which records wait."""
    (tmp_path / "node.pyz").write_bytes(node_file())
    spool = new_spool(tmp_path / "spool")
    for number in range(COUNT):
        spool.put(HOOK, {"n": number}, None)
    return tmp_path


def shipper(node: Path, server: Server, *options: str, token: str = "") -> subprocess.Popen[bytes]:
    """Start the shipper of the node's file, which has nothing but Python."""
    (node / "token").write_text(token or server.token)
    to = ("--to", server.url, "--token-file", f"{node}/token", "--spool", f"{node}/spool")
    command = [PYTHON, "-IS", f"{node}/node.pyz", "ship", *to, *options]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def ship(node: Path, server: Server, token: str = "") -> tuple[int, str]:
    """Ship what waits; gives the exit status and what was said."""
    process = shipper(node, server, token=token)
    said, wrong = process.communicate(timeout=30)
    return process.returncode, (said + wrong).decode()


def told(store: Path) -> list[int]:
    """Give the numbers of the records that the store has, in order."""
    return [each["body"]["n"] for each in stored(store) if each["kind"] == HOOK]


def test_a_node_ships_to_a_server(node: Path, store: Path) -> None:
    """Every record is in the store, and none waits any more."""
    with running(store) as server:
        status, said = ship(node, server)

    assert (status, said) == (0, f"accepted {COUNT}\n")
    assert told(store) == list(range(COUNT))
    assert files(node / "spool") == []


def test_a_token_for_another_node_ships_nothing(node: Path, store: Path) -> None:
    """The records are well, so they wait on until somebody gives the node its own token."""
    other = token_of(store, "slurm-hook/n2")
    with running(store) as server:
        status, said = ship(node, server, other)
        while_denied = len(files(node / "spool"))
        ship(node, server)

    assert (status, while_denied) == (1, COUNT)
    assert f"{COUNT} records are not allowed with this token" in said
    assert aside(node / "spool") == []
    assert sorted(told(store)) == list(range(COUNT))


def test_a_server_that_takes_small_batches_gets_small_ones(node: Path, store: Path) -> None:
    """A batch that is too large is halved until it fits."""
    with running(store, batch_lines=10) as server:
        status, _ = ship(node, server)

    assert status == 0
    assert told(store) == list(range(COUNT))


def test_a_server_that_dies_loses_nothing(node: Path, store: Path) -> None:
    """Killed while records come, and started again elsewhere: each is there once."""
    spool = new_spool(node / "spool")
    with running(store, batch_lines=5) as server:
        process = shipper(node, server, "--follow", "--every", "0.1")
        while not (store / "log.db").exists() or len(files(node / "spool")) > COUNT - 5:
            time.sleep(0.01)
        server.stop(signal.SIGKILL)
        for number in range(COUNT, COUNT + 20):
            spool.put(HOOK, {"n": number}, None)
        process.kill()
        process.communicate()
    with running(store) as server:
        ship(node, server)

    assert sorted(told(store)) == list(range(COUNT + 20))
    assert files(node / "spool") == []


def test_a_shipper_that_dies_tells_nothing_twice(node: Path, store: Path) -> None:
    """Killed again and again, at whatever moment: each record is in the store once."""
    with running(store, batch_lines=5) as server:
        for round_ms in range(20, 220, 20):
            process = shipper(node, server)
            time.sleep(round_ms / 1000)
            process.kill()
            process.communicate()
        ship(node, server)

    assert sorted(told(store)) == list(range(COUNT))
    assert files(node / "spool") == []


def test_a_shipper_stops_when_it_is_asked(node: Path, store: Path) -> None:
    """With 0, after what it was doing."""
    with running(store) as server:
        process = shipper(node, server, "--follow", "--every", "0.1")
        while files(node / "spool"):
            time.sleep(0.01)
        process.terminate()
        process.communicate(timeout=20)

    assert process.returncode == 0
    assert len(told(store)) == COUNT
