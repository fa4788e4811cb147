"""The Kubernetes route: a pod, or a Job of one, evicted through the API as a drain would do it.

Everything that is created bears a random token, and its UID is recorded. Evictions and deletions
name that UID, so that the API itself leaves another object of the same name alone. The folder of
the rehearsal has to be mounted into the pod: there the job works, and there its reports go.
"""

import json
import math
import shlex
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tallystick.core.errors import BadInstantError
from tallystick.core.instant import SECOND_US, parse_rfc3339
from tallystick.emit.spool import clock_us
from tallystick.rehearsal.errors import NoTargetError, RouteUnavailableError
from tallystick.rehearsal.journal import JournalTail
from tallystick.rehearsal.kubernetes.api import Api, connect
from tallystick.rehearsal.kubernetes.objects import (
    GRACE_S_MIN,
    Created,
    Objects,
    created_of,
    named,
)
from tallystick.rehearsal.kubernetes.pods import Pods
from tallystick.rehearsal.kubernetes.prepared import MARK, RUN_MARK
from tallystick.rehearsal.manifest import Json, holds_gpus
from tallystick.rehearsal.places import KubernetesPlace
from tallystick.rehearsal.plan import EndedBy, Fault, Plan
from tallystick.rehearsal.results import result_file
from tallystick.rehearsal.route import Act, Job, Look, Started, Still
from tallystick.rehearsal.scheduler_errors import SchedulerRefusedError

POLL_S: Final = 0.2
_BEGUN: Final = frozenset({"Running", "Succeeded", "Failed"})


@dataclass(slots=True)
class PodAttempt:
    """A pod that ran the job, for whoever brings the cluster's own evidence of it."""

    key: str
    run: str
    pod: Created
    tail: JournalTail
    fault: Fault | None
    is_told_by_cluster: bool
    """Whether it holds GPUs, so that its own records tell of the allocation."""
    is_evicted: bool = False

    @property
    def ended_by(self) -> EndedBy | None:
        """Whose act its end counts as; None if nobody interrupted it."""
        return self.fault.ended_by if self.fault is not None and self.is_evicted else None


class KubernetesRoute:
    """Jobs as pods of a Kubernetes cluster."""

    name = "kubernetes"
    poll_s = POLL_S

    def __init__(self, plan: Plan, open_api: Callable[[KubernetesPlace], Api] = connect) -> None:
        """Prepare to create pods; nothing is asked of the cluster yet.

        Args:
            plan: States the cluster and the manifest.
            open_api: Makes the client.

        Raises:
            RouteUnavailableError: there is no client, or the plan asks for what an eviction
                does not do.
        """
        assert plan.kubernetes is not None, "the plan's route is Kubernetes"
        _check_faults(plan)
        self._plan = plan
        self._place = plan.kubernetes
        self._api = open_api(plan.kubernetes)
        self._objects = Objects(self._api, json.loads(plan.kubernetes.manifest)["kind"])
        self._pods: Pods | None = None
        self._current: dict[str, Created] = {}
        self._attempts: dict[str, PodAttempt] = {}

    @property
    def attempts(self) -> tuple[PodAttempt, ...]:
        """All attempts that began."""
        return tuple(self._attempts.values())

    def evidence(self) -> bytes:
        """Give all that was seen of pods, their Jobs and their nodes, an event a line."""
        return b"" if self._pods is None else self._pods.evidence()

    def touches(self, job: Job) -> tuple[str, ...]:
        """Say what it would create and do."""
        where = f"namespace {self._place.namespace} of {self._place.cluster}"
        return (
            f"create   {self._objects.kind} {named('TOKEN', 1)} in {where}",
            f"it runs  {shlex.join(job.argv)}",
            f"marked   {MARK}=TOKEN {RUN_MARK}={job.run}",
            "fault    POST pods/NAME/eviction with the UID of the pod; notice is its grace period",
            "after    DELETE of what was created, with its UID",
            f"asks     list and watch pods with {MARK}=TOKEN; get nodes that they run on",
        )

    def never_touches(self) -> tuple[str, ...]:
        """Say what it would leave alone."""
        return (
            "a pod or Job that it did not create; the API compares UIDs before each act",
            "nodes, budgets, quotas, volumes, other namespaces",
        )

    def start(self, job: Job, number: int) -> Started | None:
        """Create a pod or Job, or find the pod that replaces an evicted one.

        Raises:
            SchedulerRefusedError: it cannot be created.
        """
        if self._pods is None:
            self._pods = Pods(self._api, self._objects.selector)
        created = self._current.get(job.run)
        if created is None:
            created = self._current[job.run] = self._objects.create(self._plan, job)
            self._pods.keep(created.value)
        for uid, pod in self._pods.all().items():
            if self._is_of(pod, created) and self._key(uid) not in self._attempts:
                is_begun = (pod.get("status") or {}).get("phase") in _BEGUN
                if is_begun or self._pods.gone(uid):
                    return self._begun(job, number, pod, self._pods)
                return None
        if self._brings_no_more(created):
            del self._current[job.run]  # The next call creates it anew.
        return None

    def _is_of(self, pod: Json, created: Created) -> bool:
        metadata = pod["metadata"]
        owners = {each.get("uid") for each in metadata.get("ownerReferences") or ()}
        return created.uid in {metadata["uid"], *owners}

    def _brings_no_more(self, created: Created) -> bool:
        """Tell whether what was created is over: a pod that was an attempt, a Job that is done."""
        assert self._pods is not None, "it is watched before anything is created"
        if created.kind == "Pod":
            return self._pods.gone(created.uid) is not None
        with suppress(SchedulerRefusedError):  # Who does not answer now is asked again.
            now = self._api.read("Job", created.name)
            conditions = ((now or {}).get("status") or {}).get("conditions") or ()
            over = {"Complete", "Failed"}
            met = {each.get("type") for each in conditions if each.get("status") == "True"}
            return now is None or now["metadata"]["uid"] != created.uid or bool(over & met)
        return False

    def _begun(self, job: Job, number: int, pod: Json, watched: Pods) -> Started:
        metadata = pod["metadata"]
        key = self._key(metadata["uid"])
        faults = self._plan.faults if job.run == self._plan.run else ()
        attempt = PodAttempt(
            key=key,
            run=job.run,
            pod=created_of(pod),
            tail=JournalTail(job.spool, key),
            fault=faults[number - 1] if number <= len(faults) else None,
            is_told_by_cluster=holds_gpus(pod),
        )
        self._attempts[key] = attempt
        self._keep_node(pod, watched)
        allocation = None if attempt.is_told_by_cluster else self._stated(pod)
        return Started(job, number, key, _started_us(pod), (attempt.pod.id,), allocation)

    def _key(self, uid: str) -> str:
        return f"k8s:{self._place.cluster}:{uid}"

    def _keep_node(self, pod: Json, watched: Pods) -> None:
        """Keep the node as it is now, which says type and kind of its GPUs, if we may see it."""
        name = pod["spec"].get("nodeName")
        with suppress(SchedulerRefusedError):
            node = self._api.read("Node", name) if name else None
            if node is not None:
                watched.keep(node)

    def _stated(self, pod: Json) -> dict[str, Any]:
        """Give the allocation of a pod without GPUs: those that the plan takes it to hold."""
        planned, metadata = self._plan.allocation, pod["metadata"]
        node = pod["spec"].get("nodeName")
        stated = {
            "scheduler": "kubernetes",
            "cluster": self._place.cluster,
            "job_id": f"{metadata['namespace']}/{metadata['name']}",
            "nodes": [node] if node else [],
            "gpu_count": planned.gpu_count,
            "gpu_type": planned.gpu_type,
            "capacity": planned.capacity,
            "zone": planned.zone,
            "tier": planned.tier,
        }
        return {key: value for key, value in stated.items() if value is not None}

    def look(self, started: Started) -> Look:
        """Read the job's journal, and tell whether its pod is gone."""
        assert self._pods is not None, "something was started"
        attempt = self._attempts[started.attempt]
        gone = self._pods.gone(attempt.pod.uid)
        return Look(attempt.tail.read(), gone)

    def notice(self, started: Started) -> tuple[Act, ...]:
        """Evict the pod with the grace period that the plan gives; its job gets SIGTERM.

        Raises:
            EvictionRefusedError: a budget does not allow it for a while.
        """
        attempt = self._attempts[started.attempt]
        assert attempt.fault is not None, "a fault is due"
        return self._evict(attempt, attempt.fault.notice_us or 0) or ()

    def interrupt(self, started: Started, target: str, still: Still) -> tuple[Act, ...] | None:
        """Evict the pod at once; after notice there is nothing left to do.

        Raises:
            NoTargetError: one worker alone is meant.
            EvictionRefusedError: a budget does not allow it for a while.
        """
        attempt = self._attempts[started.attempt]
        if target != "all":
            raise NoTargetError(target)
        if attempt.is_evicted:
            return ()
        return self._evict(attempt, 0) if still() else None

    def _evict(self, attempt: PodAttempt, notice_us: int) -> tuple[Act, ...] | None:
        grace_s = max(GRACE_S_MIN, math.ceil(notice_us / SECOND_US))
        acts = self._objects.evict(attempt.pod, grace_s)
        attempt.is_evicted = acts is not None
        return acts

    def result(self, job: Job, name: str) -> Path | None:
        """Give the file with the result, where the job put it."""
        return result_file(job, name)

    def end(self, started: Started) -> tuple[Act, ...]:
        """Delete the pod of an attempt at once."""
        return self._objects.delete(self._attempts[started.attempt].pod)

    def close(self) -> tuple[Act, ...]:
        """Delete all that was created, and wait until none of it is left.

        Raises:
            SurvivorsError: something is left.
        """
        if self._pods is None:
            return ()
        acts = self._objects.close()
        self._pods.stop()
        return acts


def _started_us(pod: Json) -> int:
    try:
        return parse_rfc3339((pod.get("status") or {}).get("startTime") or "")
    except BadInstantError:
        return clock_us()


def _check_faults(plan: Plan) -> None:
    """See that each fault is one that an eviction brings.

    Raises:
        RouteUnavailableError: one is not.
    """
    for number, fault in enumerate(plan.faults, start=1):
        reason = None
        if fault.target != "all":
            reason = "an eviction takes a whole pod: expected target = 'all'"
        elif fault.wait_us:
            reason = "the cluster brings the replacement when it can: expected no wait_s"
        if reason is not None:
            raise RouteUnavailableError("kubernetes", f"fault {number}: {reason}")
