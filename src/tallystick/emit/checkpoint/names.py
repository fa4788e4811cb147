"""Names of manifests: where one lies, and which files are none of the checkpoint's own."""

from __future__ import annotations

import re

FOLDER_MANIFEST = "tallystick-manifest.json"
_PART = re.compile(r"tallystick-manifest\.(0|[1-9]\d{0,6})-of-([1-9]\d{0,6})\.json", re.ASCII)


def beside(file_name: str) -> str:
    """Name the manifest of a file, which lies beside it."""
    return f"{file_name}.{FOLDER_MANIFEST}"


def part_name(rank: int, ranks: int) -> str:
    """Name the manifest of what one of several ranks wrote into a folder."""
    return f"tallystick-manifest.{rank}-of-{ranks}.json"


def part_of(name: str) -> tuple[int, int] | None:
    """Read rank and number of ranks off the name of a part; None if it is none."""
    match = _PART.fullmatch(name)
    if match is None:
        return None
    rank, ranks = int(match[1]), int(match[2])
    return (rank, ranks) if rank < ranks else None


def is_manifest(name: str) -> bool:
    """Tell whether a file is a manifest, or the draft of one."""
    stem = name[1:-4] if name.startswith(".") and name.endswith(".tmp") else name
    return stem.endswith(FOLDER_MANIFEST) or part_of(stem) is not None
