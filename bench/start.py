"""Time `tallystick rate` on one run, start to finish, beside the floors of a Python process.

Floors: an interpreter that does nothing, and one that only imports NumPy. Runs of the three
are interleaved, so that a busy machine slows them alike; the median counts.
"""

import argparse
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CASE = ROOT / "tests" / "conformance" / "cases" / "022-flagship"
COMMAND = Path(sys.executable).parent / "tallystick"
ROUNDS = 15


def elapsed_ms(command: list[str]) -> float:
    """Run a command once; give its wall time.

    Raises:
        subprocess.CalledProcessError: it did not exit with 0, so its time means nothing.
    """
    before_ns = time.perf_counter_ns()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return (time.perf_counter_ns() - before_ns) / 1e6


def main() -> int:
    """Measure, print, and write the figures to the file that was named."""
    parser = argparse.ArgumentParser(description="Time `tallystick rate` on one run.")
    parser.add_argument("--out", type=Path, required=True)
    out: Path = parser.parse_args().out
    evidence = [str(path) for path in sorted(CASE.glob("evidence*.jsonl"))]
    contracts = [str(path) for path in sorted(CASE.glob("contract*.toml"))]
    commands = {
        "python -c pass": [sys.executable, "-c", "pass"],
        "python -c 'import numpy'": [sys.executable, "-c", "import numpy"],
        "tallystick rate": [
            *(str(COMMAND), "rate", "--evidence", *evidence),
            *("--contract", *contracts, "--json"),
        ],
    }
    for command in commands.values():
        elapsed_ms(command)  # The first run writes bytecode and fills the page cache.
    rounds = [{name: elapsed_ms(cmd) for name, cmd in commands.items()} for _ in range(ROUNDS)]
    medians = {name: statistics.median(one[name] for one in rounds) for name in commands}
    floor_ms = medians["python -c pass"]
    for name, median_ms in medians.items():
        print(f"{name:26} {median_ms:7.1f} ms   {median_ms / floor_ms:5.1f} x a bare interpreter")
    figures = {
        "rate_cli_ms": round(medians["tallystick rate"], 1),
        "rate_cli_vs_python": round(medians["tallystick rate"] / floor_ms, 2),
    }
    out.write_text(json.dumps(figures), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
