"""A stand-in for a Kubernetes cluster: an API on loopback, and pods that really run.

What is created is there until it is deleted; lists, watches, evictions and deletions with
preconditions answer as the API does; the "kubelet" runs a pod's first container as a process of
this machine, with SIGTERM and a grace period when it goes; the "controller" replaces the pod of
a Job. It is no cluster: one namespace, one node, no admission, no scheduling, no images.
"""

import json
import os
import re
import signal
import subprocess
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.stand_ins.kube_api import KubeApi

Json = dict[str, Any]
NODE = {
    "kind": "Node",
    "apiVersion": "v1",
    "metadata": {"name": "n1", "uid": "node-1", "labels": {"nvidia.com/gpu.product": "H100"}},
}
_PATH = re.compile(
    r"/(?:api/v1|apis/batch/v1)(?:/namespaces/[^/]+)?/(pods|jobs|nodes)(?:/([^/]+))?(/eviction)?"
)
_KINDS = {"pods": "Pod", "jobs": "Job", "nodes": "Node"}


class KubeCluster:
    """What the stand-in has, and how it is to misbehave."""

    def __init__(self) -> None:
        self.port = 0
        self.objects: dict[tuple[str, str], Json] = {("nodes", "n1"): deepcopy(NODE)}
        self.requests: list[tuple[str, str]] = []
        self.refused_evictions = 0
        """How many evictions a budget still refuses."""
        self.fails: dict[tuple[str, str], int] = {}
        """By method and plural: the status of every answer."""
        self.loses_answers = False
        """Whether objects are created and the answer is lost."""
        self.keeps_deleted = False
        """Whether a finalizer keeps what was deleted."""
        self.cuts_watches = 0
        """How many watches still break off in the middle of an event."""
        self.odd_lines: list[bytes] = []
        """What the next watches say before anything else, and then end."""
        self.garbles_lists = False
        """Whether lists are no JSON."""
        self.is_closing = False
        self.changed = threading.Condition()
        self._history: list[tuple[int, str, Json]] = []
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self.version = 10

    def kubeconfig(self, folder: Path) -> str:
        """Write a file that leads a client here."""
        return KubeApi(port=self.port).kubeconfig(folder)

    def names(self, plural: str) -> list[str]:
        """Give the names of what there is of a plural."""
        with self.changed:
            return [name for kind, name in self.objects if kind == plural]

    def history(self, plural: str) -> list[Json]:
        """Give every version of every object of a plural."""
        with self.changed:
            return [each for _, _, each in self._history if each["kind"] == _KINDS[plural]]

    def create(self, plural: str, value: Json) -> Json:
        """Create an object; a pod begins to run, a Job gets its pod."""
        with self.changed:
            value = deepcopy(value) | {"kind": _KINDS[plural]}
            metadata = value["metadata"]
            metadata |= {"uid": str(uuid.uuid4()), "creationTimestamp": _now()}
            metadata.setdefault("namespace", "team")
            self._put("ADDED", plural, value)
            made = deepcopy(value)
        if plural == "jobs":
            self._replace(made)
        else:
            threading.Thread(target=self._run, args=(metadata["name"],), daemon=True).start()
        return made

    def _replace(self, job: Json) -> None:
        template = job["spec"]["template"]
        number = len(self.history("pods"))
        owner = {"kind": "Job", "apiVersion": "batch/v1", "controller": True}
        owner |= {"name": job["metadata"]["name"], "uid": job["metadata"]["uid"]}
        marks = {key: template["metadata"].get(key, {}) for key in ("labels", "annotations")}
        name = {"name": f"{job['metadata']['name']}-{number}", "ownerReferences": [owner]}
        self.create("pods", {"metadata": marks | name, "spec": deepcopy(template["spec"])})

    def _put(self, word: str, plural: str, value: Json) -> None:
        self.version += 1
        value["metadata"]["resourceVersion"] = str(self.version)
        if word == "DELETED":
            self.objects.pop((plural, value["metadata"]["name"]), None)
        else:
            self.objects[plural, value["metadata"]["name"]] = value
        self._history.append((self.version, word, deepcopy(value)))
        self.changed.notify_all()

    def _run(self, name: str) -> None:
        """Run a pod to its end: what a kubelet does."""
        with self.changed:
            pod = self.objects["pods", name]
            container = pod["spec"]["containers"][0]
            try:
                process = subprocess.Popen(
                    container["command"],
                    env=_environment(container, pod),
                    cwd=container["workingDir"],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    start_new_session=True,
                )
            except OSError:
                return  # It stays Pending, as without an image.
            self._processes[pod["metadata"]["uid"]] = process
            pod["spec"]["nodeName"] = "n1"
            bound = {"type": "PodScheduled", "status": "True", "lastTransitionTime": _now()}
            pod["status"] = {"phase": "Running", "startTime": _now(), "conditions": [bound]}
            self._put("MODIFIED", "pods", pod)
        self._ended(pod, container["name"], process.wait())

    def _ended(self, pod: Json, container: str, code: int) -> None:
        with self.changed:
            killed = {"exitCode": 128 - code, "signal": -code} if code < 0 else {"exitCode": code}
            ended = {"terminated": killed | {"finishedAt": _now()}}
            pod["status"]["phase"] = "Failed" if code else "Succeeded"
            pod["status"]["containerStatuses"] = [{"name": container, "state": ended}]
            self._put("MODIFIED", "pods", pod)
            if "deletionTimestamp" in pod["metadata"] and not self.keeps_deleted:
                self._put("DELETED", "pods", pod)
            owners = {each["uid"] for each in pod["metadata"].get("ownerReferences", ())}
            jobs = [each for each in self.objects.values() if each["metadata"]["uid"] in owners]
        for job in jobs:
            if code == 0:
                with self.changed:
                    done = {"type": "Complete", "status": "True"}
                    job["status"] = {"conditions": [done]}
                    self._put("MODIFIED", "jobs", job)
            elif not self.is_closing:
                self._replace(job)

    def remove(self, plural: str, name: str, grace_s: int) -> None:
        """Begin to delete an object; a pod goes when its process has ended."""
        with self.changed:
            value = self.objects[plural, name]
            process = self._processes.get(value["metadata"]["uid"])
            value["metadata"]["deletionTimestamp"] = _now()
            self._put("MODIFIED", plural, value)
            if process is None or process.poll() is not None:
                if not self.keeps_deleted:
                    self._put("DELETED", plural, value)
                process = None
            owned = [
                each["metadata"]["name"]
                for kind, each in ((key[0], value) for key, value in self.objects.items())
                if kind == "pods"
                and value["metadata"]["uid"]
                in {owner["uid"] for owner in each["metadata"].get("ownerReferences", ())}
            ]
        if process is not None:
            _signal(process, signal.SIGTERM if grace_s else signal.SIGKILL)
            threading.Timer(grace_s, _signal, (process, signal.SIGKILL)).start()
        for pod in owned:
            self.remove("pods", pod, grace_s)

    def replace_object(self, plural: str, name: str) -> str:
        """Put another object under a name, as if somebody else had; gives its UID."""
        with self.changed:
            value = deepcopy(self.objects[plural, name])
            self._put("DELETED", plural, self.objects[plural, name])
            value["metadata"]["uid"] = "somebody-else"
            self._put("ADDED", plural, value)
        return "somebody-else"

    def report(self, name: str, status: Json) -> None:
        """Have a pod say something else of itself."""
        with self.changed:
            self.objects["pods", name]["status"] = status
            self._put("MODIFIED", "pods", self.objects["pods", name])

    def vanish(self, plural: str, name: str) -> None:
        """Take an object away while every watch breaks off, so that none tells of it."""
        with self.changed:
            value = self.objects[plural, name]
            self.cuts_watches = 1
            self._put("MODIFIED", plural, value)
            self.objects.pop((plural, name))

    def events(self, plural: str, selector: str, version: int) -> Iterator[Json]:
        """Give what happens after a version, as it happens."""
        while not self.is_closing:
            with self.changed:
                new = [each for each in self._history if each[0] > version]
                if not new:
                    self.changed.wait(0.1)
            for number, word, value in new:
                version = number
                if value["kind"] == _KINDS[plural] and _is_selected(value, selector):
                    yield {"type": word, "object": value}

    def close(self) -> None:
        """End all that runs."""
        self.is_closing = True
        with self.changed:
            processes = list(self._processes.values())
        for process in processes:
            _signal(process, signal.SIGKILL)


def _signal(process: "subprocess.Popen[bytes]", number: signal.Signals) -> None:
    if process.poll() is None:
        os.killpg(process.pid, number)


def _environment(container: Json, pod: Json) -> dict[str, str]:
    found = {"PATH": os.environ["PATH"]}
    for each in container.get("env", ()):
        if "valueFrom" in each:
            assert each["valueFrom"]["fieldRef"]["fieldPath"] == "metadata.uid"
            found[each["name"]] = pod["metadata"]["uid"]
        else:
            expanded = re.sub(
                r"\$\$\(|\$\((\w+)\)",
                lambda match: "$(" if match[1] is None else found.get(match[1], match[0]),
                each["value"],
            )
            found[each["name"]] = expanded
    return found


def _is_selected(value: Json, selector: str) -> bool:
    key, _, wanted = selector.partition("=")
    return not selector or value["metadata"].get("labels", {}).get(key) == wanted


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


@contextmanager
def kube_cluster() -> Iterator[KubeCluster]:
    """Serve until the block ends."""
    cluster = KubeCluster()

    class Handler(_Handler):
        state = cluster

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    cluster.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield cluster
    finally:
        cluster.close()
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    state: KubeCluster

    def log_message(self, *_: Any) -> None:
        """Stay silent."""

    def do_GET(self) -> None:
        """Answer with an object, a list or a watch."""
        asked = {name: values[-1] for name, values in parse_qs(urlsplit(self.path).query).items()}
        plural, name, _ = self._asked()
        if self._is_refused("GET", plural):
            return
        if name:
            self._found(plural, name)
        elif asked.get("watch") == "true":
            self._watch(plural, asked)
        else:
            self._list(plural, asked.get("labelSelector", ""))

    def do_POST(self) -> None:
        """Create an object, or evict a pod."""
        body = self._body()
        plural, name, is_eviction = self._asked()
        if is_eviction:
            self._evict(name, body)
        elif not self._is_refused("POST", plural):
            made = self.state.create(plural, body)
            if self.state.loses_answers:
                self.close_connection = True
                return
            self._json(201, made)

    def do_DELETE(self) -> None:
        """Delete an object, if it is the one that is meant."""
        body = self._body()
        plural, name, _ = self._asked()
        if not self._is_refused("DELETE", plural) and self._is_meant(plural, name, body):
            self.state.remove(plural, name, body.get("gracePeriodSeconds", 0))
            self._json(200, {"kind": "Status", "status": "Success"})

    def _evict(self, name: str, body: Json) -> None:
        options = body["deleteOptions"]
        if not self._is_meant("pods", name, options):
            return
        if self.state.refused_evictions:
            self.state.refused_evictions -= 1
            self._fail(429, "Cannot evict pod as it would violate the pod's disruption budget.")
            return
        with self.state.changed:
            pod = self.state.objects["pods", name]
            why = {"type": "DisruptionTarget", "status": "True", "lastTransitionTime": _now()}
            pod["status"].setdefault("conditions", []).append(
                why | {"reason": "EvictionByEvictionAPI"}
            )
        self.state.remove("pods", name, options["gracePeriodSeconds"])
        self._json(201, {"kind": "Status", "status": "Success"})

    def _is_meant(self, plural: str, name: str, options: Json) -> bool:
        found = self.state.objects.get((plural, name))
        if found is None:
            self._fail(404, "not found")
            return False
        if options["preconditions"]["uid"] != found["metadata"]["uid"]:
            self._fail(409, "the UID in the precondition does not match the UID in record")
            return False
        return True

    def _is_refused(self, method: str, plural: str) -> bool:
        status = self.state.fails.get((method, plural))
        if status is not None:
            self._fail(status, "refused")
        return status is not None

    def _found(self, plural: str, name: str) -> None:
        with self.state.changed:
            found = deepcopy(self.state.objects.get((plural, name)))
        if found is None:
            self._fail(404, "not found")
        else:
            self._json(200, found)

    def _list(self, plural: str, selector: str) -> None:
        with self.state.changed:
            found = [
                # As the API does it: the items of a list do not say their kind.
                {k: v for k, v in deepcopy(value).items() if k != "kind"}
                for (kind, _), value in self.state.objects.items()
                if kind == plural and _is_selected(value, selector)
            ]
            metadata = {"resourceVersion": str(self.state.version)}
        if self.state.garbles_lists:
            self._text(200, b"{")
        else:
            self._json(200, {"kind": "AnyList", "metadata": metadata, "items": found})

    def _watch(self, plural: str, asked: dict[str, str]) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        selector = asked.get("labelSelector", "")
        if self.state.odd_lines:
            self._chunk(self.state.odd_lines.pop(0) + b"\n")
            self.close_connection = True
            return
        for event in self.state.events(plural, selector, int(asked["resourceVersion"])):
            data = json.dumps(event).encode() + b"\n"
            if self.state.cuts_watches:
                self.state.cuts_watches -= 1
                self._chunk(data[:20])
                break
            self._chunk(data)
        self.close_connection = True

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))
        self.wfile.flush()

    def _asked(self) -> tuple[str, str, bool]:
        match = _PATH.fullmatch(urlsplit(self.path).path)
        assert match is not None, self.path
        self.state.requests.append((self.command, urlsplit(self.path).path))
        return match[1], match[2] or "", match[3] is not None

    def _body(self) -> Json:
        body: Json = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        return body

    def _fail(self, status: int, message: str) -> None:
        self._json(
            status, {"kind": "Status", "status": "Failure", "code": status, "message": message}
        )

    def _json(self, status: int, value: Json) -> None:
        # What stands between client and API speaks no JSON.
        self._text(status, b"Bad Gateway" if status == 502 else json.dumps(value).encode())

    def _text(self, status: int, data: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)
