"""Errors of the layer that touches files."""

from tallystick.core.errors import TallystickError
from tallystick.core.wording import as_printed


class UnreadableFileError(TallystickError):
    """A file cannot be opened or read: absent, a directory, no permission, a failing disk."""

    code = "unreadable_file"

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(path, reason)

    def __str__(self) -> str:
        path, reason = self.args
        return f"cannot read {as_printed(path)}: {reason}"


class UnwritableFileError(TallystickError):
    """A result cannot be written; nothing half-written is left behind."""

    code = "unwritable_file"

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(path, reason)

    def __str__(self) -> str:
        path, reason = self.args
        return f"cannot write {as_printed(path)}: {reason}"


class RunNotFoundError(TallystickError):
    """The evidence says nothing of the run that was asked for."""

    code = "run_not_found"

    def __init__(self, run: str, known: tuple[str, ...]) -> None:
        super().__init__(run, known)

    def __str__(self) -> str:
        run, known = self.args
        return f"no run {run!a} in the evidence, which has {_listed(known) or 'no run at all'}"


class BadSettingsError(TallystickError):
    """The settings of a store are not what they should be."""

    code = "bad_settings"

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(path, reason)

    def __str__(self) -> str:
        path, reason = self.args
        return f"cannot use the settings {as_printed(path)}: {reason}"


class ContractPublishedError(TallystickError):
    """A version of a contract is published already, and says something else."""

    code = "contract_published"
    exit_status = 1

    def __init__(self, name: str, digest: str) -> None:
        super().__init__(name, digest)

    def __str__(self) -> str:
        name, digest = self.args
        return (
            f"{as_printed(name)} is published with other bytes ({digest}) and cannot change:"
            " give the new terms the next version number"
        )


class ContractNotFoundError(TallystickError):
    """No contract, or none of an id, was published in a store."""

    code = "contract_not_found"

    def __init__(self, contract_id: str | None, known: tuple[str, ...]) -> None:
        super().__init__(contract_id, known)

    def __str__(self) -> str:
        contract_id, known = self.args
        if not known:
            return "no contract in the store: publish one with `tallystick contract add`"
        return f"no contract {contract_id!a} in the store, which has {_listed(known)}"


class ContractChoiceError(TallystickError):
    """A store has several contracts, and it was not said which counts."""

    code = "contract_not_chosen"

    def __init__(self, known: tuple[str, ...]) -> None:
        super().__init__(known)

    def __str__(self) -> str:
        return f"expected --contract-id, since the store has {_listed(self.args[0])}"


class ReceiptNotIssuedError(TallystickError):
    """No receipt, or no such revision of it, was issued for a run."""

    code = "receipt_not_issued"

    def __init__(self, run: str, revision: int | None, issued: int) -> None:
        super().__init__(run, revision, issued)

    def __str__(self) -> str:
        run, revision, issued = self.args
        if not issued:
            return f"no receipt of run {run!a}: issue one with `tallystick receipt issue --store`"
        return f"no revision {revision} of the receipt of run {run!a}, which has {issued}"


class PacketDiffersError(TallystickError):
    """A file of a recovery packet is not what follows from its bundles."""

    code = "packet_differs"
    exit_status = 1

    def __init__(self, path: str) -> None:
        super().__init__(path)

    def __str__(self) -> str:
        return (
            f"{as_printed(self.args[0])} is not what follows from the bundles beside it: somebody"
            " changed it, or another version of tallystick wrote it"
        )


class BadPacketError(TallystickError):
    """A file is no recovery packet."""

    code = "bad_packet"

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(path, reason)

    def __str__(self) -> str:
        path, reason = self.args
        return f"{as_printed(path)} is no recovery packet: {reason}"


class BundleDiffersError(TallystickError):
    """A receipt does not follow from the evidence that its bundle would hold."""

    code = "bundle_differs"
    exit_status = 1

    def __init__(self, run: str, path: str) -> None:
        super().__init__(run, path)

    def __str__(self) -> str:
        run, path = self.args
        return (
            f"the receipt of run {run!a} does not follow from the evidence in the store, first at"
            f" {path}: run `tallystick doctor`"
        )


class NoKeysInFolderError(TallystickError):
    """A folder of trusted keys has none."""

    code = "no_keys_in_folder"

    def __init__(self, path: str) -> None:
        super().__init__(path)

    def __str__(self) -> str:
        return f"expected public keys (*.vkey) in {as_printed(self.args[0])}, found none"


class SegmentUnusableError(TallystickError):
    """A segment is to be dropped, and what it said can no longer be written down."""

    code = "segment_unusable"
    exit_status = 1

    def __init__(self, digest: str, status: str) -> None:
        super().__init__(digest, status)

    def __str__(self) -> str:
        digest, status = self.args
        return f"segment {digest} is {status}: it is not dropped, since what it said is not known"


class WitnessStateMissingError(TallystickError):
    """A witness has no head to compare with, and was not told that this is its first."""

    code = "witness_state_missing"
    exit_status = 1

    def __init__(self, path: str) -> None:
        super().__init__(path)

    def __str__(self) -> str:
        return (
            f"no head at {as_printed(self.args[0])}: say --first if this witness never saw this"
            " log, otherwise bring the file back"
        )


class NotShippedError(TallystickError):
    """What waits in a spool could not be sent; it waits on."""

    code = "not_shipped"
    exit_status = 1

    def __init__(self, reason: str) -> None:
        super().__init__(reason)

    def __str__(self) -> str:
        return f"not sent, and kept in the spool: {self.args[0]}"


class PollStartMissingError(TallystickError):
    """A cluster was never polled into a store, and it was not said where to begin."""

    code = "poll_start_missing"

    def __init__(self, cluster: str) -> None:
        super().__init__(cluster)

    def __str__(self) -> str:
        return f"expected --from TIME, since cluster {self.args[0]!a} was not polled before"


class UnknownHeadSizeError(TallystickError):
    """A proof was asked from a size that the log does not have."""

    code = "size_beyond_log"

    def __init__(self, size: int, log_size: int) -> None:
        super().__init__(size, log_size)

    def __str__(self) -> str:
        size, log_size = self.args
        return f"expected a size from 0 to {log_size}, got {size}"


def _listed(names: tuple[str, ...]) -> str:
    shown = ", ".join(ascii(each) for each in names[:20])
    return f"{shown} and {len(names) - 20} more" if len(names) > 20 else shown
