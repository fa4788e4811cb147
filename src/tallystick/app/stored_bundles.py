"""Bundles made from a store: what a third party needs of one receipt, in one file."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tallystick.app.bundles import replay_verified
from tallystick.app.cycles import no_cycle_collection
from tallystick.app.errors import BundleDiffersError
from tallystick.app.files import read_file
from tallystick.app.heads import signed_head
from tallystick.app.store import OpenStore
from tallystick.app.stored_receipts import issued, stored_envelope
from tallystick.core.keys import SigningKey
from tallystick.evidence.admission import read_leaf
from tallystick.evidence.bodies import Samples
from tallystick.evidence.record import Record
from tallystick.receipt.bundle.make import BundleParts, make_bundle
from tallystick.receipt.bundle.run_leaves import Logged, leaves_of_run
from tallystick.receipt.bundle.verify import VerifiedBundle, verify_bundle
from tallystick.receipt.verify import open_receipt
from tallystick.stores.protocol import Reading
from tallystick.stores.segments import SegmentFolder
from tallystick.stores.tiles import subtree_reader
from tallystick.timeline.segments import segment_sha256
from tallystick.tree.merkle import consistency_path
from tallystick.tree.selection import selection_proof


class MadeBundle(NamedTuple):
    """A bundle that was made, and what it proves."""

    data: bytes
    verified: VerifiedBundle


def bundle_run(
    store: OpenStore, run: str, *, revision: int | None = None, keys: Sequence[SigningKey] = ()
) -> MadeBundle:
    """Put a receipt that was issued into a bundle; it is verified and replayed before it counts.

    Args:
        store: Where the receipt and its evidence are.
        run: The run.
        revision: Which receipt of the run; None is the last.
        keys: Who signs the bundle; none is the store's own key for receipts.

    Raises:
        ReceiptNotIssuedError: there is no such receipt.
        BundleDiffersError: the receipt does not follow from what the bundle would hold.
        TallystickError: the log may not be signed, or the store cannot be read.
    """
    head, note = signed_head(store)
    with store.log.reading() as log, no_cycle_collection():
        issue = issued(log, run, revision)
        envelope = stored_envelope(log, issue.payload)
        prefix = open_receipt(envelope).receipt.log
        assert prefix is not None, "a store issues no receipt without its log"
        logged = tuple(_logged(log, head.size))
        chosen = leaves_of_run(logged, run, contract=issue.contract, size=prefix.size)
        subtree = subtree_reader(log)
        parts = BundleParts(
            receipt=envelope,
            head=note,
            leaves=[(number, next(log.leaves(number, number + 1))) for number in chosen.numbers],
            proof=selection_proof(chosen.numbers, head.size, subtree),
            consistency=consistency_path(prefix.size, head.size, subtree),
            withheld=chosen.withheld,
            segments=_segments(store, logged, chosen.numbers),
        )
    data = make_bundle(parts, keys or [store.folder.signing_key("receipt")])
    trusted = [*store.folder.verify_keys(), *(key.verify_key for key in keys)]
    verified = verify_bundle(data, list(dict.fromkeys(trusted)))
    replay = replay_verified(verified).replay
    if replay.difference is not None:
        raise BundleDiffersError(run, replay.difference.path)
    return MadeBundle(data, verified)


def _logged(log: Reading, size: int) -> Iterator[Logged]:
    for number, leaf in enumerate(log.leaves(0, size)):
        record = read_leaf(leaf)
        if isinstance(record, Record):  # A later version may be stricter than the log was.
            yield Logged(number, record)


def _segments(
    store: OpenStore, logged: Sequence[Logged], numbers: Sequence[int]
) -> dict[str, bytes]:
    """Read the segments that the chosen leaves name, as far as they are still kept."""
    folder = SegmentFolder(store.folder.segments)
    chosen = set(numbers)
    named = (each.record.body for each in logged if each.number in chosen)
    wanted = {segment_sha256(body.segment) for body in named if isinstance(body, Samples)}
    return {
        sha256: read_file(str(folder.place(sha256)))
        for sha256 in sorted(wanted)
        if folder.has(sha256)
    }
