"""The Go project's packages check our tree heads and proofs, and refuse changed ones."""

import base64
from pathlib import Path

import pytest

from tallystick.core.keys import public_key_text
from tallystick.tree.cosignature import cosign, witness_key, witness_key_text
from tallystick.tree.head import sign_head
from tallystick.tree.merkle import consistency_path
from tallystick.tree.note import note_bytes, parse_note
from tallystick.tree.proof import TlogProof, proof_bytes
from tallystick.tree.selection import paths_from_selection, selection_proof
from tests.strangers.strangers import run
from tests.tree.trees import LOG, NEXT, OTHER, WITNESS, entries, head_of, leaves, proof_of, tree

SIZES = (1, 7, 1000, 4097)
KEY = public_key_text(LOG.verify_key)
PLACES = [(index, size) for size in SIZES for index in sorted({0, size // 3, size // 2, size - 1})]
GROWTHS = [(old, new) for new in SIZES for old in sorted({1, 4, 7, 512, 1000, new - 1, new})]
GROWTHS = [(old, new) for old, new in GROWTHS if 1 <= old <= new]
TIME_S = 1_767_225_600


class Verifier:
    """The Go program, in a folder for its inputs."""

    def __init__(self, built: Path, folder: Path) -> None:
        self.built = built
        self.folder = folder

    def verified(self, command: str, *inputs: bytes, key: str = KEY) -> str | None:
        """Give what it prints if it verifies its inputs, and None if it refuses them."""
        paths = [self.folder / str(number) for number in range(len(inputs))]
        for path, data in zip(paths, inputs, strict=True):
            path.write_bytes(data)
        done = run([self.built, command, key, *paths])
        assert done.returncode in {0, 1}, done.stderr.decode()
        assert (done.returncode == 0) == (done.stderr == b"")
        return done.stdout.decode().strip() if done.returncode == 0 else None


@pytest.fixture
def go(go_verify: Path, tmp_path: Path) -> Verifier:
    """Give the Go program."""
    return Verifier(go_verify, tmp_path)


def signed(size: int) -> bytes:
    """Give the head of our log at that size."""
    return sign_head(head_of(size), [LOG])


def path_file(old: int, new: int) -> bytes:
    """Give a consistency proof, a hash a line."""
    path = consistency_path(old, new, tree(new))
    return b"".join(base64.b64encode(each) + b"\n" for each in path)


def flipped(data: bytes, position: int) -> bytes:
    """Change one bit."""
    changed = bytearray(data)
    changed[position] ^= 1
    return bytes(changed)


@pytest.mark.parametrize("size", SIZES)
def test_a_head_is_verified(go: Verifier, size: int) -> None:
    """Go reads origin, size and root from our note."""
    root = base64.b64encode(head_of(size).root).decode()

    assert go.verified("head", signed(size)) == f"{LOG.name} {size} {root}"


@pytest.mark.parametrize("size", SIZES)
def test_a_changed_head_is_refused(go: Verifier, size: int) -> None:
    """Go refuses our head with another size, another root or a cut signature."""
    data = signed(size)
    root_starts = data.index(b"\n", data.index(b"\n") + 1) + 1

    assert (
        go.verified("head", data.replace(f"\n{size}\n".encode(), f"\n{size + 1}\n".encode()))
        is None
    )
    assert go.verified("head", flipped(data, root_starts)) is None
    assert go.verified("head", data[:-9] + b"\n") is None


def test_a_head_of_another_key_is_refused(go: Verifier) -> None:
    """Go refuses our head if it trusts another key, be it of the same name."""
    assert go.verified("head", signed(7), key=public_key_text(NEXT.verify_key)) is None
    assert go.verified("head", signed(7), key=public_key_text(OTHER.verify_key)) is None


def test_a_head_of_two_keys_is_verified_with_either(go: Verifier) -> None:
    """During a rotation Go is content with the key that it knows."""
    data = sign_head(head_of(7), [LOG, NEXT])

    for key in (LOG, NEXT):
        assert go.verified("head", data, key=public_key_text(key.verify_key)) is not None


def test_a_cosignature_is_verified(go: Verifier) -> None:
    """Go verifies a witness on our head and reads the time; another head is refused."""
    key = witness_key_text(witness_key(WITNESS))
    note = cosign(parse_note(signed(7)), WITNESS, TIME_S)
    cosigned = note_bytes(note)

    assert go.verified("witness", cosigned, key=key) == f"{WITNESS.name} {TIME_S}"
    assert go.verified("head", cosigned) is not None
    assert go.verified("witness", cosigned.replace(b"\n7\n", b"\n8\n"), key=key) is None


@pytest.mark.parametrize(("index", "size"), PLACES)
def test_a_proof_file_is_verified(go: Verifier, index: int, size: int) -> None:
    """Go finds our entry in our log, from the file alone."""
    data = proof_bytes(proof_of(index, size))

    assert go.verified("proof", data, entries(size)[index]) == f"{index} {size}"


@pytest.mark.parametrize(("index", "size"), [(0, 1), (3, 7), (500, 1000), (4096, 4097)])
def test_a_changed_proof_file_is_refused(go: Verifier, index: int, size: int) -> None:
    """Go refuses another entry, another index, another hash and one hash less."""
    proof = proof_of(index, size)
    entry = entries(size)[index]
    other = TlogProof((index + 1) % size if size > 1 else 1, proof.path, proof.head)

    assert go.verified("proof", proof_bytes(proof), entry + b" ") is None
    assert go.verified("proof", proof_bytes(other), entry) is None
    if proof.path:
        for place in range(len(proof.path)):
            path = list(proof.path)
            path[place] = flipped(path[place], 31)
            changed = TlogProof(index, tuple(path), proof.head)
            assert go.verified("proof", proof_bytes(changed), entry) is None
        cut = TlogProof(index, proof.path[:-1], proof.head)
        assert go.verified("proof", proof_bytes(cut), entry) is None


def test_extra_data_does_not_disturb(go: Verifier) -> None:
    """A proof with data of an application is verified like one without."""
    proof = proof_of(3, 7)

    data = proof_bytes(TlogProof(3, proof.path, proof.head, b"extra"))

    assert go.verified("proof", data, entries(7)[3]) == "3 7"


def test_a_path_from_a_proof_of_many_is_verified(go: Verifier) -> None:
    """What proves many leaves at once gives a file that Go verifies for each of them."""
    indices = [3, 500, 501, 502, 998]
    hashes = leaves(1000)
    chosen = [(index, hashes[index]) for index in indices]
    paths = paths_from_selection(indices, chosen, 1000, selection_proof(indices, 1000, tree(1000)))

    for index, path in zip(indices, paths, strict=True):
        data = proof_bytes(TlogProof(index, path, signed(1000)))

        assert go.verified("proof", data, entries(1000)[index]) == f"{index} 1000"


@pytest.mark.parametrize(("old", "new"), GROWTHS)
def test_growth_is_verified(go: Verifier, old: int, new: int) -> None:
    """Go agrees that our later head extends our earlier one."""
    found = go.verified("consistency", signed(old), signed(new), path_file(old, new))

    assert found == f"{old} {new}"


@pytest.mark.parametrize(("old", "new"), [(1, 7), (4, 7), (7, 1000), (512, 1000), (1000, 4097)])
def test_growth_that_was_not_is_refused(go: Verifier, old: int, new: int) -> None:
    """Go refuses a log that was rewritten, another hash, and one hash less."""
    path = path_file(old, new)
    forged = head_of(old)
    rewritten = sign_head(type(forged)(forged.origin, old, flipped(forged.root, 0)), [LOG])
    lines = path.splitlines(keepends=True)
    wrong = base64.b64encode(flipped(base64.b64decode(lines[0]), 0)) + b"\n"

    assert go.verified("consistency", rewritten, signed(new), path) is None
    assert go.verified("consistency", signed(old), signed(new), wrong + b"".join(lines[1:])) is None
    assert go.verified("consistency", signed(old), signed(new), b"".join(lines[1:])) is None
