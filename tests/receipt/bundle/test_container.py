"""The file of a bundle: one layout, which any zip program reads and nothing else fits."""

import io
import shutil
import struct
import subprocess
import zipfile
import zlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallystick.receipt.bundle.container import (
    BUNDLE_BYTES_MAX,
    MEMBER_BYTES_MAX,
    MEMBERS_MAX,
    NAME_BYTES_MAX,
    Limits,
    read_container,
    write_container,
)
from tallystick.receipt.bundle.errors import (
    BundleError,
    MalformedContainerError,
    OversizedBundleError,
)

MEMBERS = {"b.json": b"{}", "a/b-c_d.x": b"\0" * 9, "empty": b""}
FILE = write_container(MEMBERS)
NAMES = st.from_regex(r"[a-z0-9_][a-z0-9._-]{0,8}(/[a-z0-9_][a-z0-9._-]{0,8})?", fullmatch=True)


def read(data: bytes) -> dict[str, bytes]:
    """Read a file into bytes."""
    return {name: bytes(view) for name, view in read_container(data).items()}


def refuse(data: bytes) -> BundleError:
    """Give the error with which a file is refused."""
    with pytest.raises(BundleError) as refused:
        read_container(data)
    return refused.value


def python_zip(
    *members: tuple[zipfile.ZipInfo | str, bytes],
    compression: int = zipfile.ZIP_STORED,
    comment: bytes = b"",
) -> bytes:
    """Write a zip with Python's own library."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", compression) as archive:
        archive.comment = comment
        for name, data in members:
            archive.writestr(name, data)
    return stream.getvalue()


def info(name: str) -> zipfile.ZipInfo:
    """Describe a member with the fixed fields of a bundle."""
    described = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
    described.external_attr = 0o100644 << 16
    return described


@given(st.dictionaries(NAMES, st.binary(max_size=40), max_size=5))
def test_what_is_written_is_read(members: dict[str, bytes]) -> None:
    """Reading and writing are inverse, and members come in order of name."""
    found = read(write_container(members))

    assert found == members
    assert list(found) == sorted(members)


@given(st.dictionaries(NAMES, st.binary(max_size=40), max_size=5))
def test_python_reads_and_writes_the_same(members: dict[str, bytes]) -> None:
    """Another implementation, told the fixed fields, writes the very bytes, and reads them."""
    ours = write_container(members)

    theirs = python_zip(*((info(name), members[name]) for name in sorted(members)))

    assert theirs == ours
    with zipfile.ZipFile(io.BytesIO(ours)) as archive:
        assert {each: archive.read(each) for each in archive.namelist()} == members


def test_the_order_of_members_does_not_matter() -> None:
    """The bytes of a file follow from its members alone."""
    assert write_container(dict(reversed(MEMBERS.items()))) == FILE


@pytest.mark.skipif(shutil.which("unzip") is None, reason="there is no unzip here")
def test_unzip_opens_it(tmp_path: Path) -> None:
    """The usual program unpacks a bundle, and finds nothing to warn of."""
    (tmp_path / "x.zip").write_bytes(FILE)

    done = subprocess.run(["unzip", "-q", "x.zip"], cwd=tmp_path, capture_output=True, check=True)

    assert done.stdout + done.stderr == b""
    assert {name: (tmp_path / name).read_bytes() for name in MEMBERS} == MEMBERS


@given(st.integers(0, len(FILE) - 1), st.integers(0, 255))
def test_no_byte_can_be_another(position: int, byte: int) -> None:
    """Whatever byte is changed, the file is refused: none is free."""
    tampered = FILE[:position] + bytes([byte]) + FILE[position + 1 :]

    if byte == FILE[position]:
        assert read(tampered) == MEMBERS
    else:
        assert refuse(tampered).step == 1


@pytest.mark.parametrize("position", range(len(FILE)))
def test_no_byte_can_be_missing_or_twice(position: int) -> None:
    """A file has no place where a byte may go or come."""
    shorter = FILE[:position] + FILE[position + 1 :]
    longer = FILE[:position] + FILE[position : position + 1] + FILE[position:]

    assert refuse(shorter).step == 1
    assert refuse(longer).step == 1


@given(st.binary(max_size=200))
def test_garbage_is_refused_in_our_words(data: bytes) -> None:
    """Whatever the bytes, the outcome is one of our errors."""
    for tampered in (data, FILE[:4] + data, FILE[:30] + data, FILE + data[1:] + b"x"):
        assert refuse(tampered).step == 1


BOMB = python_zip(("bomb", bytes(10**8)), compression=zipfile.ZIP_DEFLATED)
_LOCAL = 30


def with_flag(flag: int) -> bytes:
    """Set a flag in the headers of a file with one member."""
    data = bytearray(write_container({"a": b"x"}))
    struct.pack_into("<H", data, 6, flag)
    struct.pack_into("<H", data, _LOCAL + 2 + 8, flag)
    return bytes(data)


def as_zip64() -> bytes:
    """Write a member whose sizes stand in an extra field."""
    stream = io.BytesIO()
    with (
        zipfile.ZipFile(stream, "w") as archive,
        archive.open(info("a"), "w", force_zip64=True) as member,
    ):
        member.write(b"x")
    return stream.getvalue()


def with_extra() -> bytes:
    """Write a member with an extra field."""
    described = info("a")
    described.extra = struct.pack("<HH", 0xCAFE, 0)
    return python_zip((described, b"x"))


def with_comment() -> bytes:
    """Write a member with a comment of its own."""
    described = info("a")
    described.comment = b"x"
    return python_zip((described, b"x"))


def overlapping() -> bytes:
    """Have two entries of the directory name one member."""
    one = write_container({"a": b"x"})
    local, central = one[: _LOCAL + 2], one[_LOCAL + 2 : -22]
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 2, 2, 2 * len(central), len(local), 0)
    return local + central + central + end


def twice() -> bytes:
    """Write two members of one name."""
    one, other = (write_container({"a": data})[: _LOCAL + 2] for data in (b"x", b"y"))
    return one + other


OTHERS = {
    "a deflated bomb": BOMB,
    "a deflated member": python_zip(("a", b"x"), compression=zipfile.ZIP_DEFLATED),
    "bzip2": python_zip(("a", b"x"), compression=zipfile.ZIP_BZIP2),
    "lzma": python_zip(("a", b"x"), compression=zipfile.ZIP_LZMA),
    "a path upwards": python_zip((info("../a"), b"x")),
    "a path upwards inside": python_zip((info("a/../b"), b"x")),
    "an absolute path": python_zip((info("/etc/passwd"), b"x")),
    "a drive": python_zip((info("c:/a"), b"x")),
    "a backslash": write_container({"a_b": b"x"}).replace(b"a_b", b"a\\b"),
    "an empty part": python_zip((info("a//b"), b"x")),
    "a part of a dot": python_zip((info("./a"), b"x")),
    "a hidden file": python_zip((info(".a"), b"x")),
    "an option": python_zip((info("-rf"), b"x")),
    "a folder": python_zip((info("a/"), b"")),
    "no name": python_zip((info(""), b"x")),
    "a capital": python_zip((info("A"), b"x")),
    "a space": python_zip((info("a b"), b"x")),
    "a control character": python_zip((info("a\n"), b"x")),
    "a NUL in the name": write_container({"a_b": b"x"}).replace(b"a_b", b"a\0b"),
    "a name beyond ASCII": python_zip((info("\u00e4"), b"x")),
    "a name that is no text": write_container({"a": b"x"}).replace(b"a", b"\xff"),
    "a long name": python_zip((info("a" * (NAME_BYTES_MAX + 1)), b"x")),
    "a symbolic link": FILE.replace(struct.pack("<L", 0o100644 << 16), b"\0\0\xff\xa1"),
    "another date": python_zip(("a", b"x")),
    "encryption": with_flag(1),
    "a data descriptor": with_flag(8),
    "a name in UTF-8": with_flag(0x800),
    "zip64": as_zip64(),
    "an extra field": with_extra(),
    "a comment of a member": with_comment(),
    "a comment of the file": python_zip((info("a"), b"x"), comment=b"x"),
    "two members of one name": twice(),
    "members out of order": python_zip((info("b"), b"x"), (info("a"), b"x")),
    "two entries for one member": overlapping(),
    "a prefix": b"#!/bin/sh\n" + FILE,
    "trailing data": FILE + b"\0",
    "two files in one": FILE + FILE,
    "no directory": FILE[: _LOCAL + len("a/b-c_d.x") + 9],
    "half a header": FILE[:20],
    "nothing": b"",
    "another signature": b"PK\7\x08" + FILE[4:],
    "a wrong checksum": FILE.replace(b"\0" * 9, b"\0" * 8 + b"x"),
    "a member beyond the end": write_container({"a": b"x"})[:_LOCAL] + b"a",
}


@pytest.mark.parametrize("kind", OTHERS)
def test_every_other_zip_is_refused(kind: str) -> None:
    """What another program writes, or would read in its own way, is no bundle."""
    refused = refuse(OTHERS[kind])

    assert (refused.code, refused.exit_status) == ("bad_container", 1)
    assert "\n" not in str(refused)
    assert len(str(refused)) < 200


def test_a_file_of_no_members_has_a_layout_too() -> None:
    """It is refused later, for what it lacks."""
    assert read(write_container({})) == {}
    assert write_container({}) == python_zip()


@pytest.mark.parametrize(
    "fewer",
    [
        {"bundle_bytes": len(FILE) - 1},
        {"bundle_bytes": 50},
        {"member_bytes": 8},
        {"members": 2},
    ],
)
def test_limits_hold_for_writing_and_reading(fewer: dict[str, int]) -> None:
    """Nobody writes what nobody would read: as much as is allowed goes, one more does not."""
    exact = Limits(len(FILE), 9, 3)

    assert read_container(write_container(MEMBERS, exact), exact) == MEMBERS
    with pytest.raises(OversizedBundleError):
        write_container(MEMBERS, exact._replace(**fewer))
    with pytest.raises(OversizedBundleError) as refused:
        read_container(FILE, exact._replace(**fewer))
    assert (refused.value.code, refused.value.step) == ("bundle_too_large", 1)
    assert str(refused.value).startswith("expected a bundle of at most ")


def test_the_limits_fit_a_zip_of_the_first_form() -> None:
    """No size or number needs more than its field has."""
    assert MEMBERS_MAX < 2**16
    assert BUNDLE_BYTES_MAX < 2**32
    assert MEMBER_BYTES_MAX <= BUNDLE_BYTES_MAX


@pytest.mark.parametrize("name", ["", "/a", "../a", "a/", "a//b", "A", "a b", ".a", "\u00e4"])
def test_a_name_that_could_not_be_read_is_not_written(name: str) -> None:
    """A bad name is refused by whoever would write it."""
    with pytest.raises(MalformedContainerError):
        write_container({name: b""})


def test_members_are_views_of_the_file() -> None:
    """Reading copies nothing, so a large member costs nothing before it is used."""
    data = write_container({"a": b"x" * 100})

    (view,) = read_container(data).values()

    assert view.obj is data
    assert zlib.crc32(view) == zlib.crc32(b"x" * 100)
