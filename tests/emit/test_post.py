"""Posting: an answer to every line or a reason, and the token goes to nobody else."""

import json
import pickle
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from io import BufferedReader
from pathlib import Path

import pytest

from tallystick.emit.post import Answer, NotSentError, Poster

TOKEN = "tally_0_0"  # noqa: S105 (it opens nothing)
LINES = [b'{"a":1}', b'{"b":2}']
TAKEN = {"answers": [{"answer": "accepted", "leaf": 0}, {"answer": "exists", "leaf": 0}], "size": 1}
LIMIT_S = 20


def reply(body: object, status: str = "200 OK", *headers: str) -> bytes:
    """Write an answer."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(data)}", *headers, "", ""]
    return "\r\n".join(lines).encode() + data


class Scripted:
    """A server that says what a test wrote down: for each connection the answers, then its end."""

    def __init__(self, *connections: list[bytes]) -> None:
        self.requests: list[bytes] = []
        self.taken = 0
        self._script = connections
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._socket.getsockname()[1]
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self.port}"

    def close(self) -> None:
        """End it, whatever is left of the script."""
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join(LIMIT_S)

    def _serve(self) -> None:
        for answers in self._script:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            self.taken += 1
            connection.settimeout(LIMIT_S)
            with connection, connection.makefile("rb") as stream:
                for answer in answers:
                    if (request := _read_request(stream)) is None:
                        break
                    self.requests.append(request)
                    connection.sendall(answer)


def _read_request(stream: BufferedReader) -> bytes | None:
    """Read a request, None if there is none."""
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        line = stream.readline(1 << 16)
        if not line.endswith(b"\r\n"):
            return None
        head += line
    length = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
    return head + stream.read(length)


Say = Callable[..., Scripted]


@pytest.fixture
def say() -> Iterator[Say]:
    """Give a function that makes servers, and end them."""
    made: list[Scripted] = []

    def make(*connections: list[bytes]) -> Scripted:
        made.append(Scripted(*connections))
        return made[-1]

    yield make
    for each in made:
        each.close()


def failure(server: Scripted) -> NotSentError:
    """Post, and give the reason for which it failed."""
    poster = Poster(server.url, TOKEN, timeout_s=5)
    with closing(poster), pytest.raises(NotSentError) as failed:
        poster.post(LINES)
    return failed.value


# -- answers -------------------------------------------------------------------------------


def test_every_line_is_answered(say: Say) -> None:
    """In the order in which they were sent; code and message come where there are any."""
    refused = {"answer": "refused", "code": "bad_json", "message": "no", "other": [1]}
    server = say([reply({"answers": [TAKEN["answers"][0], refused], "size": 1})])  # type: ignore[index]

    with closing(Poster(server.url, TOKEN)) as poster:
        answers = poster.post(LINES)

    assert answers == [Answer("accepted", None, None), Answer("refused", "bad_json", "no")]


def test_lines_are_sent_as_they_are(say: Say) -> None:
    """Each with a line break, with the token, to the one address."""
    server = say([reply(TAKEN)])

    with closing(Poster(f"{server.url}/below/", TOKEN)) as poster:
        poster.post(LINES)

    (request,) = server.requests
    head, _, body = request.partition(b"\r\n\r\n")
    assert head.startswith(b"POST /below/v1/records HTTP/1.1\r\n")
    assert b"Authorization: Bearer tally_0_0\r\n" in head
    assert b"Content-Type: application/x-ndjson" in head
    assert body == b'{"a":1}\n{"b":2}\n'


def test_a_connection_is_used_again(say: Say) -> None:
    """As long as the server keeps it."""
    server = say([reply(TAKEN)] * 3)

    with closing(Poster(server.url, TOKEN)) as poster:
        for _ in range(3):
            poster.post(LINES)

    assert (server.taken, len(server.requests)) == (1, 3)


def test_a_connection_that_the_server_has_closed_is_opened_again(say: Say) -> None:
    """The batch is sent once more, and the caller does not notice."""
    server = say([reply(TAKEN)], [reply(TAKEN)])

    with closing(Poster(server.url, TOKEN)) as poster:
        answers = [poster.post(LINES) for _ in range(2)]

    assert (server.taken, answers[0]) == (2, answers[1])


def test_a_server_that_says_that_it_closes_is_believed(say: Say) -> None:
    """The next batch has a connection of its own from the start."""
    server = say([reply(TAKEN, "200 OK", "Connection: close")], [reply(TAKEN)])

    with closing(Poster(server.url, TOKEN)) as poster:
        answers = [poster.post(LINES) for _ in range(2)]

    assert (server.taken, answers[0]) == (2, answers[1])


def test_it_is_opened_again_only_once(say: Say) -> None:
    """A server that hangs up each time is not there."""
    server = say([reply(TAKEN)], [b""], [reply(TAKEN)])

    with closing(Poster(server.url, TOKEN)) as poster:
        poster.post(LINES)
        with pytest.raises(NotSentError) as failed:
            poster.post(LINES)

    assert server.taken == 2
    assert not failed.value.is_final


def test_an_answer_in_chunks_is_read(say: Say) -> None:
    """The server need not know its length."""
    data = json.dumps(TAKEN).encode()
    chunks = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in (data[:9], data[9:]))
    chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks + b"0\r\n\r\n"
    server = say([chunked, chunked])

    with closing(Poster(server.url, TOKEN)) as poster:
        answers = [poster.post(LINES) for _ in range(2)]

    assert (server.taken, [len(each) for each in answers]) == (1, [2, 2])


# -- answers that are none -----------------------------------------------------------------


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\xff",
        b"[]",
        b"null",
        b"[" * 100_000,
        b'{"answers":{}}',
        {"answers": []},
        {"answers": [TAKEN["answers"]]},
        {"answers": ["accepted", "accepted"]},
        {"answers": [{"answer": "accepted"}, {"answer": "maybe"}]},
        {"answers": [{"answer": "accepted"}, {"answer": None}]},
        {"answers": [{"answer": "accepted"}, {"answer": ["accepted"]}]},
        {"answers": [{"answer": "accepted"}] * 3},
        {"answers": [{"answer": "refused", "code": 1}, {"answer": "accepted"}]},
        {"answers": [{"answer": "refused", "message": {}}, {"answer": "accepted"}]},
    ],
    ids=lambda body: str(body)[:40],
)
def test_what_does_not_answer_every_line_is_no_answer(say: Say, body: object) -> None:
    """Nothing of it is believed, and the batch may be sent again."""
    failed = failure(say([reply(body)]))

    assert not failed.is_final
    assert str(failed).startswith("the server's answer cannot be used: ")


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"SSH-2.0-OpenSSH_9.2\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{",
        b"HTTP/1.1 2000000 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 1000 + b"\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 20000000\r\n\r\n" + bytes(20_000_000),
    ],
    ids=lambda answer: repr(answer[:40]),
)
def test_what_is_no_answer_of_a_server_is_told(say: Say, answer: bytes) -> None:
    """It may be over the next time."""
    failed = failure(say([answer]))

    assert not failed.is_final
    assert len(str(failed).splitlines()) == 1


def test_a_server_that_is_silent_is_given_up(say: Say) -> None:
    """After the time that was said."""
    server = say([b"HTTP/1.1 200 OK\r\n", b""])
    poster = Poster(server.url, TOKEN, timeout_s=0.2)
    with closing(poster), pytest.raises(NotSentError, match="timed out"):
        poster.post(LINES)


def test_nobody_there_is_told() -> None:
    """With the place."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]

    with pytest.raises(NotSentError, match=f"127.0.0.1 port {port}: connection refused") as failed:
        Poster(f"http://127.0.0.1:{port}", TOKEN).post(LINES)

    assert not failed.value.is_final


def test_a_connection_that_is_reset_at_once_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that ends just now resets who knocks."""

    def reset(*_: object, **__: object) -> None:
        raise ConnectionResetError(104, "Connection reset by peer")

    monkeypatch.setattr(socket, "create_connection", reset)

    with pytest.raises(NotSentError, match="connection reset by peer"):
        Poster("http://127.0.0.1:1", TOKEN).post(LINES)


@pytest.mark.parametrize("host", ["no.such.host.invalid", "x" * 70 + ".example", "a..b"])
def test_a_host_that_is_none_is_told(host: str) -> None:
    """A name may come to be known."""
    with pytest.raises(NotSentError) as failed:
        Poster(f"https://{host}", TOKEN).post(LINES)

    assert not failed.value.is_final


def test_a_server_without_tls_is_told(say: Say) -> None:
    """The token was not sent."""
    server = say([reply(TAKEN)])

    with pytest.raises(NotSentError):
        Poster(server.url.replace("http", "https"), TOKEN, timeout_s=1).post(LINES)

    assert all(TOKEN.encode() not in request for request in server.requests)


# -- refusals ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "is_final"),
    [
        *((400, True), (401, True), (403, True), (404, True), (405, True), (415, True)),
        *((408, False), (413, False), (429, False), (500, False), (502, False), (503, False)),
    ],
)
def test_a_status_says_whether_it_helps_to_try_again(
    say: Say,
    status: int,
    is_final: bool,  # noqa: FBT001 (a column of a table)
) -> None:
    """What the sender has to change does not come right by itself."""
    failed = failure(say([reply({"code": "c", "message": "m"}, f"{status} X")]))

    assert failed.is_final is is_final
    assert failed.too_large is (status == 413)
    assert str(failed) == f"the server says {status}: c: m"


@pytest.mark.parametrize(
    ("stated", "waited"),
    [("7", 7.0), ("0", 0.0), (" 12 ", 12.0), ("9" * 30, 86400.0), ("-1", None), ("soon", None)],
)
def test_the_server_says_how_long_to_wait(say: Say, stated: str, waited: float | None) -> None:
    """A day at most; what is no number of seconds says nothing."""
    failed = failure(say([reply({}, "503 X", f"Retry-After: {stated}")]))

    assert failed.retry_after_s == waited


def test_a_status_without_a_reason_is_told_as_it_is(say: Say) -> None:
    """What other servers say is cut and made printable."""
    failed = failure(say([reply(b"<h1>\x1b[31mBad\n Gateway</h1>" + b"x" * 1000, "502 X")]))

    assert str(failed).startswith("the server says 502: <h1>?[31mBad? Gateway</h1>xxx")
    assert len(str(failed)) < 300


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirect_is_not_followed(say: Say, status: int) -> None:
    """The token stays here."""
    other = say([reply(TAKEN)])

    failed = failure(say([reply(b"", f"{status} X", f"Location: {other.url}/v1/records")]))

    assert failed.is_final
    assert "where the token does not go" in str(failed)
    assert other.requests == []


def test_a_connection_is_used_again_after_a_refusal(say: Say) -> None:
    """A problem of one batch is none of the connection."""
    server = say([reply({}, "503 X"), reply(TAKEN)])

    with closing(Poster(server.url, TOKEN)) as poster:
        with pytest.raises(NotSentError):
            poster.post(LINES)
        answers = poster.post(LINES)

    assert (server.taken, len(answers)) == (1, 2)


# -- calls that cannot be right ------------------------------------------------------------


@pytest.mark.parametrize(
    "url",
    [
        *("", "x", "ftp://127.0.0.1", "http://", "http://127.0.0.1:x", "http://127.0.0.1:70000"),
        *("http://u:p@127.0.0.1", "http://127.0.0.1/?q", "http://127.0.0.1/#f", "http://[::1"),
        *("http://127.0.0.1/a b", "http://127.0.0.1/\u00e4", "http://127.0.0.1/\r\nX: y"),
    ],
)
def test_an_address_that_is_none_is_refused(url: str) -> None:
    """Before anything is sent."""
    with pytest.raises(NotSentError) as failed:
        Poster(url, TOKEN)

    assert failed.value.is_final


@pytest.mark.parametrize("host", ["logs.example", "10.0.0.1", "[2001:db8::1]", "127.0.0.1.nip.io"])
def test_a_token_does_not_cross_a_network_in_plain_text(host: str) -> None:
    """Unless the caller says that it may."""
    with pytest.raises(NotSentError, match="expected https"):
        Poster(f"http://{host}:1", TOKEN)

    Poster(f"http://{host}:1", TOKEN, allow_plain=True)
    Poster(f"https://{host}:1", TOKEN)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "[::1]", "localhost", "LOCALHOST"])
def test_within_the_machine_plain_text_will_do(host: str) -> None:
    """Nobody else can listen."""
    Poster(f"http://{host}:1", TOKEN)


@pytest.mark.parametrize("token", ["", "a b", "a\r\nX: y", "\u00e4", "a\0"])
def test_a_token_is_printable(token: str) -> None:
    """It becomes a header, and nothing beside it."""
    with pytest.raises(NotSentError, match="expected a token"):
        Poster("http://127.0.0.1:1", token)


@pytest.mark.parametrize("lines", [[b""], [b" "], [b"{}\n"], [b"{}", b"{\n}"]])
def test_a_line_is_one_record(lines: list[bytes]) -> None:
    """Otherwise answers and lines would not go together."""
    with pytest.raises(ValueError, match="one record each"):
        Poster("http://127.0.0.1:1", TOKEN).post(lines)


def test_certificates_that_are_none_are_told(tmp_path: Path) -> None:
    """The file is named."""
    with pytest.raises(NotSentError, match="cannot use the certificates") as failed:
        Poster("https://127.0.0.1:1", TOKEN, ca_file=str(tmp_path / "none"))

    assert failed.value.is_final


@pytest.mark.parametrize("close", [Poster.close, lambda poster: [poster.close(), poster.close()]])
def test_what_was_never_opened_can_be_closed(close: Callable[[Poster], object]) -> None:
    """More than once."""
    close(Poster("http://127.0.0.1:1", TOKEN))


def test_a_reason_crosses_a_process_boundary() -> None:
    """With everything that a sender goes by."""
    error = NotSentError("why", 2.0, is_final=True, too_large=True)

    again = pickle.loads(pickle.dumps(error))  # noqa: S301 (what was just written)

    assert (str(again), again.retry_after_s, again.is_final, again.too_large) == (
        "why",
        2.0,
        True,
        True,
    )
