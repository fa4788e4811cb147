"""What a pod says of its time: when it was bound, when its containers stopped, what disrupted it.

A pod holds its GPUs from the moment it is bound to a node, whether containers run or not, until
its last container stopped. A deletion is asked for long before that, and says nothing of the end.
"""

from collections.abc import Iterator
from typing import NamedTuple

from tallystick.collectors.json_text import part
from tallystick.collectors.kubernetes.objects import (
    TERMINAL_PHASES,
    Json,
    condition_of,
    integer_at,
    items_at,
    text_at,
    time_at,
)
from tallystick.core.instant import SECOND_US

DISRUPTIONS = ("DisruptionTarget", "TerminationTarget")  # The second is Kueue's own.
POD_GC = "DeletionByPodGC"
_STATUSES = ("initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses")


class Moment(NamedTuple):
    """A time, and which field said so."""

    at_us: int
    said_by: str


class Disruption(NamedTuple):
    """A condition that says that a pod is about to be terminated."""

    kind: str
    reason: str
    at_us: int | None


class Exit(NamedTuple):
    """How the container that failed first ended."""

    code: int | None
    signal: int | None
    reason: str


def phase_of(pod: Json) -> str:
    """Give the phase of a pod."""
    return text_at(pod, "status", "phase") or ""


def node_of(pod: Json) -> str | None:
    """Give the name of the node that a pod is bound to."""
    return text_at(pod, "spec", "nodeName")


def bound_at(pod: Json) -> Moment | None:
    """Give the moment since which a pod holds what it asked for.

    Without the condition of the scheduler it is the first later moment that is known.
    """
    scheduled_us = time_at(condition_of(pod, "PodScheduled"), "lastTransitionTime")
    if scheduled_us is not None:
        return Moment(scheduled_us, "PodScheduled")
    if node_of(pod) is None:
        return None
    acknowledged_us = time_at(pod, "status", "startTime")
    if acknowledged_us is not None:
        return Moment(acknowledged_us, "startTime")
    started = [time for state in _states(pod) if (time := time_at(state, "startedAt")) is not None]
    return Moment(min(started), "startedAt") if started else None


def _states(pod: Json) -> Iterator[Json]:
    for status in statuses_of(pod):
        for name in ("state", "lastState"):
            for phase in ("running", "terminated"):
                state = part(status, name, phase)
                if isinstance(state, dict):
                    yield state


def statuses_of(pod: Json) -> list[Json]:
    """Give the status of each container."""
    return [status for name in _STATUSES for status in items_at(pod, "status", name)]


def stopped_at(pod: Json) -> Moment | None:
    """Give the moment when the last container stopped; None if one runs or its end is lost."""
    times: list[int] = []
    for status in statuses_of(pod):
        if isinstance(part(status, "state", "running"), dict):
            return None
        for name in ("state", "lastState"):
            ended = part(status, name, "terminated")
            if isinstance(ended, dict):
                finished_us = time_at(ended, "finishedAt")
                if finished_us is None and name == "state":
                    return None
                times += [] if finished_us is None else [finished_us]
    return Moment(max(times), "finishedAt") if times else None


def is_over(pod: Json, *, is_deleted: bool) -> bool:
    """Tell whether a pod will not run again."""
    if phase_of(pod) in TERMINAL_PHASES:
        return True
    is_going = is_deleted or text_at(pod, "metadata", "deletionTimestamp") is not None
    return is_going and stopped_at(pod) is not None


def ended_at(pod: Json, *, is_deleted: bool, gone_us: int | None) -> Moment | None:
    """Give the moment when a pod that is over gave back its GPUs, as far as anything says it."""
    if is_over(pod, is_deleted=is_deleted):
        stopped = stopped_at(pod)
        if stopped is not None:
            return stopped
        collected = [each for each in disruptions_of(pod) if each.reason == POD_GC]
        if phase_of(pod) == "Failed" and collected and collected[0].at_us is not None:
            # The garbage collector writes the condition together with the phase.
            return Moment(collected[0].at_us, POD_GC)
    if is_deleted and gone_us is not None:
        return Moment(gone_us, "seen gone")
    return None


def disruptions_of(pod: Json) -> list[Disruption]:
    """Give the conditions that announce a termination."""
    found = ((kind, condition_of(pod, kind)) for kind in DISRUPTIONS)
    return [
        Disruption(kind, str(condition.get("reason")), time_at(condition, "lastTransitionTime"))
        for kind, condition in found
        if condition is not None
    ]


def deletion_asked_us(pod: Json) -> int | None:
    """Give the moment when the deletion was asked for: its timestamp is that plus the grace."""
    deadline_us = time_at(pod, "metadata", "deletionTimestamp")
    grace_s = integer_at(pod, "metadata", "deletionGracePeriodSeconds") or 0
    return None if deadline_us is None else deadline_us - grace_s * SECOND_US


def first_failure(pod: Json) -> Exit | None:
    """Give the exit of the container that failed first."""
    failures = [
        (time_at(ended, "finishedAt") or 0, place, ended)
        for place, status in enumerate(statuses_of(pod))
        for ended in [part(status, "state", "terminated")]
        if isinstance(ended, dict) and integer_at(ended, "exitCode") not in {None, 0}
    ]
    if not failures:
        return None
    ended = min(failures, key=lambda failure: failure[:2])[2]
    signal = integer_at(ended, "signal") or None
    return Exit(integer_at(ended, "exitCode"), signal, text_at(ended, "reason") or "")
