"""Programs of others: where they are, and what happens where they are missing."""

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NoReturn

import pytest

REQUIRED = "TALLYSTICK_STRANGERS"
HERE = Path(__file__).resolve().parent
NODE_MODULES = HERE / "node" / "node_modules"


def missing(what: str) -> NoReturn:
    """Skip the test for want of a program, or fail it where programs are required."""
    reason = f"{what} is not installed: see tests/strangers/README.md"
    if os.environ.get(REQUIRED) == "required":
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


def program(name: str) -> str:
    """Give the path of a program, if it is there."""
    return shutil.which(name) or missing(name)


def run(
    command: Sequence[str | Path], *, stdin: bytes = b"", env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Run a program to its end, whatever it says."""
    return subprocess.run(
        command,
        input=stdin,
        env={**os.environ, **(env or {})},
        capture_output=True,
        check=False,
        timeout=300,
    )
