"""Whatever a power loss leaves of the unsynced writes, a store has all that it acknowledged."""

import random
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path

import apsw
import pytest

from tallystick.app.store import OpenStore, StoreFolder, find_store, open_store
from tallystick.stores.issued_head import IssuedHead
from tallystick.stores.sqlite import SqliteStore, open_sqlite_store, rows
from tallystick.stores.sqlite.connect import _SETTINGS, connect
from tests.faults.billing import POSTING_STEPS, lay_out
from tests.faults.crash_vfs import (
    Recording,
    crash,
    moments,
    read_folder,
    recording_vfs,
    replaced,
    told,
)
from tests.faults.effort import tries
from tests.faults.promises import Promise, breaches
from tests.faults.workload import HEAD, SETTLE_LEAVES, Work, new_store, work

SESSIONS = tries(1, 8)
STATES = tries(120, 260)
LOSSES = 10
STEPS_A_SESSION = 12
CHECKPOINT_PAGES = 12
WAIT_S = 60
FILES = ("log.db", "log.db-wal", "log.db-journal")

Opener = Callable[[Path, str], SqliteStore]


class NotedHead(IssuedHead):
    """The file of the last issued head, whose changes are noted with those of the log."""

    def __init__(self, path: Path, recording: Recording) -> None:
        super().__init__(path)
        self._recording = recording

    def replace(self, note: bytes) -> None:
        """Keep a later head: it is there from one moment to the next."""
        super().replace(note)
        self._recording.note("replace", name=HEAD, data=note)


def open_durably(path: Path, vfs: str) -> SqliteStore:
    """Open the file of a store as the program does."""
    return open_sqlite_store(path, vfs=vfs)


def open_carelessly(synchronous: str) -> Opener:
    """Give what opens a store's file with fewer syncs than the program has."""

    def opener(path: Path, vfs: str) -> SqliteStore:
        def open_connection() -> apsw.Connection:
            connection = connect(path, wait_s=WAIT_S, notice=print, vfs=vfs)
            connection.execute(f"PRAGMA synchronous = {synchronous}")
            return connection

        return SqliteStore(path, open_connection, WAIT_S)

    return opener


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the write-ahead log copied back, and identities settled, many times in a session."""
    usual = "PRAGMA wal_autocheckpoint = 128"
    soon = f"PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES}"
    assert usual in _SETTINGS
    settings = tuple(soon if each == usual else each for each in _SETTINGS)
    monkeypatch.setattr("tallystick.stores.sqlite.connect._SETTINGS", settings)
    monkeypatch.setattr(rows, "SETTLE_LEAVES", SETTLE_LEAVES)


def record(
    folder: Path, name: str, opener: Opener = open_durably, promises: Iterable[Promise] = ()
) -> Recording:
    """Work on a store in two sessions, through two handles, and note what becomes of its files."""
    recording = Recording(read_folder(folder / "store", FILES))
    recording.note("replace", name=HEAD, data=(folder / HEAD).read_bytes())
    for promise in promises:
        recording.note("told", data=promise)
    with recording_vfs(recording) as vfs:
        for session in range(2):
            stores = [open_recorded(folder, recording, opener, vfs) for _ in range(2)]
            at = Work(
                stores[0], f"{name}/{session}", lambda told: recording.note("told", data=told)
            )
            for _ in islice(work(at, POSTING_STEPS), STEPS_A_SESSION):
                at.store = at.chance.choice(stores)
            for store in stores:
                store.log.close()
    return recording


def open_recorded(folder: Path, recording: Recording, opener: Opener, vfs: str) -> OpenStore:
    """Open a store so that all that happens to its files is noted."""
    found = find_store(folder / "store")
    log = opener(found.log, vfs)
    recording.note("sync_folder")  # Opening syncs the folder, but not through SQLite.
    return OpenStore(StoreFolder(found.path, NotedHead(folder / HEAD, recording)), log)


def restore(folder: Path, recording: Recording, done: int, chance: random.Random) -> None:
    """Leave in a store what a power loss after some operations may leave."""
    for name in (*FILES, "log.db-shm"):
        (folder / "store" / name).unlink(missing_ok=True)
    for name, data in crash(recording, done, chance).items():
        (folder / "store" / name).write_bytes(data)
    for name, data in replaced(recording, done).items():
        (folder / name).write_bytes(data)


def found_after(folder: Path, recording: Recording, done: int, chance: random.Random) -> list[str]:
    """Open a store after a power loss, and tell what is wrong with it."""
    restore(folder, recording, done, chance)
    try:
        with open_store(folder / "store") as store:
            return breaches(store, told(recording, done))
    except Exception as error:  # noqa: BLE001 (whatever it is, it is what a user would see)
        return [f"cannot be used: {type(error).__name__}: {error}"]


def states(recording: Recording, count: int, name: str) -> Iterator[tuple[str, int, random.Random]]:
    """Choose states to look at: each with how to see it again, its moment, and its chances."""
    chosen = moments(recording, count, random.Random(name))  # noqa: S311 (no secret)
    for place, done in enumerate(chosen):
        seed = f"{name}, state {place}"
        yield f"{seed}: after {done} operations", done, random.Random(seed)  # noqa: S311


@pytest.mark.parametrize("session", range(SESSIONS))
def test_a_power_loss_takes_nothing_that_was_acknowledged(fast_folder: Path, session: int) -> None:
    """Every state opens, is whole, has what was acknowledged, and signs on from every head."""
    new_store(fast_folder)
    lay_out(fast_folder)
    recording = record(fast_folder, f"session {session}")

    found = {
        seed: broken
        for seed, done, chance in states(recording, STATES, f"session {session}")
        if (broken := found_after(fast_folder, recording, done, chance))
    }

    assert found == {}


@pytest.mark.parametrize("session", range(SESSIONS))
def test_a_power_loss_during_recovery_takes_nothing_either(fast_folder: Path, session: int) -> None:
    """A store that went on after a power loss survives the next one in the same way."""
    new_store(fast_folder)
    lay_out(fast_folder)
    recording = record(fast_folder, f"early {session}")
    found = {}

    for early, done, chance in states(recording, LOSSES, f"early {session}"):
        restore(fast_folder, recording, done, chance)
        second = record(fast_folder, f"late {early}", promises=told(recording, done))
        for late, after, again in states(second, STATES // LOSSES, f"late {early}"):
            if broken := found_after(fast_folder, second, after, again):
                found[late] = broken

    assert found == {}


@pytest.mark.parametrize(
    ("synchronous", "faults"), [("normal", {"lost"}), ("off", {"lost", "damaged"})]
)
def test_fewer_syncs_are_found_out(fast_folder: Path, synchronous: str, faults: set[str]) -> None:
    """Without all the syncs the same states lose records, and without any they are damaged."""
    new_store(fast_folder)
    lay_out(fast_folder)
    recording = record(fast_folder, synchronous, open_carelessly(synchronous))

    found = {
        fault
        for _, done, chance in states(recording, STATES, synchronous)
        for fault in map(kind_of, found_after(fast_folder, recording, done, chance))
    }

    assert found == faults


def kind_of(breach: str) -> str:
    """Tell a record that is gone, alone or from under a head, from a file that is no database."""
    return "lost" if breach.startswith("lost") or "would fork it" in breach else "damaged"
