"""Inputs are read as they are, results are written whole or not at all."""

import io
import resource
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tallystick.app.errors import UnreadableFileError, UnwritableFileError
from tallystick.app.files import LINE_BYTES_MAX, create_file, read_file, read_lines, write_file
from tests.app.privileges import as_nobody


@pytest.fixture
def stdin(monkeypatch: pytest.MonkeyPatch) -> io.BytesIO:
    """Give what the tests put on standard input."""
    stream = io.BytesIO()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(stream))
    return stream


@contextmanager
def full_disk() -> Iterator[None]:
    """Let no file grow beyond ten bytes, as a disk does that is full."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


# -- reading -------------------------------------------------------------------------------


def test_a_file_is_read_whole(tmp_path: Path) -> None:
    """Bytes come as they are."""
    (tmp_path / "f").write_bytes(b"a\r\n\x00\xff")

    assert read_file(str(tmp_path / "f")) == b"a\r\n\x00\xff"


def test_a_file_may_be_read_up_to_a_number_of_bytes(tmp_path: Path) -> None:
    """So that nobody has to hold what is too large anyway."""
    (tmp_path / "f").write_bytes(b"abcdef")

    assert read_file(str(tmp_path / "f"), bytes_max=4) == b"abcd"


def test_a_dash_is_standard_input(stdin: io.BytesIO) -> None:
    """It is read as bytes, whole or in lines."""
    stdin.write(b"one\ntwo")
    stdin.seek(0)
    whole = read_file("-")
    stdin.seek(0)

    assert (whole, list(read_lines("-"))) == (b"one\ntwo", [b"one", b"two"])


@pytest.mark.parametrize(
    ("data", "lines"),
    [
        (b"", []),
        (b"\n", [b""]),
        (b"a", [b"a"]),
        (b"a\n", [b"a"]),
        (b"a\nb", [b"a", b"b"]),
        (b"a\n\nb\n", [b"a", b"", b"b"]),
        (b"a\r\nb\rc\n", [b"a\r", b"b\rc"]),
        (b"a\x0b\x0c\x1c\xc2\x85\xe2\x80\xa8b", [b"a\x0b\x0c\x1c\xc2\x85\xe2\x80\xa8b"]),
        (b"\x00\n\xff", [b"\x00", b"\xff"]),
    ],
)
def test_a_line_ends_at_lf_only(tmp_path: Path, data: bytes, lines: list[bytes]) -> None:
    """The last one counts without it too (rule 1)."""
    (tmp_path / "f").write_bytes(data)

    assert list(read_lines(str(tmp_path / "f"))) == lines


@pytest.mark.parametrize(
    ("length", "after", "held"),
    [
        (LINE_BYTES_MAX, b"\nrest", [True, True]),
        (LINE_BYTES_MAX, b"", [True]),
        (LINE_BYTES_MAX + 1, b"\nrest", [False, True]),
        (LINE_BYTES_MAX + 1, b"", [False]),
        (LINE_BYTES_MAX * 2, b"\nrest\n", [False, True]),
        (LINE_BYTES_MAX * 2 + 1, b"", [False]),
    ],
)
def test_a_line_beyond_the_limit_is_not_held(
    tmp_path: Path, length: int, after: bytes, held: list[bool]
) -> None:
    """None stands for it, and the next line is the next line."""
    with (tmp_path / "f").open("wb") as sparse:
        sparse.seek(length - 1)
        sparse.write(b"x" + after)

    assert [line is not None for line in read_lines(str(tmp_path / "f"))] == held


@pytest.mark.parametrize("name", ["absent", "folder", "absent/f", "x" * 5_000])
def test_what_cannot_be_read_is_an_error(tmp_path: Path, name: str) -> None:
    """Absent, a folder, or no possible name: one line that names it."""
    (tmp_path / "folder").mkdir()
    path = str(tmp_path / name)

    for read in (read_file, lambda each: list(read_lines(each))):
        with pytest.raises(UnreadableFileError) as caught:
            read(path)
        assert caught.value.code == "unreadable_file"
        assert str(caught.value).startswith("cannot read ")


def test_a_file_that_is_closed_to_us_is_an_error(tmp_path: Path) -> None:
    """No permission, no bytes."""
    (tmp_path / "f").write_bytes(b"x")
    (tmp_path / "f").chmod(0)

    with as_nobody(), pytest.raises(UnreadableFileError, match="permission denied"):
        read_file(str(tmp_path / "f"))


# -- writing -------------------------------------------------------------------------------


def test_a_result_replaces_the_file_that_was_there(tmp_path: Path) -> None:
    """It has the bytes and the mode, and nothing is left beside it."""
    target = tmp_path / "f"
    target.write_bytes(b"much longer than before")

    write_file(target, b"new", mode=0o640)

    assert target.read_bytes() == b"new"
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    assert list(tmp_path.iterdir()) == [target]


def test_a_result_that_does_not_fit_leaves_the_old_one(tmp_path: Path) -> None:
    """On a full disk nothing is half-written."""
    target = tmp_path / "f"
    target.write_bytes(b"old")

    with full_disk(), pytest.raises(UnwritableFileError) as caught:
        write_file(target, b"x" * 100_000)

    assert caught.value.code == "unwritable_file"
    assert target.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.parametrize("name", ["absent/f", "folder", "f/below"])
def test_a_result_that_has_no_place_is_an_error(tmp_path: Path, name: str) -> None:
    """No such folder, a folder of that name, or a file where a folder should be."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "full").write_bytes(b"")
    (tmp_path / "f").write_bytes(b"old")
    before = sorted(tmp_path.rglob("*"))

    with pytest.raises(UnwritableFileError, match="cannot write "):
        write_file(tmp_path / name, b"new")

    assert sorted(tmp_path.rglob("*")) == before


def test_a_new_file_has_its_mode_from_the_first_moment(tmp_path: Path) -> None:
    """A key is never readable by others."""
    create_file(tmp_path / "key", b"secret", mode=0o600)

    assert (tmp_path / "key").read_bytes() == b"secret"
    assert stat.S_IMODE((tmp_path / "key").stat().st_mode) == 0o600


def test_a_new_file_takes_no_ones_place(tmp_path: Path) -> None:
    """What exists stays as it was."""
    (tmp_path / "key").write_bytes(b"old")

    with pytest.raises(UnwritableFileError, match="file exists"):
        create_file(tmp_path / "key", b"new", mode=0o600)

    assert (tmp_path / "key").read_bytes() == b"old"


def test_a_new_file_that_does_not_fit_is_not_there(tmp_path: Path) -> None:
    """On a full disk nothing is half-written."""
    with full_disk(), pytest.raises(UnwritableFileError):
        create_file(tmp_path / "key", b"x" * 100_000, mode=0o600)

    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("error", [UnreadableFileError, UnwritableFileError])
def test_a_name_cannot_break_the_line(error: type[UnreadableFileError]) -> None:
    """Whatever a file is called, the message is one printable line."""
    assert str(error("a\n\x1b[31mb", "no such file")).isprintable()
