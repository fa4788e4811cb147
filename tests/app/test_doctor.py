"""Whether a store is whole: a clean one is, and each damage is named."""

import shutil
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from tallystick.app.admit import clock_us
from tallystick.app.doctor import Checkup, check_store
from tallystick.app.runs import find_run, list_runs
from tallystick.app.store import open_store
from tallystick.app.stored_receipts import issue_receipt
from tallystick.app.stored_segments import add_segments
from tallystick.core.errors import TallystickError
from tallystick.stores.delivery import deliver
from tests.app.stores import RUN, new_store, tell, told_store
from tests.app.test_stored_segments import METRIC, MINUTE_US, segment_file
from tests.evidence.records import as_line, ended, numbered, started, step


def filled(folder: Path) -> Path:
    """Make a store that has something of everything, and give its folder."""
    with told_store(folder) as store:
        add_segments(store, [segment_file(folder)], metric=METRIC, cadence_us=MINUTE_US)
        tell(store, *(step(f"{n // 60:02}:{n % 60:02}", n) for n in range(600)))
        issue_receipt(store, RUN)
        store.issue_head()
    return folder / "store"


def checked(path: Path) -> Checkup:
    """Check a store."""
    with open_store(path) as store:
        return check_store(store)


def change(path: Path, statement: str) -> None:
    """Change a store's file as somebody would who drops the triggers first."""
    connection = apsw.Connection(str(path / "log.db"))
    for (name,) in connection.execute(
        "SELECT name FROM sqlite_schema WHERE type = 'trigger'"
    ).fetchall():
        connection.execute(f"DROP TRIGGER {name}")
    connection.execute(statement)
    connection.close()


def test_a_whole_store_is_clean(tmp_path: Path) -> None:
    """Everything is read and computed again, and nothing is wrong."""
    found = checked(filled(tmp_path))

    assert (found.damages, found.remarks) == ((), ())
    assert found.to_json()["clean"] is True
    assert found.size == 605


def flipped(column: str, at: int) -> str:
    """Write a column with one byte changed."""
    return f"CAST(substr({column}, 1, {at}) || x'00' || substr({column}, {at} + 2) AS BLOB)"


# ruff: noqa: S608 (the statements are ours)
DAMAGES: dict[str, tuple[str, str]] = {
    "a byte of a leaf": (
        f"UPDATE batch SET leaves = {flipped('leaves', 40)} WHERE first = 3",
        "leaf 3 is not the one that was admitted",
    ),
    "a leaf hash": (
        f"UPDATE batch SET hashes = {flipped('hashes', 4)} WHERE first = 3",
        "leaf 3 is not the one that was admitted",
    ),
    "the key of an identity": (
        f"UPDATE batch SET keys = {flipped('keys', 4)} WHERE first = 3",
        "leaf 3 is not found by the identity of its record",
    ),
    "a node of the tree": (
        "UPDATE document SET data = zeroblob(32) WHERE shelf = 'node' AND key = '1/0'",
        "node 1/0 of the tree is not that of its leaves",
    ),
    "a signed head": (
        "UPDATE document SET data = CAST('no head' AS BLOB) WHERE shelf = 'head'",
        "is not one of this log",
    ),
    "a receipt": (
        f"UPDATE document SET data = {flipped('data', 99)} WHERE shelf = 'receipt'",
        "",
    ),
    "a receipt that is gone": ("DELETE FROM document WHERE shelf = 'receipt'", "is gone"),
    "an entry": (
        "UPDATE document SET data = CAST(replace(CAST(data AS TEXT), '2.94', '9.99') AS BLOB)",
        "is not what its receipt posts",
    ),
    "an entry that is gone": ("DELETE FROM document WHERE shelf = 'entry'", "is not posted"),
    "the last leaves": ("DELETE FROM batch WHERE first > 100", ""),
}


@pytest.mark.parametrize("harm", DAMAGES)
def test_a_damage_is_named(harm: str, tmp_path: Path) -> None:
    """Whatever was changed in the file is found, and nothing crashes."""
    path = filled(tmp_path)
    statement, expected = DAMAGES[harm]
    change(path, statement)

    found = checked(path)

    assert found.damages
    assert any(expected in said for _, said in found.damages), found.damages


def unreadable_key(path: Path) -> None:
    """Let others read a private key."""
    (path / "keys" / "log.key").chmod(0o644)


def open_folder(path: Path) -> None:
    """Let others write to the store."""
    path.chmod(0o777)


def no_head(path: Path) -> None:
    """Lose the head that was issued."""
    path.with_name("store.head").unlink()


def no_segment(path: Path) -> None:
    """Lose a segment."""
    next((path / "segments").iterdir()).unlink()


def altered_segment(path: Path) -> None:
    """Change a segment."""
    next((path / "segments").iterdir()).write_bytes(b"PAR1")


HARMS: dict[str, tuple[Callable[[Path], None], str]] = {
    "permissions": (unreadable_key, "others may read the private file log.key"),
    "folder": (open_folder, "others may write to store"),
    "head": (no_head, "no last issued head"),
    "segment": (no_segment, "is missing"),
    "altered": (altered_segment, "was altered"),
}


@pytest.mark.parametrize("harm", HARMS)
def test_what_lies_beside_the_log_is_checked_too(harm: str, tmp_path: Path) -> None:
    """Keys, the head that is kept apart, segments."""
    path = filled(tmp_path)
    act, expected = HARMS[harm]
    act(path)

    found = checked(path)

    assert any(expected in said for _, said in found.damages), found.damages


def test_a_store_from_a_backup_is_behind(tmp_path: Path) -> None:
    """The head that was issued since is not in it, and it does not sign."""
    with told_store(tmp_path) as store:
        store.issue_head()
    shutil.copytree(tmp_path / "store", tmp_path / "backup")
    with open_store(tmp_path / "store") as store:
        tell(store, step("00:10", 1))
        store.issue_head()
    shutil.rmtree(tmp_path / "store")
    shutil.copytree(tmp_path / "backup", tmp_path / "store")

    found = checked(tmp_path / "store")

    assert [check for check, _ in found.damages] == ["heads"]
    with open_store(tmp_path / "store") as store, pytest.raises(TallystickError) as refused:
        store.issue_head()
    assert refused.value.code == "store_behind_head"


def test_remarks_are_no_damage(tmp_path: Path) -> None:
    """A clock that stepped back, numbers that never came, files that nobody named."""
    times = iter([2_000_000, 1_000_000, clock_us()])
    with new_store(tmp_path) as store:
        for line in (numbered(started(), 1), numbered(ended(), 3), step("00:10", 1)):
            deliver(store.log, [as_line(line)], lambda: next(times))
        (store.folder.segments / f"{'0' * 64}.parquet").touch()
        (store.folder.segments / ".adding.x").touch()
        found = check_store(store)

    assert found.damages == ()
    checks = ["clock", "sequence", "clock", "segments", "segments"]
    assert [check for check, _ in found.remarks] == checks


def test_runs_are_listed_with_their_attempts_and_receipts(tmp_path: Path) -> None:
    """Before any contract, and after a receipt was issued."""
    with told_store(tmp_path) as store:
        tell(store, started(attempt="b", run="another"))
        issue_receipt(store, RUN)

        runs = list_runs(store)
        one = find_run(store, RUN)

    assert [each.run for each in runs] == ["another", RUN]
    assert [attempt.key for attempt in one.attempts] == ["a"]
    assert one.records == {"allocation.ended": 1, "allocation.started": 1}
    assert [issue.revision for issue in one.issues] == [1]
