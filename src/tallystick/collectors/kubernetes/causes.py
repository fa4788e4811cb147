"""Whose act the end of a pod was.

A condition that announces a termination counts only if the pod was then terminated: it is written
before the deletion, which may fail. A state or an exit code never says that a run was accepted.
"""

from dataclasses import dataclass
from typing import NamedTuple

from tallystick.collectors.kubernetes.nodes import MAINTENANCE, PROVIDER, Signal
from tallystick.collectors.kubernetes.objects import Json, text_at
from tallystick.collectors.kubernetes.pods import (
    Disruption,
    Moment,
    deletion_asked_us,
    first_failure,
    phase_of,
)

_DECIDED_BY_NODE = frozenset(
    {"DeletionByTaintManager", "EvictionByEvictionAPI", "DeletionByPodGC", "TerminationByKubelet"}
)
_NODE_REASONS = frozenset({"Evicted", "NodeShutdown", "Shutdown", "Terminated"})
_QUEUE_REASONS = {"Preempted": "scheduler", "NodeFailures": "hardware"}
_QUEUE_PREFIX = "WorkloadEvictedDueTo"


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What is known around the end of a pod.

    Args:
        signals: Marks of its node that it would be taken away, seen until the end.
        lost_since_us: Since when its node is not ready.
        is_node_gone: Its node no longer exists.
        capacity: Of its node.
        job_deadline_us: When its Job or JobSet ran into its deadline.
        evictions: Reasons why its queue evicted it, with their times.
        disruptions: Every announcement that any version of the pod had.
    """

    signals: tuple[Signal, ...] = ()
    lost_since_us: int | None = None
    is_node_gone: bool = False
    capacity: str = "unknown"
    job_deadline_us: int | None = None
    evictions: tuple[tuple[str, int], ...] = ()
    disruptions: tuple[Disruption, ...] = ()


class Cause(NamedTuple):
    """Whose act an end was, what says so, and the exit where it was the pod's own."""

    ended_by: str
    because: str
    exit_code: int | None = None
    signal: int | None = None


def cause_of(pod: Json, end: Moment, around: Surroundings) -> Cause:
    """Say whose act the end of a pod was."""
    failure = first_failure(pod)
    code, signal = (failure.code, failure.signal) if failure else (None, None)
    ended_by, because = _decide(pod, end, around)
    return Cause(ended_by, because, code, signal)


def _decide(pod: Json, end: Moment, around: Surroundings) -> tuple[str, str]:
    asked_us = deletion_asked_us(pod)
    was_deleted = asked_us is not None and asked_us <= end.at_us
    has_succeeded = phase_of(pod) == "Succeeded"
    reason = text_at(pod, "status", "reason") or ""
    if reason == "Preempting" and not has_succeeded:
        return "scheduler", "reason Preempting"
    announced = [each for each in around.disruptions if (each.at_us or 0) <= end.at_us]
    if announced and (was_deleted or not has_succeeded):
        return _announced(announced[-1], end, around)
    if has_succeeded:
        return "completed", "phase Succeeded"
    if reason == "DeadlineExceeded":
        return "time_limit", "reason DeadlineExceeded"
    if reason == "NodeLost":
        return "hardware", "reason NodeLost"
    if reason in _NODE_REASONS:
        return _by_node(f"reason {reason}", end, around)
    if around.job_deadline_us is not None and was_deleted:
        return "time_limit", "the Job's reason DeadlineExceeded"
    evicted = [word for word, at_us in around.evictions if at_us <= end.at_us]
    if evicted:
        return _QUEUE_REASONS.get(evicted[-1], "unknown"), f"Evicted/{evicted[-1]}"
    failure = first_failure(pod)
    if was_deleted:
        return "unknown", "deleted, nothing says by whom"
    if failure is not None and failure.reason != "ContainerStatusUnknown":
        return "user", f"exit code {failure.code}"
    return "unknown", "nothing says why"


def _announced(disruption: Disruption, end: Moment, around: Surroundings) -> tuple[str, str]:
    because = f"{disruption.kind}/{disruption.reason}"
    if disruption.reason == "PreemptionByScheduler":
        return "scheduler", because
    if disruption.reason.startswith(_QUEUE_PREFIX):
        word = _QUEUE_REASONS.get(disruption.reason.removeprefix(_QUEUE_PREFIX), "unknown")
        return word, because
    if disruption.reason in _DECIDED_BY_NODE:
        return _by_node(because, end, around)
    return "unknown", because


def _by_node(because: str, end: Moment, around: Surroundings) -> tuple[str, str]:
    """Decide by what the node said: a notice of its provider, maintenance, or its own failure."""
    for by in (PROVIDER, MAINTENANCE):
        named = [signal.name for signal in around.signals if signal.by == by]
        if named:
            return by, f"{because}, node has {named[0]}"
    if around.lost_since_us is not None and around.lost_since_us <= end.at_us:
        return "hardware", f"{because}, node not ready"
    if around.is_node_gone and around.capacity != "spot":
        return "hardware", f"{because}, node gone"
    # A spot machine that is taken without a notice and one that breaks look the same.
    return "unknown", because
