"""A spool for tests, what lies in it, and a log that only answers."""

import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tallystick.emit.ship import Shipped, Shipper
from tallystick.emit.spool import Spool, make_spool

PRODUCER = "slurm-hook/n1"
HOOK = "scheduler.hook"


def new_spool(path: Path, producer: str = PRODUCER, **limits: int) -> Spool:
    """Make a spool and open the caller's part of it."""
    make_spool(path)
    return Spool(path, producer, **limits)


def files(path: Path) -> list[Path]:
    """Give the records that wait in the caller's part, in order of name."""
    return sorted((path / str(os.geteuid()) / "new").glob("*"))


def records(path: Path) -> list[dict[str, Any]]:
    """Read the records that wait in the caller's part."""
    return [json.loads(file.read_bytes()) for file in files(path)]


def aside(path: Path) -> list[str]:
    """Give the reasons for which files were set aside."""
    folder = path / str(os.geteuid()) / "quarantine"
    return [file.read_text().strip() for file in sorted(folder.glob("*.why"))]


def ship(path: Path, send: Callable[[Sequence[bytes]], Any]) -> Shipped:
    """Send what waits."""
    return Shipper(path, "n1", ()).ship(send)
