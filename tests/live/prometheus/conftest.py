"""The story that all tests of this folder look at; it is told once, in about a minute."""

import os
import time
from collections.abc import Iterator

import pytest
from click.testing import CliRunner, Result

from tallystick.app.store import init_store
from tallystick.cli.collect_pull import pull_command
from tests.app.stores import ORIGIN
from tests.live.prometheus.servers import Servers, missing, running, until
from tests.live.prometheus.story import Story

SECONDS = 4


@pytest.fixture(scope="session")
def story(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Story]:
    """Let the exporter fail in every way, then Prometheus itself."""
    absent = missing()
    if absent and os.environ.get("TALLYSTICK_LIVE") != "required":
        pytest.skip(f"not installed: {', '.join(absent)}")
    with running(tmp_path_factory.mktemp("servers")) as servers:
        until(lambda: b'"1"' in servers.read("prometheus", "/api/v1/query?query=up"), "no scrape")
        start_s = int(time.time())
        time.sleep(SECONDS)
        servers.control("job=4")
        time.sleep(SECONDS)
        servers.kill("exporter")
        time.sleep(SECONDS)
        servers.start_exporter()
        servers.control("job=4")
        time.sleep(SECONDS)
        for mode in ("hang", "503", "empty", "one"):
            servers.control(f"mode={mode}")
            time.sleep(SECONDS)
            servers.control("mode=ok")
            time.sleep(SECONDS)
        servers.control("job=5")
        time.sleep(SECONDS)
        killed_s = time.time()
        servers.kill("prometheus")
        refused = _pull_from_nobody(tmp_path_factory, servers)
        servers.start_prometheus()
        back_s = time.time()
        until(lambda: _last_scrape_s(servers) > back_s, "no scrape after the restart")
        time.sleep(SECONDS)
        end_s = int(time.time())
        time.sleep(2)  # What goes to the other server is on its way for a second or two.
        servers.read("victoria", "/internal/force_flush")
        yield Story(servers, start_s, end_s, killed_s, refused)


def _last_scrape_s(servers: Servers) -> float:
    answer = servers.read("prometheus", "/api/v1/query?query=timestamp(up)")
    _, found, rest = answer.partition(b'"value":[')
    return float(rest.split(b'"')[1]) if found else 0.0


def _pull_from_nobody(folders: pytest.TempPathFactory, servers: Servers) -> Result:
    """Ask a Prometheus that was killed."""
    store = folders.mktemp("nobody") / "store"
    init_store(store, ORIGIN)
    arguments = ["--match", "x", "--cadence", "1", "--store", str(store)]
    times = ["--from", "2026-03-01T00:00:00Z", "--to", "2026-03-01T01:00:00Z"]
    return CliRunner().invoke(
        pull_command, ["--url", servers.url("prometheus"), *times, *arguments]
    )
