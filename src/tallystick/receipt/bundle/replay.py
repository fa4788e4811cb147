"""Whether the receipt of a bundle follows from its leaves: computed again, byte for byte."""

from typing import Final

from tallystick.receipt.assemble import Case, prepare, receipts_in
from tallystick.receipt.bundle.verify import VerifiedBundle
from tallystick.receipt.replay import Replay, compare_receipt
from tallystick.timeline.segments import Scanned

PLACE: Final = ("log", "revision", "supersedes")
"""Where a receipt stands: it follows from the log, not from evidence and contract."""


def bundle_case(verified: VerifiedBundle) -> Case:
    """Prepare what the receipt was made from, to rate it or to ask which segments it needs."""
    return prepare(verified.evidence(), verified.contracts)


def replay_bundle(verified: VerifiedBundle, scanned: Scanned | None = None) -> Replay:
    """Rate the run again from the bundle alone, and compare the payloads.

    Args:
        verified: The bundle.
        scanned: What its segments say; None is that they are not read.
    """
    case = prepare(verified.evidence(), verified.contracts, scanned)
    rated = receipts_in(case, verified.statement.receipt.run.id).predicates
    if not rated:
        return compare_receipt(verified.statement, None)
    place = {name: verified.statement.predicate[name] for name in PLACE}
    return compare_receipt(verified.statement, rated[0] | place)
