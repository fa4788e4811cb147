"""Files of safetensors: a length, a JSON header, and tensors without a gap to the last byte.

The format has no checksum, so whole means: as long as the header says, and nothing overlaps.
"""

from __future__ import annotations

import struct
from typing import Any, NamedTuple

from tallystick.emit.checkpoint.reading import TornError, open_file, parse_json
from tallystick.emit.checkpoint.verdict import Look

HEADER_BYTES_MAX = 100_000_000  # The reference implementation refuses more.
NO_CHECKSUMS = "bytes of tensors in safetensors, which has no checksums"

_BITS = {
    "BOOL": 8,
    "U8": 8,
    "I8": 8,
    "F8_E4M3": 8,
    "F8_E5M2": 8,
    "F8_E8M0": 8,
    "I16": 16,
    "U16": 16,
    "F16": 16,
    "BF16": 16,
    "I32": 32,
    "U32": 32,
    "F32": 32,
    "I64": 64,
    "U64": 64,
    "F64": 64,
    "C64": 64,
}


class _Tensor(NamedTuple):
    begin: int
    end: int
    name: str


def look_at_safetensors(path: str) -> Look:
    """Look at a safetensors file.

    Raises:
        TornError: it is not whole.
        OSError: it cannot be read.
    """
    tensor_names(path)
    return Look("safetensors", is_closed=True, unchecked=(NO_CHECKSUMS,))


def is_safetensors(start: bytes, size: int) -> bool:
    """Tell whether a file may be safetensors by its first nine bytes."""
    if len(start) < 9:
        return False
    length = int.from_bytes(start[:8], "little")
    return start[8:9] == b"{" and length <= min(HEADER_BYTES_MAX, 1 << 40) and size >= 8


def tensor_names(path: str) -> frozenset[str]:
    """Check that a file is whole, and give the names of its tensors.

    Raises:
        TornError: it is not.
        OSError: it cannot be read.
    """
    with open_file(path) as file:
        (length,) = struct.unpack("<Q", file.read(0, 8))
        if length > HEADER_BYTES_MAX:
            raise TornError(f"states a header of {length} bytes, more than the format allows")
        header = parse_json(file.read(8, length))
        if not isinstance(header, dict):
            raise TornError("has a header that is no object")
        tensors = sorted(
            _tensor(name, stated) for name, stated in header.items() if name != "__metadata__"
        )
        end = 0
        for tensor in tensors:
            if tensor.begin != end:
                raise TornError(f"has a gap or an overlap before the tensor {tensor.name!a:.80}")
            end = tensor.end
        stated = 8 + length + end
        if stated != file.size:
            raise TornError(f"has {file.size} bytes, where its header states {stated}")
    return frozenset(tensor.name for tensor in tensors)


def _tensor(name: str, stated: Any) -> _Tensor:
    """Take one tensor of a header."""
    try:
        begin, end = stated["data_offsets"]
        shape, width = stated["shape"], _BITS.get(stated["dtype"])
        sizes = [begin, end, *shape]
    except (TypeError, KeyError, ValueError) as error:
        raise TornError(f"has a header that does not describe {name!a:.80}") from error
    if any(type(size) is not int or size < 0 for size in sizes) or begin > end:
        raise TornError(f"has a header that does not describe {name!a:.80}")
    bits = width
    for size in shape:
        bits = None if bits is None else bits * size
        if bits is not None and bits > 1 << 70:
            raise TornError(f"states an absurd shape of the tensor {name!a:.80}")
    if bits is not None and bits != 8 * (end - begin):
        raise TornError(f"states two sizes of the tensor {name!a:.80}")
    return _Tensor(begin, end, name)
