"""Posting records to a server: every line is answered, or it is said why none is.

The token goes to the address that was named and nowhere else: redirects are not followed, and
plain HTTP is spoken to this machine only, unless the caller allows it. What the server says is
taken for an answer only if it answers every line.
"""

from __future__ import annotations

import http.client
import ipaddress
import json
import ssl
import time
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Sequence

PATH = "/v1/records"
WORDS = frozenset({"accepted", "exists", "conflict", "refused"})
ANSWER_BYTES_MAX = 16 << 20
RETRY_S_MAX = 86_400
_TRY_AGAIN = frozenset({408, 413, 425, 429})
_STALE = (ConnectionError, ssl.SSLEOFError, ssl.SSLZeroReturnError)


class Answer(NamedTuple):
    """What became of one line: ``word`` is accepted, exists, conflict or refused."""

    word: str
    code: str | None
    message: str | None


class NotSentError(Exception):
    """No line of a batch was answered; all of it may be sent again.

    ``retry_after_s`` is how long the server asks to wait, ``is_final`` that it will not help
    before somebody acts, and ``too_large`` that fewer lines may pass.
    """

    code = "not_sent"

    def __init__(
        self,
        reason: str,
        retry_after_s: float | None = None,
        is_final: bool = False,  # noqa: FBT001, FBT002 (pickled by place)
        too_large: bool = False,  # noqa: FBT001, FBT002 (as above)
    ) -> None:
        super().__init__(reason, retry_after_s, is_final, too_large)
        self.reason = reason
        self.retry_after_s = retry_after_s
        self.is_final = is_final
        self.too_large = too_large

    def __str__(self) -> str:
        return self.reason


class _Reply(NamedTuple):
    status: int
    headers: http.client.HTTPMessage
    body: bytes


class Poster:
    """A server, and the connection to it while it lasts; for one thread at a time."""

    def __init__(
        self,
        url: str,
        token: str,
        *,
        timeout_s: float = 30,
        ca_file: str | None = None,
        allow_plain: bool = False,
    ) -> None:
        """Name a server; nothing is sent yet.

        Args:
            url: Its address, such as ``https://logs.example:8480``.
            token: Who is sending.
            timeout_s: How long it may be silent, and how long its answer may take.
            ca_file: Certificates to trust instead of the system's.
            allow_plain: Send the token unencrypted over a network.

        Raises:
            NotSentError: the address, the token or the certificates cannot be used.
        """
        self._is_tls, self._host, self._port, self._path = _read_url(url)
        if not self._is_tls and not allow_plain and not _is_loopback(self._host):
            raise _final(f"expected https, since the token would go in plain text to {self._host}")
        if not token or not token.isascii() or not token.isprintable() or " " in token:
            raise _final("expected a token of printable characters without spaces")
        self._headers = {
            "Authorization": f"Bearer {token}",
            "Content-Type": "application/x-ndjson",
            "Accept": "application/json",
        }
        self._timeout_s = timeout_s
        self._context = _tls(ca_file) if self._is_tls else None
        self._connection: http.client.HTTPConnection | None = None

    def post(self, lines: Sequence[bytes]) -> list[Answer]:
        """Send records, one JSON object a line, and give the answer to each.

        Raises:
            NotSentError: no answer came, or one that does not answer every line.
            ValueError: a line is empty or has a line break in it.
        """
        if not all(line.strip(b" \t\r") and b"\n" not in line for line in lines):
            raise ValueError("expected lines with one record each")
        reply = self._exchange(b"".join([line + b"\n" for line in lines]))
        if reply.status != 200:
            raise _refusal(reply)
        try:
            return _read_answers(reply.body, len(lines))
        except (ValueError, RecursionError) as error:
            self.close()
            raise NotSentError(f"the server's answer cannot be used: {error}") from error

    def close(self) -> None:
        """Close the connection; the next post opens another."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _exchange(self, body: bytes) -> _Reply:
        """Send a body, on a new connection if the server has closed the one that there was.

        Twice sent is no harm: a record that was admitted is there once.
        """
        was_open = self._connection is not None
        try:
            try:
                return self._send(body)
            except _STALE:
                self.close()
                if not was_open:
                    raise
                return self._send(body)
        except ssl.SSLError as error:
            self.close()
            is_final = isinstance(error, ssl.SSLCertVerificationError)
            raise NotSentError(f"{self._place}: {_reason(error)}", None, is_final) from error
        except (OSError, http.client.HTTPException, UnicodeError) as error:
            self.close()
            raise NotSentError(f"{self._place}: {_reason(error)}") from error

    @property
    def _place(self) -> str:
        return f"{self._host} port {self._port}"

    def _send(self, body: bytes) -> _Reply:
        deadline_s = time.monotonic() + self._timeout_s
        connection = self._connection or self._connect()
        self._connection = connection
        try:
            connection.request("POST", self._path, body, self._headers)
        except (BrokenPipeError, ConnectionResetError):
            # The server may have answered before it had all of it.
            response = connection.getresponse()
        else:
            response = connection.getresponse()
        reply = _Reply(response.status, response.headers, _read_body(response, deadline_s))
        if response.will_close:
            self.close()
        return reply

    def _connect(self) -> http.client.HTTPConnection:
        if self._context is None:
            made = http.client.HTTPConnection(self._host, self._port, timeout=self._timeout_s)
        else:
            made = http.client.HTTPSConnection(
                self._host, self._port, timeout=self._timeout_s, context=self._context
            )
        try:
            made.connect()
        except BaseException:
            made.close()
            raise
        return made


def _read_url(url: str) -> tuple[bool, str, int, str]:
    """Take an address apart."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise _final(f"expected an address like https://logs.example:8480: {error}") from error
    is_plain_url = url.isascii() and url.isprintable() and " " not in url
    if parts.scheme not in {"http", "https"} or not host or not is_plain_url:
        raise _final("expected an address like https://logs.example:8480")
    if parts.username is not None or parts.query or parts.fragment:
        raise _final("expected an address without a user, a query and a fragment")
    is_tls = parts.scheme == "https"
    return is_tls, host, port or (443 if is_tls else 80), parts.path.rstrip("/") + PATH


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _tls(ca_file: str | None) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=ca_file)
    except OSError as error:
        raise _final(f"cannot use the certificates {ca_file!a}: {_reason(error)}") from error
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context


def _read_body(response: http.client.HTTPResponse, deadline_s: float) -> bytes:
    """Read an answer, which may be neither endless nor endlessly slow."""
    body = bytearray()
    while True:
        chunk = response.read1(1 << 16)
        if not chunk:
            break
        body += chunk
        if len(body) > ANSWER_BYTES_MAX:
            raise http.client.HTTPException("the answer is too long")
        if time.monotonic() > deadline_s:
            raise TimeoutError("the answer takes too long")
    if response.length:
        raise http.client.IncompleteRead(bytes(body), response.length)
    response.close()  # read1 does not tell the connection that this was all.
    return bytes(body)


def _read_answers(body: bytes, count: int) -> list[Answer]:
    """Read the answers to so many lines.

    Raises:
        ValueError: these are not the answers to them.
    """
    value = json.loads(body.decode())
    stated = value.get("answers") if isinstance(value, dict) else None
    if not isinstance(stated, list) or len(stated) != count:
        raise ValueError(f"expected {count} answers")
    return [_read_answer(each) for each in stated]


def _read_answer(stated: Any) -> Answer:
    if not isinstance(stated, dict):
        raise ValueError("expected an object for each line")  # noqa: TRY004 (data, not a call)
    word, code, message = (stated.get(name) for name in ("answer", "code", "message"))
    if not isinstance(word, str) or word not in WORDS:
        raise ValueError(f"expected one of {', '.join(sorted(WORDS))}, got {str(word)[:80]!a}")
    if not all(text is None or isinstance(text, str) for text in (code, message)):
        raise ValueError("expected a code and a message as strings")
    return Answer(word, code, message)


def _refusal(reply: _Reply) -> NotSentError:
    """Say what the server said instead of answering the lines."""
    status = reply.status
    told = _told(reply)
    if 300 <= status < 400:
        where = str(reply.headers.get("Location"))[:200]
        told = f"redirects to {where!a}, where the token does not go"
    is_final = 300 <= status < 500 and status not in _TRY_AGAIN
    reason = f"the server says {status}: {told}"
    return NotSentError(reason, _retry_after_s(reply), is_final, status == 413)


def _told(reply: _Reply) -> str:
    """Give code and message of a problem, or what else there is, as printable text."""
    try:
        stated = json.loads(reply.body.decode())
        text = f"{stated['code']}: {stated['message']}"
    except (ValueError, RecursionError, KeyError, TypeError):
        text = reply.body[:200].decode("ascii", "replace").strip() or "nothing more"
    return "".join(each if each.isprintable() else "?" for each in text[:300])


def _retry_after_s(reply: _Reply) -> float | None:
    stated = str(reply.headers.get("Retry-After", "")).strip()
    if not (stated.isascii() and stated.isdigit()):
        return None
    return float(RETRY_S_MAX if len(stated) > 5 else min(int(stated), RETRY_S_MAX))


def _final(reason: str) -> NotSentError:
    return NotSentError(reason, is_final=True)


def _reason(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror.lower()
    return str(error).lower() or type(error).__name__
