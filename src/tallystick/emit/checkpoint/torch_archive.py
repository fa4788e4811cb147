"""Files of ``torch.save``: a zip archive with a pickle that names the records it needs.

The pickle is read without being run. Each storage that it names has to be a record of the stated
size, and every record has a CRC-32 unless the writer was told to leave them out.
"""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, NamedTuple

from tallystick.emit.checkpoint.hashing import silent
from tallystick.emit.checkpoint.inert import PICKLE_BYTES_MAX, StandIn, read_pickle
from tallystick.emit.checkpoint.reading import TornError, UntoldError, open_file
from tallystick.emit.checkpoint.verdict import Job, Look, Read, Step
from tallystick.emit.checkpoint.zip_archive import (
    check_records,
    has_checksums,
    read_directory,
    unpacked,
)
from tallystick.emit.record import INTEGER_MAX

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tallystick.emit.checkpoint.hashing import OnBytes
    from tallystick.emit.checkpoint.reading import OpenFile
    from tallystick.emit.checkpoint.zip_archive import Record

JOB_BYTES = 64 << 20
NO_CHECKSUMS = "records of torch archives that were saved without checksums"
_PICKLES = ("data", "constants")
_ITEM_BYTES = {
    "DoubleStorage": 8,
    "FloatStorage": 4,
    "HalfStorage": 2,
    "BFloat16Storage": 2,
    "LongStorage": 8,
    "IntStorage": 4,
    "ShortStorage": 2,
    "CharStorage": 1,
    "ByteStorage": 1,
    "BoolStorage": 1,
    "ComplexFloatStorage": 8,
    "ComplexDoubleStorage": 16,
    "UntypedStorage": 1,
}


class _Storage(NamedTuple):
    key: str
    size: int | None


def look_at_zip(path: str, name: str) -> Look:
    """Look at a zip archive, of torch or of anybody else.

    Raises:
        TornError: it is not whole.
        UntoldError: that cannot be told.
        OSError: it cannot be read.
    """
    with open_file(path) as file:
        records = read_directory(file)
        kind, steps = _check_storages(file, records)
    if not has_checksums(records):
        return Look(kind, is_closed=True, steps=steps, unchecked=(NO_CHECKSUMS,))
    jobs = tuple(_job(path, name, group) for group in _groups(records))
    return Look(kind, jobs=jobs, is_closed=True, steps=steps)


def _job(path: str, name: str, records: tuple[Record, ...]) -> Job:
    def check(on_bytes: OnBytes) -> Read:
        with open_file(path) as file:
            return Read(check_records(file, records, on_bytes))

    return Job(name, sum(record.packed for record in records), check)


def _groups(records: tuple[Record, ...]) -> Iterator[tuple[Record, ...]]:
    """Cut the records into stretches that threads can read side by side."""
    group: list[Record] = []
    size = 0
    for record in records:
        group.append(record)
        size += record.packed
        if size >= JOB_BYTES:
            yield tuple(group)
            group, size = [], 0
    if group:
        yield tuple(group)


def _check_storages(file: OpenFile, records: tuple[Record, ...]) -> tuple[str, tuple[Step, ...]]:
    """Compare what the pickles name with what is there; give kind and step."""
    named = {record.name: record for record in records}
    root = next((PurePosixPath(name).parent for name in named if name.endswith("/data.pkl")), None)
    if root is None:
        return "zip", ()
    kind = "torch"
    steps: tuple[Step, ...] = ()
    for stem in _PICKLES:
        pickle = named.get(f"{root}/{stem}.pkl")
        if pickle is None:
            continue
        value, storages = _named_storages(file, pickle)
        for storage in storages:
            _check_storage(storage, named.get(f"{root}/{stem}/{storage.key}"))
        if isinstance(value, dict) and "pytorch-lightning_version" in value:
            kind, steps = "lightning", _lightning_step(value)
    return kind, steps


def _named_storages(file: OpenFile, pickle: Record) -> tuple[Any, list[_Storage]]:
    if pickle.size > PICKLE_BYTES_MAX:
        raise UntoldError(f"holds a pickle of more than {PICKLE_BYTES_MAX} bytes")
    storages: list[_Storage] = []

    def on_persistent(identity: Any) -> None:
        if isinstance(identity, tuple) and len(identity) == 5 and identity[0] == "storage":
            _, kind, key, _, count = identity
            if isinstance(key, str) and isinstance(kind, StandIn) and isinstance(count, int):
                width = _ITEM_BYTES.get(kind.name.split(" ")[-1])
                storages.append(_Storage(key, None if width is None else width * count))

    data = b"".join(unpacked(file, pickle, silent))
    return read_pickle(data, on_persistent=on_persistent), storages


def _check_storage(storage: _Storage, record: Record | None) -> None:
    if record is None:
        raise TornError(f"lacks the record of storage {storage.key!a:.60}, which its pickle names")
    if storage.size is not None and storage.size != record.size:
        raise TornError(
            f"holds {record.size} bytes for storage {storage.key!a:.60}, "
            f"where its pickle names {storage.size}"
        )


def _lightning_step(value: dict[str, Any]) -> tuple[Step, ...]:
    step = value.get("global_step")
    return (Step(step, "global_step"),) if type(step) is int and 0 <= step <= INTEGER_MAX else ()
