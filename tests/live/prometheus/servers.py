"""A real Prometheus that scrapes an exporter each second and writes to a real VictoriaMetrics.

All listen on free ports of the loopback and live in one folder; whatever happens, all are
killed at the end.
"""

import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).parent
BINARIES: Final = ("prometheus", "promtool", "victoria-metrics")
CONFIG: Final = """
global: {{scrape_interval: 1s, scrape_timeout: 900ms}}
scrape_configs:
  - job_name: gpus
    static_configs: [{{targets: ["127.0.0.1:{exporter}"], labels: {{hostname: n}}}}]
remote_write:
  - url: http://127.0.0.1:{victoria}/api/v1/write
    queue_config: {{batch_send_deadline: 1s}}
"""


def missing() -> list[str]:
    """Name the programs that are not installed."""
    return [name for name in BINARIES if shutil.which(name) is None]


class Servers:
    """The three processes, by name."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.ports = dict(zip(("exporter", "victoria", "prometheus"), _free_ports(3), strict=True))
        self.log = folder / "pages.jsonl"
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        (folder / "prometheus.yml").write_text(CONFIG.format(**self.ports), encoding="utf-8")

    def url(self, name: str) -> str:
        """Give the address of a server."""
        return f"http://127.0.0.1:{self.ports[name]}"

    def start_exporter(self) -> None:
        """Start the exporter, or start it again."""
        command = [
            sys.executable,
            str(HERE / "exporter.py"),
            str(self.ports["exporter"]),
            str(self.log),
        ]
        self._start("exporter", command, "/ctl")

    def start_victoria(self) -> None:
        """Start VictoriaMetrics."""
        command = [
            "victoria-metrics",
            f"-storageDataPath={self.folder / 'victoria'}",
            f"-httpListenAddr=127.0.0.1:{self.ports['victoria']}",
            "-retentionPeriod=100y",
            "-loggerLevel=ERROR",
            "-memory.allowedBytes=256MB",
        ]
        self._start("victoria", command, "/health")

    def start_prometheus(self) -> None:
        """Start Prometheus, or start it again."""
        command = [
            "prometheus",
            f"--config.file={self.folder / 'prometheus.yml'}",
            f"--storage.tsdb.path={self.folder / 'prometheus'}",
            f"--web.listen-address=127.0.0.1:{self.ports['prometheus']}",
            "--log.level=error",
            "--query.max-samples=10",  # Less than a span has, so that it is asked in halves.
        ]
        self._start("prometheus", command, "/-/ready")

    def control(self, setting: str) -> None:
        """Tell the exporter what to do next."""
        self.read("exporter", f"/ctl?{setting}")

    def read(self, name: str, path: str) -> bytes:
        """Ask a server."""
        with urllib.request.urlopen(self.url(name) + path, timeout=5) as reply:  # noqa: S310 (ours)
            body: bytes = reply.read()
        return body

    def kill(self, name: str) -> None:
        """Kill a process at once."""
        process = self._running.pop(name)
        process.send_signal(signal.SIGKILL)
        process.wait()

    def kill_all(self) -> None:
        """Kill what runs."""
        for name in list(self._running):
            self.kill(name)

    def dump(self) -> str:
        """Give all that Prometheus has on disk, as its own tool prints it."""
        command = ["promtool", "tsdb", "dump", str(self.folder / "prometheus")]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        return done.stdout

    def _start(self, name: str, command: Sequence[str], path: str) -> None:
        with (self.folder / f"{name}.out").open("ab") as out:
            self._running[name] = subprocess.Popen(command, stdout=out, stderr=out)
        until(lambda: bool(self.read(name, path)), f"{name} does not answer")


def until(holds: Callable[[], bool], message: str, seconds: float = 20) -> None:
    """Wait until something holds.

    Raises:
        AssertionError: it does not, for too long.
    """
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        with suppress(OSError):
            if holds():
                return
        time.sleep(0.1)
    raise AssertionError(message)


@contextmanager
def running(folder: Path) -> Iterator[Servers]:
    """Run all three."""
    servers = Servers(folder)
    try:
        servers.start_exporter()
        servers.start_victoria()
        servers.start_prometheus()
        yield servers
    finally:
        servers.kill_all()


def _free_ports(count: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports
