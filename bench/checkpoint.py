"""Verify a checkpoint of many shards against its manifest, and look at a folder of many.

Floor: ``sha256sum`` of the same files, in as many processes as we use threads, which is what
anybody would do by hand; ``openssl`` beside it, since the tools differ in how they hash. The
files are read once before, so that no disk is measured. The peak memory is that of the command.
"""

import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tallystick.app.checkpoints import verify_checkpoints
from tallystick.emit.checkpoint.listing import listing
from tallystick.emit.checkpoint.manifest import make_manifest, write_manifest
from tallystick.emit.checkpoint.survey import NEWEST
from tallystick.emit.checkpoint.threads import cores

SHARD_MIB = 16
SIZES_MIB = (256, 1024)
CHECKPOINTS = 10_000
ROUNDS = 5


def shards(folder: Path, size_mib: int) -> Path:
    """Write a checkpoint of so many shards, with its manifest."""
    folder.mkdir()
    for number in range(size_mib // SHARD_MIB):
        (folder / f"shard-{number:04}.bytes").write_bytes(os.urandom(SHARD_MIB << 20))
    write_manifest(make_manifest(listing([folder]), step=1000, threads=None))
    return folder


def by_hand(folder: Path, *command: str) -> None:
    """Hash every shard with a tool, in as many processes as there are processors."""
    names = b"\0".join(os.fsencode(path) for path in sorted(folder.glob("shard-*")))
    xargs = shutil.which("xargs") or "/usr/bin/xargs"
    subprocess.run(
        [xargs, "-0", "-n", "1", "-P", str(cores()), *command],
        input=names,
        stdout=subprocess.DEVNULL,
        check=True,
    )


def verify(folder: Path) -> None:
    """Verify it.

    Raises:
        RuntimeError: it is not verified, so the time means nothing.
    """
    found = verify_checkpoints(folder, read=NEWEST)
    if found.last is None or found.last.state != "verified":
        raise RuntimeError(f"expected a verified checkpoint, found {found.checkpoints}")


def seconds(work: Callable[[], None]) -> float:
    """Say how long some work takes."""
    before_ns = time.perf_counter_ns()
    work()
    return (time.perf_counter_ns() - before_ns) / 1e9


def compare(folder: Path, size_mib: int) -> dict[str, float]:
    """Compare the tools on one checkpoint, in turns; give medians in seconds."""
    shards(folder, size_mib)
    ways: dict[str, Callable[[], None]] = {
        "sha256sum": lambda: by_hand(folder, "sha256sum"),
        "openssl": lambda: by_hand(folder, "openssl", "dgst", "-sha256"),
        "verify": lambda: verify(folder),
    }
    taken: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(ROUNDS):
        for name, work in ways.items():
            taken[name].append(seconds(work))
    medians = {name: statistics.median(each) for name, each in taken.items()}
    rates = ", ".join(f"{name} {size_mib / each:5.0f} MiB/s" for name, each in medians.items())
    print(f"{size_mib:5} MiB in {size_mib // SHARD_MIB} shards, {cores()} at once: {rates}")
    return medians


def peak_mb(folder: Path) -> float:
    """Run the command and give its peak memory."""
    command = [sys.executable, "-m", "tallystick", "checkpoint", "verify", str(folder)]
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024


def many(folder: Path) -> float:
    """Look at a folder of many small checkpoints; give the seconds."""
    folder.mkdir()
    for step in range(CHECKPOINTS):
        path = folder / f"step_{step}"
        path.mkdir()
        (path / "weights").write_bytes(b"x" * 100)
        write_manifest(make_manifest(listing([path]), step=step))
    taken = seconds(lambda: verify(folder))
    print(f"{CHECKPOINTS} checkpoints: {taken:.2f} s, {taken / CHECKPOINTS * 1e6:.0f} µs each")
    return taken


def main() -> int:
    """Measure, print, and write the figures to the file that was named."""
    parser = argparse.ArgumentParser(description="Measure checkpoint verify.")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    figures: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as name:
        found = {}
        for size_mib in SIZES_MIB:
            folder = Path(name) / f"step_{size_mib}"
            found[size_mib] = compare(folder, size_mib)
            figures[f"verify_{size_mib}m_vs_sha256sum"] = round(
                found[size_mib]["verify"] / found[size_mib]["sha256sum"], 2
            )
            figures[f"verify_{size_mib}m_vs_openssl"] = round(
                found[size_mib]["verify"] / found[size_mib]["openssl"], 2
            )
        small, large = (found[size_mib]["verify"] for size_mib in SIZES_MIB)
        figures["verify_1024m_vs_256m"] = round(large / small, 2)
        figures["verify_peak_mb"] = round(peak_mb(Path(name) / f"step_{SIZES_MIB[-1]}"), 1)
        figures["verify_10k_checkpoints_s"] = round(many(Path(name) / "many"), 2)
    print(f"peak memory of the command: {figures['verify_peak_mb']} MB")
    options.out.write_text(json.dumps(figures), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
