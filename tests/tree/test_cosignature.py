"""Cosignatures: a real one, the form of the message, and what a witness did not sign."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallystick.core.errors import BadPublicKeyError
from tallystick.core.keys import public_key_text
from tallystick.tree.cosignature import (
    TIME_S_MAX,
    Cosignature,
    WitnessKey,
    cosign,
    cosignature_message,
    parse_witness_key,
    verify_cosignatures,
    witness_key,
    witness_key_text,
)
from tallystick.tree.errors import (
    BadCosignatureError,
    MalformedHeadError,
    NoTrustedKeysError,
    UnknownNoteSignerError,
)
from tallystick.tree.head import open_head, sign_head
from tallystick.tree.note import Note, NoteSignature, note_bytes, parse_note, sign_note
from tests.tree.trees import LOG, OTHER, WITNESS, head_of

# A head of a public log of certificates, as a public witness cosigned it.
REAL_WITNESS = "remora.n621.de+da77ade7+BOvN63jn/bLvkieywe8R6UYAtVtNbZpXh34x7onlmtw2"
REAL = (
    "arche2025h1.staging.ct.transparency.dev\n"
    "1432088532\n"
    "U7WM79jrzyhGZ5/GUBTpM7NzwdyfFx61t3RovgcC4Ro=\n"
    "\n"
    "\u2014 remora.n621.de 2net5wAAAABqEiEgPlfF3V06o0Y+fHM+J5J9s27wgxxcOVSpZ/2g/KSiXCg9DEZI+aVCIo"
    "bWX9sXTynk5XeU/zZ0WBxtqB0DrAWfBw==\n"
).encode()

TIME_S = 1_767_225_600
HEAD = parse_note(sign_head(head_of(7), [LOG]))
COSIGNED = cosign(HEAD, WITNESS, TIME_S)
KEYS = (witness_key(WITNESS),)


def test_a_cosignature_of_a_public_witness_is_verified() -> None:
    """What others cosigned is verified with their published key, and its time is read."""
    key = parse_witness_key(f"{REAL_WITNESS}\n".encode(), "witness")

    found = verify_cosignatures(parse_note(REAL), [key])

    assert found == (Cosignature("remora.n621.de", 1779573024),)
    assert witness_key_text(key) == REAL_WITNESS


def test_the_message_is_that_of_the_specification() -> None:
    """The published example of the signed message is ours."""
    text = "example.com/behind-the-sofa\n20852163\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n"

    assert cosignature_message(text, 1679315147) == (
        b"cosignature/v1\n"
        b"time 1679315147\n"
        b"example.com/behind-the-sofa\n"
        b"20852163\n"
        b"CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n"
    )


def test_a_cosigned_head_is_a_head() -> None:
    """The log's own signature stands, whether or not the reader knows the witness."""
    opened = open_head(note_bytes(COSIGNED), [LOG.verify_key])

    assert opened.head == head_of(7)
    assert verify_cosignatures(opened.note, KEYS) == (Cosignature(WITNESS.name, TIME_S),)


@pytest.mark.parametrize("time_s", [0, 2**63 - 1])
def test_the_first_and_the_last_time_are_times(time_s: int) -> None:
    """Times go from the epoch to the largest number that the format allows."""
    found = verify_cosignatures(cosign(HEAD, WITNESS, time_s), KEYS)

    assert found == (Cosignature(WITNESS.name, time_s),)


@given(st.integers(0, TIME_S_MAX))
def test_the_time_is_read_as_it_was_signed(time_s: int) -> None:
    """Any time that the format has survives."""
    found = verify_cosignatures(cosign(HEAD, WITNESS, time_s), KEYS)

    assert found == (Cosignature(WITNESS.name, time_s),)


def test_each_witness_is_named_with_its_time() -> None:
    """Several cosign, one of them twice, and an unknown one counts for nothing."""
    note = cosign(cosign(COSIGNED, OTHER, TIME_S + 5), WITNESS, TIME_S + 9)

    assert verify_cosignatures(note, KEYS) == (
        Cosignature(WITNESS.name, TIME_S),
        Cosignature(WITNESS.name, TIME_S + 9),
    )
    assert len(verify_cosignatures(note, [*KEYS, witness_key(OTHER)])) == 3


def test_a_key_of_a_log_is_not_that_of_a_witness() -> None:
    """The same key has another id as a witness, so that one signature never passes for both."""
    assert witness_key(LOG).keyid != LOG.verify_key.keyid
    with pytest.raises(UnknownNoteSignerError):
        verify_cosignatures(HEAD, [witness_key(LOG)])
    with pytest.raises(UnknownNoteSignerError):
        open_head(note_bytes(cosign(sign_other(), LOG, TIME_S)), [LOG.verify_key])


def sign_other() -> Note:
    """Give the head of our log, signed by somebody else."""
    return parse_note(sign_note(HEAD.text, [OTHER]))


def test_no_bit_of_a_cosignature_can_be_changed() -> None:
    """Time and signature hold together; neither can be another."""
    [*before, stated] = COSIGNED.signatures
    for position in range(len(stated.signature)):
        changed = bytearray(stated.signature)
        changed[position] ^= 1 << position % 8
        forged = NoteSignature(stated.name, stated.key_hash, bytes(changed))

        with pytest.raises(BadCosignatureError) as refused:
            verify_cosignatures(Note(HEAD.text, (*before, forged)), KEYS)

        assert refused.value.code == "bad_cosignature"


def test_a_cosignature_is_of_one_head() -> None:
    """It does not hold for another head of the same log."""
    other = parse_note(sign_head(head_of(8), [LOG]))

    with pytest.raises(BadCosignatureError) as refused:
        verify_cosignatures(Note(other.text, COSIGNED.signatures), KEYS)

    assert str(refused.value) == (
        f"cosignature of '{KEYS[0].keyid}': it does not hold for this head and time"
    )


def test_a_cosignature_covers_extension_lines() -> None:
    """A line added after cosigning breaks it, as the specification asks."""
    with pytest.raises(BadCosignatureError):
        verify_cosignatures(Note(HEAD.text + "more\n", COSIGNED.signatures), KEYS)


@pytest.mark.parametrize(
    ("blob", "reason"),
    [
        (b"?", "72 bytes, got 1"),
        (bytes(73), "72 bytes, got 73"),
        (b"\x80" + bytes(71), "time up to"),
    ],
)
def test_a_cosignature_of_another_form_is_refused(blob: bytes, reason: str) -> None:
    """It is a time below 2^63 and an Ed25519 signature, nothing else."""
    forged = NoteSignature(WITNESS.name, COSIGNED.signatures[-1].key_hash, blob)

    with pytest.raises(BadCosignatureError) as refused:
        verify_cosignatures(Note(HEAD.text, (forged,)), KEYS)

    assert reason in str(refused.value)


def test_nothing_is_verified_without_witnesses() -> None:
    """No key to check against, and no cosignature to check, are failures."""
    with pytest.raises(NoTrustedKeysError):
        verify_cosignatures(COSIGNED, [])
    with pytest.raises(UnknownNoteSignerError):
        verify_cosignatures(HEAD, KEYS)


def test_only_heads_are_cosigned() -> None:
    """A witness signs nothing that is no tree head, and reads nothing else."""
    note = parse_note(sign_note("hello\n", [LOG]))

    with pytest.raises(MalformedHeadError):
        cosign(note, WITNESS, TIME_S)
    with pytest.raises(MalformedHeadError):
        verify_cosignatures(note, KEYS)


@pytest.mark.parametrize("time_s", [-1, 2**63])
def test_a_time_that_cannot_be_written_is_refused(time_s: int) -> None:
    """Times are 63 bits, not negative."""
    with pytest.raises(BadCosignatureError) as refused:
        cosign(HEAD, WITNESS, time_s)

    assert f"got {time_s}" in str(refused.value)


@given(st.binary(min_size=32, max_size=32))
def test_a_witness_key_reads_back_as_it_was_written(public_key: bytes) -> None:
    """Name and key survive."""
    key = WitnessKey("witness.example/w1", public_key)

    assert parse_witness_key(witness_key_text(key).encode(), "key") == key


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "a name, an id and base64"),
        (b"\xff", "a name, an id and base64"),
        (b"name+0123abcd", "a name, an id and base64"),
        (b"name+0123abcd+???", "base64"),
        (b"+0123abcd+BA==", "key name"),
        (b"name+0123abcd+BA==", "type 04"),
        (public_key_text(WITNESS.verify_key).encode(), "type 04"),
        (REAL_WITNESS.replace("da77ade7", "da77ade8").encode(), "id"),
        (REAL_WITNESS.replace("remora", "remore").encode(), "id"),
    ],
)
def test_what_is_no_witness_key_is_refused(data: bytes, reason: str) -> None:
    """A key of a witness is of type 04, and its id covers its name and its bytes."""
    with pytest.raises(BadPublicKeyError) as refused:
        parse_witness_key(data, "witness.vkey")

    assert refused.value.code == "bad_public_key"
    assert reason in str(refused.value)
