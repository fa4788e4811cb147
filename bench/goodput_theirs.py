"""Ask ml-goodput-measurement, in a process and an environment of its own.

It is driven as its users drive it, by its own recorder and calculator, and reads through its
own reader with its own filter; only the service behind that is a list in memory. One request
is one line of JSON on standard input, and one line on standard output answers it.
"""

import contextlib
import datetime as dt
import gc
import json
import logging
import re
import sys
import tempfile
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

from ml_goodput_measurement.src import goodput

_SINCE = re.compile(r'timestamp ?> ?"([^"]+)"')
_UNTIL = re.compile(r'timestamp<="([^"]+)"')


class _Entry(NamedTuple):
    payload: dict[str, Any]
    timestamp: dt.datetime
    insert_id: str


class _Service(goodput._CloudLogger):  # type: ignore[misc]  # noqa: SLF001 (their seam; untyped)
    """Its own reader, over rows in memory; rows come in the order in which they are given."""

    def __init__(self, job_name: str, rows: list[tuple[float, dict[str, Any]]]) -> None:
        self.job_name = job_name
        self.project_id = ""
        self.log_name = "bench"
        self.logger = self
        self.job_start_time = None
        self.retention_period = goodput._CLOUD_LOGGING_DEFAULT_RETENTION  # noqa: SLF001
        self._rows = rows

    def list_entries(self, filter_: str, **_: Any) -> Iterator[_Entry]:
        """Answer a query by the times that its filter names."""
        since, until = (_moment(each, filter_) for each in (_SINCE, _UNTIL))
        for place, (at_s, row) in enumerate(self._rows):
            at = dt.datetime.fromtimestamp(at_s, tz=dt.UTC)
            if (since is None or at > since) and (until is None or at <= until):
                yield _Entry(row, at, str(place))


class _Rows:
    """The cheapest service there can be: it gives the rows as they are, without any filter."""

    def __init__(self, job_name: str, rows: list[dict[str, Any]]) -> None:
        self.job_name = job_name
        self._rows = rows

    def read_cloud_logging_entries(self, *_: Any, **__: Any) -> tuple[list[dict[str, Any]], Any]:
        """Answer every query with everything."""
        return self._rows, (None, None)


def _moment(pattern: re.Pattern[str], text: str) -> dt.datetime | None:
    found = pattern.search(text)
    return None if found is None else dt.datetime.fromisoformat(found[1])


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """Tell what it makes of a story; a refusal is an answer too."""
    service = _Service(request["job"], request["rows"])
    with contextlib.ExitStack() as stack:
        folder = request.get("cache") or stack.enter_context(tempfile.TemporaryDirectory())
        calculator = goodput.GoodputCalculator(
            request["job"], "bench", cloud_logger=service, cache_dir=folder
        )
        try:
            good, bad, _ = calculator.get_job_goodput(include_badput_breakdown=True)
        except ValueError as error:
            return {"error": str(error)}
    numbers = {kind.name: value for kind, value in bad.items() if isinstance(value, float)}
    return {"good_percent": good, "bad_percent": numbers}


def seconds(rows: list[dict[str, Any]]) -> float:
    """Time one cold answer."""
    with tempfile.TemporaryDirectory() as folder:
        gc.collect()
        gc.disable()
        started_s = time.perf_counter()
        calculator = goodput.GoodputCalculator(
            "L", "bench", cloud_logger=_Rows("L", rows), cache_dir=folder
        )
        calculator.get_job_goodput(include_badput_breakdown=True)
        taken_s = time.perf_counter() - started_s
        gc.enable()
    return taken_s


def main() -> int:
    """Answer each request until there is none."""
    logging.disable(logging.CRITICAL)
    rows: list[dict[str, Any]] = []
    for line in sys.stdin:
        request = json.loads(line)
        if "rows" in request:
            said = answer(request)
        elif "keep" in request:
            rows = request["keep"]
            said = {}
        else:
            said = {"seconds": seconds(rows)}
        print(json.dumps(said), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
