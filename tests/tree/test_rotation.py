"""Key rotation: trust passes from key to key, once each, within one log."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallystick.core.keys import SigningKey, VerifyKey, public_key_text
from tallystick.tree.errors import MalformedHeadError, RotationError
from tallystick.tree.head import open_head, parse_head_text, sign_head
from tallystick.tree.rotation import (
    Rotation,
    follow_rotations,
    rotate,
    rotation_message,
    sign_rotation,
)
from tests.tree.trees import LOG, NEXT, OTHER, head_of

THIRD = SigningKey(LOG.name, bytes(range(5, 37)))
FIRST_ROTATION = rotate(LOG, NEXT.verify_key, 100)
SECOND_ROTATION = rotate(NEXT, THIRD.verify_key, 200)
TRUSTED = (LOG.verify_key,)


def unchecked(old: SigningKey, new: VerifyKey, size: int) -> Rotation:
    """Sign a rotation that nobody has looked at."""
    old_line, new_line = public_key_text(old.verify_key), public_key_text(new)
    return Rotation(old_line, new_line, size, sign_rotation(old, new, size))


def refuse(*rotations: Rotation, trusted: tuple[VerifyKey, ...] = TRUSTED) -> RotationError:
    """Give the error with which rotations are refused."""
    with pytest.raises(RotationError) as refused:
        follow_rotations(trusted, rotations)
    assert refused.value.code == "bad_key_rotation"
    assert refused.value.exit_status == 1
    return refused.value


def test_the_message_says_what_is_rotated() -> None:
    """Purpose, log, both keys and the size of the log are signed together."""
    message = rotation_message("log.example/acme", "OLD", "NEW", 100)

    assert message == b"tallystick key rotation v1\nlog.example/acme\nOLD\nNEW\n100\n"


def test_the_message_is_no_tree_head() -> None:
    """A signature on a rotation never passes for one on a head."""
    with pytest.raises(MalformedHeadError):
        parse_head_text(rotation_message(LOG.name, "OLD", "NEW", 100).decode())


def test_without_rotations_trust_stays_as_it_is() -> None:
    """The keys that were given are the keys that are trusted."""
    keys = (LOG.verify_key, OTHER.verify_key)

    assert follow_rotations(keys, []) == keys


def test_trust_passes_from_key_to_key() -> None:
    """A chain of rotations leads to the newest key, and old heads are still verified."""
    keys = follow_rotations(TRUSTED, [FIRST_ROTATION, SECOND_ROTATION])

    assert keys == (LOG.verify_key, NEXT.verify_key, THIRD.verify_key)
    for signer in (LOG, NEXT, THIRD):
        assert open_head(sign_head(head_of(7), [signer]), keys).head == head_of(7)


def test_a_key_that_is_known_already_may_be_named() -> None:
    """Who has the new key from elsewhere too loses nothing."""
    keys = follow_rotations((NEXT.verify_key, LOG.verify_key), [FIRST_ROTATION])

    assert keys == (NEXT.verify_key, LOG.verify_key)


def test_logs_rotate_independently() -> None:
    """Sizes are compared within one log, not between logs."""
    other_next = SigningKey(OTHER.name, bytes(range(9, 41)))
    rotations = [FIRST_ROTATION, rotate(OTHER, other_next.verify_key, 3)]

    keys = follow_rotations((LOG.verify_key, OTHER.verify_key), rotations)

    assert keys[2:] == (NEXT.verify_key, other_next.verify_key)


@pytest.mark.parametrize("size", [0, 2**63 - 1])
def test_a_log_of_any_size_may_rotate(size: int) -> None:
    """An empty log has a key too, and so has the largest."""
    keys = follow_rotations(TRUSTED, [rotate(LOG, NEXT.verify_key, size)])

    assert keys == (LOG.verify_key, NEXT.verify_key)


def test_a_stranger_cannot_name_a_key() -> None:
    """A rotation that an untrusted key signed is refused."""
    refused = refuse(SECOND_ROTATION)

    assert str(refused) == f"key rotation 1: {NEXT.verify_key.keyid} is not a trusted key"


def test_the_order_is_that_of_the_log() -> None:
    """A key is trusted from its rotation on, not before."""
    assert "is not a trusted key" in str(refuse(SECOND_ROTATION, FIRST_ROTATION))


def test_one_bad_rotation_rejects_all() -> None:
    """What a later rotation breaks is not trusted halfway."""
    bad = replace(SECOND_ROTATION, size=201)

    assert str(refuse(FIRST_ROTATION, bad)).startswith("key rotation 2: the signature is not one")


def test_a_key_names_one_successor() -> None:
    """Whoever stole a retired key cannot name another."""
    again = rotate(LOG, THIRD.verify_key, 300)

    assert "has named its successor before" in str(refuse(FIRST_ROTATION, again))


def test_a_retired_key_does_not_come_back() -> None:
    """A successor is a key that was not retired."""
    back = unchecked(NEXT, LOG.verify_key, 200)

    assert "has been a key of this log before" in str(refuse(FIRST_ROTATION, back))


def test_a_key_does_not_follow_itself() -> None:
    """A rotation changes the key."""
    with pytest.raises(RotationError):
        rotate(LOG, LOG.verify_key, 100)


def test_a_key_keeps_its_name() -> None:
    """A key cannot pass trust to another log."""
    with pytest.raises(RotationError) as refused:
        rotate(LOG, OTHER.verify_key, 100)

    assert "has another name than" in str(refused.value)


def test_a_log_grows_between_rotations() -> None:
    """The rotation before is itself an entry, so that the next comes at a larger size."""
    second = unchecked(NEXT, THIRD.verify_key, FIRST_ROTATION.size)

    assert str(refuse(FIRST_ROTATION, second)) == (
        "key rotation 2: expected a size above that of the rotation before"
    )


@pytest.mark.parametrize("size", [-1, 2**63])
def test_a_rotation_has_the_size_of_a_log(size: int) -> None:
    """A size that no log can have is refused, however well it is signed."""
    assert str(refuse(unchecked(LOG, NEXT.verify_key, size))).startswith("key rotation 1: expected")


@given(st.integers(0, 87), st.sampled_from("ABCDEFGHabcdefgh01234567+/= "))
def test_no_digit_of_a_signature_can_be_changed(position: int, digit: str) -> None:
    """Another character anywhere in it, and the rotation does not follow."""
    signature = FIRST_ROTATION.signature
    changed = signature[:position] + digit + signature[position + 1 :]
    if changed == signature:
        return

    assert "the signature is not one" in str(refuse(replace(FIRST_ROTATION, signature=changed)))


@given(
    st.builds(
        Rotation,
        st.text() | st.just(FIRST_ROTATION.old),
        st.text() | st.just(FIRST_ROTATION.new),
        st.integers(),
        st.text(),
    )
)
def test_what_is_no_rotation_is_refused_in_our_words(rotation: Rotation) -> None:
    """Whatever the log holds, the outcome is our error."""
    refuse(rotation)


@pytest.mark.parametrize(
    ("forged", "reason"),
    [
        (replace(FIRST_ROTATION, old=""), "old is not a public key"),
        (replace(FIRST_ROTATION, new="x"), "new is not a public key"),
        (replace(FIRST_ROTATION, new="\ud800"), "not Unicode"),
        (replace(FIRST_ROTATION, old=FIRST_ROTATION.old + "\n"), "one spelling"),
        (replace(FIRST_ROTATION, new=public_key_text(OTHER.verify_key)), "another name"),
        (replace(FIRST_ROTATION, new=public_key_text(THIRD.verify_key)), "the signature"),
        (replace(FIRST_ROTATION, size=101), "the signature"),
        (replace(FIRST_ROTATION, signature=""), "the signature"),
        (replace(FIRST_ROTATION, signature=FIRST_ROTATION.signature + "\n"), "the signature"),
    ],
)
def test_every_part_of_a_rotation_counts(forged: Rotation, reason: str) -> None:
    """Another key, size or spelling is refused."""
    assert reason in str(refuse(forged))
