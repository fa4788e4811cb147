"""Collecting: read the inputs, hand them to one collector, and give what it saw."""

import time
from collections.abc import Callable, Sequence

from tallystick.app.errors import UnreadableFileError
from tallystick.app.files import read_file
from tallystick.collectors.collected import Collected, Source
from tallystick.core.finding import InputFinding

INPUT_BYTES_MAX = 512 * 1024 * 1024

Collector = Callable[[tuple[Source, ...], int], Collected]


def collect_inputs(
    paths: Sequence[str], collector: Collector, *, observed_us: int | None = None
) -> Collected:
    """Run a collector over some inputs; one that cannot be read is a finding, the others go on.

    Args:
        paths: Files in the order of the command line; ``-`` is standard input.
        collector: Takes the inputs that were read, and when they were.
        observed_us: When the inputs were read, None for now.
    """
    sources: list[Source] = []
    unread: list[InputFinding] = []
    for place, path in enumerate(paths, start=1):
        try:
            data = read_file(path, bytes_max=INPUT_BYTES_MAX + 1)
        except UnreadableFileError as error:
            unread.append(_unread(path, place, str(error)))
            continue
        if len(data) > INPUT_BYTES_MAX:
            unread.append(_unread(path, place, "larger than 512 MiB: split it"))
            continue
        sources.append(Source(path, data, place))
    seen_us = time.time_ns() // 1000 if observed_us is None else observed_us
    collected = collector(tuple(sources), seen_us) if sources else Collected()
    return Collected(collected.records, [*unread, *collected.findings])


def _unread(path: str, place: int, message: str) -> InputFinding:
    return InputFinding("unreadable_input", message, file=place, source=path)
