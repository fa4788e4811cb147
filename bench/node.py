"""What hooks cost a node, and how fast the shipper is.

Hooks run as Slurm calls them: the script, a bare environment, GPUs and DCGM by stand-ins that
answer at once. Wall time, processor time of the script and all that it starts, and the peak
memory of the largest process, of 200 calls; beside them the same script around an interpreter
that does nothing, in turns, so that a busy machine slows both alike.

The shipper sends records of a spool to a store on the same disk. Its floor is what any way to
keep them would do: copy each file, sync it, and remove the first one.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from tallystick.app.node_files import install_node
from tallystick.app.ship import store_sender
from tallystick.app.store import init_store, open_store
from tallystick.emit.ship import Shipper
from tallystick.emit.spool import Spool, make_spool

CALLS = 200
RECORDS = (2_000, 20_000)
PYTHON = "/usr/bin/python3" if Path("/usr/bin/python3").exists() else sys.executable
GPUS = 8
STAND_IN = Path(__file__).resolve().parent.parent / "tests" / "stand_ins" / "dcgmi"


class Cost(NamedTuple):
    """What one call took."""

    wall_ms: float
    cpu_ms: float
    peak_mb: float


MEASURE = """
import json, os, sys, time
nothing = [(os.POSIX_SPAWN_OPEN, stream, os.devnull, os.O_RDWR, 0) for stream in (0, 1, 2)]
before_ns = time.perf_counter_ns()
child = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions=nothing)
_, status, used = os.wait4(child, 0)
wall_ms = (time.perf_counter_ns() - before_ns) / 1e6
cpu_ms = (used.ru_utime + used.ru_stime) * 1e3
print(json.dumps([status, wall_ms, cpu_ms, used.ru_maxrss / 1024]))
"""
"""Runs a program from a small process: a child's peak begins with its parent's memory."""


def call(argv: list[str], environment: dict[str, str]) -> Cost:
    """Run a program to its end.

    Raises:
        RuntimeError: it did not end with 0, so its cost means nothing.
    """
    ran = subprocess.run(
        [PYTHON, "-IS", "-c", MEASURE, *argv], env=environment, capture_output=True, check=True
    )
    status, *cost = json.loads(ran.stdout)
    if status != 0:
        raise RuntimeError(f"{argv[0]} ended with {status}")
    return Cost(*cost)


def node(folder: Path) -> Path:
    """Install the hooks into a folder, with tools that answer at once; give the folder."""
    tools = folder / "bin"
    tools.mkdir()
    lines = [
        f"echo '{n}, GPU-0000000{n}-0000-4000-8000-000000000000, 00000000:0{n}:00.0, Disabled'"
        for n in range(GPUS)
    ]
    script(tools / "nvidia-smi", "\n".join(lines))
    instant_dcgmi(folder)
    settings = (
        f"TALLYSTICK_SPOOL={folder / 'spool'}",
        f"TALLYSTICK_PATH={tools}:/usr/bin:/bin",
        "TALLYSTICK_SLURM_INDEX=nvml",
        "TALLYSTICK_DCGM=command",
        "TALLYSTICK_HOOK_CPU=10",  # It is measured here, not kept.
    )
    (folder / "node.env").write_text("\n".join(settings) + "\n", encoding="utf-8")
    install_node(folder, spool=None, url=None, python=PYTHON)
    script(folder / "nothing", f"timeout 8 {PYTHON} -IS -c pass")
    return folder


def instant_dcgmi(folder: Path) -> None:
    """Have ``dcgmi`` print what the stand-in once printed, with the time of day, and at once."""
    home = folder / "engine"
    home.mkdir()
    boards = "".join(f"{n} GPU-0000000{n}-0000-4000-8000-000000000000\n" for n in range(GPUS))
    (home / "boards").write_text(boards, encoding="utf-8")
    environment = {"TALLYSTICK_STAND_IN": str(home), "PATH": "/usr/bin:/bin", "TZ": "UTC0"}
    said: dict[str, str] = {}
    for words in (
        ("discovery", "-l"),
        ("group", "-c", "job", "-a", ",".join(map(str, range(GPUS)))),
        ("stats", "-g", "2", "-e", "-u", "10", "-m", "60"),
        ("stats", "-g", "2", "-s", "job"),
        ("stats", "-x", "job"),
        ("stats", "-j", "job"),
        ("stats", "-v", "-j", "job"),
    ):
        time.sleep(0.05)  # So that there are samples.
        ran = subprocess.run(
            [STAND_IN, *words], env=environment, capture_output=True, text=True, check=True
        )
        name = "".join(words).replace(",", "")[:12]
        said[" ".join(words)] = re.sub(
            r"(Time +\| )\w{3} \w{3} [ \d]\d .{13}", r"\1@NOW@", ran.stdout
        )
        (home / name).write_text(said[" ".join(words)], encoding="utf-8")
    cases = "\n".join(
        f'"{pattern}"*) exec sed "s/@NOW@/$now/" {home}/{name} ;;'
        for pattern, name in (
            ("discovery -l", "discovery-l"),
            ("group -c", "group-cjob-a"),
            ("stats -g 2 -e", "stats-g2-e-u"),
            ("stats -g 2 -s", "stats-g2-sjo"),
            ("stats -x", "stats-xjob"),
            ("stats -j", "stats-jjob"),
            ("stats -v", "stats-v-jjob"),
        )
    )
    text = f"""now=$(date -u '+%a %b %e %H:%M:%S %Y')\ncase "$*" in\n{cases}\nesac"""
    script(folder / "bin" / "dcgmi", text)


def script(path: Path, text: str) -> None:
    """Write a shell script."""
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    path.chmod(0o755)


def hooks(calls: int) -> dict[str, list[Cost]]:
    """Call prolog, epilog and the script that does nothing, in turns."""
    costs: dict[str, list[Cost]] = {"nothing": [], "prolog": [], "epilog": []}
    with tempfile.TemporaryDirectory() as name:
        folder = node(Path(name))
        for number in range(calls):
            environment = {
                "SLURM_JOB_ID": str(number + 1),
                "SLURM_CLUSTER_NAME": "c1",
                "SLURMD_NODENAME": "n1",
                "SLURM_JOB_GPUS": "0-7",
                "SLURM_JOB_UID": "1000",
            }
            costs["nothing"].append(call([str(folder / "nothing")], environment))
            costs["prolog"].append(call([str(folder / "slurm-prolog")], environment))
            costs["epilog"].append(call([str(folder / "slurm-epilog")], environment))
    return costs


def at(share: float, values: list[float]) -> float:
    """Give the value below which a share of them lies."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def print_hooks(costs: dict[str, list[Cost]]) -> dict[str, float]:
    """Print what each script cost, and give the figures."""
    print(f"{'':10}{'wall ms p50':>12}{'p99':>8}{'cpu ms p50':>12}{'p99':>8}{'peak MB':>9}")
    for name, found in costs.items():
        wall, cpu = [each.wall_ms for each in found], [each.cpu_ms for each in found]
        peak = max(each.peak_mb for each in found)
        row = (at(0.5, wall), at(0.99, wall), at(0.5, cpu), at(0.99, cpu), peak)
        print("{:10}{:12.1f}{:8.1f}{:12.1f}{:8.1f}{:9.1f}".format(name, *row))
    prolog = [each.cpu_ms for each in costs["prolog"]]
    epilog = [each.cpu_ms for each in costs["epilog"]]
    nothing = at(0.5, [each.cpu_ms for each in costs["nothing"]])
    peaks = [each.peak_mb for name in ("prolog", "epilog") for each in costs[name]]
    walls = [each.wall_ms for name in ("prolog", "epilog") for each in costs[name]]
    return {
        "hook_prolog_p99_cpu_ms": round(at(0.99, prolog), 1),
        "hook_epilog_p99_cpu_ms": round(at(0.99, epilog), 1),
        "hook_peak_mb": round(max(peaks), 1),
        "hook_p99_wall_ms": round(at(0.99, walls), 1),
        "hook_prolog_vs_python": round(at(0.5, prolog) / nothing, 2),
        "hook_epilog_vs_python": round(at(0.5, epilog) / nothing, 2),
    }


def fill(folder: Path, count: int) -> Path:
    """Make a spool in which some records wait."""
    spool = folder / "spool"
    make_spool(spool)
    part = Spool(spool, "slurm-hook/n1")
    for number in range(count):
        body: dict[str, Any] = {
            "attempt": f"slurm:c1:{number}@n1:1770000000",
            "ended_by": "unknown",
        }
        part.put("allocation.ended", body, 1_770_000_000_000_000 + number)
    return spool


def copied(waiting: Path, kept: Path) -> None:
    """Copy each file, sync it, and remove the first one."""
    for path in sorted(waiting.iterdir()):
        with (kept / path.name).open("wb") as file:
            file.write(path.read_bytes())
            file.flush()
            os.fsync(file.fileno())
        path.unlink()


def per_second(count: int, work: Callable[[Path], None]) -> float:
    """Say how many records a second some work does, on a spool of its own."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        fill(folder, count)
        before_ns = time.perf_counter_ns()
        work(folder)
        return count / ((time.perf_counter_ns() - before_ns) / 1e9)


def copy(folder: Path) -> None:
    """Do what the floor does."""
    kept = folder / "kept"
    kept.mkdir()
    copied(folder / "spool" / str(os.geteuid()) / "new", kept)


def ship(folder: Path) -> None:
    """Ship to a store on the same disk."""
    init_store(folder / "store", "bench.example/log")
    with open_store(folder / "store") as store:
        Shipper(folder / "spool", "n1", ()).ship(store_sender(store.log))


def shipping(rounds: int = 3) -> dict[str, float]:
    """Compare shipper and floor, in turns, for few and many records."""
    figures: dict[str, float] = {}
    for count in RECORDS:
        pairs = [(per_second(count, copy), per_second(count, ship)) for _ in range(rounds)]
        floor, ours = (statistics.median(each) for each in zip(*pairs, strict=True))
        print(f"{count:6} records: copy and sync {floor:8.0f}/s, ship {ours:8.0f}/s")
        figures[f"ship_{count}_per_s"] = round(ours)
        figures["ship_vs_copy"] = round(ours / floor, 2)
    return figures


def main() -> int:
    """Measure, print, and write the figures to the file that was named."""
    parser = argparse.ArgumentParser(description="Measure hooks and shipper.")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--calls", type=int, default=CALLS)
    options = parser.parse_args()
    figures = print_hooks(hooks(options.calls)) | shipping()
    options.out.write_text(json.dumps(figures), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
