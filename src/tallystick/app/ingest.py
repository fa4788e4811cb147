"""Admission for a server: requests wait in one line for the one thread that has the store.

What waits together is admitted together, in one transaction and one sync. A request is answered
once its records are durable, or with the error that kept all of them out. After an error the
store is opened again for the next request, so a disk that has room again is used again.
"""

import os
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Final, NamedTuple

from tallystick.app.admit import clock_us
from tallystick.app.store import Notice, find_store
from tallystick.core.errors import TallystickError
from tallystick.core.finding import InputFinding
from tallystick.evidence.codec import RefusedLineError, read_delivery
from tallystick.stores.delivery import Answer, deliver
from tallystick.stores.errors import StoreBusyError, StoreWriteError
from tallystick.stores.mounts import check_local
from tallystick.stores.sqlite import SqliteStore, open_sqlite_store

SECOND_NS: Final = 1_000_000_000
TOGETHER_LINES_MAX: Final = 4000
PROBE_BYTES: Final = 64 * 1024
PROBE_KEPT_NS: Final = SECOND_NS
FAILURE_KEPT_NS: Final = 30 * SECOND_NS


@dataclass(frozen=True, slots=True)
class Limits:
    """What a server takes, and for how long it waits."""

    body_bytes: int = 8 << 20
    batch_lines: int = 1000
    line_bytes: int = 1 << 20
    rate: int = 5000
    burst: int = 20_000
    waiting: int = 32
    connections: int = 128
    slow_s: int = 30
    busy_s: int = 5

    def __post_init__(self) -> None:
        """Check that each is at least 1."""
        assert all(getattr(self, each.name) >= 1 for each in fields(self)), "limits are above 0"


class LineFullError(Exception):
    """So many requests wait for the store that another one would only wait in vain."""


class Ingested(NamedTuple):
    """The answers to a request, and how many records the log then has."""

    answers: tuple[Answer, ...]
    size: int


@dataclass(slots=True)
class _Job:
    """A request that waits; ``lines`` is None if it only asks whether the store is well."""

    lines: Sequence[bytes] | None
    allows: Callable[[str], bool] | None = None
    future: "Future[Ingested]" = field(default_factory=Future)


class Ingest:
    """The line of requests before a store, and the thread that serves it."""

    def __init__(self, path: Path, limits: Limits, notice: Notice) -> None:
        """Serve a store from now on.

        Args:
            path: Its folder.
            limits: What is taken.
            notice: Told what goes wrong with the store; the answer says less.
        """
        self._path = path
        self._limits = limits
        self._notice = notice
        self._jobs: deque[_Job] = deque()
        self._ready = threading.Condition()
        self._is_closing = False
        self._check: Future[Ingested] | None = None
        self._store: SqliteStore | None = None
        self._proven_ns: int | None = None
        self._failed: tuple[int, StoreWriteError] | None = None
        self._said: set[str] = set()
        self._thread = threading.Thread(target=self._work, name="ingest", daemon=True)
        self._thread.start()

    @property
    def waiting(self) -> int:
        """How many requests wait for the store."""
        return len(self._jobs)

    def submit(
        self, lines: Sequence[bytes], allows: Callable[[str], bool] | None = None
    ) -> "Future[Ingested]":
        """Have lines admitted; without lines only the log's size is asked.

        Args:
            lines: Records, one JSON object each.
            allows: Tells whether records of a producer may be sent; None is all.

        Raises:
            LineFullError: too many wait already.
        """
        job = _Job(lines, allows)
        with self._ready:
            if self._is_closing or len(self._jobs) >= self._limits.waiting:
                raise LineFullError
            self._jobs.append(job)
            self._ready.notify()
        return job.future

    def check(self) -> "Future[Ingested]":
        """Ask whether the store can be read and written; who asks meanwhile gets the same answer.

        Written means that the lock for writing was had, that a file beside the log could be
        written and synced, and that no batch has failed on the disk shortly before. Nothing
        goes into the log.

        Raises:
            LineFullError: the server is being stopped.
        """
        with self._ready:
            if self._is_closing:
                raise LineFullError
            if self._check is None or self._check.done():
                job = _Job(None)
                self._check = job.future
                self._jobs.appendleft(job)
                self._ready.notify()
            return self._check

    def close(self) -> None:
        """Answer what waits, and let go of the store."""
        with self._ready:
            self._is_closing = True
            self._ready.notify()
        self._thread.join()

    def _work(self) -> None:
        while jobs := self._next():
            self._serve([job for job in jobs if job.future.set_running_or_notify_cancel()])
        self._let_go()

    def _next(self) -> list[_Job]:
        """Wait for what is first in line, and take what can be admitted together with it."""
        with self._ready:
            while not self._jobs and not self._is_closing:
                self._ready.wait()
            if not self._jobs:
                return []
            taken = [self._jobs.popleft()]
            count = len(taken[0].lines or ())
            while taken[0].lines is not None and self._jobs:
                lines = self._jobs[0].lines
                if lines is None or count + len(lines) > TOGETHER_LINES_MAX:
                    break
                count += len(lines)
                taken.append(self._jobs.popleft())
            return taken

    def _serve(self, jobs: Sequence[_Job]) -> None:
        """Answer some requests; what is wrong with one of them must not keep the others out."""
        try:
            results = self._admit(jobs)
        except Exception as error:  # noqa: BLE001 (whatever it is, somebody waits for an answer)
            self._let_go()
            if len(jobs) > 1 and not isinstance(error, StoreBusyError | StoreWriteError):
                for job in jobs:
                    self._serve([job])
                return
            self._say(error)
            for job in jobs:
                job.future.set_exception(error)
        else:
            for job, result in zip(jobs, results, strict=True):
                job.future.set_result(result)
            if self._said:
                self._said.clear()
                self._tell("the store is well again")

    def _admit(self, jobs: Sequence[_Job]) -> list[Ingested]:
        store = self._open()
        if any(job.lines is None for job in jobs):
            self._prove(store)
        screened = [[self._screen(line, job) for line in job.lines or ()] for job in jobs]
        lines = [each for some in screened for each in some if not isinstance(each, Answer)]
        try:
            told = iter(deliver(store, lines, clock_us) if lines else ())
        except StoreWriteError as error:
            self._failed = (time.monotonic_ns(), error)
            raise
        if lines:
            self._proven_ns, self._failed = time.monotonic_ns(), None
        with store.reading() as log:
            size = log.size
        return [
            Ingested(tuple(e if isinstance(e, Answer) else next(told) for e in some), size)
            for some in screened
        ]

    def _screen(self, line: bytes, job: _Job) -> bytes | Answer:
        """Give a line that may go to the log, or the answer to one that may not.

        What the log would refuse goes there too: it has the reasons, and notes that it came.
        """
        if len(line) > self._limits.line_bytes:
            message = f"expected at most {self._limits.line_bytes} bytes, got {len(line)}"
            return Answer("refused", finding=InputFinding("line_too_long", message))
        if job.allows is None:
            return line
        try:
            producer = read_delivery(line).producer
        except RefusedLineError:
            return line
        if job.allows(producer):
            return line
        message = f"the token may not send records of producer {producer[:200]!a}"
        return Answer("refused", finding=InputFinding("producer_not_allowed", message))

    def _prove(self, store: SqliteStore) -> None:
        """See that the store can be written, unless that was seen a moment ago.

        Raises:
            StoreWriteError: it cannot, or a batch failed shortly before.
        """
        now_ns = time.monotonic_ns()
        if self._failed is not None and now_ns - self._failed[0] < FAILURE_KEPT_NS:
            raise self._failed[1]
        if self._proven_ns is not None and now_ns - self._proven_ns < PROBE_KEPT_NS:
            return
        with store.writing():
            pass
        try:
            with tempfile.TemporaryFile(dir=self._path) as file:
                file.write(bytes(PROBE_BYTES))
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise StoreWriteError(str(self._path), reason) from error
        self._proven_ns = time.monotonic_ns()

    def _open(self) -> SqliteStore:
        if self._store is None:
            folder = find_store(self._path)
            check_local(self._path)
            self._store = open_sqlite_store(folder.log, wait_s=self._limits.busy_s)
        return self._store

    def _let_go(self) -> None:
        """Close the store; the next request opens it anew."""
        store, self._store = self._store, None
        try:
            if store is not None:
                store.close()
        except Exception as error:  # noqa: BLE001 (nobody may be left without an answer)
            self._say(error)

    def _say(self, error: Exception) -> None:
        """Tell what is wrong with the store, each thing once until it is well again."""
        code = error.code if isinstance(error, TallystickError) else "internal_error"
        if code not in self._said:
            self._said.add(code)
            text = str(error) if isinstance(error, TallystickError) else repr(error)[:500]
            self._tell(f"{code}: {text}")

    def _tell(self, text: str) -> None:
        with suppress(OSError):  # Perhaps nobody reads what is said; requests are served still.
            self._notice(text)
