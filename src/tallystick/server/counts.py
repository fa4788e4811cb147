"""What a server counts, as text that Prometheus reads; no name of a token or producer is in it."""

from collections import Counter
from collections.abc import Iterator

from tallystick.app.admit import WORDS
from tallystick.app.ingest import Ingested

_PREFIX = "tallystick_"
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Counts:
    """Numbers since the server was started; what was never seen is absent, not 0."""

    def __init__(self) -> None:
        self._records: Counter[str] = Counter()
        self._requests: Counter[int] = Counter()
        self._bytes = 0
        self._log_size: int | None = None
        self._accepted_ns: int | None = None

    def count_request(self, status: int) -> None:
        """Count an answer to a request."""
        self._requests[status] += 1

    def count_bytes(self, number: int) -> None:
        """Count bytes of a body that were read."""
        self._bytes += number

    def count_ingested(self, result: Ingested, now_ns: int) -> None:
        """Count the answers to records, and note the size of the log."""
        self._log_size = result.size
        words = Counter[str](answer.word for answer in result.answers)
        self._records += words
        if words["accepted"]:
            self._accepted_ns = now_ns

    def text(self, waiting: int, now_ns: int) -> str:
        """Write all of it down.

        Args:
            waiting: How many requests wait for the store.
            now_ns: The monotonic clock.
        """
        return "\n".join(self._lines(waiting, now_ns)) + "\n"

    def _lines(self, waiting: int, now_ns: int) -> Iterator[str]:
        yield from _head("records_total", "counter", "Records by answer.")
        for word in WORDS:
            yield f'{_PREFIX}records_total{{answer="{word}"}} {self._records[word]}'
        yield from _head("requests_total", "counter", "Requests by status.")
        for status, number in sorted(self._requests.items()):
            yield f'{_PREFIX}requests_total{{status="{status}"}} {number}'
        yield from _head("received_bytes_total", "counter", "Bytes of bodies that were read.")
        yield f"{_PREFIX}received_bytes_total {self._bytes}"
        yield from _head("waiting_requests", "gauge", "Requests that wait for the store.")
        yield f"{_PREFIX}waiting_requests {waiting}"
        if self._log_size is not None:
            yield from _head("log_records", "gauge", "Records of the log, as last seen here.")
            yield f"{_PREFIX}log_records {self._log_size}"
        if self._accepted_ns is not None:
            name = "last_accepted_age_seconds"
            yield from _head(name, "gauge", "Seconds since a record was accepted last.")
            milliseconds = (now_ns - self._accepted_ns) // 1_000_000
            yield f"{_PREFIX}{name} {milliseconds // 1000}.{milliseconds % 1000:03d}"


def _head(name: str, kind: str, text: str) -> tuple[str, str]:
    return f"# HELP {_PREFIX}{name} {text}", f"# TYPE {_PREFIX}{name} {kind}"
