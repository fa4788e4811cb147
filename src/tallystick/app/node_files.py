"""What a node needs: one file with hooks and shipper, a script for each hook, settings, a unit.

The file is a zip that Python runs. It is the same bytes wherever it is made, so a site can
tell which version a node has by its digest.
"""

import io
import os
import shlex
import sys
import zipfile
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Final

from tallystick.app.errors import UnwritableFileError
from tallystick.app.files import write_file
from tallystick.emit.errors import SpoolUnusableError
from tallystick.emit.hook import HOOKS
from tallystick.emit.settings import SECOND_US, read_settings
from tallystick.emit.slurm.held import FOLDER as RUNS
from tallystick.emit.spool import Spool, make_spool

NODE_FILE: Final = "tallystick-node.pyz"
UNIT: Final = "tallystick-ship.service"
SETTINGS: Final = "node.env"
LINES: Final = {
    "slurm-prolog": "Prolog",
    "slurm-epilog": "Epilog",
    "slurm-prologctld": "PrologSlurmctld",
    "slurm-epilogctld": "EpilogSlurmctld",
    "task-prolog": "TaskProlog",
}
_EPOCH = (1980, 1, 1, 0, 0, 0)  # The earliest time that a zip can hold.
_MAIN = b"import sys\n\nfrom tallystick.emit.main import main\n\nsys.exit(main())\n"
_MARGIN_S = 3  # What the script grants beyond the hook's own limit.


@dataclass(frozen=True, slots=True)
class Installed:
    """What was written, and what the operator has to add to slurm.conf."""

    files: tuple[Path, ...]
    slurm_conf: tuple[str, ...]
    spool: Path


def node_file() -> bytes:
    """Make the file that nodes get: the package's node part as a zip with a first line."""
    buffer = io.BytesIO(b"")
    package = resources.files("tallystick")
    with zipfile.ZipFile(buffer, "w") as archive:
        _add(archive, "__main__.py", _MAIN)
        _add(archive, "tallystick/__init__.py", (package / "__init__.py").read_bytes())
        root = Path(str(package / "emit"))
        for path in sorted(root.rglob("*.py")):
            name = f"tallystick/emit/{path.relative_to(root).as_posix()}"
            _add(archive, name, path.read_bytes())
    return b"#!/usr/bin/python3 -IS\n" + buffer.getvalue()


def _add(archive: zipfile.ZipFile, name: str, data: bytes) -> None:
    entry = zipfile.ZipInfo(name, _EPOCH)
    entry.external_attr = 0o100644 << 16
    archive.writestr(entry, data, zipfile.ZIP_STORED)


def install_node(folder: Path, *, spool: Path | None, url: str | None, python: str) -> Installed:
    """Write everything that a node needs into a folder, and make its spool.

    Settings that are there already are kept.

    Args:
        folder: Where to, such as ``/etc/tallystick``.
        spool: Where records wait; None is what the settings say.
        url: Address of the server that the unit sends to; None leaves the unit out.
        python: The interpreter that nodes have.

    Raises:
        UnwritableFileError: something cannot be written.
    """
    folder = folder.absolute()  # Slurm calls hooks from wherever it is.
    settings = folder / SETTINGS
    place = spool.absolute() if spool is not None else read_settings(settings).spool
    marks = {
        "PYTHON": shlex.quote(python),
        "FILE": shlex.quote(str(folder / NODE_FILE)),
        "CONFIG": shlex.quote(str(settings)),
        "TOKEN": shlex.quote(str(folder / "token")),
        "SPOOL": shlex.quote(str(place)),
        "URL": shlex.quote(url or ""),
    }
    files: list[tuple[Path, bytes, int]] = [(folder / NODE_FILE, node_file(), 0o755)]
    if not settings.exists():
        files.append((settings, _filled("node.env", marks), 0o644))
    files += [(folder / hook, _script(hook, marks, settings), 0o755) for hook in HOOKS]
    if url is not None:
        files.append((folder / UNIT, _filled(UNIT, marks), 0o644))
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _take_names(place)
    except (OSError, SpoolUnusableError) as error:
        raise UnwritableFileError(str(folder), str(error)) from error
    for path, data, mode in files:
        write_file(path, data, mode=mode)
    lines = tuple(f"{key}={folder / hook}" for hook, key in LINES.items())
    return Installed(tuple(path for path, _, _ in files), ("PrologFlags=Alloc", *lines), place)


def _take_names(spool: Path) -> None:
    """Make the folders of a spool that are ours, before anybody else can.

    Raises:
        OSError: one cannot be made.
        SpoolUnusableError: one is somebody else's already.
    """
    make_spool(spool)
    runs = spool / RUNS
    runs.mkdir(mode=0o755, exist_ok=True)
    if runs.is_symlink() or runs.stat().st_uid != os.geteuid():
        raise SpoolUnusableError(str(spool), f"{RUNS} belongs to somebody else")
    Spool(spool, "spool/install")


def uninstall_node(folder: Path) -> tuple[Path, ...]:
    """Remove what was installed; settings and spool stay, since they may be wanted.

    Raises:
        UnwritableFileError: a file cannot be removed.
    """
    gone = []
    for name in (*HOOKS, NODE_FILE, UNIT):
        path = folder / name
        try:
            if path.exists():
                path.unlink()
                gone.append(path)
        except OSError as error:
            raise UnwritableFileError(str(path), (error.strerror or str(error)).lower()) from error
    return tuple(gone)


def _script(hook: str, marks: dict[str, str], settings: Path) -> bytes:
    limit_s = -(-read_settings(settings).wall_us // SECOND_US) + _MARGIN_S
    is_task = hook == "task-prolog"  # Slurm reads what it prints.
    further = {
        "HOOK": hook,
        "DUMP": hook.removeprefix("slurm-").replace("ctld", "slurmctld"),
        "LIMIT": str(limit_s),
        "OUTPUT": "2>/dev/null" if is_task else ">/dev/null 2>&1",
    }
    return _filled("hook.sh", marks | further)


def _filled(name: str, marks: dict[str, str]) -> bytes:
    text = (resources.files("tallystick") / "node_files" / name).read_text(encoding="utf-8")
    for mark, value in marks.items():
        text = text.replace(f"@{mark}@", value)
    return text.encode()


def default_python() -> str:
    """Name the interpreter that nodes are most likely to have."""
    return "/usr/bin/python3" if Path("/usr/bin/python3").exists() else sys.executable
