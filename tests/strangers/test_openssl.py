"""openssl checks the signature of a tree head, and dates it with RFC 3161."""

import subprocess
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from tallystick.tree.head import sign_head
from tallystick.tree.note import parse_note
from tests.tree.trees import LOG, head_of

HEAD = sign_head(head_of(1000), [LOG])


def succeeds(command: list[str], folder: Path) -> bool:
    """Tell whether a command of openssl ends well."""
    done = subprocess.run(command, cwd=folder, capture_output=True, check=False)
    return done.returncode == 0


def test_openssl_verifies_a_head(openssl: str, tmp_path: Path) -> None:
    """The text and the signature of a note are all that openssl needs."""
    note = parse_note(HEAD)
    public = Ed25519PublicKey.from_public_bytes(LOG.verify_key.public_key)
    (tmp_path / "key.pem").write_bytes(
        public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    )
    (tmp_path / "sig").write_bytes(note.signatures[0].signature)
    (tmp_path / "good").write_bytes(note.text.encode())
    (tmp_path / "bad").write_bytes(note.text.replace("\n1000\n", "\n1001\n").encode())

    verify = [openssl, "pkeyutl", "-verify", "-rawin", "-pubin", "-inkey", "key.pem"]
    verify += ["-sigfile", "sig", "-in"]

    assert succeeds([*verify, "good"], tmp_path)
    assert not succeeds([*verify, "bad"], tmp_path)


@pytest.fixture
def stamped(openssl: str, time_authority: Path, tmp_path: Path) -> Path:
    """Have the authority date our head; gives the folder with ``head`` and its token."""
    (tmp_path / "head").write_bytes(HEAD)
    query = [openssl, "ts", "-query", "-data", "head", "-sha256", "-cert", "-out", "head.tsq"]
    subprocess.run(query, cwd=tmp_path, capture_output=True, check=True)
    reply = [openssl, "ts", "-reply", "-config", "tsa.cnf", "-section", "here"]
    reply += ["-signer", "tsa.crt", "-inkey", "tsa.key"]
    reply += ["-queryfile", str(tmp_path / "head.tsq"), "-out", str(tmp_path / "head.tsr")]
    subprocess.run(reply, cwd=time_authority, capture_output=True, check=True)
    return tmp_path


def verify_stamp(openssl: str, authority: Path) -> list[str]:
    """Give the command that checks the token of a head against an authority."""
    return [openssl, "ts", "-verify", "-CAfile", str(authority / "tsa.crt"), "-in", "head.tsr"]


def test_a_time_stamp_dates_a_head(openssl: str, time_authority: Path, stamped: Path) -> None:
    """A token over the file of a head is verified offline, with the authority's certificate."""
    verify = [*verify_stamp(openssl, time_authority), "-data", "head"]

    assert succeeds(verify, stamped)


def test_a_time_stamp_is_of_one_head(openssl: str, time_authority: Path, stamped: Path) -> None:
    """With another head, or with a token that was changed, verification fails."""
    token = bytearray((stamped / "head.tsr").read_bytes())
    token[-20] ^= 1
    (stamped / "other").write_bytes(sign_head(head_of(999), [LOG]))
    verify = verify_stamp(openssl, time_authority)

    assert not succeeds([*verify, "-data", "other"], stamped)
    (stamped / "head.tsr").write_bytes(token)
    assert not succeeds([*verify, "-data", "head"], stamped)
