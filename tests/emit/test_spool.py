"""What is put into a spool is there, whole, numbered and bounded."""

import errno
import fcntl
import hashlib
import os
import signal
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tallystick.emit import spool as spool_module
from tallystick.emit.errors import SpoolUnusableError
from tallystick.emit.notes import NOTES_BYTES, read_notes
from tallystick.emit.spool import Spool, boot_id, make_spool, named_digest
from tests.emit.spools import HOOK, PRODUCER, files, new_spool, records


def part(path: Path) -> Path:
    """Give the caller's part of a spool."""
    return path / str(os.geteuid())


def test_a_record_waits_as_a_file_of_its_own(tmp_path: Path) -> None:
    """One file, one line, one record, with boot and number."""
    spool = new_spool(tmp_path / "spool")

    kept = spool.put(HOOK, {"job_id": "7"}, 1_770_000_000_000_000)

    (record,) = records(tmp_path / "spool")
    assert kept
    assert record["body"] == {"job_id": "7"}
    assert record["producer"] == {"name": PRODUCER, "boot": boot_id(), "seq": 0}


def test_a_file_is_named_by_its_content(tmp_path: Path) -> None:
    """The digest in the name is that of the bytes, so a torn file is known as one."""
    new_spool(tmp_path / "spool").put(HOOK, {}, None)

    (file,) = files(tmp_path / "spool")
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    assert named_digest(file.name) == digest


def test_numbers_go_on_from_one_process_to_the_next(tmp_path: Path) -> None:
    """Each opening of the spool counts on where the last one stopped."""
    for _ in range(3):
        new_spool(tmp_path / "spool").put(HOOK, {}, None)

    assert [each["producer"]["seq"] for each in records(tmp_path / "spool")] == [0, 1, 2]


def test_each_producer_has_numbers_of_its_own(tmp_path: Path) -> None:
    """Two producers of one user do not share a count."""
    for name in ("a", "b", "a"):
        new_spool(tmp_path / "spool", name).put(HOOK, {"by": name}, None)

    numbers = sorted(
        (r["producer"]["name"], r["producer"]["seq"]) for r in records(tmp_path / "spool")
    )
    assert numbers == [("a", 0), ("a", 1), ("b", 0)]


def test_another_boot_counts_from_zero(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A number means something within one boot only."""
    new_spool(tmp_path / "spool").put(HOOK, {}, None)
    monkeypatch.setattr(spool_module, "boot_id", lambda: "another")

    new_spool(tmp_path / "spool").put(HOOK, {}, None)

    numbers = {
        each["producer"]["boot"]: each["producer"]["seq"] for each in records(tmp_path / "spool")
    }
    assert numbers["another"] == 0


@pytest.mark.parametrize("content", [b"", b"{", b"[]\n", b'{"boot":1}\n', b"\xff\n", b"null\n"])
def test_a_broken_count_gives_no_number_twice(tmp_path: Path, content: bytes) -> None:
    """What was given out is not known, so the boot gets another name, or none was given."""
    spool = new_spool(tmp_path / "spool")
    if content:
        spool.put(HOOK, {}, None)
    (part(tmp_path / "spool") / "state").write_bytes(content)

    spool.put(HOOK, {"again": True}, None)

    named = [(r["producer"]["boot"], r["producer"]["seq"]) for r in records(tmp_path / "spool")]
    assert len(set(named)) == len(named)


def test_many_writers_lose_nothing_and_share_no_number(tmp_path: Path) -> None:
    """Threads (and processes) take turns at the numbers."""
    spools = [new_spool(tmp_path / "spool") for _ in range(4)]

    with ThreadPoolExecutor(4) as pool:
        kept = list(pool.map(lambda n: spools[n % 4].put(HOOK, {"n": n}, None), range(80)))

    assert all(kept)
    assert [r["producer"]["seq"] for r in records(tmp_path / "spool")] == list(range(80))


def test_a_record_is_kept_without_a_number_where_the_count_is_held(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stuck holder of the count costs the proof of gaps, not the record."""
    spool = new_spool(tmp_path / "spool")
    monkeypatch.setattr(spool_module, "LOCK_S", 0.01)
    handle = os.open(part(tmp_path / "spool") / "state", os.O_RDWR | os.O_CREAT)
    fcntl.flock(handle, fcntl.LOCK_EX)

    kept = spool.put(HOOK, {}, None)

    os.close(handle)
    assert kept
    assert records(tmp_path / "spool")[0]["producer"] == {"name": PRODUCER}


def test_a_full_spool_drops_and_says_so(tmp_path: Path) -> None:
    """Beyond its bytes nothing more is kept; each drop is noted, and leaves a hole."""
    spool = new_spool(tmp_path / "spool", bytes_max=1000)
    kept = [spool.put(HOOK, {"n": n}, None) for n in range(5)]

    notes = read_notes(part(tmp_path / "spool") / "notes")

    assert kept == [True, True, True, False, False]
    assert notes.dropped == 2
    assert b"the spool is full: 1000 bytes wait" in notes.lines[0]
    assert b'"seq":3' in notes.lines[0]


def test_room_that_was_made_is_found(tmp_path: Path) -> None:
    """A count that drifted is made again before a record is refused."""
    spool = new_spool(tmp_path / "spool", bytes_max=1000)
    for n in range(4):
        spool.put(HOOK, {"n": n}, None)
    for file in files(tmp_path / "spool"):
        file.unlink()

    assert spool.put(HOOK, {"n": 9}, None)


def test_a_record_of_more_than_a_mebibyte_is_dropped(tmp_path: Path) -> None:
    """The log would not take it, so it is noted as lost at once."""
    spool = new_spool(tmp_path / "spool")

    assert not spool.put(HOOK, {"text": "x" * (1 << 20)}, None)
    assert read_notes(part(tmp_path / "spool") / "notes").dropped == 1


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS])
@pytest.mark.parametrize(
    ("folder", "call"),
    [("tmp", "open"), ("tmp", "write"), ("tmp", "fsync"), ("new", "open"), ("new", "fsync")],
)
def test_a_disk_that_fails_leaves_no_half_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str, call: str, number: int
) -> None:
    """Whatever call fails, the record is noted as lost and nothing of it waits."""
    spool = new_spool(tmp_path / "spool")
    real = getattr(os, call)

    def fail(target: str | Path | int, *more: object, **named: object) -> object:
        path = Path(f"/proc/self/fd/{target}").readlink() if isinstance(target, int) else target
        if folder in {Path(path).name, Path(path).parent.name}:
            raise OSError(number, os.strerror(number))
        return real(target, *more, **named)

    with monkeypatch.context() as patch:
        patch.setattr(os, call, fail)
        kept = spool.put(HOOK, {}, None)

    whole = part(tmp_path / "spool")
    assert not kept
    assert [list((whole / name).iterdir()) for name in ("new", "tmp")] == [[], []]
    assert read_notes(whole / "notes").dropped == 1


def test_notes_have_their_blocks_before_they_are_needed(tmp_path: Path) -> None:
    """The file of losses has its size from the start, so a full disk can be told."""
    new_spool(tmp_path / "spool")

    found = (part(tmp_path / "spool") / "notes").stat()
    assert found.st_size == NOTES_BYTES
    assert found.st_blocks * 512 >= NOTES_BYTES


def test_a_part_is_closed_to_others(tmp_path: Path) -> None:
    """Only its user reads what waits; everybody may make a part."""
    new_spool(tmp_path / "spool")

    assert stat.S_IMODE((tmp_path / "spool").stat().st_mode) == 0o1777
    assert stat.S_IMODE(part(tmp_path / "spool").stat().st_mode) == 0o700


def test_a_part_that_is_a_link_is_refused(tmp_path: Path) -> None:
    """Nobody can make another write somewhere else."""
    make_spool(tmp_path / "spool")
    part(tmp_path / "spool").symlink_to(tmp_path)

    with pytest.raises(SpoolUnusableError, match="belongs to somebody else"):
        Spool(tmp_path / "spool", PRODUCER)


def test_a_spool_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    """Hooks make no spool of their own: its place and rights are the operator's."""
    with pytest.raises(SpoolUnusableError, match="no such file"):
        Spool(tmp_path / "spool", PRODUCER)


def test_a_writer_that_is_killed_leaves_nothing_that_is_half(tmp_path: Path) -> None:
    """Every file that waits is whole, whenever its writer dies; a hole shows a lost one."""
    path = tmp_path / "spool"
    new_spool(path)
    for _ in range(20):
        before = len(files(path))
        child = os.fork()
        if child == 0:
            spool = Spool(path, PRODUCER)
            while True:
                spool.put(HOOK, {"text": "x" * 2000}, None)
        while len(files(path)) == before:
            signal.sigtimedwait([], 0.005)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)

    numbers = [record["producer"]["seq"] for record in records(path)]
    assert all(
        named_digest(file.name) == hashlib.sha256(file.read_bytes()).hexdigest()
        for file in files(path)
    )
    assert len(set(numbers)) == len(numbers) >= 20


def test_a_count_that_is_another_name_of_a_file_is_left_alone(tmp_path: Path) -> None:
    """Root must not write over what a user linked there; the record goes without a number."""
    spool = new_spool(tmp_path / "spool")
    (tmp_path / "precious").write_text("precious")
    (part(tmp_path / "spool") / "state").hardlink_to(tmp_path / "precious")

    kept = spool.put(HOOK, {}, None)

    assert kept
    assert (tmp_path / "precious").read_text() == "precious"
    assert "seq" not in records(tmp_path / "spool")[0]["producer"]
