"""Whose log it is: by the reader's own keys, and by the changes that lead on from them."""

from typing import Any

import pytest

from tallystick.core.keys import SigningKey, VerifyKey
from tallystick.receipt.bundle.contents import BundleLeaf
from tallystick.receipt.bundle.errors import UntrustedHeadError
from tallystick.receipt.bundle.log_head import check_head, keys_of_log
from tallystick.receipt.reader import LogPrefix
from tallystick.tree.head import sign_head
from tallystick.tree.rotation import sign_rotation
from tallystick.tree.spelling import base64_text
from tests.evidence import records as r
from tests.receipt.bundle.bundles import LOG, NEXT_LOG, STRANGER, Log, record_of

THIRD = SigningKey(LOG.name, bytes([5]) * 32)
A, B, C = (key.verify_key for key in (LOG, NEXT_LOG, THIRD))


def leaves_of(log: Log) -> list[BundleLeaf]:
    """Give the leaves of a log."""
    return [BundleLeaf(number, leaf, record_of(leaf)) for number, leaf in enumerate(log.leaves())]


def rotated_twice() -> Log:
    """Log two changes of the key, and one of a key that is not the log's."""
    log = Log()
    log.rotate(LOG, NEXT_LOG)
    log.rotate(STRANGER, SigningKey(STRANGER.name, bytes([6]) * 32))
    log.rotate(NEXT_LOG, THIRD)
    return log


@pytest.mark.parametrize(
    ("known", "expected"),
    [((A,), (A, B, C)), ((B,), (B, C)), ((C,), (C,)), ((C, A), (C, A, B))],
)
def test_changes_are_followed_from_a_key_of_the_reader(
    known: tuple[VerifyKey, ...], expected: tuple[VerifyKey, ...]
) -> None:
    """From whichever of them the reader has; of a key that was never trusted nothing follows."""
    assert keys_of_log(leaves_of(rotated_twice()), known) == expected


def test_a_change_that_the_old_key_did_not_sign_is_refused() -> None:
    """One that names a key of the reader has to hold, or the log is not believed."""
    log = Log()
    forged = sign_rotation(SigningKey(LOG.name, bytes([7]) * 32), B, 0)
    lines = {"old": LOG_LINE, "new": NEXT_LINE}
    log.say("key.rotated", **lines, size=0, signature=forged)

    with pytest.raises(UntrustedHeadError):
        keys_of_log(leaves_of(log), [A])


def _lines() -> tuple[str, str]:
    log = Log()
    log.rotate()
    body: Any = record_of(log.leaves()[0]).body
    return body["old"], body["new"]


LOG_LINE, NEXT_LINE = _lines()


def test_a_change_of_another_form_is_refused() -> None:
    """What the log says of its keys has a form."""
    log = Log()
    log.say("key.rotated", old=LOG_LINE)

    with pytest.raises(UntrustedHeadError) as refused:
        keys_of_log(leaves_of(log), [A])

    assert "leaf 0" in str(refused.value)


def test_another_producer_changes_no_key() -> None:
    """Only the log itself names its next key."""
    log = Log()
    log.deliver(r.record("key.rotated", None, {"old": LOG_LINE}))

    assert keys_of_log(leaves_of(log), [A]) == (A,)


def test_a_head_is_the_one_that_is_stated() -> None:
    """Origin, size and root are compared, none is believed by itself."""
    log = rotated_twice()
    head = log.head()
    note = sign_head(head, [LOG])
    stated = LogPrefix(head.origin, head.size, base64_text(head.root))

    assert check_head(note, [A], stated).head == head
    for other in (
        LogPrefix("x", head.size, stated.root),
        LogPrefix(head.origin, 2, stated.root),
        LogPrefix(head.origin, head.size, base64_text(bytes(32))),
    ):
        with pytest.raises(UntrustedHeadError):
            check_head(note, [A], other)
