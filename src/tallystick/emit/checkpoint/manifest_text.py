"""Reading manifests: what others wrote, so nothing in it is believed before it is looked at."""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from tallystick.emit.checkpoint.errors import BadManifestError
from tallystick.emit.checkpoint.manifest import SCHEMA, Manifest, ManifestFile, ManifestLink, Part
from tallystick.emit.checkpoint.names import part_of
from tallystick.emit.checkpoint.reading import TornError, UntoldError, open_file, parse_json
from tallystick.emit.record import INTEGER_MAX

if TYPE_CHECKING:
    from pathlib import Path

MANIFEST_BYTES_MAX = 256 << 20
_ANY_VERSION = "tallystick.checkpoint/"
_SHA256 = re.compile(r"[0-9a-f]{64}")


class StatedManifest(NamedTuple):
    """A manifest as it lies there, with the digest of its very bytes."""

    manifest: Manifest
    digest: str


def read_manifest(path: Path) -> StatedManifest:
    """Read a manifest; what it says of files is not compared with anything yet.

    Raises:
        BadManifestError: it is no manifest.
        UntoldError: it is of another version, or larger than is read.
        OSError: it cannot be read.
    """
    try:
        with open_file(str(path)) as file:
            text = file.whole(MANIFEST_BYTES_MAX)
        manifest = _manifest(path, parse_json(text))
    except (TornError, ValueError) as error:
        raise BadManifestError(str(path), str(error)) from error
    return StatedManifest(manifest, f"sha256:{hashlib.sha256(text).hexdigest()}")


def _manifest(path: Path, stated: Any) -> Manifest:
    """Take a manifest from JSON; a ValueError says what is wrong with it."""
    if not isinstance(stated, dict):
        raise ValueError("expected an object")  # noqa: TRY004 (data, not a call)
    schema = stated.get("schema")
    if isinstance(schema, str) and schema != SCHEMA and schema.startswith(_ANY_VERSION):
        raise UntoldError(f"is of the version {schema!a:.60}, which is not known here")
    if schema != SCHEMA:
        found = f"{schema!a:.60}" if isinstance(schema, str) else "none"
        raise ValueError(f"expected schema {SCHEMA}, found {found}")
    files = tuple(_file(each) for each in _list(stated, "files"))
    links = tuple(
        ManifestLink(_name(each, "name"), _text(each, "target")) for each in _list(stated, "links")
    )
    names = [*(file.name for file in files), *(link.name for link in links)]
    if not files or len(set(names)) != len(names):
        raise ValueError("expected files, each named once")
    return Manifest(
        path,
        files,
        links,
        run=_text(stated, "run", default=None),
        attempt=_text(stated, "attempt", default=None),
        checkpoint=_text(stated, "checkpoint", default=None),
        step=_integer(stated, "step") if stated.get("step") is not None else None,
        part=_part(path, stated.get("part")),
    )


def _file(stated: Any) -> ManifestFile:
    digest: str = _text(stated, "sha256")
    if not _SHA256.fullmatch(digest):
        raise ValueError("expected sha256 to be 64 hexadecimal digits")
    return ManifestFile(_name(stated, "name"), _integer(stated, "size"), digest)


def _part(path: Path, stated: Any) -> Part | None:
    part = None if stated is None else Part(_integer(stated, "rank"), _integer(stated, "ranks"))
    if part_of(path.name) != part:
        raise ValueError(f"it states the part {part and tuple(part)}, its name another")
    return part


def _list(stated: dict[str, Any], key: str) -> list[Any]:
    value = stated.get(key, [])
    if not isinstance(value, list):
        raise ValueError(f"expected {key} to be a list")  # noqa: TRY004 (data, not a call)
    return value


def _name(stated: Any, key: str) -> str:
    """Take a name that stays within the checkpoint."""
    name: str = _text(stated, key)
    if any(part in {"", ".", ".."} for part in name.split("/")) or "\0" in name:
        raise ValueError(f"expected a name within the checkpoint, found {name!a:.60}")
    return name


def _text(stated: Any, key: str, **otherwise: Any) -> Any:
    value = stated.get(key) if isinstance(stated, dict) else None
    if value is None and otherwise:
        return otherwise["default"]
    if not isinstance(value, str):
        raise ValueError(f"expected {key} to be a string")  # noqa: TRY004 (data, not a call)
    value.encode()  # A lone surrogate is no text; its error is a ValueError, too.
    return value


def _integer(stated: Any, key: str) -> int:
    value = stated.get(key) if isinstance(stated, dict) else None
    if type(value) is not int or not 0 <= value <= INTEGER_MAX:
        raise ValueError(f"expected {key} to be an integer from 0 on")
    return value
