"""The service around the records: health, metrics, addresses, TLS, start and end."""

import datetime as dt
import ipaddress
import re
import signal
import socket
import subprocess
from contextlib import closing
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tallystick.emit.post import NotSentError, Poster
from tests.server.servers import (
    COMMAND,
    Server,
    body_of,
    line_of,
    running,
    stored,
    token_of,
    words,
)

ROOT = Path(__file__).resolve().parent.parent.parent
SPEC = ROOT / "docs" / "spec" / "serve.md"


def start_badly(*args: str) -> str:
    """Start a server that must not start, and give its one line."""
    done = subprocess.run(
        [*COMMAND, "serve", *args], capture_output=True, text=True, check=False, timeout=30
    )
    assert (done.returncode, done.stdout) == (2, "")
    return done.stderr.splitlines()[-1]


# -- health and metrics --------------------------------------------------------------------


def test_health_is_told_to_anybody(server: Server) -> None:
    """No token is needed, and nothing goes into the log."""
    before = len(stored(server.store))

    said = server.ask("GET", "/healthz")

    assert said.status == 200
    assert said.json == {"status": "ok", "size": before}
    assert len(stored(server.store)) == before


def test_health_has_no_body_for_who_wants_none(server: Server) -> None:
    """A HEAD request is a GET request without the body."""
    said = server.ask("HEAD", "/healthz")

    assert (said.status, said.body) == (200, b"")


def test_health_leaves_no_file(server: Server) -> None:
    """The file that is written to see whether one can be is gone."""
    before = {path.name for path in server.store.iterdir()}

    server.ask("GET", "/healthz")

    assert {path.name for path in server.store.iterdir()} <= before | {"log.db-wal", "log.db-shm"}


def test_metrics_count(server: Server) -> None:
    """Records by answer, requests by status, bytes, the line, the log."""
    body = body_of(line_of(1), line_of(1), b"x")
    bytes_before = int(server.metric("received_bytes_total") or 0)

    server.post(body)
    server.post(b"", "wrong")

    assert server.metric('records_total{answer="exists"}') == "1"
    assert server.metric('records_total{answer="refused"}') == "1"
    assert server.metric('requests_total{status="401"}') == "1"
    assert server.metric("received_bytes_total") == str(bytes_before + len(body))
    assert server.metric("waiting_requests") == "0"
    assert server.metric("log_records") == str(len(stored(server.store)))
    assert re.fullmatch(r"[0-9]+\.[0-9]{3}", server.metric("last_accepted_age_seconds") or "")


def test_metrics_are_text_that_prometheus_reads(server: Server) -> None:
    """Each metric has its help and type before it."""
    said = server.ask("GET", "/metrics")

    lines = said.body.decode().splitlines()
    assert said.headers["Content-Type"].startswith("text/plain; version=0.0.4")
    assert all(re.fullmatch(r"# (HELP|TYPE) .*|[a-z_]+(\{.*\})? [0-9.]+", each) for each in lines)


def test_what_was_never_seen_is_absent(store: Path) -> None:
    """A server that has accepted nothing does not say that it was 0 seconds ago."""
    with running(store) as server:
        ages = [server.metric(name) for name in ("last_accepted_age_seconds", "log_records")]

    assert ages == [None, None]


# -- addresses -----------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/", "/v1", "/v1/records/", "/v1/records/1", "//", "/%ff"])
def test_an_unknown_address_is_not_found(server: Server, path: str) -> None:
    """Nothing is redirected."""
    said = server.ask("POST", path, b"")

    assert (said.status, said.code) == (404, "not_found")


@pytest.mark.parametrize(
    ("method", "path"),
    [
        *(("GET", "/v1/records"), ("PUT", "/v1/records"), ("DELETE", "/v1/records")),
        *(("POST", "/healthz"), ("POST", "/metrics"), ("BREW", "/healthz")),
    ],
)
def test_another_method_is_not_allowed(server: Server, method: str, path: str) -> None:
    """The answer names those that are."""
    said = server.ask(method, path)

    assert (said.status, said.code) == (405, "method_not_allowed")
    assert said.headers["Allow"]


def test_no_answer_says_what_serves(server: Server) -> None:
    """Versions are nobody's business."""
    said = server.ask("GET", "/healthz")

    assert "Server" not in said.headers


def test_an_upgrade_is_not_made(server: Server) -> None:
    """A request for a web socket is answered as any other."""
    headers = {"Connection": "Upgrade", "Upgrade": "websocket"}

    assert server.ask("GET", "/healthz", None, headers).status == 200


def test_every_code_of_an_answer_is_in_the_specification() -> None:
    """The page lists what a sender may be told."""
    source = (ROOT / "src/tallystick/server/problems.py").read_text(encoding="utf-8")
    source += (ROOT / "src/tallystick/server/web.py").read_text(encoding="utf-8")
    source += (ROOT / "src/tallystick/server/connection.py").read_text(encoding="utf-8")
    made = set(re.findall(r'HttpProblem\(\s*[a-z0-9_.]+, "([a-z_]+)"', source))
    made |= set(re.findall(r'_retry\("([a-z_]+)"', source))

    page = SPEC.read_text(encoding="utf-8")

    assert len(made) >= 9
    assert [code for code in sorted(made) if f"`{code}`" not in page] == []


# -- start and end -------------------------------------------------------------------------


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_cleanly(store: Path, number: int) -> None:
    """The status says that nothing is wrong, and no trace is left on standard error."""
    with running(store) as server:
        server.post(body_of(line_of(1)))
        idle = server.connect()
        idle.request("GET", "/healthz")
        idle.getresponse().read()
        status = server.stop(number)
        idle.close()

    assert status == 0
    assert server.said == [f"tallystick: listening on http://127.0.0.1:{server.port}"]


def test_a_store_without_tokens_is_no_secret(store: Path) -> None:
    """It is said at the start, since nobody could send anything."""
    process = subprocess.Popen(
        [*COMMAND, "serve", "--store", str(store), "--port", "0"],
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    first = process.stderr.readline()
    process.stderr.readline()
    process.terminate()
    process.communicate(timeout=20)

    assert "no token was made yet" in first


def test_other_machines_are_served_with_a_warning(store: Path) -> None:
    """Without TLS the tokens can be read on the way."""
    with running(store, "--host", "0.0.0.0") as server:  # noqa: S104 (that is the point)
        status = server.ask("GET", "/healthz").status

    assert status == 200
    assert server.said[0].startswith("tallystick: warning: other machines can connect")


def test_the_address_may_be_of_version_6(store: Path) -> None:
    """It is shown as it is written in a URL."""
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        pytest.skip("expected a machine with IPv6")
    with running(store, "--host", "::1") as server:
        poster = Poster(f"http://[::1]:{server.port}", server.token)
        with closing(poster):
            answers = poster.post([line_of(1)])

    assert server.said[-1].endswith(f"http://[::1]:{server.port}")
    assert [answer.word for answer in answers] == ["accepted"]


def test_a_port_in_use_is_one_line(server: Server) -> None:
    """Nothing is half started."""
    line = start_badly("--store", str(server.store), "--port", str(server.port))

    assert line.startswith("tallystick: cannot_listen: cannot listen on 127.0.0.1 port")


def test_a_host_that_is_none_is_one_line(store: Path) -> None:
    """The name cannot be looked up."""
    line = start_badly("--store", str(store), "--host", "no.such.host.invalid")

    assert line.startswith("tallystick: cannot_listen: ")


def test_without_a_store_there_is_no_server(tmp_path: Path) -> None:
    """It is told as everywhere."""
    assert "store_not_found" in start_badly("--store", str(tmp_path))


def test_without_the_extra_it_is_named(store: Path) -> None:
    """The line says what to install."""
    blocked = COMMAND[2].replace("from", "import sys; sys.modules['uvicorn'] = None; from", 1)
    done = subprocess.run(
        [COMMAND[0], "-c", blocked, "serve", "--store", str(store)],
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )

    assert done.returncode == 2
    expected = "uvicorn is not installed: pip install 'tallystick[serve]'"
    assert done.stderr == f"tallystick: serve_extra_missing: {expected}\n"


def test_other_commands_do_not_load_the_server() -> None:
    """Not even those that make tokens."""
    check = (
        "import sys; import tallystick.cli.serve, tallystick.cli.main;"
        "print([name for name in ('starlette', 'uvicorn', 'asyncio') if name in sys.modules])"
    )

    done = subprocess.run([COMMAND[0], "-c", check], capture_output=True, text=True, check=True)

    assert done.stdout == "[]\n"


# -- TLS -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Make a certificate for this machine, and its key."""
    folder = tmp_path_factory.mktemp("tls")
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = dt.datetime.now(dt.UTC)
    names = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    (folder / "cert.pem").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    (folder / "key.pem").write_bytes(private)
    return folder / "cert.pem", folder / "key.pem"


def test_records_travel_by_tls(store: Path, certificate: tuple[Path, Path]) -> None:
    """Who trusts the certificate can send, again and again on one connection; others cannot."""
    cert, key = certificate
    with running(store, "--tls-cert", str(cert), "--tls-key", str(key)) as server:
        url = f"https://127.0.0.1:{server.port}"
        with closing(Poster(url, server.token, ca_file=str(cert))) as poster:
            told = [poster.post([line_of(number)])[0].word for number in range(3)]
        with pytest.raises(NotSentError) as failed:
            Poster(url, server.token).post([line_of(1)])

    assert server.said == [f"tallystick: listening on {url}"]
    assert told == ["accepted"] * 3
    assert failed.value.is_final
    assert "certificate" in str(failed.value)


def test_a_certificate_without_its_key_is_misuse(
    store: Path, certificate: tuple[Path, Path]
) -> None:
    """The two come together."""
    line = start_badly("--store", str(store), "--tls-cert", str(certificate[0]))

    assert "come together" in line


def test_a_certificate_that_is_none_is_one_line(store: Path, tmp_path: Path) -> None:
    """The file is named."""
    bad = tmp_path / "bad.pem"
    bad.write_text("x", encoding="ascii")

    line = start_badly("--store", str(store), "--tls-cert", str(bad), "--tls-key", str(bad))

    assert line.startswith(f"tallystick: tls_unusable: cannot use the certificate {bad}: ")


# -- the client against it -----------------------------------------------------------------


def test_the_client_says_that_a_token_is_not_good(server: Server) -> None:
    """Sending again does not help before somebody acts."""
    with closing(Poster(server.url, "tally_x")) as poster, pytest.raises(NotSentError) as failed:
        poster.post([line_of(1)])

    assert failed.value.is_final
    assert str(failed.value) == "the server says 401: token_rejected: the token is not known here"


def test_the_client_is_answered_line_by_line(server: Server) -> None:
    """Codes and messages come with those that were not taken."""
    token = token_of(server.store, "slurm-hook/n1")
    with closing(Poster(server.url, token)) as poster:
        known, foreign = poster.post([line_of(1), line_of(1, "other")])

    assert known.word in {"accepted", "exists"}
    assert (foreign.word, foreign.code) == ("refused", "producer_not_allowed")
    assert foreign.message == "the token may not send records of producer 'other'"


def test_the_client_finds_the_server_again(store: Path) -> None:
    """A connection that was closed meanwhile is opened again."""
    with running(store) as server:
        poster = Poster(server.url, server.token)
        first = poster.post([line_of(1)])
        port, token = server.port, server.token
        server.stop()
    with running(store, "--port", str(port)) as server, closing(poster):
        again = poster.post([line_of(1)])
        said = server.post(body_of(line_of(1)), token)

    assert [first[0].word, again[0].word] == ["accepted", "exists"]
    assert words(said) == ["exists"]
