"""Problems as answers: one JSON object with a stable code and a sentence, and never more.

What is told leaves out paths and traces: those are for the people who run the server, on its
standard error. The codes are listed in ``docs/spec/serve.md``.
"""

from collections.abc import Mapping
from typing import Final

import msgspec
from starlette.responses import Response

_STORE: Final = {
    "store_busy": "another process writes to the store",
    "store_damaged": "the store is damaged",
    "store_write_failed": "the store cannot be written",
}
_CHALLENGE: Final = {"WWW-Authenticate": 'Bearer realm="tallystick"'}
_CLOSE: Final = {"Connection": "close"}
STORE_RETRY_S: Final = 5
BUSY_RETRY_S: Final = 2


class HttpProblem(Exception):  # noqa: N818 (an answer, not an error of the program)
    """A request cannot be done, and that is what its sender is told."""

    def __init__(
        self, status: int, code: str, message: str, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(status, code, message)
        self.status = status
        self.code = code
        self.message = message
        self.headers = dict(headers or {})

    def answer(self) -> Response:
        """Write the problem down for the sender."""
        return Response(self.body, self.status, self.headers, "application/json")

    @property
    def body(self) -> bytes:
        """The one object that is told."""
        return msgspec.json.encode({"code": self.code, "message": self.message})


def token_missing() -> HttpProblem:
    """Nobody said who is sending."""
    message = "expected the header Authorization: Bearer TOKEN"
    return HttpProblem(401, "token_missing", message, _CHALLENGE | _CLOSE)


def token_rejected(reason: str) -> HttpProblem:
    """Who is sending is not let in."""
    challenge = {"WWW-Authenticate": 'Bearer realm="tallystick", error="invalid_token"'}
    return HttpProblem(401, "token_rejected", reason, challenge | _CLOSE)


def wrong_type(found: str) -> HttpProblem:
    """The body is something else than lines of JSON."""
    message = f"expected Content-Type: application/x-ndjson without encoding, got {found[:80]!a}"
    return HttpProblem(415, "content_type_wrong", message, _CLOSE)


def too_large(what: str, limit: int) -> HttpProblem:
    """More came than is taken at once."""
    return HttpProblem(413, f"too_many_{what}", f"expected at most {limit} {what}", _CLOSE)


def too_slow(limit_s: int) -> HttpProblem:
    """The body did not come in time."""
    return HttpProblem(408, "body_too_slow", f"expected the body within {limit_s} s", _CLOSE)


def rate_exceeded(wait_s: int) -> HttpProblem:
    """The token has sent more than it may for now."""
    message = f"too many records for now: send again in {wait_s} s"
    return HttpProblem(429, "rate_exceeded", message, {"Retry-After": str(wait_s)} | _CLOSE)


def line_full() -> HttpProblem:
    """Too many requests wait for the store."""
    return _retry("line_full", "too many requests wait for the store", BUSY_RETRY_S)


def connections_full() -> HttpProblem:
    """Too many connections are open."""
    problem = _retry("connections_full", "too many connections are open", BUSY_RETRY_S)
    problem.headers |= _CLOSE
    return problem


def store_failed(code: str) -> HttpProblem:
    """The store took nothing."""
    message = f"{_STORE.get(code, 'the store cannot be used')}: nothing was acknowledged"
    return _retry(code, message, STORE_RETRY_S)


def internal() -> HttpProblem:
    """Something is wrong with the server itself."""
    return HttpProblem(500, "internal_error", "the server failed: see what it said where it runs")


def _retry(code: str, message: str, after_s: int) -> HttpProblem:
    return HttpProblem(503, code, message, {"Retry-After": str(after_s)})
