"""Arrays of Zarr 2 and 3, one file for each chunk: whether each is there and not cut short.

A chunk that Zstandard packed is followed from block to block, so its end is known without
inflating it.
"""

from __future__ import annotations

import itertools
import math
import re
from typing import TYPE_CHECKING, Any

from tallystick.emit.checkpoint.errors import NotAFileError
from tallystick.emit.checkpoint.reading import (
    TornError,
    UntoldError,
    open_file,
    read_json,
    unreadable,
)
from tallystick.emit.checkpoint.verdict import TORN, UNKNOWN, Fault

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tallystick.emit.checkpoint.listing import ListedFile
    from tallystick.emit.checkpoint.reading import OpenFile

DIMENSIONS_MAX = 64
CHUNKS_MAX = 1_000_000
_ITEM_BYTES = re.compile(r"[<>|][a-zA-Z](\d{1,2})")
_ZSTD = b"\x28\xb5\x2f\xfd"
_RUN_BLOCK, _RESERVED_BLOCK = 1, 3


def look_at_zarr(files: Mapping[str, ListedFile], array: str, *, is_dense: bool) -> Iterator[Fault]:
    """Compare an array with its chunks.

    Args:
        files: All files of the checkpoint, by name.
        array: Name of the folder of the array.
        is_dense: Whether every chunk was stored, also those that hold nothing but the fill.
    """
    names = [f"{array}/{name}" for name in (".zarray", "zarr.json")]
    about = next((name for name in names if name in files), None)
    if about is None:
        yield Fault(TORN, "is named in _METADATA, and is not there", array)
        return
    stated = read_object(files, about)
    if isinstance(stated, Fault):
        yield stated
        return
    try:
        chunks = list(_chunks(stated)) if is_dense else []
        size = _chunk_bytes(stated)
    except (TypeError, KeyError, ValueError, AttributeError, OverflowError):
        yield Fault(TORN, "does not describe an array", about)
        return
    for chunk in chunks:
        name = f"{array}/{chunk}"
        if name not in files:
            yield Fault(TORN, f"is a chunk that {about!a:.120} names, and is not there", name)
        elif size is not None and files[name].size != size:
            reason = f"has {files[name].size} bytes, where a chunk has {size}"
            yield Fault(TORN, reason, name)
        elif _is_zstd(stated):
            yield from _cut_short(files[name])


def _chunks(stated: dict[str, Any]) -> Iterator[str]:
    """Name every chunk of an array of Zarr 2 or 3."""
    is_third = stated["zarr_format"] == 3
    sizes = stated["chunk_grid"]["configuration"]["chunk_shape"] if is_third else stated["chunks"]
    if len(stated["shape"]) > DIMENSIONS_MAX or len(sizes) > DIMENSIONS_MAX:
        raise ValueError("more dimensions than there are")
    counts = [
        -(-int(length) // max(1, int(size)))
        for length, size in itertools.zip_longest(stated["shape"], sizes, fillvalue=1)
    ]
    if math.prod(counts) > CHUNKS_MAX:
        return
    for place in itertools.product(*(range(count) for count in counts)):
        parts = [str(number) for number in place]
        if is_third:
            yield "/".join(["c", *parts])
        else:
            yield stated.get("dimension_separator", ".").join(parts or ["0"])


def _chunk_bytes(stated: dict[str, Any]) -> int | None:
    """Give the length of every chunk where nothing packs it, else None."""
    if stated["zarr_format"] != 2 or stated["compressor"] is not None or stated["filters"]:
        return None
    width = _ITEM_BYTES.fullmatch(stated["dtype"])
    sizes = stated["chunks"][:DIMENSIONS_MAX]
    return None if width is None else int(width[1]) * math.prod(map(int, sizes))


def _is_zstd(stated: dict[str, Any]) -> bool:
    packer = stated.get("compressor")
    return isinstance(packer, dict) and packer.get("id") == "zstd" and not stated.get("filters")


def _cut_short(chunk: ListedFile) -> Iterator[Fault]:
    try:
        with open_file(chunk.path) as file:
            check_zstd(file)
    except TornError as error:
        yield Fault(TORN, str(error), chunk.name)
    except (NotAFileError, OSError) as error:
        yield Fault(UNKNOWN, unreadable(error), chunk.name)


def check_zstd(file: OpenFile) -> None:
    """Follow one frame of Zstandard from block to block to its end.

    Raises:
        TornError: it is none, ends early, or something follows it.
    """
    if file.read(0, 4) != _ZSTD:
        raise TornError("does not begin as Zstandard does")
    descriptor = file.read(4, 1)[0]
    is_single = bool(descriptor & 0x20)
    size_bytes = (1 if is_single else 0, 2, 4, 8)[descriptor >> 6]
    at = 5 + (0 if is_single else 1) + (0, 1, 2, 4)[descriptor & 3] + size_bytes
    is_last = False
    while not is_last:
        header = int.from_bytes(file.read(at, 3), "little")
        is_last, kind = bool(header & 1), header >> 1 & 3
        if kind == _RESERVED_BLOCK:
            raise TornError("holds a block of Zstandard that there is not")
        at += 3 + (1 if kind == _RUN_BLOCK else header >> 3)
    at += 4 if descriptor & 4 else 0
    if at != file.size:
        raise TornError(f"has {file.size} bytes, where its last block ends at byte {at}")


def read_object(files: Mapping[str, ListedFile], name: str) -> dict[str, Any] | Fault:
    """Read a JSON object, or say what is wrong with it."""
    try:
        value = read_json(files[name].path)
    except TornError as error:
        return Fault(TORN, str(error), name)
    except (UntoldError, OSError, NotAFileError) as error:
        return Fault(UNKNOWN, unreadable(error), name)
    return value if isinstance(value, dict) else Fault(TORN, "is no JSON object", name)
