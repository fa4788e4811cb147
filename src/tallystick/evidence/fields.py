"""Checking one field of a body: each check gives the converted value or raises.

A string that should be a time and is not is ``_BadTime``; anything else that is wrong is
``_BadField``. They are told apart because the first outranks the second (rule 4).
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from tallystick.core.errors import BadInstantError
from tallystick.core.instant import parse_instant
from tallystick.core.quantity import DECIMAL_NUMBER
from tallystick.evidence.bodies import AllocatedGpu, Device

Check = Callable[[Any], Any]

KEY_BYTES_MAX = 200
GPUS_MAX = 1_000_000

# More digits are no sum of money and no share, and some would be beyond Python's integers.
_AMOUNT = re.compile(r"[+-]?[0-9]{1,30}(\.[0-9]{1,30})?")
_DISPOSITION = re.compile(r"charge|exclude|(?:credit|share):([0-9]{1,18})/([0-9]{1,18})")


class BadFieldError(Exception):
    """A field is missing, of the wrong type, or not an allowed word; says what was expected."""


class BadTimeError(Exception):
    """A string that should be a time is none; carries the string."""


def text(value: Any) -> str:
    """Accept a string."""
    if not isinstance(value, str):
        raise BadFieldError("a string")
    return value


def key(value: Any) -> str:
    """Accept an attempt key or a run id: 1 to 200 bytes, printable."""
    if not isinstance(value, str):
        raise BadFieldError("a printable string of 1 to 200 bytes")
    return _key(value)


@lru_cache(maxsize=65_536)
def _key(value: str) -> str:
    """Check a key once; the records of an attempt then share one string."""
    if not value.isprintable() or not 1 <= len(value.encode()) <= KEY_BYTES_MAX:
        raise BadFieldError("a printable string of 1 to 200 bytes")
    return value


def integer(value: Any) -> int:
    """Accept an integer; true and false are none."""
    if type(value) is not int:
        raise BadFieldError("an integer")
    return value


def gpu_count(value: Any) -> int:
    """Accept a number of GPUs that an allocation can have."""
    if type(value) is not int or not 0 <= value <= GPUS_MAX:
        raise BadFieldError(f"an integer from 0 to {GPUS_MAX}")
    return value


def boolean(value: Any) -> bool:
    """Accept true or false."""
    if not isinstance(value, bool):
        raise BadFieldError("true or false")
    return value


def mapping(value: Any) -> dict[str, Any]:
    """Accept an object."""
    if not isinstance(value, dict):
        raise BadFieldError("an object")
    return value


def instant(value: Any) -> int:
    """Accept a time and give microseconds."""
    if not isinstance(value, str):
        raise BadFieldError("a time")
    try:
        return parse_instant(value)
    except BadInstantError as error:
        raise BadTimeError(value) from error


@dataclass(frozen=True, slots=True)
class Word:
    """Accept one of some words."""

    allowed: tuple[str, ...]

    def __call__(self, value: Any) -> str:
        """Check a value."""
        if not isinstance(value, str) or value not in self.allowed:
            raise BadFieldError("one of " + " ".join(self.allowed))
        return value


def word(*allowed: str) -> Check:
    """Accept one of some words."""
    return Word(allowed)


@dataclass(frozen=True, slots=True)
class Nullable:
    """Accept null beside what ``check`` accepts."""

    check: Check

    def __call__(self, value: Any) -> Any:
        """Check a value."""
        return None if value is None else self.check(value)


def nullable(check: Check) -> Check:
    """Accept null beside what ``check`` accepts."""
    return Nullable(check)


def texts(value: Any) -> tuple[str, ...]:
    """Accept a list of strings."""
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise BadFieldError("a list of strings")
    return tuple(value)


def statistic(value: Any) -> int | str | None:
    """Accept a value of a summary: an integer, a decimal string or null."""
    if value is None or type(value) is int:
        return value
    if isinstance(value, str) and DECIMAL_NUMBER.fullmatch(value):
        return value
    raise BadFieldError("an integer, a decimal string or null")


def amount(value: Any) -> str:
    """Accept a signed amount of money as a decimal string."""
    if not isinstance(value, str) or not _AMOUNT.fullmatch(value):
        raise BadFieldError("a decimal string")
    return value


def resolved_disposition(value: Any) -> str:
    """Accept what held time may be resolved to; ``hold`` decides nothing (rule 57)."""
    match = _DISPOSITION.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise BadFieldError("charge, exclude, credit:n/d or share:n/d")
    if match[2] is not None and not (0 <= int(match[1]) <= int(match[2]) and int(match[2]) > 0):
        raise BadFieldError("a share from 0 to 1")
    return match[0]


def allocated_gpus(value: Any) -> tuple[AllocatedGpu, ...]:
    """Accept the GPUs that an allocation names."""
    return tuple(_allocated_gpu(item) for item in _objects(value))


def _allocated_gpu(item: dict[str, Any]) -> AllocatedGpu:
    nullable(integer)(item.get("index"))
    return AllocatedGpu(text(item.get("uuid")), text(item.get("node")))


def devices(value: Any) -> tuple[Device, ...]:
    """Accept the devices that a look at a node found."""
    return tuple(_device(item) for item in _objects(value))


def _device(item: dict[str, Any]) -> Device:
    nullable(text)(item.get("pci_bus_id"))
    nullable(integer)(item.get("minor"))
    mig = nullable(boolean)(item.get("mig"))
    return Device(text(item.get("uuid")), integer(item.get("index")), bool(mig))


def _objects(value: Any) -> list[dict[str, Any]]:
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise BadFieldError("a list of objects")
    return value


def points(value: Any) -> tuple[tuple[int, str | None], ...]:
    """Accept pairs of a time and a string or null."""
    if not isinstance(value, list):
        raise BadFieldError("a list of [time, value]")
    bad = any(not _is_pair(item) for item in value)
    times = [instant(item[0]) for item in value if isinstance(item, list) and _first_is_text(item)]
    if bad:
        raise BadFieldError("a list of [time, string or null]")
    return tuple(zip(times, (item[1] for item in value), strict=True))


def _is_pair(item: Any) -> bool:
    pair_length = 2
    return (
        isinstance(item, list)
        and len(item) == pair_length
        and isinstance(item[0], str)
        and (item[1] is None or isinstance(item[1], str))
    )


def _first_is_text(item: list[Any]) -> bool:
    return bool(item) and isinstance(item[0], str)
