"""Disks that are full, read-only, closed to us or not ours: nothing is lost, and it is said why."""

import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import apsw
import pytest

from tallystick.app.store import OpenStore, init_store, open_store
from tallystick.core.errors import TallystickError
from tallystick.evidence.leaf import leaf_recorded
from tallystick.stores.delivery import deliver
from tallystick.stores.errors import (
    NetworkStoreError,
    NewerStoreError,
    StoreNotFoundError,
    StoreUnusableError,
    StoreWriteError,
)
from tallystick.stores.mounts import check_local
from tallystick.stores.sqlite.schema import FORMAT
from tests.app.privileges import NOBODY, as_nobody
from tests.faults.billing import add, lay_out
from tests.faults.forking import ROOT
from tests.faults.promises import Promise, breaches
from tests.faults.workload import HEAD, ORIGIN, Work, admit, batch, new_store, sign

HOUR_US = 3_600_000_000
NOW_US = 1_767_225_600_000_000
DISK_BYTES = 2 << 20


def store_in(folder: Path) -> Path:
    """Make a store."""
    new_store(folder)
    return folder / "store"


def work_until_it_fails(store: OpenStore, promises: list[Promise]) -> StoreWriteError:
    """Admit and sign until the disk takes no more; what was acknowledged is in ``promises``."""
    at = Work(store, "until", promises.append)

    def work() -> None:
        for step in [admit, admit, sign] * 10_000:
            step(at)

    with pytest.raises(StoreWriteError) as failed:
        work()
    return failed.value


# -- full disks ----------------------------------------------------------------------------


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Mount a small file system in memory, which only root can."""
    if os.geteuid() != 0 or shutil.which("mount") is None:
        pytest.skip("expected root, who may mount a small disk")
    disk = tmp_path / "disk"
    disk.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "tmpfs", str(disk)]
    if subprocess.run(command, capture_output=True, check=False).returncode != 0:
        pytest.skip("expected to be allowed to mount a small disk")
    yield disk
    subprocess.run(["umount", "--lazy", str(disk)], check=True)  # What failed may still hold it.


def fill(disk: Path) -> Path:
    """Take all the space that is left."""
    filler = disk / "filler"
    with suppress(OSError), filler.open("wb", buffering=0) as stream:
        while True:
            stream.write(bytes(4096))
    return filler


def test_a_full_disk_takes_nothing_away(small_disk: Path) -> None:
    """The store says that it cannot write, keeps what it acknowledged, and goes on with space."""
    path = store_in(small_disk)
    filler = small_disk / "filler"
    filler.write_bytes(bytes(DISK_BYTES // 2))
    promises: list[Promise] = []

    with open_store(path) as store:
        error = work_until_it_fails(store, promises)
        with pytest.raises(StoreWriteError, match="open the store again"):
            admit(Work(store, "after", promises.append))
    filler.unlink()

    assert "full" in str(error)
    assert promises
    with open_store(path) as store:
        admit(Work(store, "with space", promises.append))
        assert breaches(store, promises) == []


def test_a_store_on_a_full_disk_is_opened_again_when_there_is_space(small_disk: Path) -> None:
    """Without any space left it cannot be opened, which is said; then everything is there."""
    path = store_in(small_disk)
    with open_store(path) as store:
        admit(Work(store, "before", lambda _: None))
        with store.log.reading() as log:
            before = list(log.leaves(0, log.size))
    filler = fill(small_disk)
    with pytest.raises(StoreUnusableError) as refused, open_store(path):
        pass
    filler.unlink()

    with open_store(path) as store, store.log.reading() as log:
        after = list(log.leaves(0, log.size))

    assert after == before
    assert refused.value.code == "store_unusable"


def test_a_head_that_finds_no_space_is_not_issued(small_disk: Path, tmp_path: Path) -> None:
    """Where the head's disk is full the last head stays, none is given, and none forks later."""
    init_store(tmp_path / "store", ORIGIN, small_disk / HEAD)
    promises: list[Promise] = []
    with open_store(tmp_path / "store") as store:
        at = Work(store, "heads", promises.append)
        admit(at)
        sign(at)
        admit(at)
        before = store.folder.issued.read()
        filler = fill(small_disk)

        with pytest.raises(StoreUnusableError, match="no space left"):
            store.issue_head()

        assert store.folder.issued.read() == before
        with store.log.reading() as log:
            assert [document.data for document in log.documents("head")] == [before]
        filler.unlink()
        assert breaches(store, promises) == []


def test_a_store_is_not_made_on_a_full_disk(small_disk: Path) -> None:
    """There is a store or there is none, and what is there of it is said to be none."""
    fill(small_disk)

    with pytest.raises(TallystickError):
        init_store(small_disk / "store", ORIGIN)

    with pytest.raises(StoreNotFoundError), open_store(small_disk / "store"):
        pass


@contextmanager
def file_size_limit(size: int) -> Iterator[None]:
    """Let no file of this process grow beyond a size."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_limit_of_file_size_takes_nothing_away(fast_folder: Path) -> None:
    """A process that may write no larger files stops, and what it acknowledged is there."""
    path = store_in(fast_folder)
    promises: list[Promise] = []

    with open_store(path) as store, file_size_limit(1 << 20):
        work_until_it_fails(store, promises)

    assert promises
    with open_store(path) as store:
        assert breaches(store, promises) == []


# -- closed, read-only, foreign ------------------------------------------------------------


def test_a_store_on_a_read_only_disk_is_refused(small_disk: Path) -> None:
    """It is not opened, since it could not be written to; nothing in it changes."""
    path = store_in(small_disk)
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)

    with pytest.raises(StoreUnusableError), open_store(path):
        pass

    subprocess.run(["mount", "-o", "remount,rw", str(small_disk)], check=True)
    with open_store(path) as store:
        assert breaches(store, []) == []


@pytest.fixture
def nobodys(fast_folder: Path) -> Path:
    """Make a store that belongs to the user as whom the tests of permissions look at it."""
    fast_folder.chmod(0o755)
    store_in(fast_folder)
    lay_out(fast_folder)
    if os.geteuid() == 0:
        os.chown(fast_folder, NOBODY, NOBODY)
        for path in fast_folder.rglob("*"):
            os.chown(path, NOBODY, NOBODY)
    return fast_folder


@contextmanager
def mode_of(path: Path, mode: int) -> Iterator[None]:
    """Have a file or folder closed for the length of a block."""
    before = path.stat().st_mode
    path.chmod(mode)
    try:
        yield
    finally:
        path.chmod(before)


@pytest.mark.parametrize(
    ("name", "mode", "code"),
    [
        ("store", 0o000, "unreadable_file"),
        ("store", 0o500, "store_unusable"),
        ("store/store.toml", 0o000, "unreadable_file"),
        ("store/log.db", 0o000, "store_unusable"),
        ("store/log.db", 0o400, "store_unusable"),
        ("store/keys", 0o000, "unreadable_file"),
        ("store/keys/log.key", 0o000, "unreadable_file"),
        ("store/keys/log.key.vkey", 0o000, "unreadable_file"),
        ("store/segments", 0o500, "store_write_failed"),
        ("store.head", 0o000, "store_unusable"),
        (".", 0o500, "store_unusable"),
    ],
)
def test_what_is_closed_to_us_is_named(nobodys: Path, name: str, mode: int, code: str) -> None:
    """Closed files end the work with one of our errors, and what was acknowledged is there."""
    promises: list[Promise] = []

    def work() -> None:
        with open_store(nobodys / "store") as store:
            at = Work(store, "closed", promises.append)
            for step in (admit, sign, add):
                step(at)

    with as_nobody(), mode_of(nobodys / name, mode), pytest.raises(TallystickError) as refused:
        work()

    assert refused.value.code == code
    assert name.partition("/")[0].strip(".") in str(refused.value)
    with as_nobody(), open_store(nobodys / "store") as store:
        assert breaches(store, promises) == []


def test_a_store_of_a_later_version_is_refused(fast_folder: Path) -> None:
    """What a later version wrote is not touched."""
    path = store_in(fast_folder)
    connection = apsw.Connection(str(path / "log.db"))
    connection.execute(f"PRAGMA user_version = {FORMAT + 1}")
    connection.close()

    with pytest.raises(NewerStoreError), open_store(path):
        pass


def test_a_store_on_a_network_disk_is_refused(tmp_path: Path) -> None:
    """Locks and syncs of such a file system cannot be relied on."""
    mounts = tmp_path / "mountinfo"
    mounts.write_text(
        "22 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw\n"
        f"40 22 0:39 / {tmp_path.resolve()} rw - nfs4 server:/export rw\n",
        encoding="utf-8",
    )

    with pytest.raises(NetworkStoreError, match="nfs4"):
        check_local(tmp_path, mounts)


# -- clocks --------------------------------------------------------------------------------


def test_a_clock_that_steps_back_changes_no_order(fast_folder: Path) -> None:
    """Leaves are numbered as they come, whatever the time, and each head goes on from the last."""
    path = store_in(fast_folder)
    heads = []
    leaves: list[int | None] = []

    with open_store(path) as store:
        for number, hours in enumerate((5, 3, 4, 0)):
            lines = batch("clock", number)
            answers = deliver(store.log, lines, lambda: NOW_US + hours * HOUR_US)  # noqa: B023
            leaves += [answer.leaf for answer in answers]
            heads.append(Promise("head", store.issue_head().decode()))
        broken = breaches(store, heads)

    assert leaves == list(range(len(leaves)))
    assert broken == []


@pytest.mark.skipif(
    shutil.which("faketime") is None, reason="expected faketime, which moves clocks"
)
def test_a_machine_whose_clock_is_put_back_goes_on(fast_folder: Path) -> None:
    """A process of a quarter of a century ago admits and signs after one of today."""
    path = store_in(fast_folder)
    script = (
        "import sys, pathlib\n"
        "from tallystick.app.admit import clock_us\n"
        "from tallystick.app.store import open_store\n"
        "from tallystick.stores.delivery import deliver\n"
        "from tests.faults.workload import batch\n"
        "with open_store(pathlib.Path(sys.argv[1])) as store:\n"
        "    deliver(store.log, batch('faketime', int(sys.argv[2])), clock_us)\n"
        "    sys.stdout.buffer.write(store.issue_head())\n"
    )
    heads = []

    for number, moved in enumerate(([], ["faketime", "2001-01-01 00:00:00"])):
        command = [*moved, sys.executable, "-c", script, str(path), str(number)]
        note = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
        heads.append(Promise("head", note))

    with open_store(path) as store, store.log.reading() as log:
        times = [leaf_recorded(leaf)[:4] for leaf in log.leaves(0, log.size)]
        assert times == sorted(times, reverse=True)
        assert times[-1] == "2001"
        assert breaches(store, heads) == []
