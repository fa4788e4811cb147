"""A stand-in for dcgm-exporter that fails on request and notes every page that it served.

Each page has a number, which is the value of ``PAGE`` for every GPU on it, so that a sample
can be traced to the page that it came from. ``GET /ctl?mode=ok|503|hang|empty|one`` sets what
happens next (``one`` leaves the second GPU out), ``job=4`` puts a job's label on the first GPU.

usage: exporter.py PORT LOG
"""

import json
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from pathlib import Path
from threading import Lock
from urllib.parse import parse_qsl, urlsplit

GPUS = ("GPU-11111111-aaaa-bbbb-cccc-000000000001", "GPU-11111111-aaaa-bbbb-cccc-000000000002")
PAGE = "PAGE_NUMBER"
UTIL = "BUSY_UTIL"


class Exporter(ThreadingHTTPServer):
    """What the exporter is set to, and the log of its pages."""

    daemon_threads = True

    def __init__(self, port: int, log: Path) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.settings = {"mode": "ok", "job": ""}
        self.log = log
        # Numbers go on after a restart, as the log does.
        self.numbers = count(len(log.read_bytes().splitlines()) if log.exists() else 0)
        self.lock = Lock()

    def page(self) -> bytes:
        """Write the next page, and note it."""
        mode, job = self.settings["mode"], self.settings["job"]
        if mode == "empty":
            return b""
        with self.lock:
            number = next(self.numbers)
            gpus = GPUS[:1] if mode == "one" else GPUS
            with self.log.open("a", encoding="utf-8") as log:
                log.write(json.dumps({"page": number, "gpus": gpus}) + "\n")
        lines = []
        for name, value in ((PAGE, number), (UTIL, 97)):
            lines.append(f"# TYPE {name} gauge")
            for index, uuid in enumerate(gpus):
                label = f',hpc_job="{job}"' if job and not index else ""
                lines.append(f'{name}{{gpu="{index}",UUID="{uuid}"{label}}} {value}')
        return ("\n".join(lines) + "\n").encode()


class _Handler(BaseHTTPRequestHandler):
    server: Exporter

    def do_GET(self) -> None:
        """Serve a page, or take a setting."""
        parts = urlsplit(self.path)
        if parts.path == "/ctl":
            self.server.settings.update(parse_qsl(parts.query, keep_blank_values=True))
            self._send(200, b"done\n")
        elif self.server.settings["mode"] == "503":
            self._send(503, b"the collector is not ready\n")
        elif self.server.settings["mode"] == "hang":
            time.sleep(60)
        else:
            self._send(200, self.server.page())

    def _send(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


if __name__ == "__main__":
    Exporter(int(sys.argv[1]), Path(sys.argv[2])).serve_forever()
