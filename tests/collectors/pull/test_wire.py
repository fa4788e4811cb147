"""Asking over HTTP: addresses, tokens, certificates, and answers that break off."""

import socket
import ssl
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tallystick.collectors.pull.errors import BadUrlError, ServerAwayError
from tallystick.collectors.pull.fetch import probe
from tallystick.collectors.pull.wire import (
    PassingFaultError,
    Server,
    TooMuchError,
    read_lines,
    read_whole,
)
from tests.collectors.pull.fake_server import FakeServer, serving

BEARER = "a.b-c"


def pieces(*parts: bytes) -> Iterator[bytes]:
    """Give an answer in parts."""
    return iter(parts)


@pytest.mark.parametrize(
    "url",
    ["prometheus:9090", "ftp://h", "http://", "http://h:port", "http://u@h", "http://h?a=b", "//h"],
)
def test_an_address_that_cannot_be_used_is_an_error(url: str) -> None:
    """It is said what was expected."""
    with pytest.raises(BadUrlError) as error:
        probe(Server(url))

    assert error.value.code == "pull_bad_url"


def test_certificates_that_cannot_be_read_are_an_error(tmp_path: Path) -> None:
    """The system's are not used instead."""
    server = Server("https://localhost:1", ca_file=str(tmp_path / "none.pem"))

    with pytest.raises(BadUrlError, match="certificates"):
        probe(server)


def test_a_server_that_is_not_there_is_an_error() -> None:
    """Nobody listens, however often it is tried."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        server = Server(f"http://127.0.0.1:{unused.getsockname()[1]}", pauses_s=(0.0,))

        with pytest.raises(ServerAwayError, match="refused"):
            probe(server)


def test_a_server_that_is_silent_is_an_error() -> None:
    """It takes the connection and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"

        with pytest.raises(ServerAwayError, match="silent for too long"):
            probe(Server(url, pauses_s=(), timeout_s=0.05))


def test_a_token_is_shown_with_every_request() -> None:
    """As a bearer token."""
    fake = FakeServer([])

    with serving(fake) as server:
        probe(replace(server, token=BEARER))

    assert {each["Authorization"] for each in fake.headers} == {f"Bearer {BEARER}"}


def test_the_path_of_an_address_is_kept() -> None:
    """As clusters and proxies need it."""
    fake = FakeServer([])

    with serving(fake) as server, pytest.raises(Exception, match="neither"):
        probe(replace(server, url=server.url + "/select/0/prometheus/"))

    assert [path for path, _ in fake.asked] == [
        "/select/0/prometheus/api/v1/export",
        "/select/0/prometheus/api/v1/status/buildinfo",
    ]


def test_lines_are_put_together_across_pieces() -> None:
    """Where an answer is cut has no meaning."""
    assert list(read_lines(pieces(b"a", b"b\nc", b"\n", b"d\ne\n"), 10)) == [
        b"ab",
        b"c",
        b"d",
        b"e",
    ]


def test_a_last_line_that_does_not_end_breaks_off() -> None:
    """Even if it could be read."""
    with pytest.raises(PassingFaultError, match="breaks off"):
        list(read_lines(pieces(b"a\nb"), 10))


def test_a_line_that_is_too_long_is_too_much() -> None:
    """It is not held while it grows."""
    with pytest.raises(TooMuchError):
        list(read_lines(pieces(b"aaaa", b"aaaa"), 7))


def test_an_answer_that_is_too_long_is_too_much() -> None:
    """It is not held while it grows."""
    with pytest.raises(TooMuchError):
        read_whole(pieces(b"aaaa", b"aaaa"), 7)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a certificate that signs itself, with its key, in one file."""
    folder = tmp_path_factory.mktemp("tls")
    command = (
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2"
        " -subj /CN=localhost -addext subjectAltName=IP:127.0.0.1 -keyout key.pem -out cert.pem"
    )
    subprocess.run(command.split(), cwd=folder, check=True, capture_output=True)
    path = folder / "both.pem"
    path.write_bytes((folder / "cert.pem").read_bytes() + (folder / "key.pem").read_bytes())
    return path


@pytest.mark.parametrize("is_trusted", [True, False])
def test_a_server_must_show_a_certificate_that_is_trusted(
    certificate: Path, *, is_trusted: bool
) -> None:
    """That of ``--ca-file``; an unknown one is an error with the reason."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)

    with serving(FakeServer([]), context=context) as server:
        if is_trusted:
            assert probe(replace(server, ca_file=str(certificate))) == "prometheus"
        else:
            with pytest.raises(ServerAwayError, match="certificate verify failed"):
                probe(server)


def test_a_server_that_is_not_well_is_an_error_when_it_is_asked_what_it_is() -> None:
    """Nothing is concluded from that."""

    class Unwell(FakeServer):
        def answer(self, path: str, fields: dict[str, list[str]]) -> tuple[int, bytes]:
            """Answer nothing else."""
            del path, fields
            return 502, b""

    with serving(Unwell([])) as server, pytest.raises(ServerAwayError, match="status 502"):
        probe(server)
