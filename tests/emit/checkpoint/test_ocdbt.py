"""OCDBT databases: every node and every value that the newest version names."""

import os
import struct
from pathlib import Path

import pytest

from tallystick.emit.checkpoint import ocdbt
from tallystick.emit.checkpoint.judge import judge, see
from tallystick.emit.checkpoint.ocdbt import Stretch, crc32c, stretches
from tallystick.emit.checkpoint.reading import TornError, UntoldError
from tallystick.emit.checkpoint.tree import read_tree
from tallystick.emit.checkpoint.verdict import COMPLETE, TORN

MANIFEST, NODE = 0x0CDB3A2A, 0x0CDB20DE


def number(value: int) -> bytes:
    """Write a number of variable length."""
    data = b""
    while value > 0x7F:
        data += bytes([value & 0x7F | 0x80])
        value >>= 7
    return data + bytes([value])


def framed(magic: int, body: bytes, method: int = 0) -> bytes:
    """Put a body between its header and its checksum."""
    rest = number(0) + number(method) + body
    data = struct.pack(">L", magic) + struct.pack("<Q", 12 + len(rest) + 4) + rest
    return data + struct.pack("<L", crc32c(data))


def table(*names: tuple[str, str]) -> bytes:
    """Write a table of files, each with what goes before names in it."""
    data = number(len(names)) + number(0) * (len(names) - 1)
    data += b"".join(number(len(base + name)) for base, name in names)
    data += b"".join(number(len(base)) for base, _ in names)
    return data + b"".join((base + name).encode() for base, name in names)


def manifest(root: Stretch, height: int = 0, config: bytes = b"\0") -> bytes:
    """Write a manifest that names one version."""
    body = bytes(16) + config + number(100) + number(8 << 20) + b"\x04" + number(0)
    body += table(("", root.file)) + number(1) + number(1) + bytes([height])
    body += number(0) + number(root.offset) + number(root.size) + number(1) * 3
    return framed(MANIFEST, body + struct.pack("<Q", 0) + number(0))


def leaf(value: Stretch, base: str = "") -> bytes:
    """Write a leaf with one value beside it and one in it."""
    body = b"\0" + table((base, value.file)) + number(2)
    body += number(0) + number(1) * 2 + b"ab"
    body += number(value.size) + number(2) + number(1) + number(0)
    return framed(NODE, body + number(0) + number(value.offset) + b"xx")


def inner(child: Stretch, base: str) -> bytes:
    """Write a node with one child."""
    body = b"\1" + table((base, child.file)) + number(1)
    body += number(1) + number(1) + b"a"
    body += number(0) + number(child.offset) + number(child.size) + number(1) * 3
    return framed(NODE, body)


def write_database(folder: Path) -> Path:
    """Write an item of two levels, whose leaf names values in a folder of its own."""
    item = folder / "state"
    (item / "p0" / "d").mkdir(parents=True)
    (item / "p0" / "d" / "values").write_bytes(b"v" * 40)
    node = leaf(Stretch("d/values", 10, 30))
    (item / "p0" / "d" / "leaf").write_bytes(b"pad" + node)
    root = inner(Stretch("d/leaf", 3, len(node)), "p0/")
    (item / "root").write_bytes(root)
    (item / "manifest.ocdbt").write_bytes(manifest(Stretch("root", 0, len(root)), 1))
    (item / "_METADATA").write_text('{"use_ocdbt": true}', encoding="utf-8")
    (folder / "_CHECKPOINT_METADATA").write_text('{"commit_timestamp_nsecs": 1}', encoding="utf-8")
    return folder


def test_the_checksum_is_that_of_the_standard() -> None:
    """RFC 3720 gives these."""
    assert crc32c(b"123456789") == 0xE3069283
    assert crc32c(bytes(32)) == 0x8A9136AA


def test_every_stretch_is_named(tmp_path: Path) -> None:
    """Names in a node go on from where the node itself was named."""
    files = read_tree(write_database(tmp_path)).files

    found = list(stretches(files, "state/", None))

    assert [each.file for each in found] == ["state/root", "state/p0/d/leaf", "state/p0/d/values"]
    assert found[-1] == Stretch("state/p0/d/values", 10, 30)


@pytest.mark.parametrize("name", ["root", "p0/d/leaf", "p0/d/values"])
@pytest.mark.parametrize("left", [None, -1])
def test_what_lacks_makes_the_checkpoint_torn(tmp_path: Path, name: str, left: int | None) -> None:
    """A node or a value that is gone or cut short is found before it is needed."""
    path = write_database(tmp_path) / "state" / name
    path.unlink() if left is None else path.write_bytes(path.read_bytes()[:left])

    assert judge(see(tmp_path), lambda _: None).state == TORN


@pytest.mark.parametrize("name", ["manifest.ocdbt", "root", "p0/d/leaf"])
def test_a_byte_that_changed_in_a_node_is_found(tmp_path: Path, name: str) -> None:
    """Whichever it is, the checksum differs."""
    path = write_database(tmp_path) / "state" / name
    data = path.read_bytes()
    start = 3 if name.endswith("leaf") else 0

    for at in range(start, len(data)):
        path.write_bytes(data[:at] + bytes([data[at] ^ 4]) + data[at + 1 :])

        assert judge(see(tmp_path)).state == TORN


def test_a_whole_database_is_complete(tmp_path: Path) -> None:
    """Its values have no checksums, which is said."""
    found = judge(see(write_database(tmp_path)), lambda _: None)

    assert found.state == COMPLETE
    assert "without checksums" in found.unchecked[0]


def test_what_nobody_can_inflate_is_said_to_be_unchecked(tmp_path: Path) -> None:
    """The rest of the checkpoint is looked at all the same."""
    path = write_database(tmp_path) / "state" / "manifest.ocdbt"
    path.write_bytes(framed(MANIFEST, b"(\xb5/\xfd", 1))

    found = judge(see(tmp_path))

    assert found.state == COMPLETE
    assert "cannot be inflated here" in found.unchecked[1]


def test_what_is_compressed_is_inflated_by_the_caller(tmp_path: Path) -> None:
    """What comes out wrong, or too large, is told apart."""
    path = write_database(tmp_path) / "state" / "manifest.ocdbt"
    plain = path.read_bytes()[14:-4]
    path.write_bytes(framed(MANIFEST, b"packed", 1))
    files = read_tree(tmp_path).files

    def refuse(data: bytes, _limit: int) -> bytes:
        raise ValueError(data)

    assert len(list(stretches(files, "state/", lambda _data, _limit: plain))) == 3
    with pytest.raises(TornError, match="inflated"):
        list(stretches(files, "state/", refuse))
    with pytest.raises(UntoldError, match="larger"):
        list(stretches(files, "state/", lambda _data, limit: bytes(limit + 1)))


@pytest.mark.parametrize(
    "body",
    [
        b"",
        bytes(16) + b"\xff" * 20,
        bytes(16) + b"\0" + number(1) * 2 + b"\4\0" + number(2**60),
        bytes(16) + b"\0" + number(1) * 2 + b"\4\0" + number(1) + number(2**40) + b"\0",
        bytes(16)
        + b"\0"
        + number(1) * 2
        + b"\4\0"
        + number(1)
        + number(5000)
        + b"\0"
        + b"a" * 5000,
    ],
)
def test_absurd_numbers_of_a_node_cost_nothing(tmp_path: Path, body: bytes) -> None:
    """Whatever they claim, there are only so many bytes."""
    path = write_database(tmp_path) / "state" / "manifest.ocdbt"
    path.write_bytes(framed(MANIFEST, body))

    with pytest.raises(TornError):
        list(stretches(read_tree(tmp_path).files, "state/", None))


def test_a_circle_of_nodes_ends(tmp_path: Path) -> None:
    """A node that names itself is not of the height that it names."""
    write_database(tmp_path)
    root = tmp_path / "state" / "root"
    size = len(inner(Stretch("root", 0, 99), ""))
    root.write_bytes(inner(Stretch("root", 0, size), ""))
    path = tmp_path / "state" / "manifest.ocdbt"
    path.write_bytes(manifest(Stretch("root", 0, size), 1))

    found = list(stretches(read_tree(tmp_path).files, "state/", None))

    assert found == [Stretch("state/root", 0, size)]


def test_a_manifest_in_several_files_is_not_read(tmp_path: Path) -> None:
    """Orbax writes one; others may write numbered ones."""
    path = write_database(tmp_path) / "state" / "manifest.ocdbt"
    path.write_bytes(manifest(Stretch("root", 0, 10), config=b"\1"))

    with pytest.raises(UntoldError, match="several files"):
        list(stretches(read_tree(tmp_path).files, "state/", None))


def test_a_tree_of_more_nodes_than_are_followed_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That is no proof that it is torn."""
    monkeypatch.setattr(ocdbt, "NODES_MAX", 1)
    files = read_tree(write_database(tmp_path)).files

    with pytest.raises(UntoldError, match="more than 1 nodes"):
        list(stretches(files, "state/", None))


def test_a_node_that_is_larger_than_is_read_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Holes cost nothing either."""
    monkeypatch.setattr(ocdbt, "NODE_BYTES_MAX", 1000)
    path = write_database(tmp_path) / "state" / "manifest.ocdbt"
    os.truncate(path, 1 << 40)

    with pytest.raises(UntoldError, match="larger"):
        list(stretches(read_tree(tmp_path).files, "state/", None))
