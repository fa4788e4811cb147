"""API objects for tests, made by short calls; times are clock readings of one day."""

import json
from collections.abc import Iterable
from typing import Any

from tallystick.collectors.collected import Collected, Source
from tallystick.collectors.kubernetes import KubernetesOptions, collect_kubernetes
from tallystick.core.instant import parse_rfc3339
from tallystick.evidence.admission import Evidence, admit

Json = dict[str, Any]

DAY = "2026-03-01"
UID = "0e203b4a-8c6d-4507-8e61-0f991d37493e"
KEY = f"k8s:c1:{UID}"
H100 = {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"}


def at(clock: str) -> str:
    """Give a clock reading as the API writes times."""
    return f"{DAY}T{(clock + ':00')[:8]}Z"


def at_us(clock: str) -> int:
    """Give a clock reading as microseconds."""
    return parse_rfc3339(at(clock))


def condition(kind: str, since: str, reason: str = "", status: str = "True") -> Json:
    """Make a condition."""
    return {"type": kind, "status": status, "reason": reason, "lastTransitionTime": at(since)}


def running(since: str, name: str = "main") -> Json:
    """Make the status of a container that runs."""
    return {"name": name, "restartCount": 0, "state": {"running": {"startedAt": at(since)}}}


def terminated(
    until: str, code: int = 0, *, since: str = "00:01", name: str = "main", reason: str = ""
) -> Json:
    """Make the status of a container that ended."""
    ended = {"exitCode": code, "startedAt": at(since), "finishedAt": at(until), "reason": reason}
    return {"name": name, "restartCount": 0, "state": {"terminated": ended}}


def pod(
    phase: str = "Running",
    *statuses: Json,
    uid: str = UID,
    name: str = "train-0",
    gpus: Any = "8",
    node: str | None = "n1",
    bound: str | None = "00:00",
    conditions: Iterable[Json] = (),
    labels: Json | None = None,
    annotations: Json | None = None,
    owner: tuple[str, str] | None = None,
    deleted: tuple[str, int] | None = None,
    reason: str | None = None,
    version: int = 1,
    spec: Json | None = None,
    status: Json | None = None,
) -> Json:
    """Make a pod that asks for GPUs; ``deleted`` is when its grace ends, and the grace."""
    metadata: Json = {
        "namespace": "team",
        "name": name,
        "uid": uid,
        "resourceVersion": str(version),
        "labels": labels or {},
        "annotations": annotations or {},
    }
    if owner is not None:
        kind, owner_uid = owner
        reference = {"kind": kind, "uid": owner_uid, "name": "owner", "controller": True}
        metadata["ownerReferences"] = [reference]
    if deleted is not None:
        metadata["deletionTimestamp"] = at(deleted[0])
        metadata["deletionGracePeriodSeconds"] = deleted[1]
    met = [condition("PodScheduled", bound)] if bound is not None else []
    container: Json = {"name": "main", "resources": {"limits": {"nvidia.com/gpu": gpus}}}
    return {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": metadata,
        "spec": {"nodeName": node, "containers": [container], **(spec or {})},
        "status": {
            "phase": phase,
            "reason": reason,
            "conditions": [*met, *conditions],
            "containerStatuses": list(statuses),
            **(status or {}),
        },
    }


def node(
    name: str = "n1",
    *,
    labels: Json | None = None,
    taints: Iterable[Json] = (),
    lost: str | None = None,
    uid: str = "node-1",
    version: int = 1,
) -> Json:
    """Make a node of H100s."""
    ready = condition("Ready", lost or "00:00", status="True" if lost is None else "Unknown")
    return {
        "kind": "Node",
        "apiVersion": "v1",
        "metadata": {
            "name": name,
            "uid": uid,
            "resourceVersion": str(version),
            "labels": H100 | (labels or {}),
        },
        "spec": {"taints": list(taints)},
        "status": {"conditions": [ready | {"lastHeartbeatTime": at("09:00")}]},
    }


def made(kind: str, uid: str, *conditions: Json, owner: tuple[str, str] | None = None) -> Json:
    """Make an object that owns others, or a unit of a queue."""
    metadata: Json = {"namespace": "team", "name": kind.lower(), "uid": uid}
    if owner is not None:
        metadata["ownerReferences"] = [{"kind": owner[0], "uid": owner[1], "controller": True}]
    return {"kind": kind, "metadata": metadata, "status": {"conditions": list(conditions)}}


def event(kind: str, value: Json, seen: str | None = None) -> Json:
    """Make an event of a watch."""
    return {"type": kind, "object": value} | ({} if seen is None else {"seen": at(seen)})


def listed(*values: Json) -> Json:
    """Make the list that kubectl prints."""
    return {"kind": "List", "apiVersion": "v1", "items": list(values)}


def sources(*inputs: Json | list[Json] | bytes) -> list[Source]:
    """Make inputs: a document each, lines of a list, or bytes as they are."""
    return [Source(f"input-{n}", _bytes(each), n) for n, each in enumerate(inputs, start=1)]


def _bytes(value: Json | list[Json] | bytes) -> bytes:
    if isinstance(value, bytes):
        return value
    if isinstance(value, list):
        return b"".join(json.dumps(each).encode() + b"\n" for each in value)
    return json.dumps(value, indent=1).encode()


def collect(*inputs: Json | list[Json] | bytes, **options: Any) -> Collected:
    """Collect inputs of cluster c1."""
    wanted = {"cluster": "c1", "observed_us": at_us("23:59"), **options}
    return collect_kubernetes(sources(*inputs), KubernetesOptions(**wanted))


def bodies(collected: Collected, kind: str) -> list[Json]:
    """Give the bodies of one kind."""
    return [record["body"] for record in collected.records if record["kind"] == kind]


def body(collected: Collected, kind: str) -> Json:
    """Give the body of the only record of a kind."""
    (only,) = bodies(collected, kind)
    return only


def moment(collected: Collected, kind: str) -> str:
    """Give the clock reading of the only record of a kind."""
    (only,) = [record["at"] for record in collected.records if record["kind"] == kind]
    return str(only)[11:16]


def codes(collected: Collected) -> list[str]:
    """Give the codes of the findings, sorted."""
    return sorted(finding.code for finding in collected.findings)


def admitted(collected: Collected) -> Evidence:
    """Admit all records."""
    return admit([[json.dumps(record).encode() for record in collected.records]])
