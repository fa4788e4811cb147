"""What waits is sent, and goes only when the log has answered for it."""

import json
import os
import stat
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tallystick.app.ship import store_sender
from tallystick.emit.notes import read_notes
from tallystick.emit.post import Answer, NotSentError
from tallystick.emit.ship import Shipper
from tallystick.emit.slurm.held import Held, held_file, write_held
from tallystick.emit.spool import Spool
from tests.app.stores import new_store
from tests.emit.spools import HOOK, aside, files, new_spool, ship

BODY = {"job_id": "7"}


class Log:
    """Answers every line with one word, and remembers what it was told."""

    def __init__(self, word: str = "accepted") -> None:
        self.word = word
        self.lines: list[bytes] = []

    def send(self, lines: Sequence[bytes]) -> list[Answer]:
        """Take a batch."""
        self.lines += lines
        return [Answer(self.word, "code", "message") for _ in lines]

    def told(self, kind: str) -> list[dict[str, object]]:
        """Give the bodies of one kind that were told."""
        records = [json.loads(line) for line in self.lines]
        return [record["body"] for record in records if record["kind"] == kind]


def full(path: Path, count: int = 3) -> Path:
    """Make a spool in which some records wait."""
    spool = new_spool(path)
    for number in range(count):
        spool.put(HOOK, {"n": number}, None)
    return path


@pytest.mark.parametrize("word", ["accepted", "exists"])
def test_what_the_log_has_goes(tmp_path: Path, word: str) -> None:
    """A record that the log answered for is removed, whether it was new or not."""
    spool, log = full(tmp_path / "spool"), Log(word)

    shipped = ship(spool, log.send)

    assert shipped.counts == {word: 3}
    assert files(spool) == []
    assert [body["n"] for body in log.told(HOOK)] == [0, 1, 2]


@pytest.mark.parametrize("word", ["conflict", "refused"])
def test_what_the_log_will_not_take_is_set_aside(tmp_path: Path, word: str) -> None:
    """It is out of the way of the others, with the reason beside it."""
    spool = full(tmp_path / "spool", 1)

    ship(spool, Log(word).send)

    assert files(spool) == []
    assert aside(spool) == [f"{word}: code: message"]


def test_nothing_goes_that_was_not_answered(tmp_path: Path) -> None:
    """A server that cannot be reached costs nothing."""
    spool = full(tmp_path / "spool")

    def fail(_: Sequence[bytes]) -> list[Answer]:
        raise NotSentError("connection refused")

    with pytest.raises(NotSentError):
        ship(spool, fail)

    assert len(files(spool)) == 3


def test_what_is_told_twice_is_no_harm(tmp_path: Path) -> None:
    """A shipper that is stopped between answer and removal tells it again."""
    with new_store(tmp_path) as store:
        spool = full(tmp_path / "spool")
        store_sender(store.log)([file.read_bytes() for file in files(spool)])

        shipped = ship(spool, store_sender(store.log))

    assert shipped.counts == {"exists": 3}
    assert files(spool) == []


def test_a_torn_file_is_told_and_set_aside(tmp_path: Path) -> None:
    """Its bytes are not those of its name; the others go on."""
    spool, log = full(tmp_path / "spool"), Log()
    files(spool)[1].write_bytes(b'{"schema"')

    ship(spool, log.send)

    (told,) = log.told("spool.quarantined")
    assert told["reason"] == "its bytes are not those of its name"
    assert [body["n"] for body in log.told(HOOK)] == [0, 2]
    assert len(aside(spool)) == 1


def put_directory(path: Path) -> None:
    """Put a folder in the way."""
    path.mkdir()


def put_link(path: Path) -> None:
    """Put a link to something else in the way."""
    path.symlink_to("/etc/hostname")


def put_pipe(path: Path) -> None:
    """Put a pipe in the way, which would keep a reader waiting."""
    os.mkfifo(path)


def put_flood(path: Path) -> None:
    """Put more bytes in the way than any record has."""
    path.write_bytes(b"x" * (1 << 21))


@pytest.mark.parametrize("put", [put_directory, put_link, put_pipe, put_flood])
def test_whatever_lies_in_the_way_is_no_record(tmp_path: Path, put: object) -> None:
    """The shipper follows no link, waits for no pipe, and goes on."""
    spool, log = full(tmp_path / "spool", 1), Log()
    assert callable(put)
    put(files(spool)[0].with_name("00000000.00000000.000000000000.x.json"))

    ship(spool, log.send)

    assert len(log.told("spool.quarantined")) == 1
    assert len(log.told(HOOK)) == 1
    assert files(spool) == []
    assert Path("/etc/hostname").exists()


def test_what_was_dropped_becomes_a_record(tmp_path: Path) -> None:
    """Losses are told once, with numbers, kinds and reason, and then forgotten here."""
    spool = new_spool(tmp_path / "spool", bytes_max=600)
    for number in range(4):
        spool.put(HOOK, {"n": number}, None)
    log = Log()

    ship(tmp_path / "spool", log.send)
    ship(tmp_path / "spool", log.send)

    (gap,) = log.told("spool.gap")
    assert (gap["dropped"], gap["first_seq"], gap["last_seq"]) == (2, 2, 3)
    assert gap["reason"] == "the spool is full: 600 bytes wait"
    assert read_notes(spool.path / "notes").dropped == 0


def test_losses_stay_noted_until_the_log_has_them(tmp_path: Path) -> None:
    """Notes are cleared by an answer, not by a try."""
    spool = new_spool(tmp_path / "spool", bytes_max=1)
    spool.put(HOOK, BODY, None)

    ship(tmp_path / "spool", Log("refused").send)

    assert read_notes(spool.path / "notes").dropped == 1


def test_more_losses_than_there_is_room_for_are_counted(tmp_path: Path) -> None:
    """Those that could not be noted are still told as a number."""
    spool = new_spool(tmp_path / "spool", bytes_max=1)
    for _ in range(600):
        spool.put(HOOK, BODY, None)
    log = Log()

    ship(tmp_path / "spool", log.send)

    gaps = log.told("spool.gap")
    assert sum(gap["dropped"] for gap in gaps if isinstance(gap["dropped"], int)) == 600
    assert gaps[-1]["reason"] == "there was no room to note which"


def test_a_large_spool_goes_in_batches(tmp_path: Path) -> None:
    """No batch has more lines than the other side takes."""
    spool = full(tmp_path / "spool", 7)
    shipper = Shipper(spool, "n1", ())
    shipper.lines_max = 3
    sizes = []

    def send(lines: Sequence[bytes]) -> list[Answer]:
        sizes.append(len(lines))
        return [Answer("accepted", None, None) for _ in lines]

    shipper.ship(send)

    assert sizes == [3, 3, 1]


def test_a_part_that_cannot_be_read_does_not_stop_the_others(tmp_path: Path) -> None:
    """It is named, and the rest is sent."""
    spool = full(tmp_path / "spool", 1)
    (spool / "4711").write_text("in the way")

    shipped = ship(spool, Log().send)

    assert shipped.counts == {"accepted": 1}
    assert len(shipped.problems) == 1
    assert "4711: not a directory" in shipped.problems[0]


@pytest.fixture
def shared() -> Iterator[Path]:
    """Make a folder that every user can reach."""
    with tempfile.TemporaryDirectory(prefix="tallystick-spool-") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


root_only = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")


def of_user(spool: Path, uid: int, producer: str, kind: str, body: dict[str, str]) -> None:
    """Write a record as another user."""
    child = os.fork()
    if child == 0:
        try:
            os.setuid(uid)
            os._exit(0 if Spool(spool, producer).put(kind, body, None) else 1)
        finally:
            os._exit(2)
    _, status = os.waitpid(child, 0)
    assert status == 0


@root_only
def test_a_user_cannot_speak_for_the_node(shared: Path) -> None:
    """What a job's user writes in the hook's name is set aside, and told."""
    spool = full(shared / "spool", 0)
    of_user(spool, 4711, "slurm-hook/n1", "allocation.ended", {"attempt": "a"})
    log = Log()

    ship(spool, log.send)

    (told,) = log.told("spool.quarantined")
    assert told["reason"] == "user 4711 may not write as 'slurm-hook/n1'"
    assert log.told("allocation.ended") == []


@root_only
@pytest.mark.parametrize(("owner", "expected"), [(4711, 1), (4712, 0)])
def test_a_user_links_own_attempts_only(shared: Path, owner: int, expected: int) -> None:
    """Whose job it is, the prolog has written down."""
    spool = full(shared / "spool", 0)
    attempt = "slurm:c1:7@n1:1770000000"
    write_held(held_file(spool, "7", "n1"), Held(attempt, owner, has_gpus=True))
    of_user(spool, 4711, "slurm-task/4711@n1", "attempt.linked", {"run": "r", "attempt": attempt})
    log = Log()

    ship(spool, log.send)

    assert len(log.told("attempt.linked")) == expected


@root_only
def test_a_user_cannot_make_the_shipper_go_elsewhere(shared: Path) -> None:
    """A part that became a link to another folder is not entered."""
    spool = full(shared / "spool", 0)
    of_user(spool, 4711, "slurm-task/4711@n1", HOOK, {})
    (spool / "4711").rename(shared / "moved")
    (spool / "4711").symlink_to(shared / "moved")

    shipped = ship(spool, Log().send)

    assert shipped.counts == {}
    assert len(shipped.problems) == 1
    assert len(list((shared / "moved" / "new").iterdir())) == 1


def test_what_is_set_aside_is_readable_by_its_user_only(tmp_path: Path) -> None:
    """A record may name users and jobs."""
    spool = full(tmp_path / "spool", 1)

    ship(spool, Log("refused").send)

    folder = spool / str(os.geteuid()) / "quarantine"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
