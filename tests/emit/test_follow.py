"""The shipper goes on by itself, and bothers nobody while it fails."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from tallystick.emit.follow import WAIT_S_MAX, pause_after, ship_on, ship_once
from tallystick.emit.post import Answer, NotSentError
from tallystick.emit.ship import Shipper
from tests.emit.spools import HOOK, files, new_spool


class Link:
    """A server that fails as often as it is told, and waits that are counted."""

    def __init__(self, failures: Sequence[NotSentError], rounds: int) -> None:
        self.failures = list(failures)
        self.rounds = rounds
        self.waits: list[float] = []
        self.said: list[str] = []
        self.sizes: list[int] = []

    def send(self, lines: Sequence[bytes]) -> list[Answer]:
        """Take a batch, or fail."""
        if self.failures:
            raise self.failures.pop(0)
        self.sizes.append(len(lines))
        return [Answer("accepted", None, None) for _ in lines]

    def wait(self, seconds: float) -> bool:
        """Count a wait; the last round ends it all."""
        self.waits.append(seconds)
        return len(self.waits) > self.rounds


def follow(spool: Path, link: Link) -> None:
    """Ship for some rounds."""
    shipper = Shipper(spool, "n1", ())
    ship_on(shipper, link.send, spool, every_s=10, wait=link.wait, say=link.said.append)


def test_a_failure_is_said_once_and_tried_again(tmp_path: Path) -> None:
    """What waits is sent when the server is back, which is said too."""
    new_spool(tmp_path / "spool").put(HOOK, {}, None)
    link = Link([NotSentError("refused"), NotSentError("refused")], rounds=3)

    follow(tmp_path / "spool", link)

    assert files(tmp_path / "spool") == []
    assert link.said == ["not sent, will try again: refused", "sent again after 2 failures"]


def test_waits_grow_while_it_fails(tmp_path: Path) -> None:
    """The first try is at once, later ones ever more slowly, and after success as asked."""
    new_spool(tmp_path / "spool")
    new_spool(tmp_path / "spool").put(HOOK, {}, None)
    link = Link([NotSentError("x", retry_after_s=7)], rounds=2)

    follow(tmp_path / "spool", link)

    assert link.waits == [0, 7, 10]


@pytest.mark.parametrize("failures", [1, 5, 16, 1000])
def test_no_wait_is_longer_than_five_minutes(failures: int) -> None:
    """However long it has failed, somebody who repaired it need not wait long."""
    assert 1 <= pause_after(failures, None) <= WAIT_S_MAX
    assert pause_after(failures, 86_400) == WAIT_S_MAX


def test_a_batch_that_is_too_large_is_halved(tmp_path: Path) -> None:
    """Until the other side takes it."""
    spool = new_spool(tmp_path / "spool")
    for number in range(6):
        spool.put(HOOK, {"n": number}, None)
    link = Link([NotSentError("x", too_large=True)] * 9, rounds=1)

    ship_once(Shipper(tmp_path / "spool", "n1", ()), link.send, lambda _: None)

    assert link.sizes == [1] * 6


def test_one_record_that_is_too_large_is_a_failure(tmp_path: Path) -> None:
    """There is nothing left to halve."""
    new_spool(tmp_path / "spool").put(HOOK, {}, None)
    link = Link([NotSentError("x", too_large=True)] * 20, rounds=1)

    with pytest.raises(NotSentError):
        ship_once(Shipper(tmp_path / "spool", "n1", ()), link.send, lambda _: None)
