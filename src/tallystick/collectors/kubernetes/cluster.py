"""What is known of a cluster: every object that bears on pods, version after version.

An object is overwritten by its next version and its conditions with it, so what a version
announced is kept beside the latest.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from tallystick.collectors.kubernetes.documents import DELETED, MODIFIED, Given, Seen
from tallystick.collectors.kubernetes.gpus import (
    Attributes,
    Device,
    allocated_devices,
    devices_of,
)
from tallystick.collectors.kubernetes.nodes import Signal, pool_class_of, signals_of
from tallystick.collectors.kubernetes.objects import (
    Json,
    condition_of,
    kind_of,
    name_of,
    place_of,
    text_at,
    time_at,
    uid_of,
    version_of,
)
from tallystick.collectors.kubernetes.owners import is_owner, owner_uids
from tallystick.collectors.kubernetes.pods import Disruption, disruptions_of
from tallystick.collectors.kubernetes.rows import row_of

EVENTS_MAX = 50


@dataclass(slots=True)
class Story:
    """An object over time: its latest version, the rows of all, and whether it is gone."""

    value: Json
    rows: list[Json] = field(default_factory=list)
    is_deleted: bool = False
    gone_us: int | None = None

    def see(self, seen: Seen) -> None:
        """Take in a version; one that is older than the latest is only kept as a row."""
        row = row_of(seen.value, seen.event)
        if row not in self.rows[-1:]:
            self.rows.append(row)
        known, new = version_of(self.value), version_of(seen.value)
        if known is None or new is None or new >= known:
            self.value = seen.value
        if seen.event == DELETED:
            self.is_deleted = True
            self.gone_us = self.gone_us if self.gone_us is not None else seen.seen_us


@dataclass(slots=True)
class PodStory(Story):
    """A pod over time, with all that any version announced."""

    disruptions: list[Disruption] = field(default_factory=list)
    uuids: dict[str, None] = field(default_factory=dict)
    unmapped: dict[str, None] = field(default_factory=dict)
    is_shared: bool = False

    def see(self, seen: Seen) -> None:
        """Take in a version."""
        Story.see(self, seen)
        new = [each for each in disruptions_of(seen.value) if each not in self.disruptions]
        self.disruptions = sorted([*self.disruptions, *new], key=lambda each: each.at_us or 0)


@dataclass(slots=True)
class NodeStory(Story):
    """A node over time, with every mark that it would be taken away, and when it was first seen."""

    signals: dict[Signal, int | None] = field(default_factory=dict)

    def see(self, seen: Seen) -> None:
        """Take in a version."""
        Story.see(self, seen)
        for signal in signals_of(seen.value):
            self.signals.setdefault(signal, seen.seen_us)


@dataclass(slots=True)
class WorkloadStory(Story):
    """A unit of a queue over time, with every eviction: the API keeps the last one only."""

    evictions: dict[tuple[str, int], None] = field(default_factory=dict)

    def see(self, seen: Seen) -> None:
        """Take in a version."""
        Story.see(self, seen)
        evicted = condition_of(seen.value, "Evicted")
        at_us = time_at(evicted, "lastTransitionTime")
        if at_us is not None:
            self.evictions[text_at(evicted, "reason") or "", at_us] = None


@dataclass(slots=True)
class Cluster:
    """All stories of a cluster."""

    pods: dict[str, PodStory] = field(default_factory=dict)
    nodes: dict[str, NodeStory] = field(default_factory=dict)
    owners: dict[str, Story] = field(default_factory=dict)
    known: dict[str, Json] = field(default_factory=dict)
    workloads: dict[str, WorkloadStory] = field(default_factory=dict)
    queued: dict[str, dict[str, None]] = field(default_factory=dict)
    events: dict[str, list[Json]] = field(default_factory=dict)
    claims: dict[str, tuple[Device, ...]] = field(default_factory=dict)
    slices: dict[Device, Attributes] = field(default_factory=dict)
    pools: dict[str, str] = field(default_factory=dict)
    given: list[Given] = field(default_factory=list)

    def see(self, seen: Seen) -> bool:
        """Take in a version of an object; tell whether it is of a kind that is looked at."""
        value, kind, uid = seen.value, kind_of(seen.value), uid_of(seen.value)
        if kind == "Pod":
            if uid is None:
                return False
            self.pods.setdefault(uid, PodStory(value)).see(seen)
        elif kind == "Node":
            self._see_node(seen)
        elif kind == "Workload":
            self._see_workload(seen)
        elif kind == "Event":
            self._see_event(seen)
        elif kind == "ResourceClaim":
            devices = allocated_devices(value)
            if devices is not None:
                self.claims[place_of(value)] = devices
        elif kind == "ResourceSlice":
            self._see_slice(seen)
        elif kind == "NodePool":
            self.pools[name_of(value)] = pool_class_of(value)
        elif is_owner(value) and uid is not None:
            story = self.owners.setdefault(uid, Story(value))
            story.see(seen)
            self.known[uid] = story.value
        else:
            return False
        return True

    def _see_workload(self, seen: Seen) -> None:
        key = uid_of(seen.value) or place_of(seen.value)
        story = self.workloads.setdefault(key, WorkloadStory(seen.value))
        story.see(seen)
        for owner in owner_uids(seen.value):
            self.queued.setdefault(owner, {})[key] = None

    def workloads_of(self, uids: Iterable[str]) -> list[WorkloadStory]:
        """Give what queued any of some objects."""
        keys = dict.fromkeys(key for uid in sorted(uids) for key in self.queued.get(uid, ()))
        return [self.workloads[key] for key in keys]

    def _see_node(self, seen: Seen) -> None:
        name = name_of(seen.value)
        story = self.nodes.get(name)
        if story is None or uid_of(story.value) != uid_of(seen.value):
            # A machine that comes back under an old name is another node.
            story = self.nodes[name] = NodeStory(seen.value)
        story.see(seen)

    def _see_event(self, seen: Seen) -> None:
        uid = text_at(seen.value, "involvedObject", "uid")
        if uid is not None:
            rows = self.events.setdefault(uid, [])
            row = row_of(seen.value, seen.event)
            if row not in rows and len(rows) < EVENTS_MAX:
                rows.append(row)

    def _see_slice(self, seen: Seen) -> None:
        for device, said in devices_of(seen.value):
            known = said if seen.event == MODIFIED else self.slices.get(device, said)
            same_uuid = known.uuid if known.uuid == said.uuid else None
            self.slices[device] = Attributes(same_uuid, said.gpu_type or known.gpu_type)
