"""A store lies on a local disk, or it is not known where; never on a network file system."""

from pathlib import Path

import pytest

from tallystick.stores.errors import NetworkStoreError
from tallystick.stores.mounts import check_local

ROOT = "22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/root rw"


def mounts(tmp_path: Path, *pairs: tuple[str, str]) -> Path:
    """Write a list of mounts: a local root and, after it, points with their kinds."""
    lines = [ROOT]
    lines += [f"40 22 0:35 / {point} rw - {kind} server:/x rw" for point, kind in pairs]
    path = tmp_path / "mountinfo"
    path.write_bytes("".join(f"{line}\n" for line in lines).encode("utf-8", "surrogateescape"))
    return path


def found(folder: Path, listed: Path) -> str | None:
    """Give the kind of network file system that a folder is refused for."""
    try:
        check_local(folder, listed)
    except NetworkStoreError as error:
        path, kind = error.args
        assert path == str(folder)
        return str(kind)
    return None


@pytest.mark.parametrize(
    "kind", ["nfs", "nfs4", "cifs", "smb3", "lustre", "fuse.sshfs", "9p", "ceph", "gpfs", "beegfs"]
)
def test_a_network_file_system_is_refused(tmp_path: Path, kind: str) -> None:
    """Its locks and syncs cannot be relied on."""
    listed = mounts(tmp_path, ("/home", kind))

    assert found(Path("/home/me/store"), listed) == kind


@pytest.mark.parametrize("kind", ["ext4", "xfs", "btrfs", "zfs", "overlay", "tmpfs", "fuse.mine"])
def test_a_local_file_system_is_let_pass(tmp_path: Path, kind: str) -> None:
    """So is one of which nothing is known."""
    assert found(Path("/home/me/store"), mounts(tmp_path, ("/home", kind))) is None


@pytest.mark.parametrize(
    ("folder", "kind"),
    [
        ("/", None),
        ("/data", "nfs"),
        ("/data/x", "nfs"),
        ("/data/local", None),
        ("/data/local/x", None),
        ("/data/local/x/far/store", "cifs"),
        ("/data2", None),
        ("/dat", None),
    ],
)
def test_the_innermost_mount_decides(tmp_path: Path, folder: str, kind: str | None) -> None:
    """Whatever the order of the list; names are compared part by part."""
    points = [("/data/local", "xfs"), ("/data", "nfs"), ("/data/local/x/far", "cifs")]

    assert found(Path(folder), mounts(tmp_path, *points)) == kind
    assert found(Path(folder), mounts(tmp_path, *reversed(points))) == kind


def test_of_two_mounts_at_one_point_the_later_counts(tmp_path: Path) -> None:
    """It lies over the other."""
    assert found(Path("/data"), mounts(tmp_path, ("/data", "xfs"), ("/data", "nfs"))) == "nfs"
    assert found(Path("/data"), mounts(tmp_path, ("/data", "nfs"), ("/data", "xfs"))) is None


@pytest.mark.parametrize(
    ("point", "folder"),
    [
        ("/my\\040data", "/my data"),
        ("/a\\011b", "/a\tb"),
        ("/a\\012b", "/a\nb"),
        ("/a\\134040b", "/a\\040b"),
        ("/a\u2028b", "/a\u2028b"),
        ("/a\rb", "/a\rb"),
        ("/a\udcffb", "/a\udcffb"),
        ("/a\\040-\\040b", "/a - b"),
    ],
)
def test_a_point_may_have_any_name(tmp_path: Path, point: str, folder: str) -> None:
    """Blanks and backslashes are escaped in the list, all else stands as it is."""
    assert found(Path(folder) / "store", mounts(tmp_path, (point, "nfs"))) == "nfs"


def test_optional_fields_are_skipped(tmp_path: Path) -> None:
    """Their number differs from mount to mount."""
    line = "36 35 98:0 /mnt1 /data rw,noatime master:1 propagate_from:2 unbindable - nfs x rw\n"
    (tmp_path / "mountinfo").write_text(line, encoding="utf-8")

    assert found(Path("/data"), tmp_path / "mountinfo") == "nfs"


def test_a_link_is_followed(tmp_path: Path) -> None:
    """The folder lies where the link leads to."""
    (tmp_path / "far").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "far")
    listed = mounts(tmp_path, (str(tmp_path / "far"), "nfs"))

    assert found(tmp_path / "link", listed) == "nfs"


def test_where_mounts_are_not_listed_any_folder_is_let_pass(tmp_path: Path) -> None:
    """Not every system has such a list."""
    assert found(tmp_path, tmp_path / "absent") is None
    (tmp_path / "empty").touch()
    assert found(tmp_path, tmp_path / "empty") is None


def test_this_machine_has_local_files(tmp_path: Path) -> None:
    """The list that is really there can be read."""
    check_local(tmp_path)
