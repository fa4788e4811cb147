"""Whether the receipt of a bundle follows from its leaves: computed again, byte for byte."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Final

from tallystick.evidence.bodies import SegmentDropped
from tallystick.evidence.leaf import LOG_PRODUCER
from tallystick.receipt.assemble import Case, asked_of, prepare, receipts_in
from tallystick.receipt.bundle.verify import VerifiedBundle
from tallystick.receipt.replay import Replay, compare_receipt
from tallystick.timeline.dropped import restored
from tallystick.timeline.seen import Seen
from tallystick.timeline.segments import Scanned, SegmentStatus, segment_sha256

PLACE: Final = ("log", "revision", "supersedes")
"""Where a receipt stands: it follows from the log, not from evidence and contract."""


def bundle_case(verified: VerifiedBundle) -> Case:
    """Prepare what the receipt was made from, to rate it or to ask which segments it needs."""
    return prepare(verified.evidence(), verified.contracts)


def with_dropped(verified: VerifiedBundle, case: Case, scanned: Scanned) -> tuple[Scanned, int]:
    """Let what the log recorded later stand for segments that were dropped since the receipt.

    A record answers as the segment did, if it holds every window that is asked; otherwise the
    segment stays missing.

    Args:
        verified: The bundle.
        case: As ``bundle_case`` prepares it.
        scanned: What its segments say.

    Returns:
        The answers, and how many of them the log gave.
    """
    later = _dropped_later(verified)
    answers = dict(scanned.answers)
    given = 0
    for asked in asked_of(case, verified.statement.receipt.run.id):
        digest = asked.segment.digest
        records = later.get(segment_sha256(asked.segment.body.segment), ())
        if not records or answers[digest].status is not SegmentStatus.MISSING:
            continue
        answer = restored(records, asked.windows)
        if all(window in answer.found for window in asked.windows):
            answers[digest] = answer._replace(status=SegmentStatus.READ, kept_by=())
            given += 1
    return Scanned(answers), given


def _dropped_later(verified: VerifiedBundle) -> Mapping[str, Sequence[Seen[SegmentDropped]]]:
    """Give the records of dropped segments that came after the receipt, by SHA-256."""
    found: dict[str, list[Seen[SegmentDropped]]] = defaultdict(list)
    for leaf in verified.leaves:
        record = leaf.record
        if leaf.number < verified.log.size or record.producer != LOG_PRODUCER:
            continue
        if isinstance(record.body, SegmentDropped):
            seen = Seen(record.at_us or 0, record.digest, record.body)
            found[segment_sha256(record.body.segment)].append(seen)
    return found


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
