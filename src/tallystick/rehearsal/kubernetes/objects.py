"""What a rehearsal created in a cluster: recorded, evicted under its UID, deleted under its UID."""

import secrets
import time
from dataclasses import dataclass, field
from typing import Final

from tallystick.emit.spool import clock_us
from tallystick.rehearsal.errors import SurvivorsError
from tallystick.rehearsal.kubernetes.api import Api, TooManyRequestsError
from tallystick.rehearsal.kubernetes.prepared import MARK, prepared
from tallystick.rehearsal.manifest import Json
from tallystick.rehearsal.plan import Plan
from tallystick.rehearsal.route import Act, Job
from tallystick.rehearsal.scheduler_errors import (
    EvictionRefusedError,
    NotOursError,
    SchedulerRefusedError,
)

EVICT_S: Final = 30
"""How long an eviction is tried again that a budget does not allow."""
GRACE_S_MIN: Final = 1
"""With none at all the API would forget a pod while its processes still run."""
CLOSE_S: Final = 120.0
_LOOK_S: Final = 0.5


@dataclass(frozen=True, slots=True)
class Created:
    """An object that was created, as it is recognised."""

    kind: str
    name: str
    uid: str
    value: Json = field(compare=False, repr=False)
    """As it was when it was created."""

    @property
    def id(self) -> str:
        """How acts name it."""
        return f"{self.kind.lower()}:{self.uid}"


def created_of(value: Json) -> Created:
    """Name an object."""
    metadata = value["metadata"]
    return Created(value["kind"], metadata["name"], metadata["uid"], value)


def named(token: str, number: int) -> str:
    """Name the n-th object of a rehearsal."""
    return f"tallystick-{token}-{number}"


class Objects:
    """All objects of a rehearsal, which bear its token."""

    def __init__(self, api: Api, kind: str) -> None:
        """Prepare to create objects.

        Args:
            api: The cluster.
            kind: Pod or Job.
        """
        self._api = api
        self.kind = kind
        self._token = secrets.token_hex(8)
        self._number = 0
        self.selector = f"{MARK}={self._token}"

    def create(self, plan: Plan, job: Job) -> Created:
        """Create what runs a job.

        Raises:
            SchedulerRefusedError: it was not created.
        """
        self._number += 1
        name = named(self._token, self._number)
        value = self._api.create(prepared(plan, job, name=name, token=self._token))
        return created_of({"kind": self.kind} | value)

    def evict(self, pod: Created, grace_s: int) -> tuple[Act, ...] | None:
        """Evict a pod; None if it is gone, and then nothing was done.

        Raises:
            NotOursError: it does not bear our token.
            EvictionRefusedError: a budget does not allow it for a while.
            SchedulerRefusedError: it was refused.
        """
        until_s = time.monotonic() + EVICT_S
        while True:
            self._check(pod)
            at_us = clock_us()
            try:
                is_done = self._api.evict(pod.name, pod.uid, grace_s)
            except TooManyRequestsError as error:
                if time.monotonic() > until_s:
                    raise EvictionRefusedError(pod.name, EVICT_S, str(error)) from error
                time.sleep(_LOOK_S)
                continue
            word = f"evict with a grace period of {grace_s} s"
            return (Act(word, pod.id, at_us),) if is_done else None

    def _check(self, created: Created) -> None:
        """See that an object bears our token, if it is still there.

        Raises:
            NotOursError: it does not.
        """
        now = self._api.read(created.kind, created.name)
        if now is None or now["metadata"]["uid"] != created.uid:
            return  # The precondition of whatever follows says so, too.
        if (now["metadata"].get("labels") or {}).get(MARK) != self._token:
            raise NotOursError(f"{created.kind.lower()} {created.name}")

    def delete(self, created: Created) -> tuple[Act, ...]:
        """Delete an object at once, if it is still there.

        Raises:
            SchedulerRefusedError: it was refused.
        """
        at_us = clock_us()
        is_done = self._api.delete(created.kind, created.name, created.uid)
        return (Act("delete", created.id, at_us),) if is_done else ()

    def close(self) -> tuple[Act, ...]:
        """Delete all that bears our token, and wait until none of it is left.

        Raises:
            SurvivorsError: something is left.
            SchedulerRefusedError: the cluster does not say what is left.
        """
        acts: list[Act] = []
        until_s = time.monotonic() + CLOSE_S
        while True:
            is_last = time.monotonic() > until_s
            try:
                left = self._there()
                # What was asked for once is on its way; a Job comes before its pods.
                for each in left:
                    if each.id not in {act.id for act in acts}:
                        acts += self.delete(each)
            except SchedulerRefusedError:
                if is_last:
                    raise
            else:
                if not left:
                    return tuple(acts)
                if is_last:
                    raise SurvivorsError(tuple(each.id for each in left))
            time.sleep(_LOOK_S)

    def _there(self) -> list[Created]:
        """Find what bears our token, also what was created without an answer."""
        return [
            created_of(value)
            for kind in dict.fromkeys((self.kind, "Pod"))
            for value in self._api.list_all(kind, self.selector).values
        ]
