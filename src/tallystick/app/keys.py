"""Keys in files: made once, never overwritten, read to sign and to verify."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tallystick.app.errors import NoKeysInFolderError, UnreadableFileError, UnwritableFileError
from tallystick.app.files import create_file, read_file
from tallystick.core.keys import (
    SigningKey,
    VerifyKey,
    check_key_name,
    parse_private_key,
    parse_public_key,
    private_key_text,
    public_key_text,
)

KEY_BYTES_MAX: Final = 64 * 1024


@dataclass(frozen=True, slots=True)
class NewKey:
    """A key pair that was made, and where it lies."""

    private_path: Path
    public_path: Path
    public_key: VerifyKey


def new_key(path: Path, name: str | None = None) -> NewKey:
    """Make a key pair: the private half in ``path``, mode 0600, the public half beside it.

    Args:
        path: File of the private key; the public one gets the suffix ``.vkey``.
        name: Whose key it is; None takes the file's name without its last suffix.

    Raises:
        BadKeyNameError: the name cannot stand in a public key.
        UnwritableFileError: one of the files exists or cannot be written; then neither is new.
    """
    checked = check_key_name(path.stem if name is None else name)
    key = SigningKey(checked, Ed25519PrivateKey.generate().private_bytes_raw())
    public_path = path.with_name(f"{path.name}.vkey")
    create_file(path, private_key_text(key).encode(), mode=0o600)
    try:
        create_file(public_path, f"{public_key_text(key.verify_key)}\n".encode(), mode=0o644)
    except UnwritableFileError:
        path.unlink()
        raise
    return NewKey(path, public_path, key.verify_key)


def load_signing_keys(paths: Iterable[str]) -> tuple[SigningKey, ...]:
    """Read private keys, in order.

    Raises:
        UnreadableFileError: a file cannot be read.
        BadPrivateKeyError: a file holds something else.
    """
    return tuple(parse_private_key(_read(path), path) for path in paths)


def load_verify_keys(paths: Iterable[str]) -> tuple[VerifyKey, ...]:
    """Read public keys, in order.

    Raises:
        UnreadableFileError: a file cannot be read.
        BadPublicKeyError: a file holds something else.
    """
    return tuple(parse_public_key(_read(path), path) for path in paths)


def keys_in(folder: Path) -> tuple[str, ...]:
    """Name every file of a public key in a folder: the keys that somebody trusts.

    Raises:
        NoKeysInFolderError: there is none.
        UnreadableFileError: the folder cannot be read.
    """
    try:
        paths = sorted(str(path) for path in folder.iterdir() if path.suffix == ".vkey")
    except OSError as error:
        raise UnreadableFileError(str(folder), (error.strerror or str(error)).lower()) from error
    if not paths:
        raise NoKeysInFolderError(str(folder))
    return tuple(paths)


def _read(path: str) -> bytes:
    return read_file(path, bytes_max=KEY_BYTES_MAX)
