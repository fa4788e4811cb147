"""Why a store cannot be used, or cannot go on."""

from tallystick.core.errors import TallystickError
from tallystick.core.wording import as_printed


class StoreNotFoundError(TallystickError):
    """There is no store at a place."""

    code = "store_not_found"

    def __init__(self, path: str) -> None:
        super().__init__(path)

    def __str__(self) -> str:
        return (
            f"no store at {as_printed(self.args[0])}: make one with `tallystick init`, or name"
            " another with --store or TALLYSTICK_STORE"
        )


class StoreExistsError(TallystickError):
    """A store, or something else, is already where a new one was to be made."""

    code = "store_exists"

    def __init__(self, path: str, found: str) -> None:
        super().__init__(path, found)

    def __str__(self) -> str:
        path, found = self.args
        return f"cannot make a store at {as_printed(path)}: {found}"


class StoreBusyError(TallystickError):
    """Another process kept writing for longer than was to be waited."""

    code = "store_busy"
    exit_status = 1

    def __init__(self, path: str, waited_s: int) -> None:
        super().__init__(path, waited_s)

    def __str__(self) -> str:
        path, waited_s = self.args
        return (
            f"store {as_printed(path)} is busy: another process has been writing for"
            f" {waited_s} s; nothing was stored, try again"
        )


class NewerStoreError(TallystickError):
    """A store was written by a later version of this program."""

    code = "store_newer"

    def __init__(self, path: str, known: int, found: int) -> None:
        super().__init__(path, known, found)

    def __str__(self) -> str:
        path, known, found = self.args
        return (
            f"store {as_printed(path)} has format {found}, and this program knows up to {known}:"
            " use a later version of it"
        )


class NetworkStoreError(TallystickError):
    """A store lies on a network file system, where its locks and syncs cannot be relied on."""

    code = "store_on_network"

    def __init__(self, path: str, kind: str) -> None:
        super().__init__(path, kind)

    def __str__(self) -> str:
        path, kind = self.args
        return f"expected a store on a local disk, got {as_printed(path)} on {kind}"


class OldSqliteError(TallystickError):
    """The SQLite that is linked here can damage a write-ahead log that two processes share."""

    code = "sqlite_too_old"

    def __init__(self, needed: str, found: str) -> None:
        super().__init__(needed, found)

    def __str__(self) -> str:
        needed, found = self.args
        return f"expected SQLite {needed} or later, got {found}: reinstall apsw from its wheel"


class StoreUnusableError(TallystickError):
    """A store's files cannot be opened: no permission, a read-only disk, not a database."""

    code = "store_unusable"

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(path, reason)

    def __str__(self) -> str:
        path, reason = self.args
        return f"cannot use store {as_printed(path)}: {reason}"


class StoreWriteError(TallystickError):
    """A write or a sync failed; nothing of the transaction counts, and the store was closed.

    What the disk holds after a failed sync is not known, so going on is not safe: the store has
    to be opened again, which reads what is really there.
    """

    code = "store_write_failed"
    exit_status = 1

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(path, reason)

    def __str__(self) -> str:
        path, reason = self.args
        return f"cannot write to store {as_printed(path)}: {reason}; nothing of it was stored"


class StoreDamagedError(TallystickError):
    """What a store holds contradicts itself, or what was signed of it."""

    code = "store_damaged"
    exit_status = 1

    def __init__(self, path: str, damage: str) -> None:
        super().__init__(path, damage)

    def __str__(self) -> str:
        path, damage = self.args
        return f"store {as_printed(path)} is damaged: {damage}"


class DocumentConflictError(TallystickError):
    """A document was to be kept under a name that has another one already."""

    code = "document_conflict"
    exit_status = 1

    def __init__(self, shelf: str, key: str) -> None:
        super().__init__(shelf, key)

    def __str__(self) -> str:
        shelf, key = self.args
        return f"there is another {shelf} named {key!r} already, and nothing is ever replaced"


class DuplicateLeafError(TallystickError):
    """A leaf was to be appended whose identity the log has already."""

    code = "leaf_exists"
    exit_status = 1

    def __init__(self) -> None:
        super().__init__()

    def __str__(self) -> str:
        return "a record of that producer and id is in the log already, and none is ever replaced"


class NoSuchLeafError(TallystickError):
    """The log has no leaf of that index."""

    code = "leaf_not_found"

    def __init__(self, index: int, size: int) -> None:
        super().__init__(index, size)

    def __str__(self) -> str:
        index, size = self.args
        return f"no leaf {index}: the log has {size}, counted from 0"


class StoreBehindHeadError(TallystickError):
    """The log is shorter than its last issued head: it was restored from a backup."""

    code = "store_behind_head"
    exit_status = 1

    def __init__(self, size: int, issued: int) -> None:
        super().__init__(size, issued)

    def __str__(self) -> str:
        size, issued = self.args
        return (
            f"the log has {size} records, and a head of {issued} was issued: signing now would"
            " fork it; bring back the records that are missing"
        )


class StoreForkedError(TallystickError):
    """The log does not contain what its last issued head says of it."""

    code = "store_forked"
    exit_status = 1

    def __init__(self, issued: int) -> None:
        super().__init__(issued)

    def __str__(self) -> str:
        return (
            f"the first {self.args[0]} records are not those of the head that was issued of them:"
            " this log is another one, or was changed"
        )


class HeadMissingError(TallystickError):
    """Heads were issued, and the file that keeps the last one apart is gone."""

    code = "issued_head_missing"
    exit_status = 1

    def __init__(self, path: str) -> None:
        super().__init__(path)

    def __str__(self) -> str:
        return (
            f"no last issued head at {as_printed(self.args[0])}, though heads were issued:"
            " bring the file back, from a witness if need be"
        )
