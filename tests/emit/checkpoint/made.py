"""Checkpoints made by hand, byte for byte as the libraries write them, without the libraries."""

import io
import json
import pickle
import struct
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tallystick.emit.checkpoint.listing import listing
from tallystick.emit.checkpoint.manifest import Manifest, Part, make_manifest, write_manifest

WEIGHTS = {"0": bytes(range(256)) * 4, "1": b"\x01\x02\x03\x04" * 50}
STORED = zipfile.ZIP_STORED


def storages(records: Mapping[str, bytes] = WEIGHTS, step: int | None = None) -> bytes:
    """Pickle a dictionary of storages, named as torch names them; with a step as Lightning."""
    data = bytearray(b"\x80\x02}(")
    if step is not None:
        data += text("global_step") + b"J" + struct.pack("<i", step)
        data += text("pytorch-lightning_version") + text("2.6.6")
    for key, record in records.items():
        data += text(f"w{key}") + b"(" + text("storage") + b"ctorch\nFloatStorage\n"
        data += text(key) + text("cpu") + b"J" + struct.pack("<i", len(record) // 4) + b"tQ"
    return bytes(data) + b"u."


def text(value: str) -> bytes:
    """Pickle a text."""
    return b"X" + struct.pack("<I", len(value)) + value.encode()


def torch_bytes(
    records: Mapping[str, bytes] = WEIGHTS,
    *,
    pickled: bytes | None = None,
    step: int | None = None,
    method: int = STORED,
) -> bytes:
    """Write an archive as ``torch.save`` does."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as archive:
        archive.writestr("t/data.pkl", storages(records, step) if pickled is None else pickled)
        archive.writestr("t/byteorder", b"little")
        for key, record in records.items():
            archive.writestr(f"t/data/{key}", record)
        archive.writestr("t/version", b"3\n")
    return stream.getvalue()


def safetensors_bytes(header: Any = None, data: bytes = b"\0" * 24) -> bytes:
    """Write a file as safetensors does."""
    stated = header or {
        "__metadata__": {"format": "pt"},
        "a": {"dtype": "F32", "shape": [2, 2], "data_offsets": [0, 16]},
        "b": {"dtype": "I64", "shape": [1], "data_offsets": [16, 24]},
    }
    raw = stated if isinstance(stated, bytes) else json.dumps(stated).encode()
    return struct.pack("<Q", len(raw)) + raw + data


class Piece:
    """Where a piece of a distributed checkpoint lies; pickled as torch pickles it."""

    def __init__(self, relative_path: str, offset: int, length: int) -> None:
        self.relative_path = relative_path
        self.offset = offset
        self.length = length


def write_dcp(folder: Path, ranks: int = 2) -> Path:
    """Write a folder as torch distributed checkpoint does, two pieces a rank."""
    folder.mkdir(parents=True)
    piece = torch_bytes()
    pieces = []
    for rank in range(ranks):
        name = f"__{rank}_0.distcp"
        (folder / name).write_bytes(piece * 2)
        pieces += [Piece(name, number * len(piece), len(piece)) for number in range(2)]
    stated = {"state_dict_metadata": {}, "storage_data": dict(enumerate(pieces))}
    (folder / ".metadata").write_bytes(pickle.dumps(stated))
    return folder


def write_trainer(folder: Path, step: int) -> Path:
    """Write a folder as the trainer of Hugging Face does, with sharded weights."""
    folder.mkdir(parents=True)
    shards = {"a": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors"}
    for name, shard in shards.items():
        header = {name: {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}
        (folder / shard).write_bytes(safetensors_bytes(header, b"\1" * 8))
    index = {"metadata": {"total_size": 16}, "weight_map": shards}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index), encoding="utf-8")
    (folder / "config.json").write_text("{}", encoding="utf-8")
    (folder / "training_args.bin").write_bytes(torch_bytes({}))
    (folder / "optimizer.pt").write_bytes(torch_bytes())
    (folder / "scheduler.pt").write_bytes(torch_bytes())
    state = {"epoch": 0.5, "global_step": step}
    (folder / "trainer_state.json").write_text(json.dumps(state), encoding="utf-8")
    return folder


def write_lightning(path: Path, step: int) -> Path:
    """Write a file as Lightning does."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(torch_bytes(step=step))
    return path


def write_orbax(folder: Path, *, committed: bool = True) -> Path:
    """Write a folder as Orbax does, with one array in Zarr and no database."""
    array = folder / "state" / "a"
    array.mkdir(parents=True)
    about = {
        "chunks": [2],
        "compressor": None,
        "dimension_separator": ".",
        "dtype": "<f4",
        "filters": None,
        "shape": [4],
        "zarr_format": 2,
    }
    (array / ".zarray").write_text(json.dumps(about), encoding="utf-8")
    (array / "0").write_bytes(b"\1" * 8)
    (array / "1").write_bytes(b"\2" * 8)
    value = {"value_type": "jax.Array", "skip_deserialize": False}
    entry = {"key_metadata": [{"key": "a", "key_type": 2}], "value_metadata": value}
    tree = {
        "tree_metadata": {"('a',)": entry},
        "use_ocdbt": False,
        "store_array_data_equal_to_fill_value": True,
    }
    (folder / "state" / "_METADATA").write_text(json.dumps(tree), encoding="utf-8")
    (folder / "state" / "_sharding").write_text("{}", encoding="utf-8")
    notes = {
        "item_handlers": {"state": "orbax.checkpoint.StandardCheckpointHandler"},
        "init_timestamp_nsecs": 1,
        "commit_timestamp_nsecs": 2 if committed else None,
    }
    (folder / "_CHECKPOINT_METADATA").write_text(json.dumps(notes), encoding="utf-8")
    if committed:
        (folder / "commit_success.txt").write_text("Checkpoint commit was", encoding="utf-8")
    return folder


def write_plain(folder: Path, size: int = 100) -> Path:
    """Write a folder of files of no known format."""
    (folder / "optim").mkdir(parents=True)
    (folder / "model.bytes").write_bytes(b"m" * size)
    (folder / "optim" / "state.bytes").write_bytes(b"o" * size)
    return folder


def vouch(
    *paths: Path, root: Path | None = None, part: Part | None = None, **facts: Any
) -> Manifest:
    """Write the manifest of a checkpoint."""
    manifest = make_manifest(listing(paths, root=root), part=part, **facts)
    write_manifest(manifest)
    return manifest
