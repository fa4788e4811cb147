"""The customer's half of a log: heads cosigned after they were checked, and never two stories.

A witness keeps the last head that it cosigned. It cosigns a later one only if the log proves
that it goes on from that, and writes it down before the cosignature is given to anyone. Once
it did, no other history of that length can be shown to anybody who asks for its signature.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tallystick.app.errors import WitnessStateMissingError
from tallystick.app.files import read_file, write_file
from tallystick.app.keys import KEY_BYTES_MAX, load_signing_keys, load_verify_keys
from tallystick.core.keys import VerifyKey
from tallystick.stores.errors import HeadMissingError
from tallystick.stores.issued_head import IssuedHead
from tallystick.tree.cosignature import (
    Cosignature,
    cosign,
    parse_witness_key,
    verify_cosignatures,
    witness_key,
    witness_key_text,
)
from tallystick.tree.head import SignedHead, TreeHead, open_head
from tallystick.tree.note import Note, note_bytes
from tallystick.tree.update import (
    UPDATE_BYTES_MAX,
    HeadUpdate,
    check_extends,
    check_update,
    parse_update,
)


@dataclass(frozen=True, slots=True)
class Witnessed:
    """A head that was cosigned, and the one that the witness knew before."""

    head: TreeHead
    known: TreeHead | None
    note: bytes


def cosign_update(
    update: str,
    output: Path,
    *,
    log_keys: Sequence[str],
    key: str,
    state: Path,
    now_s: int,
    is_first: bool,
) -> Witnessed:
    """Check an update of a log's head against what the witness knows, and cosign it.

    Args:
        update: File of the head and its consistency proof.
        output: Where the cosigned head is written.
        log_keys: Files of the log's public keys.
        key: File of the witness's private key.
        state: File of the last head that the witness cosigned of this log.
        now_s: The time, in seconds since the epoch.
        is_first: Whether this is the first head that the witness sees of this log.

    Raises:
        WitnessStateMissingError: there is no state, and it was not said that this is the first.
        SplitViewError: the log contradicts what the witness knows; both heads are kept.
        TreeError: the update is not to be trusted, or makes no sense.
        TallystickError: a file cannot be read or written.
    """
    keys = load_verify_keys(log_keys)
    signer = load_signing_keys([key])[0]
    parsed = parse_update(read_file(update, bytes_max=UPDATE_BYTES_MAX + 1))
    kept = IssuedHead(state)
    with kept.locked():
        known = _known(kept, keys, is_first=is_first)
        signed = check_update(parsed, known, keys)
        note = note_bytes(cosign(signed.note, signer, now_s))
        kept.replace(note)  # Before anybody has it: this is what the witness stands for.
        write_file(output, note)
    return Witnessed(signed.head, known, note)


def witness_key_line(path: str) -> str:
    """Give the public key with which others check the cosignatures of a private key.

    Raises:
        UnreadableFileError: the file cannot be read.
        BadPrivateKeyError: it is something else.
    """
    return witness_key_text(witness_key(load_signing_keys([path])[0]))


def check_cosigned(note: Note, paths: Sequence[str]) -> tuple[Cosignature, ...]:
    """Check that every one of some witnesses cosigned a head; gives when they did.

    Args:
        note: The head, which is verified already.
        paths: Files of the witnesses' public keys.

    Raises:
        UnknownNoteSignerError: a witness did not cosign.
        TreeError: a cosignature does not hold.
        TallystickError: a file cannot be read, or is no key of a witness.
    """
    keys = [parse_witness_key(read_file(path, bytes_max=KEY_BYTES_MAX), path) for path in paths]
    return tuple(found for key in keys for found in verify_cosignatures(note, [key]))


def compare_heads(one: str, other: str, *, log_keys: Sequence[str]) -> tuple[TreeHead, TreeHead]:
    """Check that two heads, or updates, of a log tell one story; the smaller comes first.

    Two of different size need a proof: one of them must be an update from the other's size.

    Raises:
        SplitViewError: they are of one size and differ.
        UnprovenHeadError: the proof does not lead from the smaller to the larger.
        TreeError: one is not to be trusted, or the proof is missing or makes no sense.
    """
    keys = load_verify_keys(log_keys)
    parts = sorted(
        (_head_and_update(path, keys) for path in (one, other)), key=lambda each: each[0].head.size
    )
    (smaller, _), (larger, update) = parts
    proof = update or HeadUpdate(0, (), b"")
    check_extends(smaller.head, larger.head, proof.old_size, proof.path)
    return smaller.head, larger.head


def _known(kept: IssuedHead, keys: Sequence[VerifyKey], *, is_first: bool) -> TreeHead | None:
    try:
        return open_head(kept.read(), keys).head
    except HeadMissingError as error:
        if not is_first:
            raise WitnessStateMissingError(str(kept.path)) from error
    return None


def _head_and_update(path: str, keys: Sequence[VerifyKey]) -> tuple[SignedHead, HeadUpdate | None]:
    data = read_file(path, bytes_max=UPDATE_BYTES_MAX + 1)
    if not data.startswith(b"old "):
        return open_head(data, keys), None
    update = parse_update(data)
    return open_head(update.head, keys), update
