"""Key rotation: the old key of a log names its successor, and the log records it.

A key names one successor, once. Names do not change: a key speaks for the log of its name.
The signed message begins with a line that no origin can be, since no key name has a space,
so that it can never be read as a tree head.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from tallystick.core.errors import BadPublicKeyError
from tallystick.core.keys import SigningKey, VerifyKey, parse_public_key, public_key_text
from tallystick.tree.errors import RotationError
from tallystick.tree.merkle import TREE_SIZE_MAX
from tallystick.tree.spelling import base64_text, parse_base64

_FIRST_LINE = "tallystick key rotation v1"


@dataclass(frozen=True, slots=True)
class Rotation:
    """One rotation, as the log records it.

    Args:
        old: The public key that signs, as its line.
        new: The public key that is trusted from here on, as its line.
        size: Of the log when it was signed.
        signature: Of the old key, in base64.
    """

    old: str
    new: str
    size: int
    signature: str


def rotation_message(origin: str, old: str, new: str, size: int) -> bytes:
    """Give what the old key signs.

    Args:
        origin: The log, by the name of its keys.
        old: The public key that signs, as its line.
        new: Its successor, as its line.
        size: Of the log when it is signed.
    """
    return f"{_FIRST_LINE}\n{origin}\n{old}\n{new}\n{size}\n".encode()


def sign_rotation(old: SigningKey, new: VerifyKey, size: int) -> str:
    """Have a key name its successor; gives the signature in base64."""
    old_line, new_line = public_key_text(old.verify_key), public_key_text(new)
    return base64_text(old.sign(rotation_message(old.name, old_line, new_line, size)))


def rotate(old: SigningKey, new: VerifyKey, size: int) -> Rotation:
    """Have a key name its successor; gives what the log records.

    Raises:
        RotationError: whoever follows the rotation would refuse it.
    """
    signature = sign_rotation(old, new, size)
    rotation = Rotation(public_key_text(old.verify_key), public_key_text(new), size, signature)
    follow_rotations((old.verify_key,), (rotation,))
    return rotation


def follow_rotations(
    trusted: Sequence[VerifyKey], rotations: Sequence[Rotation]
) -> tuple[VerifyKey, ...]:
    """Give the trusted keys and, after them, the successors that they lead to.

    Old keys stay, since heads of their time are to be verified still.

    Args:
        trusted: Keys that the reader has from elsewhere.
        rotations: In the order of the log.

    Raises:
        RotationError: one does not follow; then none is to be trusted.
    """
    known = dict.fromkeys(trusted)
    retired: set[VerifyKey] = set()
    sizes: dict[str, int] = {}
    for position, rotation in enumerate(rotations):
        old, new = _keys(position, rotation)
        if old not in known:
            raise RotationError(position, f"{old.keyid} is not a trusted key")
        if old in retired:
            raise RotationError(position, f"{old.keyid} has named its successor before")
        if new in retired or new == old:
            raise RotationError(position, f"{new.keyid} has been a key of this log before")
        if not sizes.get(old.name, -1) < rotation.size <= TREE_SIZE_MAX:
            raise RotationError(position, "expected a size above that of the rotation before")
        _check_signature(position, rotation, old)
        retired.add(old)
        known[new] = None
        sizes[old.name] = rotation.size
    return tuple(known)


def _keys(position: int, rotation: Rotation) -> tuple[VerifyKey, VerifyKey]:
    try:
        old = parse_public_key(rotation.old.encode(), "old")
        new = parse_public_key(rotation.new.encode(), "new")
    except UnicodeEncodeError as error:
        raise RotationError(position, "a key is not Unicode") from error
    except BadPublicKeyError as error:
        raise RotationError(position, str(error)) from error
    if (public_key_text(old), public_key_text(new)) != (rotation.old, rotation.new):
        raise RotationError(position, "expected keys in their one spelling")
    if old.name != new.name:
        raise RotationError(position, f"{new.keyid} has another name than {old.keyid}")
    return old, new


def _check_signature(position: int, rotation: Rotation, old: VerifyKey) -> None:
    signature = parse_base64(rotation.signature)
    message = rotation_message(old.name, rotation.old, rotation.new, rotation.size)
    if signature is None or not old.signed(message, signature):
        raise RotationError(position, f"the signature is not one of {old.keyid}")
