"""Running one hook: it always ends with 0, in time, whatever happens inside.

The work is done by a child. The parent only waits: when the time is over it kills the child
and leaves, without touching the disk or anything else that may hang. Within the child, a hook
that used up its processor time is stopped like one that failed.
"""

from __future__ import annotations

import os
import select
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Callable

from tallystick.emit.deadline import Deadline
from tallystick.emit.errors import SpoolUnusableError
from tallystick.emit.settings import FILE, SECOND_US, Settings, read_settings
from tallystick.emit.slurm.call import HOOK_PRODUCER, Call, read_call
from tallystick.emit.spool import Spool, clock_us

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import FrameType

HOOKS = (
    "slurm-prolog",
    "slurm-epilog",
    "slurm-prologctld",
    "slurm-epilogctld",
    "task-prolog",
)
_CHILD_SHARE = (9, 10)  # Of the time: what the child keeps to by itself, before it is killed.


class OverBudgetError(Exception):
    """A hook used up its processor time."""


def run_hook(argv: Sequence[str]) -> int:
    """Run a hook by its name; ``--config FILE`` names the settings. Always 0.

    Args:
        argv: Name of the hook and options; what is not understood is passed over.
    """
    with suppress(Exception):
        config = Path(argv[argv.index("--config") + 1]) if "--config" in argv else FILE
        settings = read_settings(config, os.environ)
        _in_time(lambda: _run(argv[0], settings), settings, prints=argv[0] == "task-prolog")
    return 0


def _in_time(work: Callable[[], None], settings: Settings, *, prints: bool) -> None:
    """Do something in a child, and wait for it no longer than the budget."""
    done, tell = os.pipe2(os.O_CLOEXEC)
    child = os.fork()
    if child == 0:
        _work(work, settings, prints=prints)
    os.close(tell)
    with suppress(OSError):
        ended, _, _ = select.select([done], [], [], settings.wall_us / SECOND_US)
        if not ended:
            os.kill(child, signal.SIGKILL)
            return  # Not waited for: a child that hangs in the kernel dies when it can.
        os.waitpid(child, 0)


def _work(work: Callable[[], None], settings: Settings, *, prints: bool) -> None:
    try:
        null = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 2) if prints else (0, 1, 2):
            os.dup2(null, stream)
        signal.signal(signal.SIGPROF, _stop)
        signal.setitimer(signal.ITIMER_PROF, settings.cpu_us / SECOND_US)
        work()
        if prints:
            sys.stdout.flush()
    finally:
        os._exit(0)


def _stop(number: int, frame: FrameType | None) -> None:
    del number, frame
    raise OverBudgetError


def _run(hook: str, settings: Settings) -> None:
    share, whole = _CHILD_SHARE
    deadline = Deadline(settings.wall_us * share // whole)
    call = read_call(hook, os.environ, cluster=settings.cluster, observed_us=clock_us())
    if call is None:
        return
    if hook == "task-prolog":
        _run_task(call, settings)
        return
    with suppress(SpoolUnusableError):
        name = call.node or f"controller.{call.cluster}"
        spool = Spool(settings.spool, f"{HOOK_PRODUCER}{name}", bytes_max=settings.spool_bytes_max)
        _run_node(call, settings, spool, deadline)


def _run_node(call: Call, settings: Settings, spool: Spool, deadline: Deadline) -> None:
    # Imported where they are used: a hook pays for every module at every call.
    from tallystick.emit.slurm import node  # noqa: PLC0415 (start-up)

    place = node.Place(settings, spool, deadline)
    if call.hook == "slurm-prolog" and call.node is not None:
        node.prolog(call, place)
    elif call.hook == "slurm-epilog" and call.node is not None:
        node.epilog(call, place)
    else:
        node.tell_call(call, spool, None)


def _run_task(call: Call, settings: Settings) -> None:
    from tallystick.emit.slurm.task import exports, link_run  # noqa: PLC0415 (start-up)

    for line in exports(call, settings.spool):
        sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
    with suppress(SpoolUnusableError):
        link_run(call, settings.spool, os.environ, Spool)
