"""On what kind of file system a folder lies; locks and syncs of some cannot be relied on."""

from pathlib import Path
from typing import Final

from tallystick.stores.errors import NetworkStoreError

_MOUNTS = Path("/proc/self/mountinfo")
_NETWORK: Final = frozenset(
    [
        "9p",
        "afs",
        "beegfs",
        "ceph",
        "cifs",
        "fuse.glusterfs",
        "fuse.juicefs",
        "fuse.s3fs",
        "fuse.sshfs",
        "gfs2",
        "gpfs",
        "lustre",
        "nfs",
        "nfs4",
        "ocfs2",
        "orangefs",
        "smb3",
        "wekafs",
    ]
)


def check_local(folder: Path, mounts: Path = _MOUNTS) -> None:
    """Refuse a folder on a network file system; where that cannot be known, it is let pass.

    Raises:
        NetworkStoreError: it lies on one.
    """
    kind = _kind(folder.resolve(), mounts)
    if kind in _NETWORK:
        raise NetworkStoreError(str(folder), kind)


def _kind(folder: Path, mounts: Path) -> str:
    """Name the file system of the last mount whose point the folder lies under."""
    best, kind = -1, ""
    try:
        lines = mounts.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return ""
    for line in lines:
        fields, _, rest = line.partition(" - ")
        point = Path(fields.split(" ")[4].replace("\\040", " "))
        if folder.is_relative_to(point) and len(point.parts) >= best:
            best, kind = len(point.parts), rest.split(" ")[0]
    return kind
