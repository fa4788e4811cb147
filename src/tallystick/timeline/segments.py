"""Segments: samples that stand outside the evidence, and what was found in them.

A segment is asked about windows: the time of an attempt on a GPU, for one series of the GPU.
What it says of a window is all that coverage can ever ask of it (``episodes``), so a segment
may be gone once that was written down, as long as nobody asks about another window.

Whoever reads the files makes ``Scanned``; here it is a value like the rest of the evidence.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from tallystick.timeline.episodes import Episode

_SHA256 = re.compile(r"[0-9a-f]{64}")


class SeriesName(NamedTuple):
    """What tells the series of one GPU apart (rule 22)."""

    metric: str
    cadence_us: int


class SeriesWindow(NamedTuple):
    """The time of an attempt on a GPU as one series of it is asked about it."""

    gpu: str
    metric: str
    cadence_us: int
    start_us: int
    end_us: int
    reach_us: int

    @property
    def series(self) -> SeriesName:
        """Which series of the GPU is asked."""
        return SeriesName(self.metric, self.cadence_us)


class Found(NamedTuple):
    """What some samples of a series say of a window.

    ``blank_us`` are the times inside it at which nothing usable was sampled and that no
    episode covers; ``has_impossible`` tells whether a value inside it cannot be.
    """

    episodes: tuple[Episode, ...]
    blank_us: tuple[int, ...]
    has_impossible: bool


class SegmentStatus(Enum):
    """What became of a segment when it was asked for."""

    READ = "read"
    MISSING = "missing"
    ALTERED = "altered"
    DROPPED = "dropped"


class Answer(NamedTuple):
    """What a segment says of the windows that it was asked about.

    A window that was asked about and of which it says nothing has an empty ``Found``; one
    that is not there was not asked about, or not kept when the segment was dropped.
    ``kept_by`` are the digests of the records that kept it.
    """

    status: SegmentStatus
    found: Mapping[SeriesWindow, Found]
    kept_by: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Scanned:
    """Answers by the digest of the record that names the segment."""

    answers: Mapping[str, Answer]


def segment_sha256(name: str) -> str:
    """Give the SHA-256 of a segment in hexadecimal, which may be written with its method."""
    return name.removeprefix("sha256:")


def is_sha256(name: str) -> bool:
    """Tell whether a name is a SHA-256 in hexadecimal at all."""
    return _SHA256.fullmatch(name) is not None
