"""Names and places of checkpoints, from what a framework calls a path."""

from __future__ import annotations

import os
from typing import Any

from tallystick.emit.progress.whereabouts import is_name


def name_of(path: Any, step: Any) -> str:
    """Name a checkpoint as its file or folder is named, or by its step if that is no name."""
    name = os.path.basename(os.path.normpath(str(path)))  # noqa: PTH119 (a URL is no Path)
    return name if is_name(name) else f"step-{step}"


def local(path: Any) -> list[str]:
    """Give the path if it lies in a file system; what a URL names cannot be looked at."""
    return [] if "://" in str(path) else [str(path)]
