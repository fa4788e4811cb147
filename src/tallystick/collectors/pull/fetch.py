"""Raw samples of a selector over a stretch of time, from either kind of server.

Never ``query_range``: its times are those of a grid, and it fills holes. A range selector
counts its first moment in before Prometheus 3 and no longer since. It is asked for a stretch
that ends with the last millisecond and is as long as the whole, so that each sample comes
exactly once either way, after what lies before the start was taken away.
"""

import re
from collections.abc import Callable, Iterable
from enum import StrEnum
from functools import partial
from typing import Final

import msgspec

from tallystick.collectors.pull.answers import (
    BadShapeError,
    exported_part,
    matrix_part,
    read_answer,
)
from tallystick.collectors.pull.errors import (
    AnswerTooLargeError,
    BadAnswerError,
    UnknownServerError,
)
from tallystick.collectors.pull.rows import Part, Stretch, within
from tallystick.collectors.pull.scrapes import SCRAPED, UP
from tallystick.collectors.pull.wire import Fields, Server, TooMuchError, read_lines, read_whole

ANSWER_BYTES_MAX: Final = 8 << 20  # Decoded it is some ten times as large.
_OK: Final = 200
_VALUES_BYTES_MAX: Final = 1 << 20

OnPart = Callable[[dict[str, str], Part], None]


class Kind(StrEnum):
    """The kinds of servers."""

    PROMETHEUS = "prometheus"
    VICTORIAMETRICS = "victoriametrics"


def probe(server: Server) -> Kind:
    """Find out which kind a server is: only one of them has an export.

    Raises:
        UnknownServerError: it is neither.
        ServerAwayError: it does not answer.
    """
    nothing = [("match[]", '{__name__="up"}'), ("start", "1"), ("end", "1")]
    if server.patiently(lambda: server.status_of("/api/v1/export", nothing)) == _OK:
        return Kind.VICTORIAMETRICS
    if server.patiently(lambda: server.status_of("/api/v1/status/buildinfo", [])) == _OK:
        return Kind.PROMETHEUS
    raise UnknownServerError(server.url)


def jobs_of(server: Server, match: str, stretch: Stretch) -> set[str]:
    """Name the scrape jobs that a selector's series come from.

    Raises:
        TallystickError: the server does not say.
    """
    fields: Fields = [
        ("match[]", match),
        ("start", _seconds(stretch.start_ms)),
        ("end", _seconds(stretch.end_ms)),
    ]

    def ask() -> bytes:
        with server.answer("/api/v1/label/job/values", fields, method="GET") as pieces:
            return read_whole(pieces, _VALUES_BYTES_MAX)

    try:
        answer = msgspec.json.decode(server.patiently(ask), type=dict[str, object])
        return msgspec.convert(answer.get("data") or [], set[str])
    except (msgspec.ValidationError, msgspec.DecodeError) as error:
        raise BadAnswerError(server.url, str(error).lower()) from error
    except TooMuchError as error:
        raise AnswerTooLargeError(match, str(error)) from error


def scrapes_of(jobs: Iterable[str]) -> str:
    """Make the selector of what a server says of its scrapes of some jobs."""
    pattern = "|".join(re.escape(job) for job in sorted(jobs))
    quoted = msgspec.json.encode(pattern).decode()
    return f'{{__name__=~"{UP}|{SCRAPED}",job=~{quoted}}}'


class Fetcher:
    """Asks one server; remembers how long a stretch its answers can be.

    ``warnings`` are what the server says against its own answers.
    """

    def __init__(
        self, server: Server, kind: Kind, answer_bytes_max: int = ANSWER_BYTES_MAX
    ) -> None:
        self._server = server
        self._kind = kind
        self._bytes_max = answer_bytes_max
        self._length_ms: dict[str, int] = {}
        self.warnings: set[str] = set()

    def fetch(self, match: str, stretch: Stretch, begin: Callable[[], OnPart]) -> None:
        """Fetch every sample of a stretch, exactly once.

        Args:
            match: The selector.
            stretch: The time.
            begin: Called before each try of the whole; gives what takes the samples.

        Raises:
            TooMuchError: the taker has enough.
            TallystickError: the server does not give them.
        """
        if self._kind is Kind.PROMETHEUS:
            self._fetch_chunks(match, stretch, begin())
        else:
            self._server.patiently(lambda: self._export(match, stretch, begin()))

    def _fetch_chunks(self, match: str, stretch: Stretch, take: OnPart) -> None:
        start_ms = stretch.start_ms
        while start_ms < stretch.end_ms:
            length_ms = self._length_ms.get(match, stretch.end_ms - stretch.start_ms)
            chunk = Stretch(start_ms, min(start_ms + length_ms, stretch.end_ms))
            try:
                data = self._server.patiently(partial(self._query, match, chunk))
            except TooMuchError as error:
                self._length_ms[match] = (chunk.end_ms - chunk.start_ms) // 2
                if not self._length_ms[match]:
                    raise AnswerTooLargeError(match, str(error)) from error
                continue
            self._read(data, chunk, take)
            start_ms = chunk.end_ms

    def _query(self, match: str, chunk: Stretch) -> bytes:
        fields: Fields = [
            ("query", f"{match}[{chunk.end_ms - chunk.start_ms}ms]"),
            ("time", _seconds(chunk.end_ms - 1)),
        ]
        with self._server.answer("/api/v1/query", fields) as pieces:
            return read_whole(pieces, self._bytes_max)

    def _read(self, data: bytes, chunk: Stretch, take: OnPart) -> None:
        try:
            answer = read_answer(data)
            self.warnings.update(answer.warnings)
            if answer.is_partial:
                self.warnings.add("the server says that the answer is partial")
            for series in answer.data.result if answer.data else ():
                take(series.metric, within(matrix_part(series), chunk))
        except BadShapeError as error:
            raise BadAnswerError(self._server.url, str(error)) from error

    def _export(self, match: str, stretch: Stretch, take: OnPart) -> None:
        """Stream an export; its borders are asked a little wider, as they are read as floats."""
        fields: Fields = [
            ("match[]", match),
            ("start", _seconds(stretch.start_ms - 1)),
            ("end", _seconds(stretch.end_ms)),
            ("reduce_mem_usage", "1"),
        ]
        try:
            with self._server.answer("/api/v1/export", fields) as pieces:
                for line in read_lines(pieces, self._bytes_max):
                    labels, part = exported_part(line)
                    take(labels, within(part, stretch))
        except BadShapeError as error:
            raise BadAnswerError(self._server.url, str(error)) from error


def _seconds(at_ms: int) -> str:
    """Write milliseconds as seconds."""
    sign = "-" if at_ms < 0 else ""
    whole, rest = divmod(abs(at_ms), 1000)
    return f"{sign}{whole}.{rest:03}"
