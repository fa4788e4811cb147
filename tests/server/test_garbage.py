"""Whatever is sent, the server answers with something other than its own failure."""

import json
import socket

from hypothesis import given
from hypothesis import strategies as st

from tests.server.servers import Server, line_of

RECORD = json.loads(line_of(1))
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)
JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=9), inner),
    max_leaves=12,
)
NEARLY = st.dictionaries(st.sampled_from(sorted(RECORD)), JSON).map(lambda part: RECORD | part)
LINES = st.binary(max_size=200) | JSON.map(json.dumps).map(str.encode)
LINES |= NEARLY.map(json.dumps).map(str.encode)


@given(st.lists(LINES, max_size=8))
def test_any_body_is_answered_line_by_line(server: Server, lines: list[bytes]) -> None:
    """A record is admitted or refused, and never the reason for a failure."""
    body = b"\n".join(lines)

    said = server.post(body)

    assert said.status == 200
    count = sum(bool(line.strip(b" \t\r")) for line in body.split(b"\n"))
    assert len(said.json["answers"]) == count


@given(st.binary(min_size=1, max_size=300))
def test_bytes_that_are_no_request_do_no_harm(server: Server, data: bytes) -> None:
    """They are answered or not, but never as a failure of ours."""
    answer = raw(server, data + b"\r\n\r\n")

    assert not answer.startswith(b"HTTP/1.1 5")
    assert server.process.poll() is None


@given(
    st.sampled_from(["GET", "POST", "HEAD", "OPTIONS", "X"]),
    st.text(st.characters(min_codepoint=33, max_codepoint=126), max_size=40),
    st.dictionaries(
        st.sampled_from(
            ["Authorization", "Content-Type", "Content-Encoding", "Expect", "Connection", "Upgrade"]
        ),
        st.text(st.characters(min_codepoint=32, max_codepoint=255), max_size=40),
    ),
)
def test_any_headers_are_answered(
    server: Server, method: str, path: str, headers: dict[str, str]
) -> None:
    """A problem is one JSON object."""
    head = [f"{method} /{path} HTTP/1.1", "Host: x", "Content-Length: 0", "Connection: close"]
    head += [f"{name}: {value}" for name, value in headers.items() if name != "Connection"]

    answer = raw(server, "\r\n".join([*head, "", ""]).encode("latin-1"))

    assert answer.startswith(b"HTTP/1.1 4") or path in {"healthz", "metrics"}
    body = answer.partition(b"\r\n\r\n")[2]
    assert method == "HEAD" or set(json.loads(body)) == {"code", "message"}


def raw(server: Server, data: bytes) -> bytes:
    """Send bytes, close our half, and give what comes back."""
    with socket.create_connection(("127.0.0.1", server.port), 20) as connection:
        connection.sendall(data)
        connection.shutdown(socket.SHUT_WR)
        answer = b""
        try:
            while part := connection.recv(1 << 16):
                answer += part
        except ConnectionResetError:
            pass
        return answer
