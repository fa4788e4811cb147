"""What a server says of its own scrapes, target by target, followed from span to span.

A target is the label set of its ``up``. A run of scrapes that failed, or whose page was
empty, becomes one outage from its first to its last; so does the time between two scrapes
that lie more than 2.5 cadences apart, in which the server itself was away. What goes on at
the end of a span is carried into the next, so where spans end changes nothing.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import msgspec
import numpy as np

from tallystick.collectors.pull.rows import Part, Times
from tallystick.collectors.pull.wire import TooMuchError

UP: Final = "up"
SCRAPED: Final = "scrape_samples_scraped"
DOWN: Final = "up is 0"
EMPTY: Final = "empty page"
UNSEEN: Final = "the server has no scrape"
_GOOD: Final = "good"
_REASONS: Final = (DOWN, EMPTY, _GOOD)
Address = tuple[str | None, str | None]
_NO_TIMES: Final = np.empty(0, np.int64)


class Outage(msgspec.Struct, frozen=True):
    """A stretch over which a target gave nothing, and why; both ends are times of scrapes."""

    target: str
    from_us: int
    to_us: int
    reason: str


class Run(msgspec.Struct, frozen=True):
    """Scrapes in a row that went alike."""

    reason: str
    from_us: int
    to_us: int


class Target(msgspec.Struct, kw_only=True):
    """What is carried of a target.

    ``nodes`` are the names that its labels, or those of its devices, give its node; ``devices``
    are by metric the GPUs that it ever had.
    """

    labels: dict[str, str]
    nodes: list[str] = []
    run: Run | None = None
    devices: dict[str, list[str]] = {}


class Health(NamedTuple):
    """The scrapes of a target within a span: all that gave samples, and what went wrong."""

    full_us: Times
    outages: list[Outage]


@dataclass(slots=True)
class Scrapes:
    """The samples of ``up`` and ``scrape_samples_scraped`` of a span, by target."""

    rows_max: int
    rows: int = 0
    up: dict[str, list[Part]] = field(default_factory=dict)
    scraped: dict[str, list[Part]] = field(default_factory=dict)
    labels: dict[str, dict[str, str]] = field(default_factory=dict)

    def clear(self) -> None:
        """Let go of everything, as the whole is fetched again."""
        self.rows = 0
        self.up.clear()
        self.scraped.clear()
        self.labels.clear()

    def add(self, labels: Mapping[str, str], part: Part) -> None:
        """Take samples of one series.

        Raises:
            TooMuchError: there are more than are held at a time.
        """
        target = {name: value for name, value in labels.items() if name != "__name__"}
        key = target_key(target)
        self.rows += len(part.times_us)
        if self.rows > self.rows_max:
            raise TooMuchError(f"there are more than {self.rows_max} samples of scrapes")
        kept = self.up if labels.get("__name__") == UP else self.scraped
        kept.setdefault(key, []).append(part)
        self.labels[key] = target


def target_key(labels: Mapping[str, str]) -> str:
    """Name a target by its labels."""
    return msgspec.json.encode(dict(sorted(labels.items()))).decode()


def follow(target: Target, key: str, up: list[Part], scraped: list[Part], gap_us: int) -> Health:
    """Go through the scrapes of a span; what is open at its end stays in the target.

    Args:
        target: What is carried; changed.
        key: Its name.
        up: Samples of its ``up``.
        scraped: How many samples each scrape gave.
        gap_us: Scrapes further apart than this show that the server was away.
    """
    times_us, is_up = _highest(up)
    if not len(times_us):
        return Health(_NO_TIMES, [])
    counted_us, counts = _highest(scraped)
    empty_us, full_us = counted_us[counts == 0], counted_us[counts > 0]
    kinds = np.where(is_up == 0, 0, np.where(np.isin(times_us, empty_us), 1, 2))
    outages = list(_holes(target, key, times_us, gap_us))
    for run in _runs(kinds, times_us):
        before = target.run
        if before is not None and before.reason == run.reason:
            target.run = Run(run.reason, before.from_us, run.to_us)
            continue
        outages += closed(target, key)
        target.run = run
    return Health(np.intersect1d(times_us[kinds == 2], full_us), outages)


def closed(target: Target, key: str) -> list[Outage]:
    """End the run that is open; give it if it is an outage."""
    run, target.run = target.run, None
    if run is None or run.reason == _GOOD:
        return []
    return [Outage(key, run.from_us, run.to_us, run.reason)]


def by_address(targets: Mapping[str, Target]) -> dict[Address, list[str]]:
    """Index targets by what both they and their devices are labelled with."""
    index: dict[Address, list[str]] = {}
    for key, target in targets.items():
        index.setdefault(_address(target.labels), []).append(key)
    return index


def owners(
    targets: Mapping[str, Target],
    index: Mapping[Address, list[str]],
    label_sets: Iterable[Mapping[str, str]],
) -> set[str]:
    """Name the targets that a device was scraped from: all their labels are its labels."""
    return {
        key
        for labels in label_sets
        for key in index.get(_address(labels), ())
        if targets[key].labels.items() <= labels.items()
    }


def _address(labels: Mapping[str, str]) -> Address:
    return labels.get("job"), labels.get("instance")


def _highest(parts: list[Part]) -> Part:
    """Put samples in order of time, the highest of each moment, without blanks."""
    if not parts:
        return Part(_NO_TIMES, np.empty(0))
    times_us = np.concatenate([part.times_us for part in parts])
    values = np.concatenate([part.values for part in parts])
    stated = ~np.isnan(values)
    times_us, values = times_us[stated], values[stated]
    order = np.lexsort((values, times_us))
    times_us, values = times_us[order], values[order]
    last = np.append(times_us[1:] != times_us[:-1], True)[: len(times_us)]
    return Part(times_us[last], values[last])


def _runs(kinds: "np.ndarray[tuple[int], np.dtype[np.int64]]", times_us: Times) -> Iterator[Run]:
    starts = np.flatnonzero(np.append(True, kinds[1:] != kinds[:-1])).tolist()
    for start, end in zip(starts, [*starts[1:], len(kinds)], strict=True):
        yield Run(_REASONS[kinds[start]], int(times_us[start]), int(times_us[end - 1]))


def _holes(target: Target, key: str, times_us: Times, gap_us: int) -> Iterator[Outage]:
    before_us = times_us if target.run is None else np.append(target.run.to_us, times_us)
    for place in np.flatnonzero(np.diff(before_us) > gap_us).tolist():
        yield Outage(key, int(before_us[place]), int(before_us[place + 1]), UNSEEN)
