"""Proof files: one form, one entry, one place."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallystick.tree import proof as proof_module
from tallystick.tree.errors import (
    InclusionError,
    LeafIndexError,
    MalformedNoteError,
    MalformedProofError,
    OversizedTextError,
    PathLengthError,
    TreeError,
    UnknownNoteSignerError,
)
from tallystick.tree.head import sign_head
from tallystick.tree.merkle import TREE_SIZE_MAX, leaf_hash
from tallystick.tree.proof import TlogProof, parse_proof, proof_bytes, verify_proof
from tests.tree.trees import LOG, OTHER, entries, head_of, proof_of

KEYS = (LOG.verify_key,)
HEADER = b"c2sp.org/tlog-proof@v1\n"
HASH = b"gSKyXoYZUgZ6jduWYrkDOARinOMGJveXjgMkBTcdPlQ=\n"
PROOF = proof_bytes(proof_of(3, 7))

proofs = st.builds(
    TlogProof,
    st.integers(0, TREE_SIZE_MAX - 1),
    st.lists(st.binary(min_size=32, max_size=32), max_size=63).map(tuple),
    st.binary(max_size=80),
    st.binary(max_size=40),
)


def test_a_proof_has_the_lines_of_the_specification() -> None:
    """First line, extra data, index, path from the leaf upwards, empty line, head verbatim."""
    proof = proof_of(3, 7)
    extra = TlogProof(proof.index, proof.path, proof.head, b"extra")

    lines = proof_bytes(extra).split(b"\n")

    assert lines[:3] == [b"c2sp.org/tlog-proof@v1", b"extra ZXh0cmE=", b"index 3"]
    assert [len(line) for line in lines[3:7]] == [44, 44, 44, 0]
    assert b"\n".join(lines[7:]) == sign_head(head_of(7), [LOG])


def test_the_hashes_of_the_published_example_are_read() -> None:
    """The lines of the specification's example, around a head of ours, are a proof."""
    data = (
        HEADER
        + b"extra YWdlLXYxLjIuMQ==\n"
        + b"index 73894\n"
        + HASH
        + b"B95lDa8R83lS8n0eG+o0buTxRKQTYFi//1U8anccXmA=\n\n"
        + sign_head(head_of(7), [LOG])
    )

    proof = parse_proof(data)

    assert (proof.index, len(proof.path)) == (73894, 2)
    assert proof.extra == b"age-v1.2.1"
    assert proof_bytes(proof) == data


@pytest.mark.parametrize("size", [1, 2, 7, 40])
def test_every_entry_is_proved(size: int) -> None:
    """Whatever its place, an entry is in the log, and the head is given that says so."""
    for index, entry in enumerate(entries(size)):
        proof = parse_proof(proof_bytes(proof_of(index, size)))

        assert verify_proof(proof, entry, KEYS).head == head_of(size)


@given(proofs)
def test_a_proof_reads_back_as_it_was_written(proof: TlogProof) -> None:
    """Index, path, head and extra data survive, whatever the head is."""
    assert parse_proof(proof_bytes(proof)) == proof


@given(st.binary(max_size=200).map(lambda rest: HEADER + b"index 1\n" + rest) | st.binary())
def test_what_is_no_proof_is_refused_in_our_words(data: bytes) -> None:
    """Whatever the bytes, the outcome is our error or a proof with the same bytes."""
    try:
        proof = parse_proof(data)
    except MalformedProofError:
        return
    assert proof_bytes(proof) == data


def test_no_bit_of_a_proof_can_be_changed() -> None:
    """A flipped bit, in whichever byte of the file, makes verification fail."""
    entry = entries(7)[3]
    accepted = []
    for position in range(len(PROOF)):
        for bit in range(8):
            tampered = bytearray(PROOF)
            tampered[position] ^= 1 << bit
            try:
                verify_proof(parse_proof(bytes(tampered)), entry, KEYS)
            except TreeError:
                continue
            accepted.append((position, bit))

    assert accepted == []


@given(st.integers(0, len(PROOF) - 1))
def test_no_beginning_of_a_proof_is_one(length: int) -> None:
    """A proof that was cut short is refused."""
    with pytest.raises(TreeError):
        verify_proof(parse_proof(PROOF[:length]), entries(7)[3], KEYS)


def test_extra_data_is_nobodys() -> None:
    """A proof holds with any extra data, which is why nothing may rely on it."""
    proof = proof_of(3, 7)

    signed = verify_proof(
        TlogProof(proof.index, proof.path, proof.head, b"anything"), entries(7)[3], KEYS
    )

    assert signed.head == head_of(7)


def test_another_entry_is_refused() -> None:
    """The proof is about these bytes."""
    with pytest.raises(InclusionError):
        verify_proof(proof_of(3, 7), b"entry 4", KEYS)


def test_the_hash_of_an_entry_is_no_entry() -> None:
    """An inner hash of the tree cannot pass for an entry: leaves are hashed another way."""
    proof = proof_of(0, 2)
    left, right = (leaf_hash(entry) for entry in entries(2))
    inner = TlogProof(0, (), sign_head(head_of(2), [LOG]))

    with pytest.raises(PathLengthError):
        verify_proof(inner, left + right, KEYS)
    with pytest.raises(InclusionError):
        verify_proof(proof, left, KEYS)


def test_an_index_beyond_the_signed_size_is_refused() -> None:
    """The size is that of the head, whatever the path is long enough for."""
    proof = proof_of(3, 7)

    with pytest.raises(LeafIndexError):
        verify_proof(TlogProof(7, proof.path, proof.head), entries(7)[3], KEYS)


def test_a_proof_needs_a_trusted_head() -> None:
    """A head of an unknown key, or none at all, proves nothing."""
    with pytest.raises(UnknownNoteSignerError):
        verify_proof(proof_of(3, 7), entries(7)[3], [OTHER.verify_key])
    with pytest.raises(MalformedNoteError):
        verify_proof(TlogProof(0, (), b""), b"entry 0", KEYS)


def test_a_proof_may_have_two_mebibytes() -> None:
    """The limit leaves room for the largest head, and one byte more is refused."""
    start = HEADER + b"index 0\n\n"
    largest = start.ljust(2**21, b"a")

    assert parse_proof(largest).head == largest[len(start) :]
    with pytest.raises(OversizedTextError):
        parse_proof(largest + b"a")


def test_a_path_may_have_as_many_hashes_as_the_largest_tree_needs() -> None:
    """Sixty-three hashes lead from a leaf to the root of 2^63 - 1 leaves."""
    proof = TlogProof(0, (bytes(32),) * 63, b"")

    assert parse_proof(proof_bytes(proof)) == proof


def test_a_giant_input_is_refused_unread(monkeypatch: pytest.MonkeyPatch) -> None:
    """An input beyond the limit is not parsed."""
    monkeypatch.setattr(proof_module, "PROOF_BYTES_MAX", 10)

    with pytest.raises(OversizedTextError) as refused:
        parse_proof(b"\xff" * 11)

    assert str(refused.value) == "expected a proof of at most 10 bytes, got more"


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "an empty line"),
        (HEADER + b"index 0\n", "an empty line"),
        (b"c2sp.org/tlog-proof@v2\nindex 0\n\n", "first line"),
        (b"\xff\n\n", "ASCII"),
        (HEADER + b"\n", "an index"),
        (HEADER + b"extra AA==\n\n", "an index"),
        (HEADER + b"extra \nindex 0\n\n", "extra"),
        (HEADER + b"extra AB==\nindex 0\n\n", "extra"),
        (HEADER + b"extra AA==\nextra AA==\nindex 0\n\n", "'index'"),
        (HEADER + b"index 0\nextra AA==\n\n", "hashes"),
        (HEADER + b"index\n\n", "'index'"),
        (HEADER + b"index 00\n\n", "zeros"),
        (HEADER + b"index -1\n\n", "decimal"),
        (HEADER + b"index  1\n\n", "decimal"),
        (HEADER + b"index 9223372036854775807\n\n", "decimal"),
        (HEADER + b"index 0\r\n" + HASH + b"\n", "decimal"),
        (HEADER + b"index 0\nAAAA\n\n", "32 bytes"),
        (HEADER + b"index 0\n" + HASH.replace(b"lQ=", b"lR=") + b"\n", "base64"),
        (HEADER + b"index 0\n" + HASH * 64 + b"\n", "at most 63"),
    ],
)
def test_what_is_not_exactly_a_proof_is_refused(data: bytes, reason: str) -> None:
    """Lines, numbers and base64 have one form each."""
    with pytest.raises(MalformedProofError) as refused:
        parse_proof(data)

    assert refused.value.code == "bad_proof"
    assert reason in str(refused.value)


@pytest.mark.parametrize(
    "proof",
    [
        TlogProof(-1, (), b""),
        TlogProof(TREE_SIZE_MAX, (), b""),
        TlogProof(0, (b"",), b""),
        TlogProof(0, (bytes(32),) * 64, b""),
    ],
)
def test_a_proof_that_would_not_read_back_is_not_written(proof: TlogProof) -> None:
    """Nobody gets a file that nobody can read."""
    with pytest.raises(MalformedProofError):
        proof_bytes(proof)
