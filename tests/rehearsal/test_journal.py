"""What a job says while it runs."""

import os
from pathlib import Path

import pytest

from tallystick import emit
from tallystick.emit.progress.journal import FOLDER
from tallystick.rehearsal.journal import JournalTail


def kinds(tail: JournalTail) -> list[str]:
    """Name what is new."""
    return [record["kind"] for record in tail.read()]


def test_what_is_new_is_told_once(tmp_path: Path) -> None:
    """Steps and events of the attempt, in the order in which they were said."""
    tail = JournalTail(tmp_path, "a")
    run = emit.attach("r", spool=tmp_path, attempt="a")

    assert kinds(tail) == ["attempt.linked", "progress.started"]
    run.restored(None, 0)
    run.step(1)
    assert kinds(tail) == ["checkpoint.restored", "progress.step"]
    assert kinds(tail) == []
    run.close()


def test_other_attempts_are_not_heard(tmp_path: Path) -> None:
    """Each attempt has its own tail."""
    emit.attach("r", spool=tmp_path, attempt="another").close()

    assert kinds(JournalTail(tmp_path, "a")) == []


def test_there_may_be_nothing_yet(tmp_path: Path) -> None:
    """A job that has not begun has no journal, perhaps no spool."""
    assert kinds(JournalTail(tmp_path / "nowhere", "a")) == []


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    """Give the journal of an attempt that said that it started."""
    emit.attach("r", spool=tmp_path, attempt="a").close()
    (path,) = (tmp_path / str(os.geteuid()) / FOLDER).glob("*.journal")
    return path


def test_half_a_line_waits_for_its_end(tmp_path: Path, journal: Path) -> None:
    """It is told when it is whole."""
    tail = JournalTail(tmp_path, "a")
    tail.read()
    line = b"s 1767225600000000 86400000000 7 1\n"

    with journal.open("ab") as file:
        file.write(line[:9])
        file.flush()
        assert kinds(tail) == []
        file.write(line[9:])
    assert [record["body"]["step"] for record in tail.read()] == [7]


def test_what_is_no_line_is_passed_over(tmp_path: Path, journal: Path) -> None:
    """A torn line, a count of losses, and rubbish."""
    with journal.open("ab") as file:
        file.write(b"\n\xff\xfe\nd 3\ne 1 2 progress.started {\ns 1 2 3 4\n")

    assert kinds(JournalTail(tmp_path, "a"))[2:] == ["progress.step"]


def test_what_is_no_journal_is_passed_over(tmp_path: Path, journal: Path) -> None:
    """No header, an unfinished one, or no file at all."""
    for number, data in enumerate((b"rubbish\n", b"", b'{"journal":')):
        journal.with_name(f"{number}.journal").write_bytes(data)
    journal.with_name("folder.journal").mkdir()
    journal.with_name("link.journal").symlink_to("/nowhere")

    assert kinds(JournalTail(tmp_path, "a")) == ["attempt.linked", "progress.started"]
