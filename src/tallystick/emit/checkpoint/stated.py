"""What manifests say of a checkpoint, compared with the files that are there.

A checkpoint may have one manifest, or one from each of several ranks: then every rank's must be
there, and all must be of one save. A file that no manifest names makes a checkpoint no worse, but
is not vouched for.
"""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from tallystick.emit.checkpoint.errors import BadManifestError, NotAFileError
from tallystick.emit.checkpoint.hashing import hash_file
from tallystick.emit.checkpoint.listing import ListedFile, stamp_of
from tallystick.emit.checkpoint.manifest_text import read_manifest
from tallystick.emit.checkpoint.names import FOLDER_MANIFEST, beside, part_name, part_of
from tallystick.emit.checkpoint.reading import UntoldError, unreadable
from tallystick.emit.checkpoint.verdict import TORN, UNFINISHED, UNKNOWN, Fault, Job, Read

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from tallystick.emit.checkpoint.hashing import OnBytes
    from tallystick.emit.checkpoint.manifest import Manifest, ManifestFile
    from tallystick.emit.checkpoint.manifest_text import StatedManifest
    from tallystick.emit.checkpoint.tree import Tree


class Stated(NamedTuple):
    """What the manifests of a checkpoint come to; without any it is None.

    ``digests`` are those of the manifests, one for each; ``uncovered`` names files of none.
    """

    manifest: Manifest | None
    digests: tuple[str, ...]
    faults: tuple[Fault, ...]
    jobs: tuple[Job, ...]
    covered: frozenset[str]
    uncovered: tuple[str, ...]


def missing_parts(names: Iterable[str]) -> tuple[str, ...] | None:
    """Tell which parts of a save by several ranks are not there yet.

    Args:
        names: Names of the files that lie in the folder.

    Returns:
        The names of the parts that lack, none if the save is whole; None if no rank has stated a
        part, or parts of two saves lie side by side: then nothing can be told from them.
    """
    parts = {part for part in map(part_of, names) if part is not None}
    counts = {ranks for _, ranks in parts}
    if len(counts) != 1:
        return None
    (ranks,) = counts
    there = {rank for rank, _ in parts}
    return tuple(part_name(rank, ranks) for rank in range(ranks) if rank not in there)


def stated_of(tree: Tree) -> Stated | None:
    """Read the manifests of a checkpoint and compare names and sizes; None if there are none."""
    places = _places(tree)
    if not places:
        return None
    faults: list[Fault] = []
    found: list[StatedManifest] = []
    for read in map(_read, places):
        if isinstance(read, Fault):
            faults.append(read)
        else:
            found.append(read)
    faults += _lacking([place.name for place in places])
    faults += _disagreeing([each.manifest for each in found])
    base = tree.path if tree.is_folder else tree.path.parent
    jobs: list[Job] = []
    for each in found:
        for file in each.manifest.files:
            fault, job = _compare(file, base, tree)
            faults += [fault] if fault else []
            jobs += [job] if job else []
        for link in each.manifest.links:
            if _target(base / link.name) != link.target:
                faults.append(Fault(TORN, "is not the link that its manifest names", link.name))
    covered = frozenset(file.name for each in found for file in each.manifest.files)
    links = frozenset(link.name for each in found for link in each.manifest.links)
    return Stated(
        found[0].manifest if found else None,
        tuple(each.digest for each in found),
        tuple(faults),
        tuple(jobs),
        covered,
        tuple(name for name in tree.files if name not in covered | links),
    )


def _places(tree: Tree) -> list[Path]:
    """Find the manifests of a checkpoint."""
    own = tree.path.parent / beside(tree.path.name)
    places = [own] if own.exists() else []
    if not tree.is_folder:
        return places
    try:
        names = sorted(os.listdir(tree.path))  # noqa: PTH208 (names, no paths)
    except OSError:
        return places
    return [
        *places,
        *(tree.path / name for name in names if name == FOLDER_MANIFEST or part_of(name)),
    ]


def _read(place: Path) -> StatedManifest | Fault:
    try:
        return read_manifest(place)
    except BadManifestError as error:
        return Fault(TORN, f"is no manifest that can be read: {error.args[1]}", place.name)
    except (UntoldError, NotAFileError, OSError) as error:
        return Fault(UNKNOWN, unreadable(error), place.name)


def _lacking(names: list[str]) -> list[Fault]:
    """Say which ranks have not stated their part."""
    if not any(map(part_of, names)):
        return []
    missing = missing_parts(names)
    if missing is None:
        reason = "is of another save than the parts beside it, which states another count of ranks"
        return [Fault(TORN, reason, next(name for name in names if part_of(name)))]
    reason = "is not there, so the save of that rank did not end"
    return [Fault(UNFINISHED, reason, name) for name in missing[:1]]


def _disagreeing(manifests: list[Manifest]) -> list[Fault]:
    """Say which part is of another save, or names a file otherwise than the others."""
    files: dict[str, ManifestFile] = {}
    for manifest in manifests:
        first = manifests[0]
        if _save(manifest) != _save(first):
            reason = f"states another run, checkpoint or step than {first.path.name}"
            return [Fault(TORN, reason, manifest.path.name)]
        for file in manifest.files:
            if files.setdefault(file.name, file) != file:
                return [Fault(TORN, "is named by two manifests, with two contents", file.name)]
    return []


def _save(manifest: Manifest) -> tuple[str | None, str | None, int | None]:
    """Give what all parts of one save have in common; each rank may be an attempt of its own."""
    return manifest.run, manifest.checkpoint, manifest.step


def _compare(file: ManifestFile, base: Path, tree: Tree) -> tuple[Fault | None, Job | None]:
    """Compare one file of a manifest, and say what is still to be read."""
    listed = tree.files.get(file.name) or _elsewhere(base / file.name, file.name)
    if listed is None:
        return Fault(TORN, "is named in its manifest, and is not there", file.name), None
    if listed.size != file.size:
        reason = f"has {listed.size} bytes, where its manifest states {file.size}"
        return Fault(TORN, reason, file.name), None
    return None, Job(file.name, file.size, partial(_check, listed, file.sha256))


def _elsewhere(path: Path, name: str) -> ListedFile | None:
    """Find a file that a manifest beside the checkpoint names in another folder."""
    try:
        return ListedFile(name, str(path), stamp_of(path.stat())) if path.is_file() else None
    except OSError:
        return None


def _check(file: ListedFile, sha256: str, on_bytes: OnBytes) -> Read:
    if hash_file(file, on_bytes) != sha256:
        return Read("has other bytes than when it was saved: its SHA-256 differs")
    return Read()


def _target(path: Path) -> str | None:
    try:
        return os.readlink(path)  # noqa: PTH115 (the text of it, as it stands)
    except OSError:
        return None
