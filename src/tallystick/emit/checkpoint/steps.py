"""What the name of a file or folder says: its step, and whether it is still being written."""

from __future__ import annotations

import re

_STEP = re.compile(
    r"(?:^|[^a-z])(?:global[-_]?step|step|iter|iteration|checkpoint|ckpt|update)s?[-_=.]?(\d{1,15})"
    r"(?!\d)",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"(\d{1,15})(?:\.(?:pt|pth|ckpt|safetensors|npz|bin))?")
_ORDINAL = re.compile(r"hpc_ckpt_\d+")
_DRAFT = re.compile(
    r"\.orbax-checkpoint-tmp.*$"
    r"|(?:^|[-_.])(?:tmp|temp|partial|incomplete|inprogress|dirty|writing)(?:[-_.]|$)"
    r"|tmp$",
    re.IGNORECASE,
)


def step_in(name: str) -> int | None:
    """Read the step off a name such as ``step_1200``, ``checkpoint-500`` or ``0001000``.

    Of several numbers that are steps the last one counts. A number that only counts the
    checkpoints is none.
    """
    if _ORDINAL.search(name):
        return None
    stem = _DRAFT.sub("", name)
    number = _NUMBER.fullmatch(stem)
    if number:
        return int(number[1])
    found = _STEP.findall(stem)
    return int(found[-1]) if found else None


def is_draft(name: str) -> bool:
    """Tell whether a name says that what it names is still being written."""
    return _DRAFT.search(name) is not None
