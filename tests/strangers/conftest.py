"""What the strangers share: programs that are built or found once."""

import subprocess
from pathlib import Path

import pytest

from tests.strangers.strangers import HERE, NODE_MODULES, missing, program, run

DEBIAN_GOPATH = "/usr/share/gocode"


@pytest.fixture(scope="session")
def go_verify(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give the Go program that checks heads and proofs, built from its source."""
    go = program("go")
    settings = {"GO111MODULE": "off", "GOFLAGS": "", "GOPATH": DEBIAN_GOPATH}
    if run([go, "list", "golang.org/x/mod/sumdb/note"], env=settings).returncode != 0:
        missing("golang-golang-x-mod-dev")
    built = tmp_path_factory.mktemp("go") / "verify"
    done = run([go, "build", "-o", built, HERE / "go" / "verify" / "main.go"], env=settings)
    assert done.returncode == 0, done.stderr.decode()
    return built


@pytest.fixture(scope="session")
def node() -> str:
    """Give node, once its packages are installed."""
    found = program("node")
    if not NODE_MODULES.is_dir():
        missing(str(NODE_MODULES.relative_to(HERE.parent.parent)))
    return found


@pytest.fixture(scope="session")
def openssl() -> str:
    """Give openssl."""
    return program("openssl")


@pytest.fixture(scope="session")
def time_authority(openssl: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make an RFC 3161 authority: a folder with its certificate, key and settings."""
    folder = tmp_path_factory.mktemp("tsa")
    (folder / "tsa.cnf").write_text(
        "[tsa]\n"
        "default_tsa = here\n"
        "[here]\n"
        "serial = serial\n"
        "default_policy = 1.2.3.4.1\n"
        "digests = sha256\n"
        "signer_digest = sha256\n"
        "ess_cert_id_alg = sha256\n"
        "[req]\n"
        "distinguished_name = name\n"
        "[name]\n",
        encoding="ascii",
    )
    (folder / "serial").write_text("01\n", encoding="ascii")
    command = [openssl, "req", "-x509", "-config", "tsa.cnf", "-newkey", "rsa:2048", "-nodes"]
    command += ["-subj", "/CN=time.example", "-days", "2", "-sha256"]
    command += ["-addext", "keyUsage=critical,digitalSignature"]
    command += ["-addext", "extendedKeyUsage=critical,timeStamping"]
    command += ["-keyout", "tsa.key", "-out", "tsa.crt"]
    subprocess.run(command, cwd=folder, capture_output=True, check=True)
    return folder
