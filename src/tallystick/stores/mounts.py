"""On what kind of file system a folder lies; locks and syncs of some cannot be relied on."""

import re
from pathlib import Path
from typing import Final

from tallystick.stores.errors import NetworkStoreError

_MOUNTS = Path("/proc/self/mountinfo")
_ESCAPE = re.compile(r"\\([0-7]{3})")  # Of a space, tab, line end or backslash.
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
        text = mounts.read_bytes().decode("utf-8", "surrogateescape")
    except OSError:
        return ""
    for line in filter(None, text.split("\n")):
        fields, _, rest = line.partition(" - ")
        name = fields.split(" ")[4]
        point = Path(_ESCAPE.sub(lambda found: chr(int(found[1], 8)), name))
        if folder.is_relative_to(point) and len(point.parts) >= best:
            best, kind = len(point.parts), rest.split(" ")[0]
    return kind
