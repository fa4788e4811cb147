"""A small trainer to rehearse with: real processes, a real exchange, real checkpoints.

    python -m tallystick.rehearsal.trainer --workers 2 --steps 40 --save-every 10

It launches one process for each worker, as common launchers do. Each step every worker makes
a gradient from its own part of the batch; rank 0 adds them up in the order of ranks and gives
the sum to all, so the same steps give the same bits, interrupted or not. A checkpoint is a
folder with one shard for each worker, which gets its name when it is whole.

So that a rehearsal interrupts at the same place each time, start ``n`` of a run stands still
at the place that ``TALLYSTICK_REHEARSAL_HOLDS`` names for it, until it is interrupted or a
minute is over: ``1:step:25,2:saving:30,3:restoring``.
"""

import argparse
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tallystick.rehearsal.trained import ENDED_ON_NOTICE, Settings

STARTS = "starts"
_PLAIN_THREADS = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


def main(argv: Sequence[str] | None = None) -> int:
    """Launch the workers, or be one of them."""
    settings, rank, channels = _arguments(argv)
    if rank is not None:
        from tallystick.rehearsal.training import work  # noqa: PLC0415 (the launcher needs none)

        return work(settings, rank, [socket.socket(fileno=each) for each in channels])
    return _launch(settings)


def _arguments(argv: Sequence[str] | None) -> tuple[Settings, int | None, list[int]]:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--save-every", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--step-ms", type=int, default=0)
    parser.add_argument("--on-notice", choices=("save", "end"), default="end")
    parser.add_argument("--start", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--rank", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--channel", type=int, action="append", help=argparse.SUPPRESS)
    given = parser.parse_args(argv)
    settings = Settings(
        workers=given.workers,
        steps=given.steps,
        save_every=given.save_every,
        seed=given.seed,
        step_ms=given.step_ms,
        saves_on_notice=given.on_notice == "save",
        start=_count_start() if given.start is None else given.start,
    )
    return settings, given.rank, given.channel or []


def _count_start() -> int:
    """Count this start of the run, which an interruption does not take back."""
    with Path(STARTS).open("ab") as file:
        file.write(b".")
        file.flush()
        return file.tell()


def _launch(settings: Settings) -> int:
    """Start the workers, joined to rank 0 by sockets, and wait for them."""
    pairs = [socket.socketpair() for _ in range(1, settings.workers)]
    ends = [[end.fileno() for end, _ in pairs], *([end.fileno()] for _, end in pairs)]
    workers = [_start_worker(settings, rank, channels) for rank, channels in enumerate(ends)]
    for pair in pairs:
        for end in pair:
            end.close()
    if settings.saves_on_notice:
        signal.signal(signal.SIGTERM, lambda *_: workers[0].terminate())
    return _wait({worker.pid: worker for worker in workers})


def _start_worker(settings: Settings, rank: int, channels: list[int]) -> "subprocess.Popen[bytes]":
    argv = [sys.executable, "-P", "-m", "tallystick.rehearsal.trainer", *settings.argv()]
    argv += ["--rank", str(rank), *(f"--channel={each}" for each in channels)]
    own = {"RANK": str(rank), "WORLD_SIZE": str(settings.workers), **_PLAIN_THREADS}
    return subprocess.Popen(  # noqa: S603 (our own program)
        argv, env={**os.environ, **own}, pass_fds=channels, stdin=subprocess.DEVNULL
    )


def _wait(running: "dict[int, subprocess.Popen[bytes]]") -> int:
    """Wait for all workers; when one fails, the others are ended, since they cannot go on."""
    worst = 0
    while running:
        pid, status = os.wait()
        code = os.waitstatus_to_exitcode(status)
        worker = running.pop(pid, None)
        if worker is None:
            continue
        worker.returncode = code
        if code not in {0, ENDED_ON_NOTICE}:
            worst = 1
            for each in running.values():
                each.kill()
        worst = worst or code
    return worst


if __name__ == "__main__":
    sys.exit(main())
