"""The line before a store: what waits is admitted together, and nobody waits in vain."""

import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tallystick.app.ingest import Ingest, Ingested, Limits, LineFullError
from tallystick.app.store import open_store
from tallystick.stores.errors import StoreDamagedError, StoreNotFoundError
from tests.server.servers import line_of, stored
from tests.server.test_store_failures import tamper

if TYPE_CHECKING:
    from concurrent.futures import Future

WAIT_S = 20


def said(future: "Future[Ingested]") -> list[str]:
    """Give the answers to a request."""
    return [answer.word for answer in future.result(WAIT_S).answers]


@contextmanager
def blocked(store: Path, ingest: Ingest) -> Iterator[None]:
    """Keep the thread of the store at one request, so that others come to wait behind it."""
    entered, leave = threading.Event(), threading.Event()

    def wait(producer: str) -> bool:
        del producer
        entered.set()
        return leave.wait(WAIT_S)

    first = ingest.submit([line_of(0)], wait)
    assert entered.wait(WAIT_S)
    try:
        yield
    finally:
        leave.set()
        first.result(WAIT_S)
    assert stored(store)


@pytest.fixture
def heard() -> list[str]:
    """Hold what is said about the store."""
    return []


@pytest.fixture
def ingest(store: Path, heard: list[str]) -> Iterator[Ingest]:
    """Have a line before a store."""
    with closing(Ingest(store, Limits(waiting=4), heard.append)) as line:
        yield line


def test_what_waits_is_admitted_together(store: Path, ingest: Ingest) -> None:
    """Requests that waited are one batch, and each gets the answers to its own lines."""
    with blocked(store, ingest):
        one = ingest.submit([line_of(1), line_of(2)])
        other = ingest.submit([line_of(2), b"{", line_of(3)])

    assert said(one) == ["accepted", "accepted"]
    assert said(other) == ["exists", "refused", "accepted"]
    assert one.result().size == other.result().size == len(stored(store))


def test_a_full_line_takes_nobody_more(store: Path, ingest: Ingest) -> None:
    """Who is in it is served all the same."""
    with blocked(store, ingest):
        waiting = [ingest.submit([line_of(number)]) for number in range(1, 5)]
        full = ingest.waiting
        with pytest.raises(LineFullError):
            ingest.submit([line_of(5)])

    assert full == 4
    assert [said(each) for each in waiting] == [["accepted"]] * 4
    assert said(ingest.submit([line_of(5)])) == ["accepted"]


def test_one_bad_request_does_not_keep_the_others_out(store: Path, ingest: Ingest) -> None:
    """Only who sent what cannot be compared is told of the damage."""
    ingest.submit([line_of(1)]).result(WAIT_S)
    tamper(store)
    with blocked(store, ingest):
        good = ingest.submit([line_of(2)])
        bad = ingest.submit([line_of(1)])
        also = ingest.submit([line_of(3)])

    assert (said(good), said(also)) == (["accepted"], ["accepted"])
    with pytest.raises(StoreDamagedError):
        bad.result(WAIT_S)


def test_a_failure_of_ours_ends_one_request(ingest: Ingest, heard: list[str]) -> None:
    """The thread goes on, and it is said what happened."""

    def fail(producer: str) -> bool:
        raise RuntimeError(producer)

    with pytest.raises(RuntimeError):
        ingest.submit([line_of(1)], fail).result(WAIT_S)

    assert said(ingest.submit([line_of(1)])) == ["accepted"]
    assert heard == ["internal_error: RuntimeError('slurm-hook/n1')", "the store is well again"]


def test_nobody_has_to_listen(tmp_path: Path) -> None:
    """Standard error may be a full disk; requests are answered."""

    def deaf(text: str) -> None:
        raise OSError(text)

    with closing(Ingest(tmp_path, Limits(), deaf)) as line:
        with pytest.raises(StoreNotFoundError):
            line.submit([line_of(1)]).result(WAIT_S)
        with pytest.raises(StoreNotFoundError):
            line.submit([line_of(1)]).result(WAIT_S)


def test_who_asks_how_it_is_shares_one_answer(store: Path, ingest: Ingest) -> None:
    """Asking often neither fills the line nor writes often."""
    with blocked(store, ingest):
        asked = {id(ingest.check()) for _ in range(100)}
        answer = ingest.check()

    assert len(asked) == 1
    assert answer.result(WAIT_S).answers == ()


def test_a_request_that_was_given_up_is_not_admitted(store: Path, ingest: Ingest) -> None:
    """Nobody would hear the answer."""
    with blocked(store, ingest):
        gone = ingest.submit([line_of(1)])
        gone.cancel()
        stays = ingest.submit([line_of(2)])

    assert said(stays) == ["accepted"]
    assert [each["body"]["run"] for each in stored(store)] == ["run-0", "run-2"]


def test_what_waits_is_answered_before_the_end(store: Path) -> None:
    """After that nobody is let in."""
    ingest = Ingest(store, Limits(), lambda _: None)
    with blocked(store, ingest):
        waiting = ingest.submit([line_of(1)])
        closer = threading.Thread(target=ingest.close)
        closer.start()
    closer.join()

    assert said(waiting) == ["accepted"]
    with pytest.raises(LineFullError):
        ingest.submit([])
    with pytest.raises(LineFullError):
        ingest.check()


def test_a_store_can_be_written_by_others_beside_it(store: Path, ingest: Ingest) -> None:
    """The size that is answered is that of the log, whoever made it grow."""
    before = ingest.submit([]).result(WAIT_S).size
    with open_store(store) as other, closing(Ingest(store, Limits(), lambda _: None)) as beside:
        beside.submit([line_of(1)]).result(WAIT_S)
        with other.log.reading() as log:
            size = log.size

    assert (before, ingest.submit([]).result(WAIT_S).size) == (0, size)
