"""Which format a file or folder has, and what that format can tell."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tallystick.emit.checkpoint.dcp import is_dcp, look_at_dcp
from tallystick.emit.checkpoint.errors import NotAFileError
from tallystick.emit.checkpoint.huggingface import (
    is_huggingface,
    is_trainer_name,
    look_at_huggingface,
)
from tallystick.emit.checkpoint.orbax import is_orbax, look_at_orbax
from tallystick.emit.checkpoint.reading import TornError, UntoldError, open_file, unreadable
from tallystick.emit.checkpoint.safetensors import is_safetensors, look_at_safetensors
from tallystick.emit.checkpoint.torch_archive import look_at_zip
from tallystick.emit.checkpoint.tree import folders_of
from tallystick.emit.checkpoint.verdict import TORN, UNKNOWN, Fault, Look, joined
from tallystick.emit.checkpoint.zip_archive import MAGIC

if TYPE_CHECKING:
    from tallystick.emit.checkpoint.listing import ListedFile
    from tallystick.emit.checkpoint.ocdbt import Unzstd
    from tallystick.emit.checkpoint.tree import Tree

SUFFIXES = (".pt", ".pth", ".ckpt", ".bin", ".safetensors", ".npz")
OLD_TORCH = b"\x80\x02\x8a\x0a"
_STRICT = (".pt", ".pth", ".ckpt", ".safetensors", ".npz")
_START_BYTES = 9


def look_at(tree: Tree, unzstd: Unzstd) -> Look:
    """Look at a checkpoint as far as its own format goes."""
    if not tree.is_folder:
        look = next((look_at_file(file) for file in tree.files.values()), None)
        return look or Look("file", unchecked=())
    looks: list[Look] = []
    top = tree.top()
    names = set(tree.files)
    if is_orbax(top):
        looks.append(look_at_orbax(tree.files, unzstd))
        return joined("orbax", looks, is_closed=True)
    kind = "folder"
    for folder, inside in folders_of(tree.files).items():
        if is_dcp(inside):
            those = {name: tree.files[folder + name] for name in inside}
            looks.append(look_at_dcp(those, folder))
            names -= {folder + name for name in inside if name.endswith((".distcp", ".metadata"))}
            kind = kind if folder else "dcp"
    is_trainers = is_trainer_name(tree.path.name)
    if is_huggingface(top) or (is_trainers and kind == "folder"):
        looks.append(look_at_huggingface(tree.files, is_trainers=is_trainers))
        kind = looks[-1].kind
    looks += [look for look in (look_at_file(tree.files[name]) for name in sorted(names)) if look]
    return joined(kind, looks, is_closed=kind != "folder")


def look_at_file(file: ListedFile) -> Look | None:
    """Look at one file; None if it has no format that is known here.

    Names are relative to the checkpoint, and so is the fault's.
    """
    try:
        return _look_at_file(file)
    except TornError as error:
        return Look("file", (Fault(TORN, str(error), file.name),))
    except (UntoldError, NotAFileError, OSError) as error:
        return Look("file", (Fault(UNKNOWN, unreadable(error), file.name),))


def _look_at_file(file: ListedFile) -> Look | None:
    is_strict = file.name.endswith(_STRICT)
    if not file.size:
        if file.name.endswith(SUFFIXES):
            raise TornError("is empty")
        return None
    with open_file(file.path) as opened:
        start = opened.read(0, min(_START_BYTES, opened.size))
    if start.startswith(MAGIC) or (is_strict and MAGIC.startswith(start)):
        return look_at_zip(file.path, file.name)
    if file.name.endswith(".safetensors") or is_safetensors(start, file.size):
        return look_at_safetensors(file.path)
    if is_strict and not start.strip(b"\0"):
        raise TornError("begins with zeros")
    if start.startswith(OLD_TORCH):
        raise UntoldError("is in torch's format of before 1.6, which is not read here")
    if is_strict:
        raise UntoldError("has no format that is known here")
    return None
