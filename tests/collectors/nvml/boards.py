"""NVML for tests: the stand-in library, built once, and what it says of boards."""

import ctypes
import os
import shutil
import subprocess
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import pytest

SOURCE = Path(__file__).parents[2] / "stand_ins" / "nvml.c"
LIBRARY = "libnvidia-ml.so.1"
U0 = "GPU-aaaaaaaa-0000-0000-0000-000000000000"
U1 = "GPU-bbbbbbbb-0000-0000-0000-000000000001"

LOST, UNKNOWN_ERROR, NOT_SUPPORTED, NO_DRIVER, NO_PERMISSION = "!15", "!999", "!3", "9", "!4"


class Said(NamedTuple):
    """What the stand-in says of a board; ``!15`` in place of a value is error 15."""

    uuid: str = U0
    bus: str = "00000000:18:00.0"
    minor: str = "0"
    mig: str = "0"
    util: str = "97"
    memory_util: str = "40"
    power_mw: str = "350112"
    energy_mj: str = "1575000"


BOARD = Said()
OTHER = Said(U1, bus="00000000:2A:00.0", minor="1")


def say(
    home: Path, *boards: Said, down: str | None = None, driver: str | None = "580.65.06"
) -> None:
    """Have the stand-in say something else from now on."""
    lines = [] if driver is None else [f"driver {driver}"]
    lines += [f"down {down}"] if down is not None else [" ".join(board) for board in boards]
    draft = home / "nvml.draft"
    draft.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    draft.rename(home / "nvml")


def build(folder: Path) -> Path:
    """Build the stand-in where nobody has yet; skip the test where nothing can build it."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler")
    place = folder / LIBRARY
    draft = folder / f"{LIBRARY}.{os.getpid()}"
    subprocess.run([compiler, "-shared", "-fPIC", "-o", str(draft), str(SOURCE)], check=True)
    draft.rename(place)
    return place


def use(library: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Have the real package load the stand-in, in this process."""
    pynvml: Any = import_module("pynvml")
    monkeypatch.setenv("TALLYSTICK_STAND_IN", str(home))
    monkeypatch.setattr(pynvml, "nvmlLib", ctypes.CDLL(str(library)))
    monkeypatch.setattr(pynvml, "_nvmlGetFunctionPointer_cache", {})
    return pynvml
