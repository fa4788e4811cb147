"""A store that fails under a server: nothing is acknowledged that is not kept, and it goes on."""

import resource
import signal
import socket
import threading
import time
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

import apsw

from tallystick.app.store import open_store
from tallystick.emit.post import NotSentError, Poster
from tests.server.servers import (
    Said,
    Server,
    body_of,
    line_of,
    running,
    stored_runs,
    words,
)

PAGE = 4096


def until(is_so: Callable[[], bool]) -> None:
    """Wait for something that will be so, and not for ever."""
    deadline_s = time.monotonic() + 20
    while not is_so():
        assert time.monotonic() < deadline_s, "it never was so"
        time.sleep(0.01)


def file_bytes_max(server: Server, number: int) -> None:
    """Have writes beyond a place in a file fail, as on a full disk."""
    limit = (number, resource.RLIM_INFINITY)
    resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, limit)


def test_a_kill_loses_nothing_that_was_acknowledged(store: Path) -> None:
    """What was answered is in the log; sent again it is known, and what was not answered is new."""
    acknowledged: set[int] = set()
    sent: set[int] = set()
    with running(store) as server:
        senders = [
            threading.Thread(target=send_on, args=(server, each, sent, acknowledged))
            for each in range(4)
        ]
        for thread in senders:
            thread.start()
        until(lambda: len(acknowledged) > 400)
        server.stop(signal.SIGKILL)
        for thread in senders:
            thread.join()
    kept = stored_runs(store)
    numbers = sorted(sent)
    with running(store) as server, closing(Poster(server.url, server.token)) as again:
        told = [
            answer.word
            for at in range(0, len(numbers), 500)
            for answer in again.post([line_of(each) for each in numbers[at : at + 500]])
        ]

    assert {f"run-{number}" for number in acknowledged} <= kept
    expected = ["exists" if f"run-{number}" in kept else "accepted" for number in numbers]
    assert told == expected


def send_on(server: Server, sender: int, sent: set[int], acknowledged: set[int]) -> None:
    """Send batches until the server is gone; note what was sent, and what was answered."""
    with closing(Poster(server.url, server.token)) as poster, suppress(NotSentError):
        for first in range(sender * 100_000, (sender + 1) * 100_000, 20):
            batch = range(first, first + 20)
            sent.update(batch)
            poster.post([line_of(each) for each in batch])
            acknowledged.update(batch)


def test_a_full_disk_is_told_and_used_again_when_there_is_room(store: Path) -> None:
    """Nothing of the batch is kept; the server lives, says it is not well, and comes back."""
    with running(store) as server:
        first = server.post(body_of(line_of(1)))
        file_bytes_max(server, PAGE)
        full = server.post(body_of(line_of(2)))
        health = server.ask("GET", "/healthz")
        still = server.post(body_of(line_of(3)))
        metrics = server.ask("GET", "/metrics")
        file_bytes_max(server, resource.RLIM_INFINITY)
        after = server.post(body_of(line_of(3)))
        well = server.ask("GET", "/healthz")

    assert words(first) == ["accepted"]
    assert (full.status, full.code) == (503, "store_write_failed")
    assert (full.headers["Retry-After"], str(store) in full.body.decode()) == ("5", False)
    assert (health.status, still.status, metrics.status) == (503, 503, 200)
    assert words(after) == ["accepted"]
    assert well.status == 200
    assert stored_runs(store) == {"run-1", "run-3"}


def test_health_sees_that_nothing_can_be_written(store: Path) -> None:
    """Before any record is lost to it."""
    with running(store) as server:
        server.post(b"")
        file_bytes_max(server, PAGE)
        full = server.ask("GET", "/healthz")
        file_bytes_max(server, resource.RLIM_INFINITY)
        well = server.ask("GET", "/healthz")

    assert (full.status, full.code) == (503, "store_write_failed")
    assert well.status == 200


def test_health_remembers_a_failure_until_a_batch_succeeds(store: Path) -> None:
    """That a file can be written does not show that the log can."""
    with running(store) as server:
        server.post(b"")
        file_bytes_max(server, PAGE)
        server.post(body_of(line_of(1)))
        file_bytes_max(server, resource.RLIM_INFINITY)
        remembered = server.ask("GET", "/healthz")
        server.post(body_of(line_of(1)))
        well = server.ask("GET", "/healthz")

    assert (remembered.status, remembered.code) == (503, "store_write_failed")
    assert well.status == 200


def test_a_failure_is_said_where_the_server_runs(store: Path) -> None:
    """Once for as long as it lasts, with the place that clients are not told."""
    with running(store) as server:
        server.post(b"")
        file_bytes_max(server, PAGE)
        for number in range(5):
            server.post(body_of(line_of(number)))
        file_bytes_max(server, resource.RLIM_INFINITY)
        server.post(b"")
        server.stop()

    failed, *_, last = server.said[1:]
    assert failed.startswith(f"tallystick: store_write_failed: cannot write to store {store}")
    assert len(set(server.said)) == len(server.said)
    assert last == "tallystick: the store is well again"


def test_a_store_that_somebody_else_writes_is_busy(store: Path) -> None:
    """Who waits too long is told so, who comes to a full line at once; then all goes on."""
    said: list[Said] = []

    def send(number: int) -> None:
        said.append(server.post(body_of(line_of(number))))

    with running(store, busy_s=2, waiting=1) as server:
        with open_store(store) as other, other.log.writing():
            served = threading.Thread(target=send, args=(1,))
            served.start()
            time.sleep(0.3)  # It has the thread of the store now; were it not so, all would hold.
            waits = threading.Thread(target=send, args=(2,))
            waits.start()
            until(lambda: server.metric("waiting_requests") == "1")
            full = server.post(body_of(line_of(3)))
            served.join()
        waits.join()
        after = server.post(body_of(line_of(3)))

    assert (full.status, full.code) == (503, "line_full")
    assert full.headers["Retry-After"] == "2"
    assert (said[0].status, said[0].code) == (503, "store_busy")
    assert words(after) == ["accepted"]


def test_a_damaged_record_is_told(store: Path) -> None:
    """What came again and is stored otherwise is not acknowledged; the rest goes on."""
    with running(store) as server:
        server.post(body_of(line_of(1)))
        tamper(store)
        said = server.post(body_of(line_of(1)))
        after = server.post(body_of(line_of(2)))

    assert (said.status, said.code) == (503, "store_damaged")
    assert words(after) == ["accepted"]


def tamper(store: Path) -> None:
    """Change what a stored record says, in spite of what the file has against it."""
    with closing(apsw.Connection(str(store / "log.db"))) as connection:
        names = connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'")
        for name in [str(row[0]) for row in names.fetchall()]:
            connection.execute(f"DROP TRIGGER {name}")
        leaves = "replace(CAST(leaves AS TEXT), 'run-1', 'run-9')"
        connection.execute(f"UPDATE batch SET leaves = CAST({leaves} AS BLOB)")  # noqa: S608


def test_a_store_that_went_away_is_told(store: Path) -> None:
    """It is opened again when it has come back."""
    with running(store) as server:
        file_bytes_max(server, PAGE)
        server.post(body_of(line_of(1)))  # So that it has to be opened again.
        file_bytes_max(server, resource.RLIM_INFINITY)
        settings = (store / "store.toml").rename(store / "away")
        said = server.post(body_of(line_of(1)))
        settings.rename(store / "store.toml")
        after = server.post(body_of(line_of(1)))

    assert (said.status, said.code) == (503, "store_not_found")
    assert words(after) == ["accepted"]


def test_tokens_that_cannot_be_read_let_nobody_in(store: Path) -> None:
    """It is no fault of who sends, and is over when the file is right again."""
    path = store / "keys" / "tokens.json"
    with running(store) as server:
        good = path.read_bytes()
        path.write_bytes(b"{")
        said = server.post(b"")
        path.write_bytes(good)
        after = server.post(b"")

    assert (said.status, said.code) == (503, "tokens_unusable")
    assert after.status == 200


def test_requests_are_finished_before_the_end(store: Path) -> None:
    """A signal stops who comes new; what was begun is admitted and answered."""
    said: list[Said] = []

    def send(number: int) -> None:
        said.append(server.post(body_of(line_of(number))))

    with running(store, busy_s=20) as server:
        with open_store(store) as other, other.log.writing():
            senders = [threading.Thread(target=send, args=(each,)) for each in range(4)]
            for thread in senders:
                thread.start()
            until(lambda: int(server.metric("waiting_requests") or 0) >= 1)
            server.process.send_signal(signal.SIGTERM)
            until(lambda: not is_open(server.port))
        for thread in senders:
            thread.join()
        status = server.stop()

    assert status == 0
    assert [words(each) for each in said] == [["accepted"]] * 4
    assert stored_runs(store) == {f"run-{number}" for number in range(4)}


def is_open(port: int) -> bool:
    """Tell whether somebody listens."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
