"""A stand-in for the Kubernetes API: plain HTTP on loopback that plays what it was given.

For each plural it has a list, and a script for each watch that is opened, in order: what to send
and how to break. When the scripts of a plural are used up, a watch stays open and silent. Paths,
parameters and answers are those of the API; the real client talks to it.
"""

import json
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

Json = dict[str, Any]

CUT = "cut"
"""Break the connection off in the middle of the next event."""
GONE = "gone"
"""Say within the stream that the version has expired."""
END = "end"
"""End the stream as a server does after its time."""


@dataclass
class Answer:
    """An answer to a list or a watch that is no success."""

    status: int


@dataclass
class Resource:
    """What the API has of one plural: lists one after another, and scripts of watches."""

    lists: list[Sequence[Json] | Answer] = field(default_factory=list)
    watches: list[Sequence[Json | str] | Answer] = field(default_factory=list)
    version: str = "10"
    asked: list[dict[str, str]] = field(default_factory=list)


@dataclass
class KubeApi:
    """The stand-in: what it has, and where it listens."""

    resources: dict[str, Resource] = field(default_factory=dict)
    port: int = 0
    is_closing: bool = False

    def of(self, plural: str) -> Resource:
        """Give a resource, which is then served."""
        return self.resources.setdefault(plural, Resource())

    def watched(self, plural: str) -> list[dict[str, str]]:
        """Give the parameters of each watch that was asked for."""
        return [each for each in self.of(plural).asked if each.get("watch")]

    def kubeconfig(self, folder: Path) -> str:
        """Write a file that leads a client here."""
        cluster = {"server": f"http://127.0.0.1:{self.port}"}
        config: Json = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "c", "cluster": cluster}],
            "users": [{"name": "u", "user": {"token": "t"}}],
            "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
            "current-context": "x",
        }
        path = folder / "kubeconfig"
        path.write_text(json.dumps(config), encoding="utf-8")
        return str(path)


@contextmanager
def kube_api() -> Iterator[KubeApi]:
    """Serve until the block ends."""
    api = KubeApi()

    class Handler(_Handler):
        state = api

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    api.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield api
    finally:
        api.is_closing = True
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    state: KubeApi

    def log_message(self, *_: Any) -> None:
        """Stay silent."""

    def do_GET(self) -> None:
        """Answer a list or a watch."""
        url = urlsplit(self.path)
        asked = {name: values[-1] for name, values in parse_qs(url.query).items()}
        plural = url.path.rpartition("/")[2]
        resource = self.state.resources.get(plural)
        if resource is None:
            self._fail(404)
            return
        resource.asked.append(asked | {"path": url.path})
        if asked.get("watch") in {"true", "True"}:
            script = resource.watches.pop(0) if resource.watches else []
            self._watch(script)
        else:
            self._list(resource)

    def _list(self, resource: Resource) -> None:
        found = resource.lists.pop(0) if len(resource.lists) > 1 else (resource.lists or [[]])[0]
        if isinstance(found, Answer):
            self._fail(found.status)
            return
        metadata = {"resourceVersion": resource.version}
        # As the API does it: the items of a list do not say their kind.
        items = [{k: v for k, v in each.items() if k != "kind"} for each in found]
        self._json(
            200, {"kind": "AnyList", "apiVersion": "v1", "metadata": metadata, "items": items}
        )

    def _watch(self, script: Sequence[Json | str] | Answer) -> None:
        if isinstance(script, Answer):
            self._fail(script.status)
            return
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for each in script:
            if each == CUT:
                self._chunk(b'{"type":"MODIFIED","object":{"metad')
                self.close_connection = True
                return
            if each == END:
                self._chunk(b"")
                return
            if each == GONE:
                status = {"kind": "Status", "code": 410, "message": "too old"}
                self._chunk(_line({"type": "ERROR", "object": status}))
                self._chunk(b"")
                return
            data = _line(each)
            self._chunk(data[:7])  # An event need not come in one piece.
            self._chunk(data[7:])
        while not self.state.is_closing:
            time.sleep(0.02)
        self.close_connection = True

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))
        self.wfile.flush()

    def _fail(self, status: int) -> None:
        self._json(status, {"kind": "Status", "status": "Failure", "code": status, "message": "no"})

    def _json(self, status: int, value: Json) -> None:
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def _line(value: Any) -> bytes:
    return json.dumps(value).encode() + b"\n"
