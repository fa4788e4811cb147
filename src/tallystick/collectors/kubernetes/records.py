"""From what is known of a pod to records: what it held, from when, for which run, and to when.

Each thing that the objects leave open is a finding, and the record that would need it is withheld.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tallystick.collectors.collected import Place
from tallystick.collectors.kubernetes.causes import Surroundings, cause_of
from tallystick.collectors.kubernetes.cluster import Cluster, NodeStory, PodStory
from tallystick.collectors.kubernetes.gpus import Held, held_by
from tallystick.collectors.kubernetes.nodes import (
    COREWEAVE_WINDOW_MAX_US,
    PENDING_PREEMPTION,
    PROVIDER,
    Signal,
    capacities_of,
    gpu_type_of,
    lost_since_us,
    zone_of,
)
from tallystick.collectors.kubernetes.objects import (
    Json,
    condition_of,
    place_of,
    text_at,
    time_at,
)
from tallystick.collectors.kubernetes.options import KubernetesOptions
from tallystick.collectors.kubernetes.owners import (
    Lineage,
    lineage_of,
    made_run,
    stated_runs,
    uids_of,
)
from tallystick.collectors.kubernetes.pods import (
    Moment,
    bound_at,
    ended_at,
    is_over,
    node_of,
    phase_of,
)
from tallystick.core.finding import InputFinding
from tallystick.core.instant import SECOND_US
from tallystick.evidence.draft import draft_record

Output = dict[str, Any] | InputFinding

RESOLUTION_US = SECOND_US
ANYWHERE = Place("inputs")


@dataclass(frozen=True, slots=True)
class Attempt:
    """A pod that holds GPUs, with what is known around it."""

    key: str
    pod: Json
    held: Held
    bound: Moment | None
    end: Moment | None
    is_over: bool
    node: NodeStory | None
    lineage: Lineage
    uids: frozenset[str]
    capacities: frozenset[str]

    @property
    def capacity(self) -> str:
        """Give the capacity that nothing contradicts."""
        return next(iter(self.capacities)) if len(self.capacities) == 1 else "unknown"

    def holds_at(self, at_us: int) -> bool:
        """Tell whether the attempt held its GPUs at a moment."""
        if self.bound is None or at_us < self.bound.at_us:
            return False
        return self.end is None or at_us <= self.end.at_us


def attempt_key(cluster: str, uid: str) -> str:
    """Name the attempt that a pod is."""
    return f"k8s:{cluster}:{uid}"


def read_attempt(
    uid: str, story: PodStory, cluster: Cluster, options: KubernetesOptions
) -> Attempt | None:
    """Put together what is known of a pod; None if it asks for no GPU."""
    pod = story.value
    held = held_by(pod, cluster.claims, cluster.slices)
    if held.gpu_count == 0 and not held.unknown_claims and not story.uuids:
        return None
    node = cluster.nodes.get(node_of(pod) or "")
    lineage = lineage_of(pod, cluster.known)
    capacities = capacities_of(node.value, options.capacity, cluster.pools) if node else set()
    return Attempt(
        key=attempt_key(options.cluster, uid),
        pod=pod,
        held=held._replace(uuids=tuple(dict.fromkeys([*held.uuids, *story.uuids]))),
        bound=bound_at(pod),
        end=ended_at(pod, is_deleted=story.is_deleted, gone_us=story.gone_us),
        is_over=story.is_deleted or is_over(pod, is_deleted=story.is_deleted),
        node=node,
        lineage=lineage,
        uids=uids_of(pod, lineage),
        capacities=frozenset(capacities),
    )


def describe(
    attempt: Attempt, story: PodStory, cluster: Cluster, options: KubernetesOptions
) -> Iterator[Output]:
    """Give the records and findings of one pod."""
    yield from _rows(attempt, story, cluster, options)
    if attempt.bound is None:
        if attempt.is_over and phase_of(attempt.pod) != "Pending" and node_of(attempt.pod):
            yield _finding("start_missing", attempt, "nothing says when it was bound to its node")
        return
    yield from _started(attempt, story, options)
    yield from _linked(attempt, cluster, options)
    yield from _notices(attempt, cluster, options)
    yield from _ended(attempt, story, cluster, options)


def _rows(
    attempt: Attempt, story: PodStory, cluster: Cluster, options: KubernetesOptions
) -> Iterator[Output]:
    for row in story.rows:
        yield _row(row, options, attempt.key)
    if attempt.node is not None:
        for row in attempt.node.rows:
            yield _row(row, options)
    stories = [cluster.owners[uid] for uid in sorted(attempt.uids) if uid in cluster.owners]
    stories += cluster.workloads_of(attempt.uids)
    for other in stories:
        for row in other.rows:
            yield _row(row, options)
    for uid in sorted(attempt.uids):
        for row in cluster.events.get(uid, ()):
            yield _row(row, options)


def _row(row: Json, options: KubernetesOptions, attempt: str | None = None) -> Output:
    body: Json = {
        "scheduler": "kubernetes",
        "cluster": options.cluster,
        "raw": row,
        "resolution_us": RESOLUTION_US,
    }
    if attempt is not None:
        body["attempt"] = attempt
    return _record("allocation.row", None, body, options)


def _started(attempt: Attempt, story: PodStory, options: KubernetesOptions) -> Iterator[Output]:
    held, node_name = attempt.held, node_of(attempt.pod)
    if held.unknown_claims:
        claims = ", ".join(held.unknown_claims)
        yield _finding("gpu_count_unknown", attempt, f"no allocated claim {claims} in the inputs")
    if held.gpu_count is None or (held.gpu_count == 0 and not held.uuids):
        if held.gpu_count is None:
            message = "its limits state no whole number of GPUs, so its start is withheld"
            yield _finding("gpu_count_unknown", attempt, message)
        return
    gpu_type = _gpu_type(attempt)
    if gpu_type is None:
        message = "no label of its node and no device names one GPU type"
        yield _finding("gpu_type_unknown", attempt, message)
    if len(attempt.capacities) > 1:
        message = f"its node says {' and '.join(sorted(attempt.capacities))}"
        yield _finding("capacity_disagrees", attempt, message)
    if held.shared or story.is_shared:
        message = "what it holds is shared with other pods, so its GPUs are counted as shares"
        yield _finding("gpu_shared", attempt, message)
    unmapped = [*held.unmapped, *story.unmapped]
    if unmapped:
        message = f"nothing says which UUID {', '.join(sorted(unmapped))[:80]} has"
        yield _finding("gpu_unmapped", attempt, message)
    yield _record(
        "allocation.started",
        attempt.bound,
        _stated(
            attempt=attempt.key,
            scheduler="kubernetes",
            cluster=options.cluster,
            job_id=place_of(attempt.pod),
            nodes=[] if node_name is None else [node_name],
            gpu_count=held.gpu_count or None,
            gpus=[{"uuid": uuid, "node": node_name or ""} for uuid in held.uuids] or None,
            gpu_type=gpu_type,
            capacity=attempt.capacity,
            zone=zone_of(attempt.node.value) if attempt.node else None,
            said_by=attempt.bound.said_by if attempt.bound else None,
        ),
        options,
        attempt.key,
    )


def _gpu_type(attempt: Attempt) -> str | None:
    held = attempt.held
    if held.gpu_type is not None:
        return held.gpu_type
    product = gpu_type_of(attempt.node.value) if attempt.node else None
    if not held.mig or product is None or "MIG-" in product:
        return product
    # An instance is not its board; the name is the one that boards of one kind of instance have.
    return None if held.has_whole or len(held.mig) > 1 else f"{product}-MIG-{held.mig[0]}"


def _linked(attempt: Attempt, cluster: Cluster, options: KubernetesOptions) -> Iterator[Output]:
    runs = stated_runs(attempt.pod, attempt.lineage, cluster.known)
    if not runs:
        made = made_run(attempt.lineage, options.cluster)
        runs = () if made is None else (made,)
        if attempt.lineage.missing is not None:
            message = f"its run is not known without {attempt.lineage.missing}"
            yield _finding("run_unknown", attempt, message)
    for place, run in enumerate(runs):
        body = {"run": run, "attempt": attempt.key}
        yield _record("attempt.linked", None, body, options, f"{attempt.key}:{place}")


def _notices(attempt: Attempt, cluster: Cluster, options: KubernetesOptions) -> Iterator[Output]:
    for signal, seen_us in _signals(attempt):
        if signal.by != PROVIDER:
            continue
        times = (signal.at_us, seen_us, options.read_us)
        at_us = next((time for time in times if time is not None), None)
        if at_us is None:
            message = f"its node has {signal.name}, but nothing says since when; give --read TIME"
            yield _finding("notice_time_unknown", attempt, message)
        elif attempt.holds_at(at_us):
            yield _notice(attempt, PROVIDER, Moment(at_us, signal.name), options, signal.name)
    for reason, at_us in _evictions(attempt, cluster):
        if reason == "Preempted" and attempt.holds_at(at_us):
            moment = Moment(at_us, f"Evicted/{reason}")
            yield _notice(attempt, "scheduler", moment, options, f"{moment.said_by}:{at_us}")


def _notice(
    attempt: Attempt, by: str, moment: Moment, options: KubernetesOptions, identity: str
) -> Output:
    """Give a notice; how long it will be is not known, so it has no deadline."""
    body: Json = {"attempt": attempt.key, "by": by, "deadline": None, "said_by": moment.said_by}
    if moment.said_by == PENDING_PREEMPTION:
        body["window_max_us"] = COREWEAVE_WINDOW_MAX_US
    return _record("allocation.notice", moment, body, options, f"{attempt.key}:{identity}")


def _signals(attempt: Attempt) -> list[tuple[Signal, int | None]]:
    return list(attempt.node.signals.items()) if attempt.node else []


def _evictions(attempt: Attempt, cluster: Cluster) -> list[tuple[str, int]]:
    found = {
        eviction
        for workload in cluster.workloads_of(attempt.uids)
        for eviction in workload.evictions
        if attempt.bound is not None and eviction[1] >= attempt.bound.at_us
    }
    return sorted(found, key=lambda eviction: (eviction[1], eviction[0]))


def _ended(
    attempt: Attempt, story: PodStory, cluster: Cluster, options: KubernetesOptions
) -> Iterator[Output]:
    if not attempt.is_over:
        return
    if attempt.end is None:
        message = "it is over, but no container says when it stopped"
        yield _finding("end_missing", attempt, message)
        return
    cause = cause_of(attempt.pod, attempt.end, _surroundings(attempt, story, cluster))
    yield _record(
        "allocation.ended",
        attempt.end,
        _stated(
            attempt=attempt.key,
            ended_by=cause.ended_by,
            state=phase_of(attempt.pod) or None,
            exit_code=cause.exit_code,
            signal=cause.signal,
            because=cause.because,
            said_by=attempt.end.said_by,
        ),
        options,
        attempt.key,
    )


def _surroundings(attempt: Attempt, story: PodStory, cluster: Cluster) -> Surroundings:
    end_us = attempt.end.at_us if attempt.end else None
    signals = [
        signal
        for signal, seen_us in _signals(attempt)
        if end_us is None or (signal.at_us or seen_us or end_us) <= end_us
    ]
    deadlines = [
        time_at(failed, "lastTransitionTime")
        for uid in attempt.uids
        if uid in cluster.known
        for failed in [condition_of(cluster.known[uid], "Failed")]
        if failed is not None and text_at(failed, "reason") == "DeadlineExceeded"
    ]
    return Surroundings(
        signals=tuple(signals),
        lost_since_us=lost_since_us(attempt.node.value) if attempt.node else None,
        is_node_gone=attempt.node.is_deleted if attempt.node else False,
        capacity=attempt.capacity,
        job_deadline_us=min((time for time in deadlines if time is not None), default=None),
        evictions=tuple(_evictions(attempt, cluster)),
        disruptions=tuple(story.disruptions),
    )


def _record(
    kind: str,
    moment: Moment | None,
    body: Json,
    options: KubernetesOptions,
    fact: str | None = None,
) -> Output:
    record = draft_record(
        kind,
        body,
        producer=options.producer,
        at_us=None if moment is None else moment.at_us,
        observed_us=options.observed_us,
    )
    if options.live and fact is not None:
        record["id"] = f"{kind}:{fact}"
    return record


def _stated(**fields: Any) -> Json:
    return {name: value for name, value in fields.items() if value is not None}


def _finding(code: str, attempt: Attempt, message: str) -> InputFinding:
    return InputFinding(code, f"{attempt.key} ({place_of(attempt.pod)}): {message}")
