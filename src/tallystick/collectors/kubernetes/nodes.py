"""What a node says of the GPUs on it: type, zone, capacity, and whether it will be taken away.

CoreWeave's node conditions are its own affair and are not read; its labels are.
"""

from collections.abc import Iterator
from typing import NamedTuple

from tallystick.collectors.kubernetes.objects import (
    Json,
    items_at,
    labels_of,
    text_at,
    time_at,
)
from tallystick.collectors.kubernetes.options import CapacityRule
from tallystick.core.instant import MINUTE_US

PROVIDER, MAINTENANCE = "provider", "maintenance"
PENDING_PREEMPTION = "qos.coreweave.cloud/pending-preemption"
COREWEAVE_WINDOW_MAX_US = 7 * MINUTE_US
POOL_LABELS = ("compute.coreweave.com/node-pool", "node.coreweave.cloud/node-pool")

_TYPE_LABELS = (
    "nvidia.com/gpu.product",
    "gpu.nvidia.com/model",
    "gpu.nvidia.com/class",
    "cloud.google.com/gke-accelerator",
    "karpenter.k8s.aws/instance-gpu-name",
    "k8s.amazonaws.com/accelerator",
)
_ZONE_LABELS = ("topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone")
_CAPACITY_LABELS = {
    ("cloud.google.com/gke-spot", "true"): "spot",
    ("cloud.google.com/gke-preemptible", "true"): "spot",
    ("cloud.google.com/gke-provisioning", "spot"): "spot",
    ("cloud.google.com/gke-provisioning", "preemptible"): "spot",
    ("cloud.google.com/gke-provisioning", "standard"): "on_demand",
    ("eks.amazonaws.com/capacitytype", "spot"): "spot",
    ("eks.amazonaws.com/capacitytype", "on_demand"): "on_demand",
    ("eks.amazonaws.com/capacitytype", "capacity_block"): "reserved",
    ("karpenter.sh/capacity-type", "spot"): "spot",
    ("karpenter.sh/capacity-type", "on-demand"): "on_demand",
    ("karpenter.sh/capacity-type", "reserved"): "reserved",
    ("kubernetes.azure.com/scalesetpriority", "spot"): "spot",
    ("kubernetes.azure.com/scalesetpriority", "regular"): "on_demand",
    ("together.ai/compute-class", "preemptible"): "spot",
}
_POOL_CLASSES = {"spot": "spot", "on-demand": "on_demand", "reserved": "reserved"}
_SIGNAL_TAINTS = {
    "aws-node-termination-handler/spot-itn": PROVIDER,
    "aws-node-termination-handler/scheduled-maintenance": MAINTENANCE,
    "cloud.google.com/impending-node-termination": PROVIDER,
}
_LOST_TAINTS = frozenset(
    {
        "node.kubernetes.io/not-ready",
        "node.kubernetes.io/unreachable",
        "node.kubernetes.io/out-of-service",
    }
)


class Signal(NamedTuple):
    """A node says that it will be taken away: by whom, by which mark, and since when."""

    by: str
    name: str
    at_us: int | None


def gpu_type_of(node: Json) -> str | None:
    """Give the type of a node's GPUs, from the first label that names one."""
    return _first_label(node, _TYPE_LABELS)


def zone_of(node: Json) -> str | None:
    """Give the zone of a node."""
    return _first_label(node, _ZONE_LABELS)


def _first_label(node: Json, names: tuple[str, ...]) -> str | None:
    labels = labels_of(node)
    return next((labels[name] for name in names if labels.get(name)), None)


def capacities_of(
    node: Json, rules: tuple[CapacityRule, ...], pool_classes: dict[str, str]
) -> set[str]:
    """Give each capacity that something says a node has; a rule of the caller outranks labels."""
    labels = labels_of(node)
    declared = {rule.word for rule in rules if labels.get(rule.label) == rule.value}
    if declared:
        return declared
    stated = {
        word
        for name, value in labels.items()
        if (word := _CAPACITY_LABELS.get((name.lower(), value.lower())))
    }
    pools = {pool_classes.get(labels.get(name, ""), "") for name in POOL_LABELS}
    return stated | {_POOL_CLASSES[pool] for pool in pools if pool in _POOL_CLASSES}


def signals_of(node: Json) -> Iterator[Signal]:
    """Give the marks that say that a node will be taken away."""
    labels = labels_of(node)
    if labels.get(PENDING_PREEMPTION) == "true":
        # The cordon beside it may be older and of another cause, so its time says nothing.
        yield Signal(PROVIDER, PENDING_PREEMPTION, None)
    for taint in items_at(node, "spec", "taints"):
        by = _SIGNAL_TAINTS.get(str(taint.get("key")))
        if by is not None:
            at_us = time_at(taint, "timeAdded") or _action_time_us(labels)
            yield Signal(by, str(taint["key"]), at_us)


def _action_time_us(labels: dict[str, str]) -> int | None:
    text = labels.get("aws-node-termination-handler/action-time", "")
    return int(text) * 1_000_000 if text.isascii() and text.isdigit() and len(text) == 10 else None


def lost_since_us(node: Json) -> int | None:
    """Give the moment since which a node is not ready, None if it is or does not say."""
    times = [
        time_at(condition, "lastTransitionTime")
        for condition in items_at(node, "status", "conditions")
        if text_at(condition, "type") == "Ready"
        and text_at(condition, "status") in {"False", "Unknown"}
    ]
    times += [
        time_at(taint, "timeAdded")
        for taint in items_at(node, "spec", "taints")
        if text_at(taint, "key") in _LOST_TAINTS
    ]
    return min((time for time in times if time is not None), default=None)


def pool_class_of(pool: Json) -> str:
    """Give the compute class of a CoreWeave node pool, in lower case."""
    return (text_at(pool, "spec", "computeClass") or "").lower()
