"""Which run a pod belongs to: what somebody wrote on it, else the identity of what made it.

Names come again after a deletion and restarts make new Jobs, so the run is the UID of the
outermost owner that is one piece of work. Where that UID is not at hand there is no link.
"""

from collections.abc import Mapping
from typing import NamedTuple

from tallystick.collectors.kubernetes.objects import (
    Json,
    kind_of,
    labels_of,
    owners_of,
    text_at,
    texts_at,
    uid_of,
)

RUN = "tallystick.run"
JOBSET_NAME = "jobset.sigs.k8s.io/jobset-name"
JOBSET_UID = "jobset.sigs.k8s.io/jobset-uid"
RAY_ORIGIN = "ray.io/originated-from-crd"
# Each is one piece of work; what makes pods for ever, or on a schedule, is none.
WORK_KINDS = frozenset(
    {
        "AppWrapper",
        "JAXJob",
        "Job",
        "JobSet",
        "MPIJob",
        "PaddleJob",
        "PyTorchJob",
        "RayCluster",
        "RayJob",
        "TFJob",
        "TrainJob",
        "XGBoostJob",
    }
)
_DEPTH_MAX = 8


class Owner(NamedTuple):
    """Something that made a pod, or made what made it."""

    kind: str
    uid: str


class Lineage(NamedTuple):
    """The owners of a pod from the nearest outwards; ``missing`` says what is not at hand."""

    owners: tuple[Owner, ...]
    missing: str | None = None


def lineage_of(pod: Json, known: Mapping[str, Json]) -> Lineage:
    """Follow a pod to the outermost owner that is one piece of work.

    Args:
        pod: The pod.
        known: Objects by UID.
    """
    owners: list[Owner] = []
    current: Json | None = pod
    while current is not None and len(owners) < _DEPTH_MAX:
        owner = _owner_of(current)
        if owner is None or owner in owners:
            break
        owners.append(owner)
        current = known.get(owner.uid)
    missing = None
    labels = labels_of(pod)
    if owners and not any(owner.kind == "JobSet" for owner in owners):
        jobset_uid = labels.get(JOBSET_UID)
        if jobset_uid:
            owners.append(Owner("JobSet", jobset_uid))
        elif labels.get(JOBSET_NAME):
            missing = f"the Job that says the UID of JobSet {labels[JOBSET_NAME]!r}"
    if owners and owners[-1].kind == "RayCluster":
        cluster = known.get(owners[-1].uid)
        if cluster is None:
            missing = "the RayCluster that says whether a RayJob made it"
    return Lineage(tuple(owners), missing)


def _owner_of(value: Json) -> Owner | None:
    for reference in owners_of(value):
        kind, uid = text_at(reference, "kind"), text_at(reference, "uid")
        if kind in WORK_KINDS and uid is not None and uid.isprintable() and len(uid.encode()) <= 64:
            return Owner(kind, uid)
    return None


def stated_runs(pod: Json, lineage: Lineage, known: Mapping[str, Json]) -> tuple[str, ...]:
    """Give what is written on a pod, else on the nearest owner, as its run."""
    objects = [pod, *(known[owner.uid] for owner in lineage.owners if owner.uid in known)]
    for value in objects:
        stated = (labels_of(value).get(RUN), texts_at(value, "metadata", "annotations").get(RUN))
        runs = [run for run in stated if run and run.isprintable() and len(run.encode()) <= 200]
        if runs:
            return tuple(dict.fromkeys(runs))
    return ()


def made_run(lineage: Lineage, cluster: str) -> str | None:
    """Name the run after the outermost owner."""
    if not lineage.owners or lineage.missing is not None:
        return None
    outermost = lineage.owners[-1]
    return f"k8s:{cluster}:{outermost.kind.lower()}:{outermost.uid}"


def uids_of(pod: Json, lineage: Lineage) -> frozenset[str]:
    """Give the UIDs of a pod and of everything that made it."""
    own = uid_of(pod)
    return frozenset({*(owner.uid for owner in lineage.owners), *([own] if own else [])})


def owner_uids(value: Json) -> frozenset[str]:
    """Give the UIDs of all owners that an object names."""
    uids = (text_at(reference, "uid") for reference in owners_of(value))
    return frozenset(uid for uid in uids if uid is not None)


def is_owner(value: Json) -> bool:
    """Tell whether an object is one piece of work that can own pods."""
    return kind_of(value) in WORK_KINDS
