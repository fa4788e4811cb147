"""Work that may hang within a library, done by a child that is killed when its time is over.

The child tells one JSON object a line, so that what it learnt before it hung is known.
"""

from __future__ import annotations

import json
import os
import select
import signal
import time
from contextlib import suppress
from typing import Any, Callable

Tell = Callable[[dict[str, Any]], None]
_BYTES_MAX = 4 << 20


def told_by_child(
    work: Callable[[Tell], None], limit_s: float
) -> tuple[list[dict[str, Any]], bool]:
    """Have a child do something; give what it told, and whether it got to its end.

    Args:
        work: What to do; it is given a function that tells.
        limit_s: Seconds after which the child is killed.
    """
    source, sink = os.pipe2(os.O_CLOEXEC)
    child = os.fork()
    if child == 0:
        _work(work, sink)
    os.close(sink)
    data = bytearray()
    end_s = time.monotonic() + limit_s
    is_whole = False
    try:
        while select.select([source], [], [], max(0.0, end_s - time.monotonic()))[0]:
            chunk = os.read(source, 1 << 16)
            data += chunk
            if not chunk or len(data) > _BYTES_MAX:
                is_whole = not chunk
                break
    finally:
        os.close(source)
        if not is_whole:
            with suppress(OSError):
                os.kill(child, signal.SIGKILL)
        with suppress(OSError):
            os.waitpid(child, 0 if is_whole else os.WNOHANG)
    lines = [json.loads(line) for line in data.split(b"\n")[:-1]]
    return lines, is_whole


def _work(work: Callable[[Tell], None], sink: int) -> None:
    def tell(fact: dict[str, Any]) -> None:
        os.write(sink, json.dumps(fact).encode() + b"\n")

    try:
        work(tell)
    finally:
        os._exit(0)  # No destructor runs: some undo what was begun.
