"""Tree heads: the form of the text, and whose head it is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallystick.core.keys import parse_public_key
from tallystick.tree.errors import (
    BadNoteSignatureError,
    MalformedHeadError,
    TreeError,
    UnknownNoteSignerError,
    WrongOriginError,
)
from tallystick.tree.head import TreeHead, head_text, open_head, parse_head_text, sign_head
from tallystick.tree.merkle import EMPTY_ROOT, TREE_SIZE_MAX
from tallystick.tree.note import parse_note, sign_note
from tests.tree.trees import LOG, NEXT, OTHER, head_of

# The example of C2SP tlog-checkpoint.
SPECIFIED = "example.com/behind-the-sofa\n20852163\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n"
ROOT = "A" * 43 + "="

# A head of a log of certificates, with one of the signatures of its key and one of another kind.
REAL_KEY = (
    b"arche2025h1.staging.ct.transparency.dev+ba2f06c0+AU0vHmlGCS/PdN8b2OaGmKprLI8HKM+dJ472xgFYh15f"
)
REAL = (
    "arche2025h1.staging.ct.transparency.dev\n"
    "1432088532\n"
    "U7WM79jrzyhGZ5/GUBTpM7NzwdyfFx61t3RovgcC4Ro=\n"
    "\n"
    "\u2014 arche2025h1.staging.ct.transparency.dev zTM8sQAAAZ5W0WdjBAMARjBEAiBjW5IQf9pvsYLfQFX6ho"
    "GREPMHbdQ3urbllzalApkptQIgIpwtEroeW2BXaHAI4kJXFbon5Ch9MNL5zRNZ55lvGt0=\n"
    "\u2014 arche2025h1.staging.ct.transparency.dev ui8GwCF1+kWqZrxGdhj4aX3gcw7XUlXQQabg/27lefwhUk"
    "zbC3NygNI75MdhL1bfTW9g8Ei59RA23oHP7Ry1k3ZFWwQ=\n"
).encode()

heads = st.builds(
    TreeHead,
    st.just(LOG.name),
    st.integers(1, TREE_SIZE_MAX),
    st.binary(min_size=32, max_size=32),
)


def test_the_example_of_the_specification_is_read_and_written() -> None:
    """Origin, size and root come out, and go back in."""
    head = parse_head_text(SPECIFIED)

    assert (head.origin, head.size) == ("example.com/behind-the-sofa", 20852163)
    assert head.root.hex().startswith("0ac5186a")
    assert head_text(head) == SPECIFIED


def test_a_head_of_a_public_log_is_verified() -> None:
    """A head that others signed for their log is opened with the log's published key."""
    opened = open_head(REAL, [parse_public_key(REAL_KEY, "log")])

    assert opened.head.size == 1432088532
    assert opened.signers == ("arche2025h1.staging.ct.transparency.dev+ba2f06c0",)


@given(heads)
def test_a_head_reads_back_as_it_was_signed(head: TreeHead) -> None:
    """What is opened is what was signed."""
    opened = open_head(sign_head(head, [LOG]), [LOG.verify_key])

    assert opened.head == head
    assert opened.note.text == head_text(head)
    assert opened.signers == (LOG.verify_key.keyid,)


def test_an_empty_log_has_a_head() -> None:
    """Size 0 goes with the root of nothing."""
    head = head_of(0)

    assert head == TreeHead(LOG.name, 0, EMPTY_ROOT)
    assert parse_head_text(head_text(head)) == head


def test_extension_lines_are_read_and_mean_nothing() -> None:
    """Lines after the third are signed with the rest, and change neither size nor root."""
    data = sign_note(head_text(head_of(7)) + "extension\n", [LOG])

    assert open_head(data, [LOG.verify_key]).head == head_of(7)


def test_two_keys_of_one_log_may_sign() -> None:
    """During a rotation both keys sign, and either reader is content."""
    data = sign_head(head_of(7), [LOG, NEXT])

    assert open_head(data, [LOG.verify_key]).signers == (LOG.verify_key.keyid,)
    assert open_head(data, [NEXT.verify_key]).signers == (NEXT.verify_key.keyid,)
    assert len(open_head(data, [LOG.verify_key, NEXT.verify_key]).signers) == 2


def test_a_head_of_another_log_is_refused() -> None:
    """A trusted key cannot speak for a log of another name."""
    data = sign_note(head_text(head_of(7)), [OTHER])

    with pytest.raises(WrongOriginError) as refused:
        open_head(data, [LOG.verify_key, OTHER.verify_key])

    assert refused.value.code == "wrong_origin"
    assert str(refused.value) == (
        f"tree head of 'log.example/acme': expected its own key, got '{OTHER.verify_key.keyid}'"
    )


def test_a_head_is_not_signed_without_the_log() -> None:
    """The log's own key is among those that sign."""
    with pytest.raises(WrongOriginError):
        sign_head(head_of(7), [OTHER])


def test_a_head_of_an_unknown_key_is_refused() -> None:
    """The name of the log is not enough."""
    with pytest.raises(UnknownNoteSignerError):
        open_head(sign_head(head_of(7), [NEXT]), [LOG.verify_key])


def test_another_size_is_refused() -> None:
    """The signature covers the text as it was."""
    data = sign_head(head_of(7), [LOG]).replace(b"\n7\n", b"\n8\n")

    with pytest.raises(BadNoteSignatureError):
        open_head(data, [LOG.verify_key])


def test_no_bit_of_a_head_can_be_changed() -> None:
    """A flipped bit, in whichever byte, makes it no head of this log."""
    data = sign_head(head_of(7), [LOG])
    accepted = []
    for position in range(len(data)):
        tampered = bytearray(data)
        tampered[position] ^= 1 << position % 8
        try:
            open_head(bytes(tampered), [LOG.verify_key])
        except TreeError:
            continue
        accepted.append(position)

    assert accepted == []


@given(st.text(max_size=60))
def test_what_is_no_head_is_refused_in_our_words(text: str) -> None:
    """Whatever the text, the outcome is our error."""
    with pytest.raises(MalformedHeadError):
        parse_head_text(text)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "three lines"),
        ("\n", "three lines"),
        (f"o\n1\n{ROOT}", "three lines"),
        ("o\n1\n", "three lines"),
        (f"\n1\n{ROOT}\n", "none empty"),
        (f"o\n1\n{ROOT}\n\n", "none empty"),
        (f"o\n1\n{ROOT}\n\nx\n", "none empty"),
        (f"o\n01\n{ROOT}\n", "decimal"),
        (f"o\n-1\n{ROOT}\n", "decimal"),
        (f"o\n1 \n{ROOT}\n", "decimal"),
        (f"o\n\u0661\n{ROOT}\n", "decimal"),
        (f"o\n{2**63}\n{ROOT}\n", "decimal"),
        (f"o\n1\n{ROOT[:-1]}\n", "base64"),
        (f"o\n1\n{'A' * 42}B=\n", "base64"),
        ("o\n1\nAAAA\n", "32 bytes"),
        (f"o\n0\n{ROOT}\n", "empty tree"),
    ],
)
def test_what_is_not_exactly_a_head_is_refused(text: str, reason: str) -> None:
    """Lines, number and base64 have one form each."""
    with pytest.raises(MalformedHeadError) as refused:
        parse_head_text(text)

    assert refused.value.code == "bad_tree_head"
    assert reason in str(refused.value)


def test_a_signed_text_that_is_no_head_is_refused() -> None:
    """That the log's key signed it does not make it a head."""
    with pytest.raises(MalformedHeadError):
        open_head(sign_note("hello\n", [LOG]), [LOG.verify_key])


@pytest.mark.parametrize(
    "head",
    [
        TreeHead("", 1, EMPTY_ROOT),
        TreeHead("o", -1, EMPTY_ROOT),
        TreeHead("o", 2**63, EMPTY_ROOT),
        TreeHead("o", 1, b""),
        TreeHead("o", 0, bytes(32)),
        TreeHead("o\n7", 1, EMPTY_ROOT),
        TreeHead(f"o\n1\n{ROOT}", 1, EMPTY_ROOT),
    ],
)
def test_a_head_that_would_not_read_back_is_not_written(head: TreeHead) -> None:
    """No origin can smuggle a size or a root into the text."""
    with pytest.raises(MalformedHeadError):
        head_text(head)


def test_a_head_is_one_note() -> None:
    """What is signed is a C2SP note like any other."""
    assert parse_note(sign_head(head_of(7), [LOG])).text == head_text(head_of(7))
