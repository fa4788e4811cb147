"""A small server that answers like Prometheus, or like VictoriaMetrics, from a list of series.

Selectors are a bare name, or the one that asks for scrapes. Answers can be made to fail:
``faults`` are taken one by one before the true answer.
"""

import json
import re
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

from tallystick.collectors.pull import Server

START_MS = 1_772_323_200_000  # 2026-03-01T00:00:00Z
_RANGE = re.compile(r"(.*)\[(\d+)ms\]", re.DOTALL)


class Series(NamedTuple):
    """One label set and its samples: milliseconds and the text of a value, None if stale."""

    labels: dict[str, str]
    samples: list[tuple[int, str | None]]


class Fault(NamedTuple):
    """An answer that is none; a status of 0 breaks the connection off within the answer."""

    status: int
    said: bytes = b""


@dataclass
class FakeServer:
    """What the server has, how it counts, and what it was asked."""

    series: list[Series]
    kind: str = "prometheus"
    is_left_open: bool = False
    samples_max: int = 10**9
    warnings: list[str] = field(default_factory=list)
    is_partial: bool = False
    faults: list[Fault] = field(default_factory=list)
    asked: list[tuple[str, dict[str, list[str]]]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)

    def answer(self, path: str, fields: dict[str, list[str]]) -> tuple[int, bytes]:
        """Answer a request with a status and a body."""
        is_data = path in {"/api/v1/query", "/api/v1/export"} and fields.get("end") != ["1"]
        if is_data and self.faults:
            fault = self.faults.pop(0)
            return fault.status, fault.said
        if path == "/api/v1/label/job/values":
            found = self._matching(fields["match[]"][0])
            jobs = {each.labels["job"] for each in found if "job" in each.labels}
            return 200, _json({"status": "success", "data": sorted(jobs)})
        if path == "/api/v1/export" and self.kind == "victoriametrics":
            return self._export(fields)
        if path == "/api/v1/status/buildinfo" and self.kind != "other":
            return 200, _json({"status": "success", "data": {"version": "2.42.0"}})
        if path == "/api/v1/query" and self.kind == "prometheus":
            return self._query(fields)
        return 404, b"404 page not found\n"

    def _matching(self, match: str) -> list[Series]:
        if match.startswith("{"):
            names = {"up", "scrape_samples_scraped"}
            return [each for each in self.series if each.labels["__name__"] in names]
        return [each for each in self.series if each.labels.get("__name__", "") == match]

    def _query(self, fields: dict[str, list[str]]) -> tuple[int, bytes]:
        asked = _RANGE.fullmatch(fields["query"][0])
        if asked is None:
            return 400, b'{"status":"error","errorType":"bad_data","error":"parse error"}'
        end_ms = int(Decimal(fields["time"][0]) * 1000)
        start_ms = end_ms - int(asked[2]) + self.is_left_open
        result, count = [], 0
        for each in self._matching(asked[1]):
            values = [
                [Decimal(at_ms) / 1000, value]
                for at_ms, value in each.samples
                if start_ms <= at_ms <= end_ms and value is not None
            ]
            count += len(values)
            result += [{"metric": each.labels, "values": values}] if values else []
        if count > self.samples_max:
            said = "query processing would load too many samples into memory in query execution"
            return 422, _json({"status": "error", "errorType": "execution", "error": said})
        data = {"resultType": "matrix", "result": result}
        warnings = {"warnings": self.warnings} if self.warnings else {}
        partial = {"isPartial": True} if self.is_partial else {}
        return 200, _json({"status": "success", "data": data} | warnings | partial)

    def _export(self, fields: dict[str, list[str]]) -> tuple[int, bytes]:
        start_ms, end_ms = (int(Decimal(fields[name][0]) * 1000) for name in ("start", "end"))
        lines = []
        for each in self._matching(fields["match[]"][0]):
            inside = [sample for sample in each.samples if start_ms <= sample[0] <= end_ms]
            values = ",".join("null" if value is None else value for _, value in inside)
            times = ",".join(str(at_ms) for at_ms, _ in inside)
            head = f'{{"metric":{json.dumps(each.labels)},"values":['
            lines += [f'{head}{values}],"timestamps":[{times}]}}\n'] if inside else []
        return 200, "".join(lines).encode()


def _json(value: Any) -> bytes:
    """Write JSON with times as they are, to the millisecond."""
    return (
        json.dumps(value, default=lambda at: f"@{at}@").replace('"@', "").replace('@"', "").encode()
    )


@contextmanager
def serving(fake: FakeServer, *, context: ssl.SSLContext | None = None) -> Iterator[Server]:
    """Let a fake answer on a free port; give what asks it, with little patience."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._reply(urlsplit(self.path).query)

        def do_POST(self) -> None:
            self._reply(self.rfile.read(int(self.headers["Content-Length"])).decode())

        def _reply(self, form: str) -> None:
            path, fields = urlsplit(self.path).path, parse_qs(form)
            fake.asked.append((path, fields))
            fake.headers.append(dict(self.headers))
            status, body = fake.answer(path, fields)
            self.close_connection = True
            self.send_response(status or 200)
            self.send_header("Content-Length", str(len(body) + (not status)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    if context is not None:
        http.socket = context.wrap_socket(http.socket, server_side=True)
    scheme = "http" if context is None else "https"
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield Server(
            f"{scheme}://127.0.0.1:{http.server_address[1]}", pauses_s=(0.0, 0.0), timeout_s=5
        )
    finally:
        http.shutdown()
        thread.join()
        http.server_close()


TARGET = {"job": "dcgm", "instance": "n1:9400", "hostname": "n1"}


def device(name: str, gpu: str, seconds: str, **labels: str) -> Series:
    """Give a series of a GPU: ``0 1 2=50 3=null``; a time without a value has 97."""
    return Series(TARGET | {"__name__": name, "UUID": gpu} | labels, _samples(seconds, "97"))


def scrapes(seconds: str, counts: str | None = None, **labels: str) -> list[Series]:
    """Give ``up`` (1 unless stated) and how many samples each scrape gave (10 unless stated)."""
    up = _samples(seconds, "1")
    counted: list[tuple[int, str | None]]
    if counts is None:
        counted = [(at, "0" if value == "0" else "10") for at, value in up]
    else:
        counted = _samples(counts, "10")
    target = TARGET | labels
    return [
        Series(target | {"__name__": "up"}, up),
        Series(target | {"__name__": "scrape_samples_scraped"}, counted),
    ]


def _samples(seconds: str, otherwise: str) -> list[tuple[int, str | None]]:
    samples: list[tuple[int, str | None]] = []
    for each in seconds.split():
        at, _, value = each.partition("=")
        samples.append((at_ms(at), None if value == "null" else value or otherwise))
    return samples


def at_ms(seconds: str) -> int:
    """Give seconds after the start as milliseconds since the epoch."""
    return START_MS + int(Decimal(seconds) * 1000)
