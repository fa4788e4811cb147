"""Whether a segment is what its record says: its bytes by their SHA-256, then what they hold."""

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from tallystick.app.errors import UnreadableFileError
from tallystick.evidence.bodies import Samples

OnBytes = Callable[[int], None]
_CHUNK_BYTES = 1 << 20


class Held(NamedTuple):
    """What a batch of a segment holds; the times are None if it holds none.

    ``has_stranger`` tells whether it has a row of a GPU that the record does not list.
    """

    rows: int
    first_us: int | None
    last_us: int | None
    has_stranger: bool


def file_sha256(path: Path, on_bytes: OnBytes | None = None) -> str | None:
    """Give the SHA-256 of a file in hexadecimal, None if there is no such file.

    Args:
        path: The file.
        on_bytes: Is told after each chunk how many bytes it had.

    Raises:
        UnreadableFileError: there is something, and it cannot be read.
    """
    hashed = hashlib.sha256()
    try:
        with path.open("rb") as stream:
            while chunk := stream.read(_CHUNK_BYTES):
                hashed.update(chunk)
                if on_bytes is not None:
                    on_bytes(len(chunk))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UnreadableFileError(str(path), (error.strerror or str(error)).lower()) from error
    return hashed.hexdigest()


def held_in(batch: pa.RecordBatch, listed: pa.Array) -> Held:
    """See what a batch holds.

    Args:
        batch: Rows with their GPUs as a dictionary.
        listed: The GPUs that the record lists.
    """
    gpu = batch.column("gpu")
    bounds = pc.min_max(batch.column("at_us")).as_py()
    # A dictionary may hold more than its rows use, so strangers in it prove nothing yet.
    is_listed = pc.is_in(gpu.dictionary, value_set=listed)
    has_stranger = not pc.all(is_listed, min_count=0).as_py() and not (
        pc.all(pc.take(is_listed, gpu.indices), min_count=0).as_py()
    )
    return Held(len(batch), bounds["min"], bounds["max"], has_stranger)


def agrees(held: Sequence[Held], said: Samples) -> bool:
    """Tell whether the batches of a segment hold what its record says."""
    return sum(each.rows for each in held) == said.rows and not any(
        each.has_stranger
        or (each.first_us is not None and each.first_us < said.from_us)
        or (each.last_us is not None and each.last_us > said.to_us)
        for each in held
    )
