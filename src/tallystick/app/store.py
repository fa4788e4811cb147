"""A store as a folder: its settings, log, keys and segments, and the head kept apart from it.

``store.toml`` is what people may change; ``log.db`` is the log; ``keys/`` holds the key that
signs heads and the one that signs receipts, each with its public half; ``segments/`` holds
telemetry. The last issued head lies elsewhere, beside the folder unless the settings name
another place: on another disk is best.
"""

import json
import shutil
import tomllib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tallystick.app.errors import BadSettingsError, UnreadableFileError
from tallystick.app.files import read_file, write_file
from tallystick.app.keys import keys_in, load_signing_keys, load_verify_keys, new_key
from tallystick.core.keys import SigningKey, VerifyKey, check_key_name
from tallystick.stores.errors import StoreExistsError, StoreNotFoundError, StoreUnusableError
from tallystick.stores.issued_head import IssuedHead
from tallystick.stores.mounts import check_local
from tallystick.stores.signing import first_head, issue_head
from tallystick.stores.sqlite import SqliteStore, create_sqlite_store, open_sqlite_store

SCHEMA: Final = "tallystick.store/1"
SETTINGS: Final = "store.toml"
SETTINGS_BYTES_MAX: Final = 1 << 20

Notice = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class StoreFolder:
    """Where the parts of a store lie."""

    path: Path
    issued: IssuedHead

    @property
    def log(self) -> Path:
        """The file of the log."""
        return self.path / "log.db"

    @property
    def keys(self) -> Path:
        """The folder of its keys."""
        return self.path / "keys"

    @property
    def segments(self) -> Path:
        """The folder of its telemetry segments."""
        return self.path / "segments"

    def signing_key(self, name: str) -> SigningKey:
        """Read the key that signs ``log`` heads, or each ``receipt``.

        Raises:
            UnreadableFileError: it cannot be read.
            BadPrivateKeyError: it is something else.
        """
        return load_signing_keys([str(self.keys / f"{name}.key")])[0]

    def verify_keys(self) -> tuple[VerifyKey, ...]:
        """Read every public key that is kept with the store, those no longer in use too.

        Raises:
            NoKeysInFolderError: there is none.
            UnreadableFileError: one cannot be read.
            BadPublicKeyError: one is something else.
        """
        return load_verify_keys(keys_in(self.keys))


@dataclass(frozen=True, slots=True)
class OpenStore:
    """A store that is open, and where its parts lie."""

    folder: StoreFolder
    log: SqliteStore

    def issue_head(self) -> bytes:
        """Sign the head of all that is in the log; without news it is the last one again.

        Raises:
            TallystickError: the log may not be signed, see ``stores.signing``.
        """
        folder = self.folder
        return issue_head(self.log, folder.issued, folder.signing_key("log"), folder.verify_keys())


def init_store(path: Path, origin: str, issued_head: Path | None = None) -> StoreFolder:
    """Make a new store, with its keys and the head of an empty log.

    Args:
        path: The folder, which must be new or empty.
        origin: Name of the log and of its key, such as ``example.com/gpu-log``.
        issued_head: Where the last issued head is kept; None is beside the folder.

    Raises:
        BadKeyNameError: the origin cannot be the name of a key.
        StoreExistsError: there is something already.
        NetworkStoreError: the folder is on a network file system.
        TallystickError: something cannot be written.
    """
    receipt_name = check_key_name(f"{check_key_name(origin)}/receipt")
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        if any(path.iterdir()):
            raise StoreExistsError(str(path), "the folder is not empty")
        check_local(path)
        whole = path.resolve()
        head = (issued_head or whole.with_name(f"{whole.name}.head")).absolute()
        if head.exists():
            raise StoreExistsError(str(head), "it keeps the head of another log")
        settings = _settings_text(head).encode()
    except OSError as error:
        raise StoreUnusableError(str(path), (error.strerror or str(error)).lower()) from error
    except UnicodeEncodeError as error:
        raise StoreUnusableError(str(path), "its path is not Unicode") from error
    folder = StoreFolder(path, IssuedHead(head))
    with ExitStack() as undo:
        undo.callback(_empty, folder)
        _fill(folder, origin, receipt_name)
        folder.issued.create(first_head(origin, folder.signing_key("log")))
        undo.callback(_remove, folder.issued.path)
        # Last: a folder without settings is no store yet.
        write_file(path / SETTINGS, settings, mode=0o600)
        undo.pop_all()  # Nothing is undone.
    return folder


def _fill(folder: StoreFolder, origin: str, receipt_name: str) -> None:
    """Make keys and log."""
    try:
        folder.keys.mkdir(mode=0o700)
        folder.segments.mkdir(mode=0o700)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise StoreUnusableError(str(folder.path), reason) from error
    new_key(folder.keys / "log.key", origin)
    new_key(folder.keys / "receipt.key", receipt_name)
    create_sqlite_store(folder.log, origin)


def _empty(folder: StoreFolder) -> None:
    """Leave the folder as empty as it was found, so that it can be tried again."""
    for path in (folder.keys, folder.segments):
        shutil.rmtree(path, ignore_errors=True)
    for path in (*folder.path.glob("log.db*"), folder.path / SETTINGS):
        _remove(path)


def _remove(path: Path) -> None:
    with suppress(OSError):
        path.unlink()


def find_store(path: Path) -> StoreFolder:
    """Read a store's settings.

    Raises:
        StoreNotFoundError: there is no store.
        BadSettingsError: the settings are not what they should be.
    """
    try:
        text = read_file(str(path / SETTINGS), bytes_max=SETTINGS_BYTES_MAX).decode()
        settings: dict[str, Any] = tomllib.loads(text)
    except UnreadableFileError as error:
        if isinstance(error.__cause__, FileNotFoundError | NotADirectoryError):
            raise StoreNotFoundError(str(path)) from error
        raise
    except ValueError as error:  # Not UTF-8, or not TOML.
        raise BadSettingsError(str(path / SETTINGS), str(error)) from error
    if settings.get("schema") != SCHEMA:
        raise BadSettingsError(str(path / SETTINGS), f'schema: expected "{SCHEMA}"')
    head = settings.get("issued_head")
    if not isinstance(head, str):
        raise BadSettingsError(str(path / SETTINGS), "issued_head: expected the path of a file")
    return StoreFolder(path, IssuedHead(path / head))


@contextmanager
def open_store(path: Path, *, notice: Notice = lambda _: None) -> Iterator[OpenStore]:
    """Open a store for the length of a block.

    Args:
        path: Its folder.
        notice: Told, once a wait, that another process is writing.

    Raises:
        TallystickError: there is none, or it cannot be used, see ``stores.errors``.
    """
    folder = find_store(path)
    check_local(path)
    log = open_sqlite_store(folder.log, notice=notice)
    try:
        yield OpenStore(folder, log)
    finally:
        log.close()


def _settings_text(head: Path) -> str:
    # A basic string of TOML escapes what one of JSON does, and U+007F.
    quoted = json.dumps(str(head), ensure_ascii=False).replace("\x7f", "\\u007f")
    return (
        f'schema = "{SCHEMA}"\n'
        "# The last issued head; keep it on another disk than the store, and out of its backups.\n"
        f"issued_head = {quoted}\n"
    )
