"""Trackable resources: how many GPUs an allocation has, and of which type.

``gres/gpu=8`` and ``gres/gpu:h100=8`` count the same eight GPUs, so they are never added.
"""

import re
from functools import lru_cache
from typing import NamedTuple

Tres = tuple[tuple[str, str | None], ...]

_GPU = "gres/gpu"
_COUNT = re.compile(r"[0-9]{1,9}")
_ZERO = re.compile(r"0+")
_NO_TRES = frozenset({"", "(null)", "none", "n/a"})


class Gpus(NamedTuple):
    """What resources say about GPUs; None is unknown, never zero."""

    gpu_count: int | None
    gpu_type: str | None
    types_named: int


def parse_tres(text: str) -> Tres:
    """Split ``cpu=8,gres/gpu=8``; the value of an entry that was cut before its ``=`` is None."""
    if text.strip().lower() in _NO_TRES:
        return ()
    entries = (entry.partition("=") for entry in text.strip().split(","))
    return tuple((key, value if equals else None) for key, equals, value in entries)


@lru_cache(maxsize=1024)
def count_gpus(tres: Tres) -> Gpus:
    """Count the GPUs of an allocation.

    The untyped entry counts, without it the sum of the typed ones. A value that was cut, is
    no number, or adds up to 0 (as a resource that is not consumed prints) is unknown.
    """
    stated = dict(tres)
    typed = {key[len(_GPU) + 1 :]: n for key, n in stated.items() if key.startswith(_GPU + ":")}
    counts = [_count(stated[_GPU])] if _GPU in stated else [_count(n) for n in typed.values()]
    known = [count for count in counts if count is not None]
    types = {name for name, n in typed.items() if name and n is not None and not _ZERO.fullmatch(n)}
    return Gpus(
        gpu_count=(sum(known) or None) if len(known) == len(counts) else None,
        gpu_type=next(iter(types)) if len(types) == 1 else None,
        types_named=len(types),
    )


def count_nodes(tres: Tres) -> int | None:
    """Give the number of nodes that resources state."""
    return _count(dict(tres).get("node"))


def _count(text: str | None) -> int | None:
    return int(text) if text is not None and _COUNT.fullmatch(text) else None
