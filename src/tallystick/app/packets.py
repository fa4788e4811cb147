"""Recovery packets, checked by whoever has their folder: computed again from both bundles."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from tallystick.app.bundles import replay_verified, verify_bundle_file
from tallystick.app.errors import BadPacketError, PacketDiffersError
from tallystick.app.files import read_file
from tallystick.evidence.leaf import leaf_record
from tallystick.receipt.bundle.contents import leaves_before
from tallystick.receipt.bundle.verify import VerifiedBundle
from tallystick.rehearsal.packet import SCHEMA, packet_files, recovery_packet

BUNDLE: Final = "interrupted.bundle"
TWIN_BUNDLE: Final = "uninterrupted.bundle"
_PACKET_BYTES_MAX: Final = 64 << 20


class CheckedPacket(NamedTuple):
    """A packet that follows from its bundles, and the files that say so."""

    packet: dict[str, Any]
    files: tuple[str, ...]


def verify_packet(folder: Path, keys: Sequence[str]) -> CheckedPacket:
    """Verify both bundles, compute both receipts and the packet again, and compare every byte.

    Args:
        folder: What a rehearsal left.
        keys: Public keys that are trusted.

    Raises:
        VerificationError: a bundle does not hold.
        PacketDiffersError: a receipt or a file of the packet is not what follows.
        TallystickError: a file cannot be read.
    """
    names = [BUNDLE, *([TWIN_BUNDLE] if (folder / TWIN_BUNDLE).exists() else [])]
    bundles = []
    for name in names:
        verified = verify_bundle_file(str(folder / name), keys)
        if not replay_verified(verified).replay.identical:
            raise PacketDiffersError(str(folder / name))
        bundles.append(verified)
    packet = packet_of(bundles)
    for name, data in packet_files(packet).items():
        path = str(folder / name)
        if read_file(path, bytes_max=_PACKET_BYTES_MAX) != data:
            raise PacketDiffersError(path)
        names.append(name)
    return CheckedPacket(packet, tuple(names))


def read_packet(folder: Path) -> dict[str, Any]:
    """Read the packet of a folder, without verifying anything.

    Raises:
        UnreadableFileError: it cannot be read.
        BadPacketError: it is none.
    """
    path = str(folder / "packet.json")
    try:
        packet = msgspec.json.decode(read_file(path, bytes_max=_PACKET_BYTES_MAX))
        if packet["schema"] != SCHEMA:
            raise BadPacketError(path, f"expected schema {SCHEMA}")
        packet_files(packet)
    except (
        msgspec.DecodeError,
        LookupError,
        TypeError,
        ValueError,
        AttributeError,
        RecursionError,
    ) as error:
        raise BadPacketError(path, "expected what a rehearsal writes") from error
    return packet  # type: ignore[no-any-return]


def packet_of(bundles: Sequence[VerifiedBundle]) -> dict[str, Any]:
    """Make the packet of the first of some bundles; the others have the runs beside it."""
    receipts = {each.statement.receipt.run.id: each.statement.predicate for each in bundles}
    run = bundles[0].statement.receipt.run.id
    return recovery_packet(run, receipts, _records(bundles))


def _records(bundles: Iterable[VerifiedBundle]) -> Iterable[dict[str, Any]]:
    for bundle in bundles:
        for leaf in leaves_before(bundle.leaves, bundle.log.size):
            yield msgspec.json.decode(leaf_record(leaf.data))
