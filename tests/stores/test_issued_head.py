"""The last issued head: kept apart, replaced whole, never made anew, by one at a time."""

import errno
import os
import stat
from pathlib import Path

import pytest

from tallystick.stores.errors import HeadMissingError, StoreExistsError, StoreUnusableError
from tallystick.stores.issued_head import HEAD_BYTES_MAX, IssuedHead
from tests.app.privileges import as_nobody
from tests.stores.writers import is_locked


@pytest.fixture
def issued(tmp_path: Path) -> IssuedHead:
    """Give a file that keeps a first head."""
    head = IssuedHead(tmp_path / "store.head")
    head.create(b"first")
    return head


def test_the_first_head_is_kept(issued: IssuedHead) -> None:
    """Byte for byte, for its owner only."""
    assert issued.read() == b"first"
    assert stat.S_IMODE(issued.path.stat().st_mode) == 0o600


def test_a_head_is_never_made_anew(issued: IssuedHead) -> None:
    """What another log keeps there stays."""
    with pytest.raises(StoreExistsError) as refused:
        issued.create(b"another")

    assert refused.value.args[0] == str(issued.path)
    assert issued.read() == b"first"
    assert not is_locked(issued)


def test_a_later_head_takes_the_place_of_the_one_before(issued: IssuedHead) -> None:
    """Nothing of the longer one is left."""
    with issued.locked():
        issued.replace(b"2")

    assert issued.read() == b"2"
    assert sorted(each.name for each in issued.path.parent.iterdir()) == [
        "store.head",
        "store.head.lock",
    ]


def test_what_a_crash_left_is_written_over(issued: IssuedHead) -> None:
    """A draft that was not finished means nothing."""
    issued.path.with_name("store.head.new").write_bytes(b"a draft that is longer")

    with issued.locked():
        issued.replace(b"second")

    assert issued.read() == b"second"


def test_a_head_that_is_gone_is_missed(issued: IssuedHead) -> None:
    """A person has to bring it back."""
    issued.path.unlink()

    with pytest.raises(HeadMissingError) as refused:
        issued.read()

    assert refused.value.args == (str(issued.path),)


def test_a_folder_is_no_head(tmp_path: Path) -> None:
    """It cannot be read."""
    with pytest.raises(StoreUnusableError):
        IssuedHead(tmp_path).read()


def test_a_head_that_may_not_be_read_is_not_missing(issued: IssuedHead) -> None:
    """It cannot be read, which is something else."""
    with as_nobody(), pytest.raises(StoreUnusableError):
        issued.read()


def test_no_more_is_read_than_a_head_can_have(issued: IssuedHead) -> None:
    """What is larger is none, as its reader finds out."""
    issued.path.write_bytes(b"x" * (HEAD_BYTES_MAX + 1))

    assert len(issued.read()) == HEAD_BYTES_MAX


@pytest.mark.parametrize("place", ["absent/store.head", "store.head/store.head"])
def test_a_head_is_not_kept_where_there_is_no_folder(issued: IssuedHead, place: str) -> None:
    """Not even its lock can be made."""
    with pytest.raises(StoreUnusableError):
        IssuedHead(issued.path.parent / place).create(b"first")


@pytest.mark.parametrize("failing", ["fsync", "open"])
def test_a_head_that_cannot_be_written_leaves_the_one_before(
    issued: IssuedHead, monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    """And no draft."""

    def fail(*_: object) -> int:
        raise OSError(errno.EIO, "Input/output error")

    with issued.locked(), monkeypatch.context() as patch:
        patch.setattr(os, failing, fail)
        with pytest.raises(StoreUnusableError) as refused:
            issued.replace(b"second")

    assert refused.value.args == (str(issued.path), "input/output error")
    assert issued.read() == b"first"
    assert not issued.path.with_name("store.head.new").exists()


def test_a_head_whose_folder_cannot_be_synced_is_not_known_to_be_kept(
    issued: IssuedHead, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It took its place, and may be gone after a power loss: nobody is to be given it."""
    calls = iter([None, OSError(errno.EIO, "Input/output error")])

    def fail_second(_: int) -> None:
        error = next(calls)
        if error is not None:
            raise error

    with issued.locked(), monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fail_second)
        with pytest.raises(StoreUnusableError):
            issued.replace(b"second")

    assert issued.read() == b"second"


def test_one_issues_at_a_time(issued: IssuedHead) -> None:
    """The lock is held while the block lasts, and let go of at its end."""
    with issued.locked():
        during = is_locked(issued)

    assert during
    assert not is_locked(issued)


def test_an_error_lets_go_of_the_lock(issued: IssuedHead) -> None:
    """Others go on."""
    with pytest.raises(ZeroDivisionError), issued.locked():
        raise ZeroDivisionError

    assert not is_locked(issued)
