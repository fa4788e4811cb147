"""The pods of a rehearsal as a watch sees them, in a thread of its own, each version kept.

The versions are evidence, too: the collector of Kubernetes makes records of them.
"""

import json
import threading
from contextlib import suppress
from typing import Any, Final

from tallystick.core.instant import format_instant
from tallystick.emit.spool import clock_us
from tallystick.rehearsal.kubernetes.api import Api
from tallystick.rehearsal.manifest import Json
from tallystick.rehearsal.route import Gone
from tallystick.rehearsal.scheduler_errors import SchedulerRefusedError

VERSIONS_MAX: Final = 20_000
_PAUSE_S: Final = 1.0
_OVER: Final = frozenset({"Succeeded", "Failed"})


class Pods:
    """What was seen of the pods with one mark."""

    def __init__(self, api: Api, selector: str) -> None:
        """Begin to watch."""
        self._api = api
        self._selector = selector
        self._lock = threading.Lock()
        self._pods: dict[str, Json] = {}
        self._gone: dict[str, Gone] = {}
        self._versions: list[str] = []
        self._stop = threading.Event()
        threading.Thread(target=self._follow, daemon=True, name="rehearsal pods").start()

    def all(self) -> dict[str, Json]:
        """Give the latest version of each pod, by UID, in the order in which they came."""
        with self._lock:
            return dict(self._pods)

    def gone(self, uid: str) -> Gone | None:
        """Say how a pod ended; None if something of it still runs."""
        with self._lock:
            return self._gone.get(uid)

    def keep(self, value: Json) -> None:
        """Keep another object as evidence."""
        with self._lock:
            self._keep("ADDED", value)

    def evidence(self) -> bytes:
        """Give all that was seen, an event of a watch a line."""
        with self._lock:
            return "".join(self._versions).encode()

    def stop(self) -> None:
        """Watch no more, once the server ends the watch that is open."""
        self._stop.set()

    def _follow(self) -> None:
        while not self._stop.is_set():
            with suppress(SchedulerRefusedError):  # Listing again shows what was missed.
                listing = self._api.list_all("Pod", self._selector)
                self._listed(listing.values)
                for event in self._api.watch_pods(self._selector, listing.version):
                    self._see(event["type"], event["object"])
            self._stop.wait(_PAUSE_S)

    def _listed(self, pods: tuple[Json, ...]) -> None:
        there = {_uid(pod) for pod in pods}
        vanished = [pod for uid, pod in self.all().items() if uid not in there]
        for pod in vanished:
            self._see("DELETED", pod)
        for pod in pods:
            self._see("MODIFIED", pod)

    def _see(self, word: str, pod: Json) -> None:
        uid = _uid(pod)
        if word == "BOOKMARK" or not uid:
            return
        with self._lock:
            if uid in self._gone and word != "DELETED":
                pass  # What runs no more is over, whatever comes of it later.
            elif word == "DELETED" or (pod.get("status") or {}).get("phase") in _OVER:
                self._gone.setdefault(uid, _end(pod))
            if pod != self._pods.get(uid) or word == "DELETED":
                self._keep(word, pod)
            self._pods[uid] = pod

    def _keep(self, word: str, value: Json) -> None:
        if len(self._versions) < VERSIONS_MAX:
            event = {"type": word, "object": value, "seen": format_instant(clock_us())}
            self._versions.append(json.dumps(event) + "\n")


def _uid(pod: Json) -> str:
    return str((pod.get("metadata") or {}).get("uid") or "")


def _end(pod: Json) -> Gone:
    """Say how the first container ended; without its word nothing is known but that it did."""
    status = pod.get("status") or {}
    name = pod["spec"]["containers"][0].get("name")
    states = {each.get("name"): each.get("state") for each in status.get("containerStatuses") or ()}
    ended: dict[str, Any] = (states.get(name) or {}).get("terminated") or {}
    code, signal = ended.get("exitCode"), ended.get("signal")
    if code == 0 and status.get("phase") != "Succeeded":
        code = None
    return Gone(clock_us(), code, signal or None)
