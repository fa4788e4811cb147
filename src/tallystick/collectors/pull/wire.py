"""Asking a server over HTTP, patiently: what may pass is tried again, the rest is an error.

An address may have a path, which is kept (``/select/0/prometheus``). Redirects are not
followed: a token is for the server that was named.
"""

import http.client
import ssl
import time
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Final, TypeVar
from urllib.parse import urlencode, urlsplit

from tallystick.collectors.pull.errors import BadUrlError, ServerAwayError, ServerRefusedError

PIECE_BYTES: Final = 1 << 18
PAUSES_S: Final = (0.2, 1.0, 3.0)
TIMEOUT_S: Final = 60.0
_SAID_BYTES_MAX: Final = 2000
_TOO_MANY_REQUESTS: Final = 429
_TOO_LARGE: Final = (
    "exceeding maximum",
    "query processing would load too many samples",
    "maxsamplesperquery",
    "number of matching timeseries exceeds",
    "query timed out",
)

_Result = TypeVar("_Result")
Fields = list[tuple[str, str]]


class PassingFaultError(Exception):
    """Something failed that may not fail again; says what."""


class TooMuchError(Exception):
    """An answer is, or would be, larger than can be held; says how."""


@dataclass(frozen=True, slots=True)
class Server:
    """Where to ask, and how patiently.

    Args:
        url: Its address, with the path before ``/api/v1``.
        token: What to show as bearer token, None for nothing.
        user: Name and password, with a colon between, where no token is shown.
        ca_file: Certificates to trust instead of those of the system.
        pauses_s: How long to wait before each further try.
        timeout_s: How long a connection may be silent.
    """

    url: str
    token: str | None = None
    user: str | None = None
    ca_file: str | None = None
    pauses_s: tuple[float, ...] = PAUSES_S
    timeout_s: float = TIMEOUT_S

    def patiently(self, action: Callable[[], _Result]) -> _Result:
        """Do something that asks the server, again if it failed in passing.

        Raises:
            ServerAwayError: it failed each time.
        """
        for pause_s in self.pauses_s:
            try:
                return action()
            except PassingFaultError:
                time.sleep(pause_s)
        try:
            return action()
        except PassingFaultError as fault:
            raise ServerAwayError(self.url, str(fault)) from fault

    def status_of(self, path: str, fields: Fields) -> int:
        """Ask, and give only the status.

        Raises:
            PassingFaultError: the server is not there, or not well.
        """
        with self._reply("GET", path, fields) as reply:
            if _may_pass(reply.status):
                raise PassingFaultError(f"status {reply.status}")
            return reply.status

    @contextmanager
    def answer(
        self, path: str, fields: Fields, *, method: str = "POST"
    ) -> Iterator[Iterator[bytes]]:
        """Ask, and give the answer in pieces.

        Raises:
            PassingFaultError: the server is not there, not well, or the answer breaks off.
            TooMuchError: the server says that the answer would be too large.
            ServerRefusedError: it does not do what it was asked.
        """
        with self._reply(method, path, fields) as reply:
            if reply.status != http.client.OK:
                said = reply.read(_SAID_BYTES_MAX).decode("utf-8", errors="replace").strip()
                if any(words in said.lower() for words in _TOO_LARGE):
                    raise TooMuchError(said)
                if _may_pass(reply.status):
                    raise PassingFaultError(f"status {reply.status} {said[:100]!a}")
                raise ServerRefusedError(self.url, reply.status, said)
            yield _pieces(reply)

    @contextmanager
    def _reply(self, method: str, path: str, fields: Fields) -> Iterator[http.client.HTTPResponse]:
        connection = self._connection()
        form = urlencode(fields)
        target = urlsplit(self.url).path.rstrip("/") + path
        headers = _authorization(self)
        body = None
        if method == "GET":
            target += f"?{form}"
        else:
            body = form
            headers["Content-Type"] = "application/x-www-form-urlencoded"
        with closing(connection):
            try:
                connection.request(method, target, body, headers)
                with connection.getresponse() as reply:
                    yield reply
            except (OSError, http.client.HTTPException) as error:
                raise PassingFaultError(_reason(error)) from error

    def _connection(self) -> http.client.HTTPConnection:
        try:
            parts = urlsplit(self.url)
            host, port = parts.hostname, parts.port
        except ValueError as error:
            raise BadUrlError(self.url, str(error).lower()) from error
        if parts.scheme not in {"http", "https"} or not host:
            raise BadUrlError(self.url, "expected http://HOST or https://HOST")
        if parts.username is not None or parts.query or parts.fragment:
            raise BadUrlError(self.url, "expected no user, query or fragment in it")
        if parts.scheme == "http":
            return http.client.HTTPConnection(host, port, timeout=self.timeout_s)
        try:
            context = ssl.create_default_context(cafile=self.ca_file)
        except OSError as error:
            raise BadUrlError(self.url, f"cannot read the certificates: {error}") from error
        return http.client.HTTPSConnection(host, port, timeout=self.timeout_s, context=context)


def _pieces(reply: http.client.HTTPResponse) -> Iterator[bytes]:
    while piece := reply.read(PIECE_BYTES):
        yield piece
    if reply.length:  # The client is silent when fewer bytes come than were announced.
        raise PassingFaultError(f"the answer breaks off {reply.length} bytes before its end")


def read_whole(pieces: Iterator[bytes], bytes_max: int) -> bytes:
    """Put an answer together.

    Raises:
        TooMuchError: it is longer than ``bytes_max``.
    """
    kept, size = [], 0
    for piece in pieces:
        kept.append(piece)
        size += len(piece)
        if size > bytes_max:
            raise TooMuchError(f"the answer is longer than {bytes_max} bytes")
    return b"".join(kept)


def read_lines(pieces: Iterator[bytes], bytes_max: int) -> Iterator[bytes]:
    """Split an answer into lines, each of which must end.

    Raises:
        TooMuchError: a line is longer than ``bytes_max``.
        PassingFaultError: the last line breaks off.
    """
    rest: list[bytes] = []
    size = 0
    for piece in pieces:
        first, *others = piece.split(b"\n")
        rest.append(first)
        size += len(first)
        if size > bytes_max:
            raise TooMuchError(f"a line of the answer is longer than {bytes_max} bytes")
        if others:
            yield b"".join(rest)
            yield from others[:-1]
            rest, size = [others[-1]], len(others[-1])
    if size:
        raise PassingFaultError("the answer breaks off within a line")


def _authorization(server: Server) -> dict[str, str]:
    if server.token is not None:
        return {"Authorization": f"Bearer {server.token}"}
    if server.user is not None:
        return {"Authorization": f"Basic {b64encode(server.user.encode()).decode()}"}
    return {}


def _may_pass(status: int) -> bool:
    return status >= http.client.INTERNAL_SERVER_ERROR or status == _TOO_MANY_REQUESTS


def _reason(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "it was silent for too long"
    return str(getattr(error, "strerror", None) or error).lower() or type(error).__name__
