"""Time a pull from a real VictoriaMetrics, beside copying the same exports to a file.

The server is loaded with 1 and with 10 million samples of one fleet: 100 targets with 8 GPUs
each, `up` and the counts of scrapes among them, one sample a second. Pull and copy take turns,
and the median counts. Each pull is a process of its own, whose peak memory the kernel tells.
"""

import argparse
import json
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, NamedTuple

TARGETS: Final = 100
GPUS: Final = 8
START_S: Final = 1_772_323_200  # 2026-03-01T00:00:00Z
METRIC: Final = "BENCH_UTIL"
SCRAPES: Final = '{__name__=~"up|scrape_samples_scraped"}'
ROUNDS: Final = 3
MILLION: Final = 1_000_000
CALL: Final = "from tallystick.cli.collect_pull import pull_command; pull_command()"
TALLYSTICK: Final = Path(sys.executable).parent / "tallystick"


class Timed(NamedTuple):
    """How long something took, and how much memory its process had at most."""

    seconds: float
    peak_mb: float


@contextmanager
def victoria(folder: Path) -> Iterator[str]:
    """Run a server on a free port; give its address."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    binary = shutil.which("victoria-metrics")
    if binary is None:
        raise SystemExit("victoria-metrics is not installed")
    command = [
        binary,
        f"-storageDataPath={folder / 'victoria'}",
        f"-httpListenAddr=127.0.0.1:{port}",
        "-retentionPeriod=100y",
        "-loggerLevel=ERROR",
    ]
    with (folder / "victoria.out").open("wb") as out:
        process = subprocess.Popen(command, stdout=out, stderr=out)
    try:
        url = f"http://127.0.0.1:{port}"
        for _ in range(100):
            with suppress(urllib.error.URLError):
                ask(url, "/health")
                break
            time.sleep(0.1)
        yield url
    finally:
        process.kill()
        process.wait()


def ask(url: str, path: str, body: bytes | None = None) -> bytes:
    """Ask the server."""
    request = urllib.request.Request(url + path, body)  # noqa: S310 (our own server)
    with urllib.request.urlopen(request, timeout=120) as reply:  # noqa: S310 (as above)
        answer: bytes = reply.read()
    return answer


def load(url: str, seconds: int) -> None:
    """Import the samples of the whole fleet, target by target."""
    times = ",".join(str((START_S + second) * 1000) for second in range(seconds))
    ones = ",".join("1" for _ in range(seconds))
    for target in range(TARGETS):
        labels = {"job": "gpus", "instance": f"n{target}:9400", "hostname": f"n{target}"}
        lines = []
        for name in ("up", "scrape_samples_scraped"):
            metric = json.dumps(labels | {"__name__": name})
            lines.append(f'{{"metric":{metric},"values":[{ones}],"timestamps":[{times}]}}')
        for gpu in range(GPUS):
            number = target * GPUS + gpu
            uuid = f"GPU-{number:08x}-0000-4000-8000-000000000000"
            metric = json.dumps(labels | {"__name__": METRIC, "UUID": uuid, "gpu": str(gpu)})
            values = ",".join(str((second * 7919 + number) % 101) for second in range(seconds))
            lines.append(f'{{"metric":{metric},"values":[{values}],"timestamps":[{times}]}}')
        ask(url, "/api/v1/import", "\n".join(lines).encode() + b"\n")
    ask(url, "/internal/force_flush")


def pull(url: str, folder: Path, seconds: int) -> Timed:
    """Pull everything into a new store, in a process of its own."""
    store = folder / "store"
    shutil.rmtree(store, ignore_errors=True)
    (folder / "store.head").unlink(missing_ok=True)
    made = [str(TALLYSTICK), "init", str(store), "--origin", "bench.example/log"]
    subprocess.run(made, check=True, stdout=subprocess.DEVNULL)
    begin, end = (time.gmtime(START_S), time.gmtime(START_S + seconds))
    command = [
        *(sys.executable, "-c", CALL, "--url", url, "--match", METRIC, "--cadence", "1"),
        *("--from", time.strftime("%Y-%m-%dT%H:%M:%SZ", begin)),
        *("--to", time.strftime("%Y-%m-%dT%H:%M:%SZ", end)),
        *("--node-label", "hostname", "--store", str(store), "--json"),
    ]
    before_ns = time.perf_counter_ns()
    with (folder / "pulled.json").open("wb") as out:
        process = subprocess.Popen(command, stdout=out)
        _, status, usage = os.wait4(process.pid, 0)
    elapsed_s = (time.perf_counter_ns() - before_ns) / 1e9
    process.returncode = os.waitstatus_to_exitcode(status)
    rows = json.loads((folder / "pulled.json").read_bytes())["rows"]
    if process.returncode or rows != TARGETS * GPUS * seconds:
        raise SystemExit(f"the pull gave {rows} rows and status {process.returncode}")
    return Timed(elapsed_s, usage.ru_maxrss / 1024)


def copy(url: str, folder: Path, seconds: int) -> float:
    """Stream the same exports to a file and sync it; give how long that took."""
    before_ns = time.perf_counter_ns()
    with (folder / "copied.jsonl").open("wb") as file:
        for match in (SCRAPES, METRIC):
            fields = {"match[]": match, "start": START_S, "end": START_S + seconds}
            fields |= {"reduce_mem_usage": "1"}
            path = "/api/v1/export?" + urllib.parse.urlencode(fields)
            with urllib.request.urlopen(url + path, timeout=120) as reply:  # noqa: S310 (ours)
                shutil.copyfileobj(reply, file, 1 << 18)
        file.flush()
        os.fsync(file.fileno())
    return (time.perf_counter_ns() - before_ns) / 1e9


def measure(samples: int, rounds: int) -> tuple[Timed, float]:
    """Load a new server, and let pull and copy take turns; give the medians."""
    seconds = samples // (TARGETS * (GPUS + 2))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with victoria(folder) as url:
            load(url, seconds)
            copy(url, folder, seconds)  # The first one fills the server's caches.
            pulls, copies = [], []
            for _ in range(rounds):
                pulls.append(pull(url, folder, seconds))
                copies.append(copy(url, folder, seconds))
    peak_mb = max(each.peak_mb for each in pulls)
    elapsed_s = statistics.median(each.seconds for each in pulls)
    return Timed(elapsed_s, peak_mb), statistics.median(copies)


def main() -> int:
    """Measure, print, and write the figures to the file that was named."""
    parser = argparse.ArgumentParser(description="Time a pull from a real VictoriaMetrics.")
    parser.add_argument("--out", type=Path, required=True)
    out: Path = parser.parse_args().out
    small, _ = measure(MILLION, rounds=1)
    large, copied_s = measure(10 * MILLION, rounds=ROUNDS)
    print(f" 1 million samples  pull {small.seconds:6.2f} s   peak {small.peak_mb:5.0f} MB")
    print(f"10 million samples  pull {large.seconds:6.2f} s   peak {large.peak_mb:5.0f} MB")
    print(f"                    copy {copied_s:6.2f} s, the same exports to a file, synced")
    figures = {
        "pull_10m_peak_mb": round(large.peak_mb),
        "pull_10m_vs_1m_peak": round(large.peak_mb / small.peak_mb, 2),
        "pull_samples_per_s": round(10 * MILLION / large.seconds),
        "pull_vs_plain_copy": round(large.seconds / copied_s, 2),
    }
    out.write_text(json.dumps(figures), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
