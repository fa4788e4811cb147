"""Folders of Orbax: items with arrays in OCDBT or Zarr, and notes on when the save was over.

A save has a folder of another name until it is over, or a note without a time of commit. Arrays
have no checksums; that every stretch of them is there and as long as named can be told.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from tallystick.emit.checkpoint.errors import NotAFileError
from tallystick.emit.checkpoint.ocdbt import MANIFEST, stretches
from tallystick.emit.checkpoint.reading import TornError, UntoldError, unreadable
from tallystick.emit.checkpoint.verdict import TORN, UNFINISHED, UNKNOWN, Fault, Look
from tallystick.emit.checkpoint.zarr import look_at_zarr, read_object

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tallystick.emit.checkpoint.listing import ListedFile
    from tallystick.emit.checkpoint.ocdbt import Unzstd

NOTES = "_CHECKPOINT_METADATA"
TREE = "_METADATA"
COMMIT = "commit_success.txt"
NO_CHECKSUMS = "bytes of arrays in Orbax and of what describes them, without checksums"

_PROCESS = re.compile(r"(^|/)ocdbt\.process_[^/]*/")
_OF_TREES = re.compile(r"PyTree|StandardCheckpoint")
_DESCRIBING = frozenset({"_sharding", "_strings.json"})
_STORED = frozenset({"jax.Array", "np.ndarray", "scalar"})


def is_orbax(names: frozenset[str]) -> bool:
    """Tell whether a folder with such files is one of these."""
    return bool({NOTES, TREE, COMMIT, MANIFEST} & names)


def look_at_orbax(files: Mapping[str, ListedFile], unzstd: Unzstd) -> Look:
    """Look at a folder.

    Args:
        files: All files in it, by name.
        unzstd: Inflates Zstandard.
    """
    faults = list(_noted(files)) if NOTES in files else []
    unchecked = [NO_CHECKSUMS]
    for name in sorted(files):
        folder, slash, last = name.rpartition("/")
        prefix = folder + slash
        if _PROCESS.search(name):
            continue
        if last in _DESCRIBING or folder.endswith("array_metadatas"):
            found = read_object(files, name)
            faults += [found] if isinstance(found, Fault) else []
        if last in {MANIFEST, "_sharding"} and prefix + TREE not in files:
            faults.append(Fault(TORN, "is not there, and names every array", prefix + TREE))
        if last == MANIFEST:
            try:
                faults += _database(files, prefix, unzstd)
            except UntoldError as error:
                unchecked.append(f"arrays in {name!a:.120}, which {error}")
        elif last == TREE:
            faults += _tree(files, prefix)
    return Look("orbax", tuple(faults), is_closed=True, unchecked=tuple(unchecked))


def _noted(files: Mapping[str, ListedFile]) -> Iterator[Fault]:
    """Compare what the notes on the save say with what is there."""
    notes = read_object(files, NOTES)
    if isinstance(notes, Fault):
        yield notes
        return
    if "commit_timestamp_nsecs" in notes and type(notes["commit_timestamp_nsecs"]) is not int:
        yield Fault(UNFINISHED, "has no time of commit, so the save did not end", NOTES)
    stated = notes.get("item_handlers")
    items = {f"{item}/": stated[item] for item in stated} if isinstance(stated, dict) else {}
    for item, handler in sorted((items or {"": stated}).items()):
        if not any(name.startswith(item) for name in files):
            yield Fault(TORN, "is an item of the checkpoint, and is not there", item.rstrip("/"))
        elif isinstance(handler, str) and _OF_TREES.search(handler) and item + TREE not in files:
            yield Fault(TORN, "is not there, and names every array", item + TREE)


def _database(files: Mapping[str, ListedFile], prefix: str, unzstd: Unzstd) -> Iterator[Fault]:
    """Compare every stretch that a database names with the file that it is in."""
    wrong: dict[str, str] = {}
    try:
        for stretch in stretches(files, prefix, unzstd):
            if stretch.file not in files:
                wrong[stretch.file] = f"is named in {prefix + MANIFEST!a:.120}, and is not there"
            elif stretch.offset + stretch.size > files[stretch.file].size:
                size = files[stretch.file].size
                wrong[stretch.file] = (
                    f"has {size} bytes, where {prefix + MANIFEST!a:.120} names more"
                )
    except TornError as error:
        yield Fault(TORN, str(error), prefix + MANIFEST)
    except (NotAFileError, OSError) as error:
        yield Fault(UNKNOWN, unreadable(error), prefix + MANIFEST)
    for name, reason in wrong.items():
        yield Fault(TORN, reason, name)


def _tree(files: Mapping[str, ListedFile], prefix: str) -> Iterator[Fault]:
    """Compare the arrays that an item names with those that are there."""
    tree = read_object(files, prefix + TREE)
    if isinstance(tree, Fault):
        yield tree
        return
    if tree.get("use_ocdbt") is not False:
        if prefix + MANIFEST not in files:
            yield Fault(TORN, "is not there, and holds every array", prefix + MANIFEST)
        return
    stated = tree.get("tree_metadata")
    is_dense = tree.get("store_array_data_equal_to_fill_value") is True
    for entry in stated.values() if isinstance(stated, dict) else []:
        array = _array(entry)
        if array is not None:
            yield from look_at_zarr(files, prefix + array, is_dense=is_dense)


def _array(entry: Any) -> str | None:
    """Name the array of an entry; None if it has none."""
    try:
        value = entry["value_metadata"]
        is_stored = value["value_type"] in _STORED and not value.get("skip_deserialize")
        return ".".join(key["key"] for key in entry["key_metadata"]) if is_stored else None
    except (TypeError, KeyError, AttributeError):
        return None
