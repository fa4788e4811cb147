"""Which checkpoint of a folder is the last valid one, told without loading any of them."""

import os
import re
from pathlib import Path
from typing import Any

from tallystick.app.errors import UnreadableFileError
from tallystick.emit.checkpoint.judge import Checkpoint
from tallystick.emit.checkpoint.survey import Said, Survey, Watch, survey
from tallystick.emit.record import INTEGER_MAX

_NO_TEXT = re.compile("[\ud800-\udfff]")


def verify_checkpoints(
    path: Path, *, read: str, threads: int | None = None, watch: Watch | None = None
) -> Survey:
    """Find the last valid checkpoint in a folder, which may be a checkpoint itself.

    Args:
        path: The folder, or one file.
        read: Which bytes are read: ``newest``, ``everything`` or ``structure``.
        threads: How much is done at once, None for as many as there are processors.
        watch: Is told how far it is.

    Raises:
        UnreadableFileError: it is not there, or cannot be read.
    """
    try:
        # A name such as "." has to become that of the folder, which may tell the step.
        place = Path(os.path.abspath(path))  # noqa: PTH100 (links stay as they are)
        place.stat()
        return survey(place, read=read, threads=threads, unzstd=unzstd, watch=watch)
    except OSError as error:
        raise UnreadableFileError(str(path), (error.strerror or str(error)).lower()) from error


def unzstd(data: bytes, bytes_max: int) -> bytes:
    """Inflate Zstandard, up to one byte more than asked for.

    Raises:
        ValueError: it is none.
    """
    import pyarrow as pa  # noqa: PLC0415 (only Orbax needs it)

    try:
        with pa.CompressedInputStream(pa.BufferReader(data), "zstd") as stream:
            inflated: bytes = stream.read(bytes_max + 1)
    except OSError as error:
        raise ValueError(str(error)) from error
    return inflated


def survey_json(path: Path, found: Survey) -> dict[str, Any]:
    """Put a survey into JSON, with names that are no UTF-8 escaped."""
    return {
        "path": _text(str(path)),
        "last_valid": None if found.last is None else _checkpoint_json(found.last),
        "valid": len(found.valid),
        "checkpoints": [_checkpoint_json(each) for each in found.checkpoints],
        "pointers": [_pointer_json(each) for each in found.pointers],
        "others": [_text(name) for name in found.others],
    }


def _checkpoint_json(each: Checkpoint) -> dict[str, Any]:
    return {
        "name": _text(each.name),
        "kind": each.kind,
        "step": each.step.number if each.step else None,
        "step_by": each.step.source if each.step else None,
        "state": each.state,
        "valid": each.is_valid,
        "reason": _text(each.reason),
        "file": None if each.file is None else _text(each.file),
        "judged": each.judged,
        "files": each.files,
        "bytes": each.total_bytes if each.total_bytes <= INTEGER_MAX else None,
        "digests": list(each.digests),
        "run": each.run,
        "attempt": each.attempt,
        "unchecked": [_text(text) for text in each.unchecked],
        "remarks": [_text(text) for text in each.remarks],
    }


def _pointer_json(each: Said) -> dict[str, Any]:
    return {
        "name": _text(each.name),
        "claims": [_text(text) for text in each.claims],
        "problem": None if each.problem is None else _text(each.problem),
    }


def _text(name: str) -> str:
    """Escape what is no text: a byte of a file name, or half a character out of JSON."""
    return _NO_TEXT.sub(_escaped, name)


def _escaped(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code - 0xDC00:02x}" if 0xDC80 <= code <= 0xDCFF else f"\\u{code:04x}"
