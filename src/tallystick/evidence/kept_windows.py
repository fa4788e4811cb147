"""The windows of ``telemetry.dropped``: what a segment said, exactly, once its samples are gone.

Times are text as everywhere in evidence. ``reach_us`` is a decimal string, because a cadence
times a gap factor may pass the integers that JSON carries exactly.
"""

import itertools
import re
from collections.abc import Iterator
from typing import Any

from tallystick.evidence import fields as f
from tallystick.evidence.bodies import KeptWindow

_REACH = re.compile(r"0|[1-9][0-9]{0,17}")
_PAIR_LENGTH = 2


def kept_windows(value: Any) -> tuple[KeptWindow, ...]:
    """Accept what a segment said of windows."""
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise f.BadFieldError("a list of objects")
    for item in value:
        for at in _times(item):
            f.instant(at)  # A bad time outranks whatever else is wrong (rule 4).
    return tuple(_kept_window(item) for item in value)


def _times(item: dict[str, Any]) -> Iterator[str]:
    """Give every string that stands where a time should."""
    episodes = [each for each in _if_list(item.get("episodes")) if isinstance(each, list)]
    places = [item.get("start"), item.get("end"), *_if_list(item.get("blank"))]
    for value in itertools.chain(places, *episodes):
        if isinstance(value, str):
            yield value


def _if_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _kept_window(item: dict[str, Any]) -> KeptWindow:
    return KeptWindow(
        gpu=f.text(item.get("gpu")),
        metric=f.text(item.get("metric")),
        cadence_us=f.integer(item.get("cadence_us")),
        start_us=f.instant(item.get("start")),
        end_us=f.instant(item.get("end")),
        reach_us=_reach_us(item.get("reach_us")),
        episodes=tuple(_episode(pair) for pair in _list(item.get("episodes"))),
        blank_us=tuple(f.instant(at) for at in _list(item.get("blank"))),
        has_impossible=f.boolean(item.get("impossible")),
    )


def _reach_us(value: Any) -> int:
    if not isinstance(value, str) or not _REACH.fullmatch(value):
        raise f.BadFieldError("a whole number as a decimal string")
    return int(value)


def _episode(value: Any) -> tuple[int, int]:
    if not isinstance(value, list) or len(value) != _PAIR_LENGTH:
        raise f.BadFieldError("a list of [first, last]")
    first_us, last_us = map(f.instant, value)
    if first_us > last_us:
        raise f.BadFieldError("episodes whose last sample is not before the first")
    return first_us, last_us


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise f.BadFieldError("a list")
    return value
