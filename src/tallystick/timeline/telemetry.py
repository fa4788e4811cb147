"""What was seen of devices, indexed by GPU and node so that each attempt finds its own.

Telemetry belongs to devices, not to runs: the same series serves every attempt that held the
GPU. Labels that name a job are hints and are not read.
"""

import itertools
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from tallystick.evidence.bodies import (
    DeviceInventory,
    EngineStarted,
    Points,
    Samples,
    ScrapeFailed,
    SegmentDropped,
    TelemetryWatch,
)
from tallystick.evidence.leaf import LOG_PRODUCER
from tallystick.evidence.record import Record
from tallystick.timeline.catalogue import Catalogue, catalogue
from tallystick.timeline.seen import Seen, between, moment_us
from tallystick.timeline.segments import Scanned, SeriesName
from tallystick.timeline.values import Reading, read_value


@dataclass(frozen=True, slots=True)
class Series:
    """The valid sample times of one (GPU, metric, cadence), in order, each once (rule 22)."""

    name: SeriesName
    times_us: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class GpuSamples:
    """All inline samples of one GPU.

    ``blank_us`` are the times at which something was blank or impossible and nothing valid;
    ``impossible_us`` those of impossible values.
    """

    series: tuple[Series, ...]
    blank_us: tuple[int, ...]
    impossible_us: tuple[int, ...]
    digests: tuple[str, ...]


NO_SAMPLES = GpuSamples((), (), (), ())


@dataclass(slots=True)
class NodeSeen:
    """What was seen of one node, each list in order of time.

    ``mentions`` gives for each GPU the digests of the watches and looks that name it,
    ``failed_until_us`` for each failure the latest end of it and all before.
    """

    watches: list[Seen[TelemetryWatch]] = field(default_factory=list)
    engine_starts: list[Seen[EngineStarted]] = field(default_factory=list)
    inventories: list[Seen[DeviceInventory]] = field(default_factory=list)
    failures: list[Seen[ScrapeFailed]] = field(default_factory=list)
    mentions: dict[str, tuple[str, ...]] = field(default_factory=dict)
    failed_until_us: list[int] = field(default_factory=list)

    def watches_of(self, uuid: str) -> list[Seen[TelemetryWatch]]:
        """Give the watches that cover a GPU of the node (rule 29)."""
        return [
            watch for watch in self.watches if watch.body.gpus is None or uuid in watch.body.gpus
        ]

    def failures_until(self, at_us: int) -> Iterator[tuple[Seen[ScrapeFailed], int]]:
        """Give the failures that began by a moment, latest first, with ``failed_until_us``."""
        for index in range(bisect_right(self.failures, at_us, key=moment_us) - 1, -1, -1):
            yield self.failures[index], self.failed_until_us[index]

    def was_running_before(self, engine: str, at_us: int) -> bool:
        """Tell whether an engine had started, or watched, before a moment (rule 26)."""
        starts = between(self.engine_starts, None, at_us - 1)
        watches = between(self.watches, None, at_us - 1)
        return any(start.body.engine == engine for start in starts) or any(
            watch.body.engine == engine for watch in watches
        )


NOTHING_SEEN = NodeSeen()


@dataclass(slots=True)
class Telemetry:
    """The index; GPUs and nodes that nobody saw have empty entries.

    ``scanned`` is what segments were found to say, None where no store was there to ask.
    """

    samples: dict[str, GpuSamples] = field(default_factory=dict)
    nodes: dict[str, NodeSeen] = field(default_factory=lambda: defaultdict(NodeSeen))
    mig_uuids: set[str] = field(default_factory=set)
    catalogue: Catalogue = field(default_factory=Catalogue)
    scanned: Scanned | None = None

    def is_mig(self, uuid: str) -> bool:
        """Tell whether a UUID is that of a slice, by its form or by a look at the node."""
        return uuid.startswith("MIG-") or uuid in self.mig_uuids


def index_telemetry(records: Iterable[Record]) -> Telemetry:
    """Index the records about devices, given in canonical order."""
    telemetry = Telemetry()
    points: dict[str, list[tuple[str, Points]]] = defaultdict(list)
    segments: list[Seen[Samples]] = []
    dropped: list[Seen[SegmentDropped]] = []
    for record in records:
        body = record.body
        at_us = record.at_us or 0
        match body:
            case Points():
                points[body.gpu].append((record.digest, body))
            case Samples():
                segments.append(Seen(body.from_us, record.digest, body))
            case SegmentDropped() if record.producer == LOG_PRODUCER:
                dropped.append(Seen(at_us, record.digest, body))
            case ScrapeFailed():
                seen = Seen(body.from_us, record.digest, body)
                telemetry.nodes[body.node].failures.append(seen)
            case TelemetryWatch():
                telemetry.nodes[body.node].watches.append(Seen(at_us, record.digest, body))
            case EngineStarted():
                telemetry.nodes[body.node].engine_starts.append(Seen(at_us, record.digest, body))
            case DeviceInventory():
                telemetry.nodes[body.node].inventories.append(Seen(at_us, record.digest, body))
                telemetry.mig_uuids.update(device.uuid for device in body.devices if device.mig)
    for node in telemetry.nodes.values():
        node.failures.sort(key=moment_us)
        node.failed_until_us = list(
            itertools.accumulate((failure.body.to_us for failure in node.failures), max)
        )
        node.mentions = _mentions(node)
    telemetry.catalogue = catalogue(segments, dropped)
    telemetry.samples = {gpu: _gpu_samples(said) for gpu, said in points.items()}
    return telemetry


def _mentions(node: NodeSeen) -> dict[str, tuple[str, ...]]:
    mentions: dict[str, list[str]] = defaultdict(list)
    for watch in node.watches:
        for uuid in watch.body.gpus or ():
            mentions[uuid].append(watch.digest)
    for look in node.inventories:
        for device in look.body.devices:
            mentions[device.uuid].append(look.digest)
    return {uuid: tuple(digests) for uuid, digests in mentions.items()}


def _gpu_samples(said: Sequence[tuple[str, Points]]) -> GpuSamples:
    valid: dict[SeriesName, set[int]] = defaultdict(set)
    blank: set[int] = set()
    impossible: set[int] = set()
    for _, points in said:
        times = valid[SeriesName(points.metric, points.cadence_us)]
        for at_us, value in points.points:
            reading = read_value(value, points.metric)
            if reading is Reading.USABLE:
                times.add(at_us)
                continue
            blank.add(at_us)
            if reading is Reading.IMPOSSIBLE:
                impossible.add(at_us)
    series = tuple(Series(name, tuple(sorted(times))) for name, times in sorted(valid.items()))
    return GpuSamples(
        series=series,
        blank_us=tuple(sorted(blank.difference(*valid.values()))),
        impossible_us=tuple(sorted(impossible)),
        digests=tuple(sorted(digest for digest, _ in said)),
    )
