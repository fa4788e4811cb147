"""Folders of the Hugging Face libraries: weights, perhaps in shards, and a trainer's state.

The trainer writes ``trainer_state.json`` after everything else, and ``training_args.bin`` before
most of it; a save that a signal began marks its folder as long as it lasts. The index of sharded
weights names every shard.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from tallystick.emit.checkpoint.errors import NotAFileError
from tallystick.emit.checkpoint.reading import (
    BadJsonError,
    TornError,
    UntoldError,
    read_json,
    unreadable,
)
from tallystick.emit.checkpoint.safetensors import tensor_names
from tallystick.emit.checkpoint.verdict import TORN, UNFINISHED, UNKNOWN, Fault, Look, Step
from tallystick.emit.record import INTEGER_MAX

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tallystick.emit.checkpoint.listing import ListedFile

STATE = "trainer_state.json"
ARGUMENTS = "training_args.bin"
MARKER = "checkpoint-is-incomplete.txt"
INDEX = ".index.json"
_FOLDER = re.compile(r"checkpoint-\d+")
_WEIGHTS = frozenset({"model.safetensors", "pytorch_model.bin", "adapter_model.safetensors"})
_CONFIGS = frozenset({"config.json", "adapter_config.json"})
_OTHERS = frozenset({"optimizer.pt", "optimizer.bin", "scheduler.pt", "scaler.pt", ARGUMENTS})
_OPTIMIZERS = frozenset({"optimizer.pt", "optimizer.bin"})


def is_trainer_name(name: str) -> bool:
    """Tell whether a folder is named as the trainer names its own."""
    return _FOLDER.fullmatch(name) is not None


def is_huggingface(names: frozenset[str]) -> bool:
    """Tell whether a folder with such files is one of these."""
    if STATE in names or MARKER in names or any(name.endswith(INDEX) for name in names):
        return True
    return bool(names & _WEIGHTS) and bool(names & _CONFIGS)


def look_at_huggingface(files: Mapping[str, ListedFile], *, is_trainers: bool) -> Look:
    """Look at a folder; its files themselves are looked at elsewhere.

    Args:
        files: All files in it, by name.
        is_trainers: Whether it is named as a trainer's checkpoint.
    """
    faults: list[Fault] = []
    steps: tuple[Step, ...] = ()
    if MARKER in files:
        faults.append(Fault(UNFINISHED, "marks a save that did not end", MARKER))
    if STATE in files:
        found = _step(files[STATE].path)
        if isinstance(found, Step):
            steps = (found,)
        else:
            faults.append(found)
        if not any(map(_is_weights, files)):
            faults.append(Fault(TORN, "is there, and no file with weights is", STATE))
    elif is_trainers and ARGUMENTS in files:
        faults.append(Fault(UNFINISHED, "is not there, and is written when all else is", STATE))
    elif is_trainers:
        # Others use the trainer's names, and write no such file.
        reason = "is not there: another program wrote this, or the trainer came to no end"
        faults.append(Fault(UNKNOWN, reason, STATE))
    for name in sorted(files):
        if name.endswith(INDEX) and "/" not in name:
            faults += _missing_shards(name, files)
    kind = "huggingface" if STATE in files or is_trainers else "huggingface model"
    lacks_optimizer = kind == "huggingface" and not _OPTIMIZERS & files.keys()
    remarks = ("holds no optimizer.pt",) if lacks_optimizer else ()
    return Look(kind, tuple(faults), is_closed=True, steps=steps, remarks=remarks)


def _is_weights(name: str) -> bool:
    """Tell whether a file may hold weights: what else the trainer writes is known by name."""
    return name.endswith((".safetensors", ".bin", ".distcp", ".pt")) and name not in _OTHERS


def _step(path: str) -> Step | Fault:
    try:
        stated = read_json(path)
    except TornError as error:
        return Fault(TORN, str(error), STATE)
    except (UntoldError, NotAFileError, OSError) as error:
        return Fault(UNKNOWN, unreadable(error), STATE)
    step = stated.get("global_step") if isinstance(stated, dict) else None
    if type(step) is not int or not 0 <= step <= INTEGER_MAX:
        return Fault(TORN, "states no global_step", STATE)
    return Step(step, STATE)


def _missing_shards(index: str, files: Mapping[str, ListedFile]) -> list[Fault]:
    """Compare an index with the shards that are there and the tensors that they hold."""
    try:
        by_shard = _weight_map(read_json(files[index].path))
    except TornError as error:
        return [Fault(TORN, str(error), index)]
    except (UntoldError, NotAFileError, OSError) as error:
        return [Fault(UNKNOWN, unreadable(error), index)]
    faults = []
    for shard, tensors in sorted(by_shard.items()):
        if shard not in files:
            faults.append(Fault(TORN, f"is named in {index!a:.120}, and is not there", shard))
        elif shard.endswith(".safetensors"):
            try:
                lacking = sorted(tensors - tensor_names(files[shard].path))
            except (TornError, NotAFileError, OSError):
                continue  # The look at the file itself says so.
            if lacking:
                reason = f"lacks the tensor {lacking[0]!a:.80}, which {index!a:.120} puts there"
                faults.append(Fault(TORN, reason, shard))
    return faults


def _weight_map(stated: Any) -> dict[str, set[str]]:
    weights = stated.get("weight_map") if isinstance(stated, dict) else None
    if not isinstance(weights, dict) or not weights:
        raise BadJsonError("has no weight_map")
    by_shard: dict[str, set[str]] = {}
    for tensor, shard in weights.items():
        if not isinstance(shard, str):
            raise BadJsonError("has a weight_map that names no files")
        by_shard.setdefault(shard, set()).add(tensor)
    return by_shard
