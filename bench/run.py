"""Run benchmarks and keep their figures.

``python bench/run.py NAME`` runs one of coverage, rate, start, log, bundle, node, pull, emit,
checkpoint, goodput and growth; without a name all but ``growth``, which takes minutes and
gigabytes. Each is a script of its own, so that one cannot warm the caches or raise the memory
peak of another: it prints its figures for people and writes a flat JSON object to ``--out
FILE``. The objects are merged into ``bench/results.json``; ``bench/RESULTS.md`` is the same as
a table.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
NAMES = (
    "coverage",
    "rate",
    "start",
    "log",
    "bundle",
    "node",
    "pull",
    "emit",
    "checkpoint",
    "goodput",
)
SCRIPTS = {name: [f"{name}.py"] for name in NAMES} | {"growth": ["log.py", "--growth", "10000000"]}

Figure = int | float | str


class Row(NamedTuple):
    """What one key means, and what it should come to."""

    key: str
    meaning: str
    goal: str


ROWS = (
    Row("coverage_10m_vs_scan", "coverage of 10 million samples ÷ scanning the same columns", "—"),
    Row("coverage_100m_vs_scan", "the same for 100 million samples", "≤ 1.8"),
    Row("coverage_100m_peak_mb", "peak memory of that, MB", "< 600"),
    Row("receipts_per_s", "receipts of 8-GPU, 3-attempt runs per second, one process", "≥ 1000"),
    Row("admit_1_vs_fdatasync", "admission one by one ÷ appends of the same bytes", "≤ 1.1"),
    Row("admit_100_vs_fdatasync", "the same in batches of 100", "≤ 3"),
    Row("admit_1000_vs_fdatasync", "the same in batches of 1,000", "≤ 10"),
    Row("store_1_vs_fdatasync", "of it the store, leaves read and hashed before", "—"),
    Row("store_100_vs_fdatasync", "the same in batches of 100", "—"),
    Row("store_1000_vs_fdatasync", "the same in batches of 1,000", "—"),
    Row("verify_bundle_10k_ms", "`receipt verify` of 10,000 records, without start-up, ms", "—"),
    Row("hook_prolog_p99_cpu_ms", "processor time of a prolog, p99 of 200 calls, ms", "≤ 300"),
    Row("hook_epilog_p99_cpu_ms", "the same of an epilog", "≤ 300"),
    Row("hook_peak_mb", "peak memory of a hook, MB", "—"),
    Row("ship_vs_copy", "records shipped per second ÷ files copied and synced", "≥ 1"),
    Row("pull_10m_peak_mb", "peak memory of pulling and sealing 10 million samples, MB", "—"),
    Row("pull_10m_vs_1m_peak", "the same ÷ that of 1 million", "—"),
    Row("pull_vs_plain_copy", "time of that ÷ streaming the same exports to a file, synced", "—"),
    Row("emit_step_p50_us", "reporting a step from a training loop, p50 of 100,000, µs", "≤ 10"),
    Row("emit_step_p99_us", "the same, p99", "≤ 50"),
    Row("emit_step_vs_write", "p50 of it ÷ p50 of one write of as many bytes", "—"),
    Row(
        "verify_1024m_vs_sha256sum",
        "verify of 1 GiB in 64 shards ÷ sha256sum by as many",
        "≤ 1",
    ),
    Row("verify_1024m_vs_256m", "time of that ÷ that of 256 MiB", "≤ 4.4"),
    Row("verify_peak_mb", "peak memory of that, MB", "—"),
    Row("verify_10k_checkpoints_s", "`checkpoint verify` of 10,000 small checkpoints, s", "—"),
    Row("goodput_stories_right", "stories of lost and kept time that we get right, of 11", "11"),
    Row("goodput_speedup_100k", "ml-goodput-measurement's time for 100,000 steps ÷ ours", "≥ 10"),
    Row("rate_cli_ms", "`tallystick rate` on one run, start to finish, ms", "≤ 200"),
)


def run(name: str) -> dict[str, Figure]:
    """Run one benchmark in its own process and read what it wrote.

    Raises:
        subprocess.CalledProcessError: it failed; its own message is on standard error.
    """
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "figures.json"
        script, *options = SCRIPTS[name]
        subprocess.run([sys.executable, HERE / script, *options, "--out", out], check=True)
        figures: dict[str, Figure] = json.loads(out.read_bytes())
    return figures


def table(figures: dict[str, Figure]) -> str:
    """Write the figures as a page; what was not measured is a dash."""
    lines = [
        "# Benchmark results",
        "",
        "Written by `make bench`; the last run of each benchmark counts. Each script prints the",
        "floor that its figure is compared with, measured in the same run.",
        "",
        "| key | measured | goal | meaning |",
        "|---|---:|---:|---|",
    ]
    lines += [
        f"| `{row.key}` | {figures.get(row.key, '—')} | {row.goal} | {row.meaning} |"
        for row in ROWS
    ]
    known = {row.key for row in ROWS}
    extra = [f"| `{key}` | {figures[key]} |" for key in sorted(figures.keys() - known)]
    if extra:
        lines += ["", "Beside them:", "", "| key | measured |", "|---|---:|", *extra]
    return "\n".join(lines) + "\n"


def main() -> int:
    """Run what was asked for, merge, and write both files."""
    parser = argparse.ArgumentParser(description="Run benchmarks and keep their figures.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=" ".join(SCRIPTS))
    names = parser.parse_args().names or NAMES
    unknown = [name for name in names if name not in SCRIPTS]
    if unknown:
        parser.error(f"expected one of {', '.join(SCRIPTS)}, got {unknown[0]}")
    results = HERE / "results.json"
    figures: dict[str, Figure] = json.loads(results.read_bytes()) if results.exists() else {}
    for name in names:
        print(f"== {name}", flush=True)
        figures |= run(name)
        results.write_text(json.dumps(figures, indent=2, sort_keys=True) + "\n", encoding="utf-8")
        (HERE / "RESULTS.md").write_text(table(figures), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
