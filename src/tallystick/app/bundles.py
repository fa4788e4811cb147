"""Bundles: verified and computed again, without the store that they came from."""

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from tallystick.app.cycles import no_cycle_collection
from tallystick.app.files import read_file
from tallystick.app.keys import load_verify_keys
from tallystick.receipt.assemble import asked_of
from tallystick.receipt.bundle.container import BUNDLE_BYTES_MAX
from tallystick.receipt.bundle.replay import bundle_case, replay_bundle, with_dropped
from tallystick.receipt.bundle.verify import VerifiedBundle, open_bundle, verify_bundle
from tallystick.receipt.replay import Replay
from tallystick.timeline.segments import Scanned


class ReplayedBundle(NamedTuple):
    """Whether a bundle gives its receipt, and for how many segments the log's record stood."""

    replay: Replay
    recorded: int


MAGIC: Final = b"PK\x03\x04"


def is_bundle(path: str) -> bool:
    """Tell whether a file is a bundle rather than a receipt, by how it begins.

    Raises:
        UnreadableFileError: it cannot be read.
    """
    return path != "-" and read_file(path, bytes_max=len(MAGIC)) == MAGIC


def verify_bundle_file(path: str, keys: Sequence[str]) -> VerifiedBundle:
    """Verify a bundle against public keys.

    Raises:
        VerificationError: a step of ``verify_bundle`` fails.
        TallystickError: a file cannot be read, or is no key.
    """
    with no_cycle_collection():
        return verify_bundle(_read(path), load_verify_keys(keys))


def replay_bundle_file(path: str, keys: Sequence[str]) -> ReplayedBundle:
    """Compute the receipt of a bundle again; its signatures are checked if there are keys.

    Raises:
        VerificationError: the bundle itself does not hold.
        TallystickError: a file cannot be read, or is no key.
    """
    with no_cycle_collection():
        trusted = load_verify_keys(keys)
        opened = verify_bundle(_read(path), trusted) if trusted else open_bundle(_read(path))
    return replay_verified(opened)


def replay_verified(verified: VerifiedBundle) -> ReplayedBundle:
    """Compute the receipt of a bundle again, from nothing but the bundle."""
    with no_cycle_collection():
        case = bundle_case(verified)
        run = verified.statement.receipt.run.id
        if not asked_of(case, run):
            return ReplayedBundle(replay_bundle(verified, Scanned({})), 0)
        from tallystick.app.segment_scan import scan_case  # noqa: PLC0415 (it loads Arrow)

        with _segment_files(verified) as files:
            scanned = scan_case(case, files.get, run=run, checked=files)
        answered, given = with_dropped(verified, case, scanned)
        return ReplayedBundle(replay_bundle(verified, answered), given)


def _read(path: str) -> bytes:
    return read_file(path, bytes_max=BUNDLE_BYTES_MAX + 1)


@contextmanager
def _segment_files(verified: VerifiedBundle) -> Iterator[dict[str, Path]]:
    """Lay the segments of a bundle out as files, which is how they are read."""
    with tempfile.TemporaryDirectory(prefix="tallystick-") as folder:
        files = {}
        for sha256, data in verified.segments.items():
            files[sha256] = Path(folder) / sha256
            files[sha256].write_bytes(data)
        yield files
