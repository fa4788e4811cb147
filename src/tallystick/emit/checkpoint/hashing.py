"""SHA-256 of many files at once, in constant memory, of files that stand still."""

from __future__ import annotations

import hashlib
import os
from functools import partial
from typing import TYPE_CHECKING, Callable

from tallystick.emit.checkpoint.errors import ChangedFileError
from tallystick.emit.checkpoint.listing import stamp_of
from tallystick.emit.checkpoint.threads import run_all

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tallystick.emit.checkpoint.listing import ListedFile

CHUNK_BYTES = 1 << 20
OnBytes = Callable[[int], None]


def silent(_count: int) -> None:
    """Take note of progress for nobody."""


def hash_files(
    files: Sequence[ListedFile], on_bytes: OnBytes = silent, threads: int | None = None
) -> tuple[str, ...]:
    """Hash files in threads; give their digests in hexadecimal, in the order of the files.

    Args:
        files: As they were listed.
        on_bytes: Is told, from any of the threads, how many bytes were read since it was last.
        threads: How many at once, None for as many as there are processors.

    Raises:
        ChangedFileError: a file is not as it was listed, or changed while it was read.
        OSError: a file cannot be read.
    """
    # The largest first: then no thread is left alone with one at the end.
    order = sorted(range(len(files)), key=lambda number: -files[number].size)
    work = [partial(hash_file, files[number], on_bytes) for number in order]
    digests = dict(zip(order, run_all(work, threads)))
    return tuple(digests[number] for number in range(len(files)))


def hash_file(file: ListedFile, on_bytes: OnBytes = silent) -> str:
    """Hash one file that is as it was listed, and stays so.

    Raises:
        ChangedFileError: it is not.
        OSError: it cannot be read.
    """
    hashed = hashlib.sha256()
    buffer = bytearray(min(CHUNK_BYTES, max(1, file.size)))
    view = memoryview(buffer)
    try:
        # What became a pipe meanwhile must not hold us up.
        handle = os.open(file.path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError as error:
        raise ChangedFileError(file.path) from error
    with os.fdopen(handle, "rb", buffering=0) as stream:
        if stamp_of(os.fstat(handle)) != file.stamp:
            raise ChangedFileError(file.path)
        left = file.size  # No more than that: a file that grows would never end.
        while left:
            count = stream.readinto(view[: min(left, len(buffer))])
            if not count:
                break
            hashed.update(view[:count])
            on_bytes(count)
            left -= count
        if stamp_of(os.fstat(handle)) != file.stamp:
            raise ChangedFileError(file.path)
    return hashed.hexdigest()
