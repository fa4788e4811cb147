"""Values of the database as evidence: exact times, counts and types of GPUs, texts.

A time is a double of seconds since the epoch. Near today's times neighbouring doubles lie a
quarter of a microsecond apart, so the nearest microsecond is the time that was written.
"""

import json
import math
import re
from datetime import datetime, tzinfo
from fractions import Fraction
from typing import Any, NamedTuple

from tallystick.collectors.local_time import epoch_s, moments_s
from tallystick.core.instant import SECOND_US

_YEAR_10000_S = 253_402_300_800
_NODES = re.compile(r"([0-9]{1,6})x")
_ACCELERATOR = re.compile(r"([A-Za-z][A-Za-z0-9_-]*):([0-9]{1,6})(?![0-9.])")
_NOT_GPUS = re.compile(r"(?i)(cpus|mem|memory|disk|disk_size|ports|tpu-.*)")


class Gpus(NamedTuple):
    """What a task asked for; None is unknown."""

    gpu_count: int | None = None
    gpu_type: str | None = None
    capacity: str = "unknown"


def read_epoch_us(value: Any) -> int | None:
    """Give a time in microseconds; None for what is absent or says that there is none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if not math.isfinite(value) or not 0 < value < _YEAR_10000_S:
        return None
    return round(Fraction(value) * SECOND_US)


def read_moments_us(value: Any, zone: tzinfo) -> tuple[int, ...]:
    """Give every moment that the time of an event may mean; none if it is no time."""
    at_us = read_epoch_us(value)
    if at_us is not None:
        return (at_us,)
    if not isinstance(value, str):
        return ()
    try:
        moment = datetime.fromisoformat(value.strip())
    except ValueError:
        return ()
    micro = moment.microsecond
    whole = moment.replace(microsecond=0)
    try:
        seconds = moments_s(whole, zone) if whole.tzinfo is None else (epoch_s(whole),)
    except (OverflowError, ValueError):
        return ()
    return tuple(s * SECOND_US + micro for s in seconds if 0 < s < _YEAR_10000_S)


def plain(value: Any) -> Any:
    """Give a value as evidence may hold it: a number that is no integer as its digits."""
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, int) and abs(value) > 2**53 - 1:
        return str(value)
    if isinstance(value, bytes):
        return value.hex()
    return value


def read_gpus(resources: Any, full_resources: Any) -> Gpus:
    """Give what a task asked for, where it names one kind of GPU and its number of nodes."""
    text = resources if isinstance(resources, str) else ""
    config = _config(full_resources)
    nodes = _NODES.match(text)
    kinds = set(_accelerators(config)) or {
        (name, int(count))
        for name, count in _ACCELERATOR.findall(text)
        if not _NOT_GPUS.fullmatch(name)
    }
    gpu_type, count = next(iter(kinds)) if len(kinds) == 1 else (None, None)
    return Gpus(
        gpu_count=int(nodes[1]) * count if nodes and count else None,
        gpu_type=gpu_type,
        capacity=_capacity(text, config),
    )


def _config(value: Any) -> dict[str, Any]:
    try:
        found = json.loads(value, parse_float=str) if isinstance(value, str) else None
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _choices(config: dict[str, Any]) -> list[dict[str, Any]]:
    lists = [config.get(name) for name in ("any_of", "ordered")]
    inner = [
        config | each
        for found in lists
        if isinstance(found, list)
        for each in found
        if isinstance(each, dict)
    ]
    return inner or [config]


def _accelerators(config: dict[str, Any]) -> list[tuple[str | None, int | None]]:
    """Give type and number on one node of each choice; a pair of None is one that is not clear."""
    found: list[tuple[str | None, int | None]] = []
    for choice in _choices(config):
        stated = choice.get("accelerators")
        if isinstance(stated, str):
            name, _, count = stated.partition(":")
            stated = {name: int(count) if re.fullmatch(r"[0-9]{1,6}", count) else count or 1}
        if isinstance(stated, dict):
            for name, number in stated.items():
                is_count = type(number) is int and 0 < number < 10**6
                found.append((str(name), number) if is_count else (None, None))
    return found


def _capacity(text: str, config: dict[str, Any]) -> str:
    words = {
        "spot" if choice["use_spot"] else "on_demand"
        for choice in _choices(config)
        if isinstance(choice.get("use_spot"), bool)
    }
    if len(words) == 1:
        return words.pop()
    return "spot" if not words and "[spot]" in text.lower() else "unknown"
