"""A real server for tests: started by its command line on a free port, over a real store."""

import http.client
import json
import re
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from tallystick.app.admit import clock_us
from tallystick.app.store import init_store, open_store
from tallystick.app.tokens import new_token
from tallystick.evidence.leaf import leaf_record
from tests.app.stores import ORIGIN
from tests.evidence.records import as_line, by, declared

PRODUCER = "slurm-hook/n1"
COMMAND = [sys.executable, "-c", "from tallystick.cli.main import main; main()"]
NDJSON = "application/x-ndjson"
_LISTENING = re.compile(r"listening on https?://(.*):([0-9]+)$")
_LIMIT_S = 20


class Said(NamedTuple):
    """What a server answered."""

    status: int
    headers: http.client.HTTPMessage
    body: bytes

    @property
    def json(self) -> Any:
        """The body, which has to be JSON."""
        return json.loads(self.body)

    @property
    def code(self) -> str:
        """The code of a problem, which says that, in a sentence, and nothing else."""
        assert set(self.json) == {"code", "message"}
        assert self.headers["Content-Type"] == "application/json"
        return str(self.json["code"])


@dataclass
class Server:
    """A server that runs."""

    store: Path
    process: subprocess.Popen[str]
    port: int
    token: str
    said: list[str] = field(default_factory=list)
    has_ended: bool = False

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self.port}"

    def connect(self) -> http.client.HTTPConnection:
        """Open a connection to it."""
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=_LIMIT_S)

    def ask(
        self,
        method: str,
        path: str,
        body: bytes | Iterable[bytes] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Said:
        """Send one request on a connection of its own."""
        connection = self.connect()
        try:
            return exchange(connection, method, path, body, headers)
        finally:
            connection.close()

    def post(self, body: bytes | Iterable[bytes], token: str | None = None, **headers: str) -> Said:
        """Post a body as records."""
        sent = {"Authorization": f"Bearer {token or self.token}", "Content-Type": NDJSON}
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        return self.ask("POST", "/v1/records", body, sent)

    def metric(self, name: str) -> str | None:
        """Read one number of the metrics."""
        text = self.ask("GET", "/metrics").body.decode()
        found = re.search(rf"^tallystick_{re.escape(name)} (.*)$", text, re.MULTILINE)
        return None if found is None else found[1]

    def stop(self, number: int = signal.SIGTERM) -> int:
        """End it, and give its exit status."""
        if not self.has_ended:
            self.has_ended = True
            self.process.send_signal(number)
            _, rest = self.process.communicate(timeout=_LIMIT_S)
            self.said += rest.splitlines()
        return self.process.returncode


def exchange(
    connection: http.client.HTTPConnection,
    method: str,
    path: str,
    body: bytes | Iterable[bytes] | None = None,
    headers: Mapping[str, str] | None = None,
) -> Said:
    """Send a request and read the answer, which may come before all was sent."""
    with suppress(BrokenPipeError, ConnectionResetError):
        connection.request(method, path, body, headers or {})
    response = connection.getresponse()
    return Said(response.status, response.headers, response.read())


def new_server_store(folder: Path) -> Path:
    """Make a store."""
    return init_store(folder / "store", ORIGIN).path


def token_of(store: Path, *producers: str, expires_us: int | None = None) -> str:
    """Make a token for some producers, or for all."""
    now_us = clock_us() if expires_us is None else 0
    return new_token(store / "keys", "n1", producers or None, now_us, expires_us)[1]


@contextmanager
def running(store: Path, *args: str, **limits: int) -> Iterator[Server]:
    """Run a server for the length of a block; it is killed if it does not stop."""
    token = token_of(store)
    options = [f"--limit={name}={number}" for name, number in limits.items()]
    command = [*COMMAND, "serve", "--store", str(store), "--port", "0", *options, *args]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr is not None
        said = []
        for line in process.stderr:
            said.append(line.rstrip())
            if found := _LISTENING.search(line):
                break
        else:
            raise AssertionError(f"it does not listen: {said}")
        server = Server(store, process, int(found[2]), token, said)
        yield server
        server.stop()
    finally:
        process.kill()
        process.wait()
        if process.stderr is not None:
            process.stderr.close()


def line_of(number: int, producer: str = PRODUCER) -> bytes:
    """Make a record."""
    return as_line(by(producer, declared(f"run-{number}")))


def body_of(*lines: bytes) -> bytes:
    """Write lines as a body."""
    return b"".join(line + b"\n" for line in lines)


def words(said: Said) -> list[str]:
    """Give the answers of an answer."""
    assert said.status == 200, said
    return [each["answer"] for each in said.json["answers"]]


def stored(store: Path) -> list[dict[str, Any]]:
    """Read all records of a store."""
    with open_store(store) as opened, opened.log.reading() as log:
        return [json.loads(leaf_record(leaf)) for leaf in log.leaves(0, log.size)]


def stored_runs(store: Path) -> set[str]:
    """Name the runs that a store has declarations of."""
    return {each["body"]["run"] for each in stored(store) if each["kind"] == "run.declared"}
