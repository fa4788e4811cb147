"""Limits: each has its answer, and what is within it goes on."""

import json
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import repeat

import pytest

from tallystick.emit.post import NotSentError, Poster
from tests.server.servers import (
    Server,
    body_of,
    exchange,
    line_of,
    new_server_store,
    running,
    token_of,
    words,
)

BODY_BYTES = 4096
LINES = 5


@pytest.fixture(scope="module")
def tight(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Run a server that takes little."""
    store = new_server_store(tmp_path_factory.mktemp("tight"))
    limits = {"body_bytes": BODY_BYTES, "batch_lines": LINES, "line_bytes": 1024, "slow_s": 1}
    with running(store, **limits, connections=4) as server:
        yield server


def test_a_body_that_says_it_is_too_long_is_not_read(tight: Server) -> None:
    """The answer comes before the body."""
    said = tight.post(b" " * (BODY_BYTES + 1))

    assert (said.status, said.code) == (413, "too_many_bytes")


def test_a_body_may_be_as_long_as_is_said(tight: Server) -> None:
    """The limit itself is within."""
    assert tight.post(b" " * BODY_BYTES).status == 200


def test_a_body_without_a_length_is_read_up_to_the_limit(tight: Server) -> None:
    """A body in chunks that never ends is answered all the same, and the connection closed."""
    before = int(tight.metric("received_bytes_total") or 0)

    said = tight.post(repeat(b" " * 1000))

    assert (said.status, said.code) == (413, "too_many_bytes")
    assert said.headers["Connection"] == "close"
    assert int(tight.metric("received_bytes_total") or 0) - before < 1 << 20


def test_a_body_in_chunks_within_the_limit_is_taken(tight: Server) -> None:
    """Its length need not be said before."""
    assert words(tight.post(iter([line_of(1)[:50], line_of(1)[50:]]))) == ["accepted"]


def test_too_many_lines_are_not_taken(tight: Server) -> None:
    """Blank ones count too, since they cost as much to cut."""
    assert tight.post(b"\n" * LINES).status == 200
    said = tight.post(b"\n" * LINES + b"{}")

    assert (said.status, said.code) == (413, "too_many_lines")


def test_a_line_that_is_too_long_is_refused_alone(tight: Server) -> None:
    """The others of its batch go on, and the log does not hear of it."""
    said = tight.post(body_of(line_of(2), b'"' + b"x" * 1024, line_of(3)))

    assert words(said) == ["accepted", "refused", "accepted"]
    assert said.json["answers"][1]["code"] == "line_too_long"


def test_the_client_is_told_that_its_batch_was_too_large(tight: Server) -> None:
    """So that it can halve the batch."""
    poster = Poster(tight.url, tight.token)

    with pytest.raises(NotSentError) as failed:
        poster.post([line_of(number) for number in range(10_000)])

    assert failed.value.too_large
    assert not failed.value.is_final


@pytest.mark.parametrize("content_type", ["application/json", "text/plain", ""])
def test_another_content_type_is_refused(tight: Server, content_type: str) -> None:
    """Only lines of JSON are taken for such."""
    said = tight.post(line_of(4), Content_Type=content_type)

    assert (said.status, said.code) == (415, "content_type_wrong")


def test_a_compressed_body_is_refused(tight: Server) -> None:
    """Nothing is unpacked, so nothing small becomes large."""
    said = tight.post(b"\x1f\x8b", Content_Encoding="gzip")

    assert (said.status, said.code) == (415, "content_type_wrong")


def test_parameters_of_the_content_type_do_not_matter(tight: Server) -> None:
    """JSON is UTF-8, whatever is said beside it."""
    assert tight.post(b"", Content_Type="application/jsonl; charset=utf-8").status == 200


def test_headers_that_never_end_are_given_up(tight: Server) -> None:
    """The connection is closed, and others are served meanwhile."""
    with socket.create_connection(("127.0.0.1", tight.port), 10) as slow:
        slow.sendall(b"POST /v1/records HTTP/1.1\r\nHost: x\r\nX-Slow: ")

        meanwhile = tight.ask("GET", "/metrics").status
        end = slow.recv(1000)

    assert (meanwhile, end) == (200, b"")


def test_a_connection_that_says_nothing_is_given_up(tight: Server) -> None:
    """Not even a first byte has to come for that."""
    with socket.create_connection(("127.0.0.1", tight.port), 10) as silent:
        assert silent.recv(1000) == b""


def test_a_body_that_trickles_is_given_up(tight: Server) -> None:
    """It has so long and no longer, however often a byte comes."""
    head = (
        "POST /v1/records HTTP/1.1\r\nHost: x\r\nContent-Type: application/jsonl\r\n"
        f"Authorization: Bearer {tight.token}\r\nContent-Length: 100\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", tight.port), 10) as slow:
        slow.sendall(head.encode() + b"{")
        answer = b"".join(iter(lambda: slow.recv(1000), b""))

    assert answer.startswith(b"HTTP/1.1 408 ")
    assert json.loads(answer.partition(b"\r\n\r\n")[2])["code"] == "body_too_slow"


def test_a_body_that_breaks_the_rules_ends_the_connection(tight: Server) -> None:
    """Nothing of it is used."""
    head = (
        "POST /v1/records HTTP/1.1\r\nHost: x\r\nContent-Type: application/jsonl\r\n"
        f"Authorization: Bearer {tight.token}\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", tight.port), 10) as broken:
        broken.sendall(head.encode() + b"2\r\n{}\r\nnonsense\r\n")
        answer = b"".join(iter(lambda: broken.recv(1000), b""))

    assert answer == b""
    assert tight.post(b"").status == 200


def test_headers_without_bound_are_refused(tight: Server) -> None:
    """They are answered in our form, and counted."""
    with socket.create_connection(("127.0.0.1", tight.port), 10) as wide:
        wide.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\nX-Wide: " + b"x" * 70_000)
        answer = wide.recv(1000)

    assert answer.startswith(b"HTTP/1.1 400 ")
    assert json.loads(answer.partition(b"\r\n\r\n")[2])["code"] == "bad_request"
    assert tight.metric('requests_total{status="400"}') is not None


def test_too_many_connections_are_told_so(tight: Server) -> None:
    """Those that are open go on, and there is room again when one has ended."""
    with ExitStack() as stack:
        connections = [tight.connect() for _ in range(4)]
        for connection in connections:
            stack.callback(connection.close)
        before = [exchange(each, "GET", "/metrics").status for each in connections]

        said = tight.ask("GET", "/metrics")
        after = [exchange(each, "GET", "/metrics").status for each in connections]

    assert before == after == [200] * 4
    assert (said.status, said.code) == (503, "connections_full")
    assert said.headers["Retry-After"] == "2"


def test_a_token_that_sends_too_much_has_to_wait(tmp_path_factory: pytest.TempPathFactory) -> None:
    """It is told how long; another token is not concerned."""
    store = new_server_store(tmp_path_factory.mktemp("rated"))
    with running(store, rate=1, burst=1) as server:
        first = server.post(body_of(*map(line_of, range(100))))
        said = server.post(body_of(line_of(100)))
        with pytest.raises(NotSentError) as failed:
            Poster(server.url, server.token).post([line_of(100)])
        other = server.post(body_of(line_of(100)), token_of(store))

    assert words(first) == ["accepted"] * 100
    assert (said.status, said.code) == (429, "rate_exceeded")
    assert 90 <= int(said.headers["Retry-After"]) <= 100
    assert failed.value.retry_after_s is not None
    assert not failed.value.is_final
    assert words(other) == ["accepted"]
