"""A new key for a store's log, named by the old one in a record of the log.

The record comes first: whoever reads the log then finds the successor in it. Until the files
are exchanged the old key goes on signing, which is still right; asked again after a crash,
the same successor takes over, and no second one is ever named.
"""

from pathlib import Path

from tallystick.app.admit import clock_us
from tallystick.app.errors import UnwritableFileError
from tallystick.app.files import write_file
from tallystick.app.keys import load_signing_keys, new_key
from tallystick.app.store import OpenStore
from tallystick.core.keys import SigningKey, VerifyKey, public_key_text
from tallystick.stores.delivery import write_own
from tallystick.stores.protocol import Writing
from tallystick.tree.rotation import rotate

_NEXT = "log.next.key"


def rotate_log_key(store: OpenStore) -> tuple[VerifyKey, VerifyKey, int]:
    """Give the log a new key; gives the old one, the new one and the record's leaf.

    Raises:
        TallystickError: the log cannot be written, or a file cannot.
    """
    keys = store.folder.keys
    old = store.folder.signing_key("log")
    new = _successor(keys, old.name)
    with store.log.writing() as log:
        leaf = _record(log, old, new)
    _exchange(keys, old.verify_key, new)
    return old.verify_key, new, leaf


def _successor(keys: Path, name: str) -> VerifyKey:
    """Make the next key, or find the one that an earlier call made."""
    path = keys / _NEXT
    try:
        if not path.exists():
            path.with_name(f"{_NEXT}.vkey").unlink(missing_ok=True)
            new_key(path, name)
    except OSError as error:
        raise UnwritableFileError(str(path), (error.strerror or str(error)).lower()) from error
    return load_signing_keys([str(path)])[0].verify_key


def _record(log: Writing, old: SigningKey, new: VerifyKey) -> int:
    """Have the old key name its successor, if it has not done so before."""
    known = log.document("rotation", old.verify_key.keyid)
    if known is not None:
        return int(known)
    rotation = rotate(old, new, log.size)
    body = {
        "old": rotation.old,
        "new": rotation.new,
        "size": rotation.size,
        "signature": rotation.signature,
    }
    leaf = write_own(log, "key.rotated", body, clock_us())
    log.put("rotation", old.verify_key.keyid, str(leaf).encode())
    return leaf


def _exchange(keys: Path, old: VerifyKey, new: VerifyKey) -> None:
    """Put the new key's files in the place of the old one's, and keep the old public half."""
    write_file(keys / f"log.{old.keyid[-8:]}.key.vkey", f"{public_key_text(old)}\n".encode())
    write_file(keys / "log.key.vkey", f"{public_key_text(new)}\n".encode())
    try:
        (keys / _NEXT).replace(keys / "log.key")
        (keys / f"{_NEXT}.vkey").unlink(missing_ok=True)
    except OSError as error:
        raise UnwritableFileError(str(keys), (error.strerror or str(error)).lower()) from error
