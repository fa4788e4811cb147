"""Files and links that claim which checkpoint is the last: what each says, and whether it holds.

None of them is ever believed: a pointer is written before or after the save that it points to,
and either may be lost. What it says is compared with what is there.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from tallystick.emit.checkpoint.errors import NotAFileError
from tallystick.emit.checkpoint.reading import (
    TornError,
    UntoldError,
    open_file,
    parse_json,
    unreadable,
)
from tallystick.emit.checkpoint.steps import step_in

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TEXT_BYTES_MAX = 4096
JSON_BYTES_MAX = 4 << 20
CLAIMS_MAX = 1000
_TEXTS = frozenset(
    {
        "latest",
        "latest_checkpointed_iteration.txt",
        "latest_universal",
        "last_checkpoint",
        "latest.txt",
        "last.txt",
        "checkpoint",
    }
)
_JSON = re.compile(r"\.?(?:\w+[-_.])*(?:latest|last|best|track\w*|checkpoints?)(?:[-_.]\w+)*\.json")
_TENSORFLOW = re.compile(r'^model_checkpoint_path:\s*"([^"]*)"', re.MULTILINE)
_PATH_KEY = re.compile(r"(?:latest|last|current|best)?_?(?:checkpoint|ckpt|path|dir|name|file)")
_STEP_KEY = re.compile(r"(?:latest|last|checkpoint|global)?_?(?:checkpoint_)?(?:step|iteration)")


class Claim(NamedTuple):
    """What a pointer names: the last part of a path, or a step."""

    text: str
    name: str | None
    step: int | None


class Pointer(NamedTuple):
    """A file or link that claims something, or cannot be read; then it claims nothing."""

    name: str
    claims: tuple[Claim, ...]
    problem: str | None = None


def is_pointer_name(name: str) -> bool:
    """Tell whether a file of such a name may be a pointer."""
    return name in _TEXTS or _JSON.fullmatch(name) is not None


def read_pointer(path: Path) -> Pointer | None:
    """Read what a pointer claims; None if it claims nothing."""
    name = path.name
    if path.is_symlink():
        return Pointer(name, (_path_claim(os.readlink(path)),))  # noqa: PTH115 (its text)
    is_json = name.endswith(".json")
    try:
        with open_file(str(path)) as file:
            text = file.whole(JSON_BYTES_MAX if is_json else TEXT_BYTES_MAX)
        claims = tuple(_json_claims(parse_json(text))) if is_json else _text_claims(text)
    except (TornError, UntoldError, NotAFileError, OSError) as error:
        return Pointer(name, (), unreadable(error))
    if not is_json and not claims:
        return Pointer(name, (), "says nothing")
    return Pointer(name, claims) if claims else None


def _text_claims(text: bytes) -> tuple[Claim, ...]:
    stated = text.decode("utf-8", "backslashreplace").strip("\0 \t\r\n")
    tensorflow = _TENSORFLOW.search(stated)
    if tensorflow:
        stated = tensorflow[1]
    first = stated.splitlines()[0].strip() if stated else ""
    if not first:
        return ()
    if first.isascii() and first.isdigit() and len(first) < 16:
        return (Claim(first, first, int(first)),)
    return (_path_claim(first),)


def _path_claim(text: str) -> Claim:
    name = text.rstrip("/").rpartition("/")[2]
    return Claim(text, name, step_in(name))


def _json_claims(value: Any) -> Iterator[Claim]:
    """Look for paths and steps under keys that say so, no deeper than is sensible."""
    waiting: list[tuple[str, Any, int]] = [("", value, 0)]
    found = 0
    while waiting and found < CLAIMS_MAX:
        key, each, depth = waiting.pop()
        if isinstance(each, dict) and depth < 8:
            waiting += [(str(name).lower(), inner, depth + 1) for name, inner in each.items()]
        elif isinstance(each, list) and depth < 8:
            waiting += [(key, inner, depth + 1) for inner in each]
        elif isinstance(each, str) and _PATH_KEY.search(key) and _names_one(each):
            found += 1
            yield _path_claim(each)
        elif type(each) is int and each >= 0 and depth <= 2 and _STEP_KEY.fullmatch(key):
            found += 1
            yield Claim(str(each), None, each)


def _names_one(text: str) -> bool:
    return (
        "\n" not in text and len(text) < 1024 and step_in(_path_claim(text).name or "") is not None
    )
