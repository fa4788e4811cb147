"""Tests for the way of journals home: their lines become records, and they go when all is told."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallystick.app.ship import store_sender
from tallystick.emit.post import Answer, NotSentError
from tallystick.emit.progress.journal import Journal
from tallystick.emit.progress.lines import Header, event_line
from tallystick.emit.ship import DENIED, Shipper
from tallystick.emit.slurm.held import Held, held_file, write_held
from tallystick.emit.spool import Spool, make_spool
from tests.app.stores import new_store
from tests.emit.progress.jobs import new_run
from tests.emit.spools import aside, ship

HEADER = Header("a", "job/0@n1", "boot", "w")


class Log:
    """Answers lines, mostly with ``accepted``, and remembers them."""

    def __init__(self, **answers: Answer) -> None:
        self.lines: list[dict[str, Any]] = []
        self._answers = answers

    def send(self, lines: Sequence[bytes]) -> list[Answer]:
        """Take a batch."""
        records = [json.loads(line) for line in lines]
        self.lines += records
        return [
            self._answers.get(f"step{each['body'].get('step')}", Answer("accepted", None, None))
            for each in records
        ]

    @property
    def steps(self) -> list[int]:
        """Give the steps that were told."""
        return [each["body"]["step"] for each in self.lines if each["kind"] == "progress.step"]

    @property
    def troubles(self) -> list[str]:
        """Give what was said of files that are none."""
        return [
            each["body"]["reason"] for each in self.lines if each["kind"] == "spool.quarantined"
        ]


def journals(spool: Path) -> list[Path]:
    """Give the journals of the caller."""
    return sorted((spool / str(os.geteuid()) / "progress").glob("*.journal"))


def finished(spool: Path, *numbers: int) -> Path:
    """Leave the journal of a job that is over, and give its place."""
    run = new_run(spool)
    for step in numbers:
        run.step(step)
    run.close()
    return journals(spool)[-1]


def test_a_finished_journal_is_told_and_goes(tmp_path: Path) -> None:
    """Into a real store, each line as a record that the log admits."""
    with new_store(tmp_path) as store:
        finished(tmp_path / "spool", 1, 2, 3)

        shipped = ship(tmp_path / "spool", store_sender(store.log))

    assert shipped.counts == {"accepted": 5}
    assert list((tmp_path / "spool" / str(os.geteuid()) / "progress").iterdir()) == []


def test_a_journal_that_grows_is_told_bit_by_bit(tmp_path: Path) -> None:
    """No line is sent again, and the file stays while its writer lives."""
    log, run = Log(), new_run(tmp_path)

    for step in (1, 2, 3):
        run.step(step)
        ship(tmp_path, log.send)

    assert log.steps == [1, 2, 3]
    assert len(journals(tmp_path)) == 1
    run.close()


def test_nothing_is_told_twice_but_what_was_not_answered(tmp_path: Path) -> None:
    """A server that cannot be reached costs one more delivery."""
    finished(tmp_path, 1, 2)

    def fail(_: Sequence[bytes]) -> list[Answer]:
        raise NotSentError("connection refused")

    with pytest.raises(NotSentError):
        ship(tmp_path, fail)
    log = Log()
    ship(tmp_path, log.send)

    assert log.steps == [1, 2]


def test_a_lost_place_costs_one_more_delivery(tmp_path: Path) -> None:
    """How far a journal was told is no treasure."""
    log, run = Log(), new_run(tmp_path)
    run.step(1)
    ship(tmp_path, log.send)

    for place in (tmp_path / str(os.geteuid()) / "progress").glob("*.told"):
        place.write_bytes(b"nonsense")
    ship(tmp_path, log.send)

    assert log.steps == [1, 1]
    run.close()


def test_a_line_that_is_still_being_written_waits(tmp_path: Path) -> None:
    """Half a line is none."""
    make_spool(tmp_path)
    log = Log()
    journal = Journal(Spool(tmp_path, "job/0@n1").path, HEADER)
    journal.write(b"s 5 5 1 1\ns 6 6 2")

    ship(tmp_path, log.send)
    journal.write(b" 1\n")
    ship(tmp_path, log.send)

    assert log.steps == [1, 2]
    journal.close()


def test_half_a_line_of_a_writer_that_is_gone_goes_with_its_journal(tmp_path: Path) -> None:
    """The call that wrote it never returned."""
    log, path = Log(), finished(tmp_path, 1)
    with path.open("ab") as file:
        file.write(b"s 6 6")

    ship(tmp_path, log.send)

    assert (log.steps, journals(tmp_path)) == ([1], [])


def test_a_full_journal_goes_on_in_the_next(tmp_path: Path) -> None:
    """Numbers run through, and what is full goes home while the writer lives."""
    make_spool(tmp_path)
    log = Log()
    journal = Journal(Spool(tmp_path, "job/0@n1").path, HEADER, file_bytes_max=100)
    for number in range(40):
        journal.write(b"s 5 5 %d 1\n" % number)
    assert len(journals(tmp_path)) > 3

    ship(tmp_path, log.send)

    assert log.steps == list(range(40))
    assert [each["producer"]["seq"] for each in log.lines] == list(range(40))
    assert len(journals(tmp_path)) == 1
    journal.close()


def fill(journal: Journal) -> None:
    """Write until it is full."""
    for number in range(1000):
        journal.write(b"s 5 5 %d 1\n" % number)


def test_a_full_spool_takes_no_more_until_it_is_shipped(tmp_path: Path) -> None:
    """What does not fit leaves a hole in the numbers."""
    make_spool(tmp_path)
    log = Log()
    part = Spool(tmp_path, "job/0@n1").path
    journal = Journal(part, HEADER, file_bytes_max=50, bytes_max=300)

    with pytest.raises(OSError, match="the spool is full: 300 bytes wait"):
        fill(journal)
    with pytest.raises(OSError, match="the spool is full: 300 bytes wait"):
        fill(journal)
    ship(tmp_path, log.send)
    kept = len(log.steps)
    journal._full_until_s = 0.0  # noqa: SLF001 (a second goes by)
    journal.write(b"s 5 5 99 1\n")
    ship(tmp_path, log.send)

    assert len(log.steps) == kept + 1
    assert log.lines[-1]["producer"]["seq"] == kept + 2
    journal.close()


def test_lines_that_are_no_records_are_told_once_and_passed_over(tmp_path: Path) -> None:
    """The records among them arrive."""
    log, path = Log(), finished(tmp_path, 1)
    with path.open("ab") as file:
        file.write(b"nonsense\n\xff\xfe\ns 5 5 7 1\nmore of it\n")

    ship(tmp_path, log.send)

    assert log.steps == [1, 7]
    assert log.troubles == ["a line of it is no record"]


def test_what_is_no_journal_is_told_and_set_aside(tmp_path: Path) -> None:
    """It is not read again."""
    log, path = Log(), finished(tmp_path, 1)
    path.with_name("x.journal").write_bytes(b"hello\n")
    path.with_name("y.journal").symlink_to("/etc/hostname")
    os.mkfifo(path.with_name("z.journal"))

    ship(tmp_path, log.send)
    ship(tmp_path, log.send)

    assert log.steps == [1]
    assert sorted(log.troubles) == [
        "it is no plain file of its user",
        "it is no plain file of its user",
        "its first line names no writer",
    ]
    assert journals(tmp_path) == []


def test_what_the_log_will_not_take_is_set_aside(tmp_path: Path) -> None:
    """With the reason; the lines around it are told."""
    finished(tmp_path, 1, 2, 3)
    log = Log(step2=Answer("refused", "bad_body", "no"))

    ship(tmp_path, log.send)

    assert log.steps == [1, 2, 3]
    assert aside(tmp_path) == ["refused: bad_body: no"]
    assert journals(tmp_path) == []


def test_what_a_token_does_not_allow_waits(tmp_path: Path) -> None:
    """And all after it in its journal, even in a later batch."""
    path = finished(tmp_path, 1, 2, 3, 4)
    denied = Log(step2=Answer("refused", DENIED, "not with this token"))
    shipper = Shipper(tmp_path, "n1", ())
    shipper.lines_max = 1

    with pytest.raises(NotSentError):
        shipper.ship(denied.send)
    log = Log()
    ship(tmp_path, log.send)

    assert log.steps == [2, 3, 4]
    assert not path.exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
@pytest.mark.parametrize(("owner", "told"), [(1234, ["progress.started"]), (4321, [])])
def test_a_user_reports_on_own_attempts_only(tmp_path: Path, owner: int, told: list[str]) -> None:
    """The node wrote down whose attempt it is."""
    make_spool(tmp_path)
    attempt = "slurm:c1:7@n1:5"
    write_held(held_file(tmp_path, "7", "n1"), Held(attempt, owner, has_gpus=True))
    header = Header(attempt, "job/1234@n1", "b", "w")
    journal = Journal(Spool(tmp_path, header.producer).path, header)
    journal.write(event_line(5, 5, "progress.started", {}))
    journal.write(event_line(5, 5, "allocation.ended", {"ended_by": "provider"}))
    journal.close()
    give_away(tmp_path, 1234)
    log = Log()

    ship(tmp_path, log.send)

    assert [each["kind"] for each in log.lines] == [*told, "spool.quarantined"]


def give_away(spool: Path, uid: int) -> None:
    """Make the caller's part of a spool that of a user."""
    part = spool / str(uid)
    (spool / str(os.geteuid())).rename(part)
    for path in (part, *part.rglob("*")):
        os.chown(path, uid, uid)


def test_a_writer_in_another_process_is_seen_to_live(tmp_path: Path) -> None:
    """Its journal stays until it is gone, however it went."""
    code = (
        "import sys, time; from tallystick import emit\n"
        "run = emit.attach('r', attempt='a', spool=sys.argv[1])\n"
        "run.step(1)\nprint('there', flush=True)\ntime.sleep(600)"
    )
    arguments = [sys.executable, "-c", code, str(tmp_path)]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        log = Log()
        ship(tmp_path, log.send)
        living = journals(tmp_path)
        process.kill()
        process.wait()

    ship(tmp_path, log.send)

    assert (len(living), journals(tmp_path)) == (1, [])
    assert log.steps == [1]


@given(st.lists(st.binary(max_size=60).filter(lambda line: b"\n" not in line), max_size=8))
def test_any_lines_at_all_are_passed_over(tmp_path_factory: Any, lines: list[bytes]) -> None:
    """Whatever a user writes, the shipper goes on and the journal goes."""
    spool = tmp_path_factory.mktemp("spool")
    path = finished(spool, 1)
    with path.open("ab") as file:
        file.writelines(line + b"\n" for line in lines)
        file.write(b"s 5 5 7 1\n")
    log = Log()

    ship(spool, log.send)

    assert log.steps[0] == 1
    assert log.steps[-1] == 7
    assert journals(spool) == []
