"""Sorting what a query gave into series of devices, and finding what is missing in them."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np

from tallystick.collectors.pull.queries import Query
from tallystick.collectors.pull.rows import (
    US_OF_MS,
    Gathered,
    Part,
    Stretch,
    Times,
    is_among,
    nulls,
    ordered,
)
from tallystick.collectors.pull.scrapes import Address, Target, owners
from tallystick.collectors.samples.series import device_uuid


class Table(NamedTuple):
    """The rows of one metric in order, and where each GPU's begin; findings beside them.

    ``conflicts`` are for a GPU how many moments have several values, and the first.
    """

    metric: str
    gpus: list[str]
    lengths: list[int]
    times_us: Times
    values: "np.ndarray[tuple[int], np.dtype[np.float64]]"
    conflicts: list[tuple[str, int, int]]


class Known(NamedTuple):
    """The targets of a pull, their index, and the full scrapes of each in a span."""

    targets: Mapping[str, Target]
    addresses: Mapping[Address, list[str]]
    full_us: Mapping[str, Times]
    node_label: str | None


def take_device(gathered: Gathered, query: Query, labels: Mapping[str, str], part: Part) -> None:
    """Take samples of one label set; what names no device or metric is remembered as such.

    Raises:
        TooMuchError: there are more rows than are held at a time.
    """
    name = labels.get("__name__")
    if name == "up" or (name or "").startswith("scrape_"):
        return  # What a server says of its own scrapes.
    metric, gpu = query.metric or name, device_uuid(labels)
    if metric is None or gpu is None:
        gathered.nameless.add(metric or "")
    elif len(part.times_us):
        gathered.add(metric, gpu, labels, part)


def add_missing(gathered: Gathered, scope: str, known: Known, stretch: Stretch) -> None:
    """Put a blank wherever a full scrape of a target lacks a device that it has at other times.

    Args:
        gathered: What the query gave; blanks are added.
        scope: Which query this is: what others ask is not missing here.
        known: The targets; devices that are seen are added to them.
        stretch: The time.

    Raises:
        TooMuchError: there are more rows than are held at a time.
    """
    borders = [stretch.start_ms * US_OF_MS, stretch.end_ms * US_OF_MS]
    full_us = {
        key: times_us[slice(*np.searchsorted(times_us, borders))]
        for key, times_us in known.full_us.items()
    }
    for (metric, gpu), label_sets in gathered.labels.items():
        times_us = _stated_us(gathered.parts[metric][gpu])
        for key in owners(known.targets, known.addresses, label_sets):
            target = known.targets[key]
            _name_nodes(target, label_sets, known.node_label)
            _tie(target, f"{scope} {metric}", gpu, times_us, full_us.get(key, times_us[:0]))
    for key, times_us in full_us.items():
        for scoped, gpus in known.targets[key].devices.items():
            asked, _, metric = scoped.partition(" ")
            if asked == scope and len(times_us):
                for gpu in gpus:
                    _add_nulls(gathered, metric, gpu, times_us)


def _name_nodes(
    target: Target, label_sets: list[Mapping[str, str]], node_label: str | None
) -> None:
    """Learn the node of a target from the labels of its devices."""
    names = {labels.get(node_label) for labels in label_sets} if node_label else set()
    if names:
        target.nodes = sorted({*target.nodes, *(name for name in names if name)})


def _tie(target: Target, scoped: str, gpu: str, times_us: Times, full_us: Times) -> None:
    """Note that a device is one of a target's, if its samples have the times of its scrapes.

    An exporter that states times of its own gives others: nothing is missing there.
    """
    devices = target.devices.get(scoped, [])
    shared = np.count_nonzero(is_among(times_us, full_us))
    if gpu not in devices and 2 * shared > len(times_us):
        target.devices[scoped] = sorted([*devices, gpu])


def _stated_us(parts: list[Part]) -> Times:
    return np.concatenate([part.times_us[~np.isnan(part.values)] for part in parts])


def _add_nulls(gathered: Gathered, metric: str, gpu: str, full_us: Times) -> None:
    parts = gathered.parts.setdefault(metric, {}).setdefault(gpu, [])
    seen_us = np.concatenate([part.times_us for part in parts]) if parts else full_us[:0]
    if not np.all(seen_us[1:] >= seen_us[:-1]):
        seen_us = np.sort(seen_us)
    missing_us = full_us[~is_among(full_us, seen_us)]
    if len(missing_us):
        gathered.count(len(missing_us))
        parts.append(nulls(missing_us))


def tables(gathered: Gathered) -> Iterator[Table]:
    """Give the rows of each metric; what was gathered is let go on the way."""
    for metric in sorted(gathered.parts):
        devices = gathered.parts.pop(metric)
        gpus = sorted(devices)
        rows = [ordered(devices.pop(gpu)) for gpu in gpus]
        yield Table(
            metric,
            gpus,
            [len(each.times_us) for each in rows],
            np.concatenate([each.times_us for each in rows]),
            np.concatenate([each.values for each in rows]),
            [
                (gpu, len(each.conflicts_us), int(each.conflicts_us[0]))
                for gpu, each in zip(gpus, rows, strict=True)
                if len(each.conflicts_us)
            ],
        )
