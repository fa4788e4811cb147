"""Samples of one stretch of time, gathered by metric and GPU, and put in order.

The UUID is the identity of a device: label sets that come and go with a job are one series
(r32). A null value is NaN here. Order is by GPU, time and value, null last, and each row
stands once, so the same samples give the same rows however a server cut them up.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tallystick.collectors.pull.wire import TooMuchError

Times = npt.NDArray[np.int64]
Values = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

ROWS_MAX: Final = 1 << 20
US_OF_MS: Final = 1000


class Stretch(NamedTuple):
    """Half-open time in whole milliseconds, as servers count."""

    start_ms: int
    end_ms: int

    def halves(self) -> "tuple[Stretch, Stretch] | None":
        """Cut it in two, None if it is a millisecond only."""
        middle_ms = (self.start_ms + self.end_ms) // 2
        if middle_ms == self.start_ms:
            return None
        return Stretch(self.start_ms, middle_ms), Stretch(middle_ms, self.end_ms)


class Part(NamedTuple):
    """Some samples of one label set."""

    times_us: Times
    values: Values


class Ordered(NamedTuple):
    """The rows of one GPU, and the moments at which they contradict each other."""

    times_us: Times
    values: Values
    conflicts_us: Times


@dataclass(slots=True)
class Gathered:
    """What a query gave over a stretch of time.

    ``labels`` has for each metric and GPU the label sets that were seen, without the name.
    """

    rows_max: int = ROWS_MAX
    rows: int = 0
    parts: dict[str, dict[str, list[Part]]] = field(default_factory=dict)
    labels: dict[tuple[str, str], list[Mapping[str, str]]] = field(default_factory=dict)
    nameless: set[str] = field(default_factory=set)

    def add(self, metric: str, gpu: str, labels: Mapping[str, str], part: Part) -> None:
        """Take samples of one label set.

        Raises:
            TooMuchError: there are more rows than are held at a time.
        """
        self.count(len(part.times_us))
        self.parts.setdefault(metric, {}).setdefault(gpu, []).append(part)
        seen = self.labels.setdefault((metric, gpu), [])
        if labels not in seen[-8:]:
            seen.append(labels)

    def clear(self) -> None:
        """Let go of everything, as the whole is fetched again."""
        self.rows = 0
        self.parts.clear()
        self.labels.clear()
        self.nameless.clear()

    def count(self, rows: int) -> None:
        """Count rows that are held.

        Raises:
            TooMuchError: there are more rows than are held at a time.
        """
        self.rows += rows
        if self.rows > self.rows_max:
            raise TooMuchError(f"there are more than {self.rows_max} samples")


def ordered(parts: list[Part]) -> Ordered:
    """Put the rows of one GPU in order, each once."""
    times_us = np.concatenate([part.times_us for part in parts])
    values = np.concatenate([part.values for part in parts]) + 0.0  # Minus zero is zero.
    if np.all(times_us[1:] > times_us[:-1]):
        return Ordered(times_us, values, times_us[:0])
    order = np.lexsort((values, times_us))  # NaN comes last.
    times_us, values = times_us[order], values[order]
    is_null = np.isnan(values)
    same_time = times_us[1:] == times_us[:-1]
    same_value = (values[1:] == values[:-1]) | (is_null[1:] & is_null[:-1])
    keep = np.append(True, ~(same_time & same_value))
    times_us, values, is_null = times_us[keep], values[keep], is_null[keep]
    conflict = (times_us[1:] == times_us[:-1]) & ~is_null[1:]
    return Ordered(times_us, values, np.unique(times_us[1:][conflict]))


def within(part: Part, stretch: Stretch) -> Part:
    """Keep what lies in a stretch, whether or not a server counts its borders in."""
    times_us, values = part
    start_us, end_us = stretch.start_ms * US_OF_MS, stretch.end_ms * US_OF_MS
    inside = (times_us >= start_us) & (times_us < end_us)
    return part if inside.all() else Part(times_us[inside], values[inside])


def is_among(times_us: Times, others_us: Times) -> Mask:
    """Mark the times that are among others, which are in order."""
    if np.array_equal(times_us, others_us):  # As when no scrape lacks a device: mostly.
        return np.ones(len(times_us), np.bool_)
    if not len(others_us):
        return np.zeros(len(times_us), np.bool_)
    places = np.minimum(np.searchsorted(others_us, times_us), len(others_us) - 1)
    return np.asarray(others_us[places] == times_us)


def nulls(times_us: Times) -> Part:
    """Give blanks at some times."""
    return Part(times_us, np.full(len(times_us), np.nan))
