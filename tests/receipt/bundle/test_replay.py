"""Replay of a bundle: the receipt follows from its own leaves and contract, or does not."""

from dataclasses import replace
from typing import Any

import pytest

from tallystick.receipt.bundle.make import make_bundle
from tallystick.receipt.bundle.replay import bundle_case, replay_bundle
from tallystick.receipt.bundle.verify import VerifiedBundle, verify_bundle
from tallystick.receipt.replay import Replay
from tests.evidence import records as r
from tests.receipt.bundle.bundles import KEYS, RECEIPTS, Log, scan, small, story

STORY, PARTS, BUNDLE = small()


def replay(verified: VerifiedBundle) -> Replay:
    """Replay a bundle with its segments read."""
    run = verified.statement.receipt.run.id
    return replay_bundle(verified, scan(bundle_case(verified), run))


def test_a_receipt_follows_from_its_bundle() -> None:
    """Nothing but the file is needed: its leaves, what they leave out, and the contract."""
    assert replay(verify_bundle(BUNDLE, KEYS)) == Replay("run", None)


def test_segments_that_are_not_read_make_a_difference() -> None:
    """They are evidence as the rest is."""
    found = replay_bundle(verify_bundle(BUNDLE, KEYS))

    assert found.difference is not None
    assert found.difference.path.startswith("$.coverage")


@pytest.mark.parametrize("run", ["run", "other"])
def test_every_run_of_a_log_can_be_bundled(run: str) -> None:
    """Each with the leaves of its own."""
    log = story()
    receipt = log.receipt(run)

    verified = verify_bundle(make_bundle(log.parts(receipt), [RECEIPTS]), KEYS)

    assert replay(verified) == Replay(run, None)


def test_a_later_revision_follows_from_its_bundle() -> None:
    """Its place in the log and among the revisions is as it states; the rest is computed."""
    log = story()
    first = log.receipt()
    log.issue(first)
    log.deliver(r.step("00:30", 9))
    second = log.receipt(before=first)
    log.issue(second)

    found = [
        replay(verify_bundle(make_bundle(log.parts(each), [RECEIPTS]), KEYS))
        for each in (first, second)
    ]

    assert [each.identical for each in found] == [True, True]


def test_a_receipt_that_says_otherwise_is_told_where() -> None:
    """Whoever signs wrong figures that add up is found out by replay."""
    log = story()
    predicate: dict[str, Any] = log.predicate("run")
    receipt = log.receipt(run="run", findings=[])
    assert predicate["findings"]

    found = replay(verify_bundle(make_bundle(log.parts(receipt), [RECEIPTS]), KEYS))

    assert found.difference is not None
    assert found.difference.path == "$.findings[0]"


def test_a_leaf_that_is_kept_back_makes_a_difference() -> None:
    """Verification cannot tell, since the rest is of the log; the receipt still follows from all.

    Only if whoever made the bundle also made the receipt without that leaf, nothing is seen.
    """
    numbers = [number for number, _ in PARTS.leaves]
    ended = next(number for number, leaf in PARTS.leaves if b'"kind":"allocation.ended"' in leaf)
    numbers.remove(ended)

    verified = verify_bundle(make_bundle(STORY.choose(PARTS, numbers), [RECEIPTS]), KEYS)

    assert not replay(verified).identical


def test_numbers_that_are_not_withheld_make_a_difference() -> None:
    """Without them the rest of the log looks lost."""
    verified = verify_bundle(make_bundle(replace(PARTS, withheld=()), [RECEIPTS]), KEYS)

    found = replay(verified)

    assert found.difference is not None
    assert found.difference.path == "$.findings[0].message"


def test_a_bundle_without_the_run_gives_nothing_to_compare() -> None:
    """The leaves are of the log, and tell of no such run."""
    log = Log()
    log.publish()
    log.deliver(r.started())
    parts = log.parts(log.receipt())

    verified = verify_bundle(make_bundle(log.choose(parts, [0]), [RECEIPTS]), KEYS)

    assert replay(verified).to_json()["path"] == "$"
