"""A node with its hooks installed, whose GPUs and tools are what a test says."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

from tallystick.app.node_files import install_node
from tests.emit.spools import records

PYTHON: Final = next(
    (path for path in ("/usr/bin/python3", sys.executable) if Path(path).exists()), sys.executable
)
UUIDS: Final = tuple(f"GPU-0000000{n}-0000-4000-8000-000000000000" for n in range(4))
JOB: Final = {
    "SLURM_JOB_ID": "7",
    "SLURM_CLUSTER_NAME": "c1",
    "SLURMD_NODENAME": "n1",
    "SLURM_JOB_PARTITION": "spot",
    "SLURM_JOB_GPUS": "0,1",
    "SLURM_JOB_UID": str(os.geteuid()),
}
SETTINGS: Final = (
    "TALLYSTICK_SLURM_INDEX=nvml",
    "TALLYSTICK_CAPACITY=spot=spot",
    "TALLYSTICK_GPU_TYPE=h100",
    "TALLYSTICK_HOOK_WALL=2",
    "TALLYSTICK_HOOK_CPU=5",  # Machines that run tests may be slow; the budget has its own test.
)


class Node:
    """A folder that stands for a node: hooks in ``etc``, tools in ``bin``, and a spool."""

    def __init__(self, path: Path, *, python: str = PYTHON) -> None:
        self.spool = path / "spool"
        self.bin = path / "bin"
        self.etc = path / "etc"
        self.bin.mkdir()
        self.etc.mkdir()
        lines = (f"TALLYSTICK_SPOOL={self.spool}", f"TALLYSTICK_PATH={self.bin}:/usr/bin:/bin")
        (self.etc / "node.env").write_text("\n".join([*lines, *SETTINGS]) + "\n")
        install_node(self.etc, spool=None, url=None, python=python)

    def tool(self, name: str, script: str) -> None:
        """Put a tool onto the node."""
        path = self.bin / name
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)

    def has_gpus(self, count: int = 4) -> None:
        """Put GPUs into the node, as nvidia-smi names them."""
        lines = [f"{n}, {UUIDS[n]}, 00000000:{n + 1:02X}:00.0, Disabled" for n in range(count)]
        self.tool("nvidia-smi", "\n".join(f"echo '{line}'" for line in lines))

    def run(self, hook: str, **variables: str) -> str:
        """Have Slurm call a hook, with next to no environment; it must end with 0."""
        ran = subprocess.run(
            [self.etc / hook], env=JOB | variables, capture_output=True, check=False, timeout=30
        )
        assert ran.returncode == 0
        return ran.stdout.decode()

    def told(self, kind: str) -> list[dict[str, Any]]:
        """Give the records of one kind that wait in the spool."""
        return [each for each in records(self.spool) if each["kind"] == kind]

    def bodies(self, kind: str) -> list[dict[str, Any]]:
        """Give what the records of one kind say."""
        return [each["body"] for each in self.told(kind)]

    def dumps(self) -> list[Path]:
        """Give the environments that scripts kept."""
        return sorted((self.spool / str(os.geteuid()) / "dumps").glob("*.env"))


def old_pythons() -> list[str]:
    """Name an interpreter of each version from 3.9 on that this machine has."""
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    names = [shutil.which(f"python3.{minor}") for minor in range(9, 15)]
    found = {_version(path): path for path in (*names, *root.glob("versions/3.*/bin/python3"))}
    works = {version: path for version, path in found.items() if version is not None}
    return [str(path) for version, path in sorted(works.items()) if version >= (3, 9)] or [PYTHON]


def _version(path: str | Path | None) -> tuple[int, int] | None:
    """Ask an interpreter which one it is; None if it does not run."""
    if path is None:
        return None
    code = "import sys; print(*sys.version_info[:2])"
    ran = subprocess.run([path, "-IS", "-c", code], capture_output=True, check=False)
    if ran.returncode != 0:
        return None
    major, minor = ran.stdout.split()
    return int(major), int(minor)
