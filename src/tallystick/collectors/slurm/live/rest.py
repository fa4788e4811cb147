"""Asking ``slurmrestd``: the same rows as JSON, over a unix socket or HTTP with a token.

An answer with errors in it is none, although its status is 200: with the database away the
list of jobs is simply empty. That nothing was found is an error to it too, and an answer to us.
"""

import http.client
import json
import re
import socket
from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import Any, Final
from urllib.parse import SplitResult, quote, urlsplit

from tallystick.collectors.collected import Source
from tallystick.collectors.slurm.live.errors import (
    BadRestTokenError,
    BadRestUrlError,
    PollFailedError,
)
from tallystick.core.instant import SECOND_US

LIMIT_S: Final = 120
ANSWER_BYTES_MAX: Final = 512 << 20
NOTHING_FOUND: Final = 9003
"""``ESLURM_REST_EMPTY_RESULT``: no job in the window, or none of that id (any more)."""
_NO_JOBS: Final = b'{"jobs":[]}'
_TOKEN = re.compile(r"(?:SLURM_JWT=)?([!-~]+)")  # The first part is as `scontrol token` prints it.
_PATH = re.compile(r"/slurmdb/(v0\.0\.([0-9]+))/jobs/?")


class _UnixConnection(http.client.HTTPConnection):
    """HTTP over a unix socket."""

    def __init__(self, path: str) -> None:
        super().__init__("localhost", timeout=LIMIT_S)
        self._path = path

    def connect(self) -> None:
        """Connect to the socket."""
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(LIMIT_S)
        self.sock.connect(self._path)


class SlurmRest:
    """A slurmrestd, and the newest version of its interface that it offers."""

    def __init__(self, url: str, *, user: str | None = None, token: str | None = None) -> None:
        """Name a server; nothing is asked yet.

        Raises:
            BadRestUrlError: the address is of no kind that is known.
            BadRestTokenError: the token or its user cannot be sent.
        """
        self._split = _split(url)
        self._url = url
        self._headers = {"Accept": "application/json"}
        if token is not None:
            self._headers["X-SLURM-USER-TOKEN"] = _sendable(token)
        if user is not None:
            self._headers["X-SLURM-USER-NAME"] = _sendable(user)
        self._version: str | None = None

    def window(self, from_us: int, to_us: int) -> Source:
        """Ask for every row that overlaps a window.

        Raises:
            PollFailedError: there is no answer, or one that says that something is wrong.
        """
        times = f"start_time=uts{from_us // SECOND_US}&end_time=uts{to_us // SECOND_US}"
        return self._rows(f"jobs?{times}")

    def jobs(self, job_ids: Sequence[str], to_us: int) -> list[Source]:
        """Ask for every row of some jobs, however old.

        Raises:
            PollFailedError: there is no answer, or one that says that something is wrong.
        """
        del to_us  # A job is asked for with all its rows.
        return [self._rows(f"job/{quote(job_id)}") for job_id in job_ids]

    def _rows(self, path: str) -> Source:
        if self._version is None:
            self._version = self._newest()
        data = self._get(f"/slurmdb/{self._version}/{path}")
        answer = self._read(data)
        errors = answer.get("errors")
        if errors and not answer.get("jobs") and _is_nothing_found(errors):
            return Source(self._url, _NO_JOBS)
        if errors:
            raise PollFailedError(self._url, f"it answered with an error: {_first(errors)}")
        return Source(self._url, data)

    def _newest(self) -> str:
        """Find the newest version that has what is asked for."""
        paths = self._read(self._get("/openapi/v3")).get("paths")
        matches = (_PATH.fullmatch(path) for path in paths or ())
        versions = sorted((int(match[2]), match[1]) for match in matches if match)
        if not versions:
            raise PollFailedError(self._url, "it offers no accounting: start it with dbv plugins")
        return versions[-1][1]

    def _read(self, data: bytes) -> Mapping[str, Any]:
        try:
            answer = json.loads(data)
        except (ValueError, RecursionError) as error:
            raise PollFailedError(self._url, "its answer is no JSON") from error
        if not isinstance(answer, dict):
            raise PollFailedError(self._url, "its answer is no object")
        return answer

    def _get(self, path: str) -> bytes:
        try:
            with closing(self._connection()) as connection:
                connection.request("GET", path, headers=self._headers)
                response = connection.getresponse()
                data = response.read(ANSWER_BYTES_MAX + 1)
        except (OSError, http.client.HTTPException) as error:
            reason = (getattr(error, "strerror", None) or str(error) or "no answer").lower()
            raise PollFailedError(self._url, reason) from error
        if response.status == http.client.UNAUTHORIZED:
            raise PollFailedError(self._url, "it does not take the token: see `scontrol token`")
        if response.status != http.client.OK:
            raise PollFailedError(self._url, f"it answered {response.status} to {path[:80]}")
        if len(data) > ANSWER_BYTES_MAX:
            raise PollFailedError(self._url, "its answer is larger than 512 MiB")
        return data

    def _connection(self) -> http.client.HTTPConnection:
        if self._split.scheme == "unix":
            return _UnixConnection(self._split.path)
        host, port = self._split.hostname or "", self._split.port
        if self._split.scheme == "https":
            return http.client.HTTPSConnection(host, port, timeout=LIMIT_S)
        return http.client.HTTPConnection(host, port, timeout=LIMIT_S)


def _split(url: str) -> SplitResult:
    try:
        split = urlsplit(url)
        is_http = split.scheme in {"http", "https"} and split.hostname and split.port != 0
    except ValueError as error:  # A port that is none, brackets that do not close.
        raise BadRestUrlError(url) from error
    if not is_http and not (split.scheme == "unix" and split.path.startswith("/")):
        raise BadRestUrlError(url)
    return split


def _sendable(text: str) -> str:
    match = _TOKEN.fullmatch(text.strip())
    if match is None:
        raise BadRestTokenError
    return match[1]


def _is_nothing_found(errors: Any) -> bool:
    return isinstance(errors, list) and all(
        isinstance(error, dict) and error.get("error_number") == NOTHING_FOUND for error in errors
    )


def _first(errors: Any) -> str:
    first = errors[0] if isinstance(errors, list) and errors else errors
    if isinstance(first, dict):
        words = (first.get("error"), first.get("description"), first.get("source"))
        return ": ".join(str(word) for word in words if word)[:200] or "without a text"
    return str(first)[:200]
