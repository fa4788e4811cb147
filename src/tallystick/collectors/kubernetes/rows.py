"""The part of an object that is kept as it was read, in an ``allocation.row``.

A pod may hold secrets and is large, so the fields that say what happened are kept, with the
digest of the whole. A node's times of its heartbeats say nothing and are left out.
"""

from collections.abc import Iterable

from tallystick.collectors.json_text import part
from tallystick.collectors.kubernetes.gpus import is_gpu_resource
from tallystick.collectors.kubernetes.objects import (
    Json,
    digest_of,
    items_at,
    kind_of,
    texts_at,
)
from tallystick.collectors.kubernetes.pods import statuses_of

_MARKS = (
    "alpha.jobset.sigs.k8s.io/",
    "aws-node-termination-handler/",
    "batch.kubernetes.io/",
    "cloud.google.com/gke-",
    "compute.coreweave.com/",
    "eks.amazonaws.com/",
    "gpu.nvidia.com/",
    "jobset.sigs.k8s.io/",
    "karpenter.",
    "kubernetes.azure.com/",
    "kubernetes.io/hostname",
    "kueue.x-k8s.io/",
    "node.coreweave.cloud/",
    "node.kubernetes.io/instance-type",
    "nvidia.com/gpu.",
    "nvidia.com/mig",
    "qos.coreweave.",
    "ray.io/",
    "tallystick.",
    "together.ai/",
    "topology.kubernetes.io/",
    "training.kubeflow.org/",
)
_METADATA = (
    "namespace",
    "name",
    "uid",
    "resourceVersion",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
)
_CONDITION = ("type", "status", "reason", "message", "lastTransitionTime")
_POD_SPEC = (
    "nodeName",
    "priority",
    "priorityClassName",
    "schedulerName",
    "restartPolicy",
    "activeDeadlineSeconds",
    "terminationGracePeriodSeconds",
    "resourceClaims",
)
_POD_STATUS = ("phase", "reason", "message", "startTime", "nominatedNodeName")
_EVENT = (
    "type",
    "reason",
    "message",
    "count",
    "firstTimestamp",
    "lastTimestamp",
    "eventTime",
    "series",
    "involvedObject",
    "reportingComponent",
)
_WORK_STATUS = (
    "startTime",
    "completionTime",
    "active",
    "succeeded",
    "failed",
    "restarts",
    "restartsCountTowardsMax",
    "terminalState",
    "jobStatus",
    "jobDeploymentStatus",
    "rayClusterName",
    "requeueState",
    "schedulingStats",
    "accumulatedPastExecutionTimeSeconds",
)
_WORK_SPEC = ("suspend", "activeDeadlineSeconds", "backoffLimit", "queueName", "active", "priority")


def row_of(value: Json, event: str) -> Json:
    """Give what is kept of one version of an object; an ``event`` is kept if it is a deletion."""
    kind = kind_of(value)
    row = _picked(value, ("kind", "apiVersion")) | _metadata(value)
    if event == "DELETED":
        row["event"] = event
    if kind == "Pod":
        return row | _pod(value) | {"digest": digest_of(value)}
    if kind == "Node":
        row.pop("resourceVersion", None)  # It counts heartbeats.
        return row | _node(value)
    if kind == "Event":
        return row | _picked(value, _EVENT) | {"digest": digest_of(value)}
    spec = _picked(part(value, "spec"), _WORK_SPEC)
    status = _picked(part(value, "status"), _WORK_STATUS)
    return row | spec | status | {"conditions": _conditions(value), "digest": digest_of(value)}


def _metadata(value: Json) -> Json:
    row = _picked(part(value, "metadata"), _METADATA)
    for name in ("labels", "annotations"):
        marks = texts_at(value, "metadata", name)
        kept = {key: text for key, text in marks.items() if key.startswith(_MARKS)}
        if kept:
            row[name] = kept
    owners = items_at(value, "metadata", "ownerReferences")
    if owners:
        names = ("apiVersion", "kind", "name", "uid", "controller")
        row["ownerReferences"] = [_picked(owner, names) for owner in owners]
    return row


def _pod(pod: Json) -> Json:
    containers = [
        *items_at(pod, "spec", "initContainers"),
        *items_at(pod, "spec", "containers"),
    ]
    resources = [
        {"name": container.get("name"), "limits": gpus}
        for container in containers
        if (gpus := _gpus(part(container, "resources", "limits")))
    ]
    return {
        **_picked(part(pod, "spec"), _POD_SPEC),
        **_picked(part(pod, "status"), _POD_STATUS),
        "gpus": resources,
        "conditions": _conditions(pod),
        "containers": [
            _picked(status, ("name", "restartCount", "containerID", "state", "lastState"))
            for status in statuses_of(pod)
        ],
    }


def _gpus(limits: object) -> Json:
    pairs = limits.items() if isinstance(limits, dict) else ()
    return {name: amount for name, amount in pairs if is_gpu_resource(name)}


def _node(node: Json) -> Json:
    ready = [each for each in _conditions(node) if each.get("type") == "Ready"]
    taints = [
        _picked(taint, ("key", "value", "effect", "timeAdded"))
        for taint in items_at(node, "spec", "taints")
    ]
    return {
        **_picked(part(node, "spec"), ("unschedulable", "providerID")),
        "taints": taints,
        "conditions": ready,
    }


def _conditions(value: Json) -> list[Json]:
    return [_picked(each, _CONDITION) for each in items_at(value, "status", "conditions")]


def _picked(value: object, names: Iterable[str]) -> Json:
    if not isinstance(value, dict):
        return {}
    return {name: value[name] for name in names if value.get(name) is not None}
