"""Signed notes: published examples, what a reader must accept, and what nobody may change."""

import base64
import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallystick.core.keys import SigningKey, VerifyKey, parse_public_key
from tallystick.tree import note as note_module
from tallystick.tree.errors import (
    AmbiguousTrustError,
    BadNoteSignatureError,
    MalformedNoteError,
    NoTrustedKeysError,
    OversizedTextError,
    TreeError,
    UnknownNoteSignerError,
)
from tallystick.tree.note import (
    SIGNATURES_MAX,
    Note,
    NoteSignature,
    add_signature,
    note_bytes,
    parse_note,
    sign_note,
    verify_note,
)
from tests.tree.trees import LOG, NEXT, OTHER

# The example of C2SP signed-note.
SPECIFIED = (
    "Ognuno sta solo sul cuor della terra\n"
    "trafitto da un raggio di sole:\n"
    "\n"
    "ed \u00e8 subito sera.\n"
    "\n"
    "\u2014 quasimodo.example/salvatore NnugSzTjtVAewIS+Z/iJhUPeFDkO/5QQ2i5ddnGITLlC+EhfLW9oJKON"
    "rMouFSQU0xMcXxj99ihAQwaqP3ZekRwNtIc=\n"
).encode()

# The example of the Go module golang.org/x/mod/sumdb/note, with its key.
GO_KEY = b"PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"
GO_PRIVATE_KEY = "AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz"
GO_TEXT = (
    "If you think cryptography is the answer to your problem,\n"
    "then you don't know what your problem is.\n"
)
GO_NOTE = (
    f"{GO_TEXT}\n\u2014 PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZ"
    "SNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n"
).encode()

TEXT = "a text\n\nof two parts\n"
SIGNED = sign_note(TEXT, [LOG])
KEYS = (LOG.verify_key,)
LINE = "\u2014 a AAAAAAE=\n"

texts = st.text(st.characters(min_codepoint=32, exclude_categories=["Cs"]), max_size=40).map(
    lambda text: text + "\n"
)


def line(key: SigningKey, signature: bytes) -> NoteSignature:
    """Claim that a signature is of a key."""
    return NoteSignature(
        key.name, bytes.fromhex(key.verify_key.keyid.rpartition("+")[2]), signature
    )


def test_the_example_of_the_specification_is_read_and_written() -> None:
    """Text with an empty line, name, key id and signature come out, and go back in."""
    note = parse_note(SPECIFIED)

    assert note.text.endswith("sole:\n\ned \u00e8 subito sera.\n")
    assert [each.keyid for each in note.signatures] == ["quasimodo.example/salvatore+367ba04b"]
    assert len(note.signatures[0].signature) == 64
    assert note_bytes(note) == SPECIFIED


def test_the_example_of_go_is_verified() -> None:
    """A note that others signed is verified with their published key."""
    signers = verify_note(parse_note(GO_NOTE), [parse_public_key(GO_KEY, "go")])

    assert signers == ("PeterNeumann+c74f20a3",)


def test_the_example_of_go_is_signed_alike() -> None:
    """The same key and text give the same bytes as theirs."""
    key = SigningKey("PeterNeumann", base64.b64decode(GO_PRIVATE_KEY)[1:])

    assert sign_note(GO_TEXT, [key]) == GO_NOTE


@given(texts, st.lists(st.sampled_from([LOG, NEXT, OTHER]), min_size=1, max_size=5))
def test_a_note_reads_back_as_it_was_signed(text: str, keys: list[SigningKey]) -> None:
    """Text and signers survive, whatever the text."""
    note = parse_note(sign_note(text, keys))

    assert note.text == text
    assert verify_note(note, [LOG.verify_key, NEXT.verify_key, OTHER.verify_key]) == tuple(
        dict.fromkeys(key.verify_key.keyid for key in keys)
    )


@given(st.one_of(st.binary(max_size=120), st.text(max_size=80).map(str.encode)))
def test_what_is_no_note_is_refused_in_our_words(data: bytes) -> None:
    """Whatever the bytes, the outcome is one of our errors or a note with the same bytes."""
    try:
        note = parse_note(data)
    except MalformedNoteError:
        return
    assert note_bytes(note) == data


@given(st.integers(0, len(SPECIFIED) - 1), st.binary(max_size=3), st.integers(0, 3))
def test_no_note_has_two_spellings(position: int, put: bytes, taken: int) -> None:
    """A note with some bytes replaced is refused, or its new bytes are what it is written as."""
    data = SPECIFIED[:position] + put + SPECIFIED[position + taken :]

    try:
        note = parse_note(data)
    except MalformedNoteError:
        return
    assert note_bytes(note) == data


def test_no_bit_of_a_note_can_be_changed() -> None:
    """A flipped bit, in whichever byte, makes verification fail."""
    accepted = []
    for position in range(len(SIGNED)):
        for bit in range(8):
            tampered = bytearray(SIGNED)
            tampered[position] ^= 1 << bit
            try:
                verify_note(parse_note(bytes(tampered)), KEYS)
            except TreeError:
                continue
            accepted.append((position, bit))

    assert accepted == []


def test_a_second_key_may_sign_later() -> None:
    """A signature is added after the others, and both count."""
    both = add_signature(parse_note(SIGNED), OTHER)

    assert note_bytes(both) == sign_note(TEXT, [LOG, OTHER])
    assert verify_note(both, [OTHER.verify_key, LOG.verify_key]) == (
        LOG.verify_key.keyid,
        OTHER.verify_key.keyid,
    )


def test_who_signed_already_adds_nothing() -> None:
    """The same key gives the same signature, which is there."""
    note = parse_note(SIGNED)

    assert add_signature(note, LOG) == note


def test_a_signature_of_an_unknown_key_counts_for_nothing() -> None:
    """Bytes that no known key could have made do no harm, be the name or the id known."""
    note = parse_note(SIGNED)
    other_name = NoteSignature("stranger", note.signatures[0].key_hash, b"post-quantum" * 400)
    other_id = NoteSignature(LOG.name, b"\x00\x00\x00\x00", b"?")

    signers = verify_note(Note(TEXT, (other_name, other_id, *note.signatures)), KEYS)

    assert signers == (LOG.verify_key.keyid,)


@pytest.mark.parametrize("signature", [OTHER.sign(TEXT.encode()), b"short", bytes(64)])
def test_one_bad_signature_of_a_known_key_rejects_all(signature: bytes) -> None:
    """The good signature of one key does not cover up the bad one of another."""
    note = Note(TEXT, (*parse_note(SIGNED).signatures, line(NEXT, signature)))

    with pytest.raises(BadNoteSignatureError) as refused:
        verify_note(note, [LOG.verify_key, NEXT.verify_key])

    assert refused.value.code == "bad_note_signature"
    assert str(refused.value) == (
        f"signature of '{NEXT.verify_key.keyid}' does not hold for this note"
    )


def test_a_second_bad_signature_of_the_same_key_rejects_too() -> None:
    """Every line that names a known key is checked, not the first alone."""
    note = Note(TEXT, (*parse_note(SIGNED).signatures, line(LOG, bytes(64))))

    with pytest.raises(BadNoteSignatureError):
        verify_note(note, KEYS)


def test_a_note_without_a_known_signer_is_refused() -> None:
    """A good signature of somebody else is none."""
    with pytest.raises(UnknownNoteSignerError) as refused:
        verify_note(parse_note(SIGNED), [OTHER.verify_key])

    assert refused.value.code == "no_trusted_signer"
    assert str(refused.value) == (
        f"note: expected a signature of '{OTHER.verify_key.keyid}', got '{LOG.verify_key.keyid}'"
    )


def test_a_long_list_of_signers_is_cut() -> None:
    """A message stays one short line, however many signed."""
    error = UnknownNoteSignerError(("a",), tuple("bcdefghijkl"))

    assert str(error).endswith("and 3 more")


def test_nothing_is_verified_without_keys() -> None:
    """Nothing to check against is a failure."""
    with pytest.raises(NoTrustedKeysError) as refused:
        verify_note(parse_note(SIGNED), [])

    assert refused.value.code == "no_trusted_keys"
    assert str(refused.value).startswith("expected at least one public key")


def test_two_keys_of_one_id_are_refused() -> None:
    """If an id names two keys, a signature names neither. The two were searched for."""
    first, second = (
        VerifyKey("x", hashlib.sha256(b"k%d" % number).digest()) for number in (135445, 144322)
    )

    with pytest.raises(AmbiguousTrustError) as refused:
        verify_note(parse_note(SIGNED), [first, second])

    assert refused.value.code == "ambiguous_trusted_key"
    assert str(refused.value) == f"two different trusted keys are both named {first.keyid}"


def test_the_same_key_may_be_trusted_twice() -> None:
    """One key from two files is one key."""
    assert verify_note(parse_note(SIGNED), [*KEYS, *KEYS]) == (LOG.verify_key.keyid,)


@pytest.mark.parametrize("count", [16, SIGNATURES_MAX])
def test_many_signatures_are_accepted(count: int) -> None:
    """Sixteen is what every reader must accept; here it is more."""
    data = (TEXT + "\n" + LINE * count).encode()

    assert len(parse_note(data).signatures) == count


def test_a_note_may_have_a_mebibyte() -> None:
    """The limit leaves room for signatures of any kind, and one byte more is refused."""
    padding = 2**20 - len(f"\n\n{LINE}".encode())
    largest = f"{'a' * padding}\n\n{LINE}".encode()

    assert len(parse_note(largest).signatures) == 1
    with pytest.raises(OversizedTextError):
        parse_note(b"a" + largest)


def test_a_giant_input_is_refused_unread(monkeypatch: pytest.MonkeyPatch) -> None:
    """An input beyond the limit is not parsed."""
    monkeypatch.setattr(note_module, "NOTE_BYTES_MAX", 10)

    with pytest.raises(OversizedTextError) as refused:
        parse_note(b"\xff" * 11)

    assert refused.value.code == "note_too_large"
    assert str(refused.value) == "expected a note of at most 10 bytes, got more"


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "an empty line"),
        (b"\xff", "UTF-8"),
        (b"a\r\n\n" + LINE.encode(), "control"),
        (b"a\tb\n\n" + LINE.encode(), "control"),
        (b"a\x00\n\n" + LINE.encode(), "control"),
        (b"a\n", "an empty line"),
        (b"a\n\n", "signature lines"),
        (f"a\n{LINE}".encode(), "an empty line"),
        (f"a\n\n{LINE}"[:-1].encode(), "signature lines"),
        (f"a\n\n{LINE}\n".encode(), "signature lines"),
        (f"a\n\n{LINE}x\n".encode(), "em dash"),
        (b"a\n\n- a AAAAAAE=\n", "em dash"),
        ("a\n\n\u2014a AAAAAAE=\n".encode(), "em dash"),
        ("a\n\n\u2014 AAAAAAE=\n".encode(), "base64"),
        ("a\n\n\u2014  AAAAAAE=\n".encode(), "key name"),
        ("a\n\n\u2014 a+b AAAAAAE=\n".encode(), "key name"),
        ("a\n\n\u2014 a\u00a0b AAAAAAE=\n".encode(), "key name"),
        ("a\n\n\u2014 a\u2028b AAAAAAE=\n".encode(), "key name"),
        ("a\n\n\u2014 a  AAAAAAE=\n".encode(), "base64"),
        ("a\n\n\u2014 a AAAAAAE= \n".encode(), "base64"),
        ("a\n\n\u2014 a AAAAAAE\n".encode(), "base64"),
        ("a\n\n\u2014 a AAAAAAF=\n".encode(), "base64"),
        ("a\n\n\u2014 a AAAAAA-_\n".encode(), "base64"),
        ("a\n\n\u2014 a AAAAAA==\n".encode(), "4 bytes"),
        ("a\n\n\u2014 a\n".encode(), "4 bytes"),
        (("a\n\n" + LINE * (SIGNATURES_MAX + 1)).encode(), "at most 64"),
    ],
)
def test_what_is_not_exactly_a_note_is_refused(data: bytes, reason: str) -> None:
    """Dash, separators, names and base64 have one form each."""
    with pytest.raises(MalformedNoteError) as refused:
        parse_note(data)

    assert refused.value.code == "bad_note"
    assert reason in str(refused.value)


@pytest.mark.parametrize("text", ["", "no line end", "a\tb\n", "\ud800\n"])
def test_a_text_that_cannot_stand_in_a_note_is_not_signed(text: str) -> None:
    """A text ends in LF, has no other control character and is Unicode."""
    with pytest.raises(MalformedNoteError):
        sign_note(text, [LOG])


def test_a_note_without_signatures_is_not_written() -> None:
    """A note is signed by somebody."""
    with pytest.raises(MalformedNoteError):
        sign_note(TEXT, [])


def test_parts_that_would_run_into_each_other_are_not_written() -> None:
    """A note is written only if it reads back as it was."""
    with pytest.raises(MalformedNoteError) as refused:
        note_bytes(Note("a\n\n\u2014 b AAAAAAE=", parse_note(SIGNED).signatures))

    assert "told apart" in str(refused.value)


def test_a_text_may_look_like_a_note() -> None:
    """The last empty line separates, so a note can be signed as a text."""
    nested = sign_note(SIGNED.decode(), [OTHER])

    assert parse_note(nested).text.encode() == SIGNED
