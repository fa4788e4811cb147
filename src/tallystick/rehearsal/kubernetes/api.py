"""The API of a cluster, asked through the official client, which is loaded where it is used.

Objects are read from the answers as they came. Whatever is deleted or evicted is so under its
UID: another object of the same name is left alone by the API itself.
"""

import json
from collections.abc import Iterator
from importlib import import_module
from typing import Any, Final, NamedTuple

from tallystick.rehearsal.errors import RouteUnavailableError
from tallystick.rehearsal.manifest import Json
from tallystick.rehearsal.places import KubernetesPlace
from tallystick.rehearsal.scheduler_errors import SchedulerRefusedError

CONNECT_S: Final = 10
ANSWER_S: Final = 60
WATCH_S: Final = 30


class TooManyRequestsError(Exception):
    """A PodDisruptionBudget does not allow an eviction now."""


class Listing(NamedTuple):
    """All objects of a kind at one version."""

    values: tuple[Json, ...]
    version: str


class Api:
    """One namespace of a cluster."""

    def __init__(self, client: Any, namespace: str) -> None:
        self._client = client
        self._namespace = namespace

    def create(self, manifest: Json) -> Json:
        """Create a pod or a Job.

        Raises:
            SchedulerRefusedError: it was not created.
        """
        return self._object("create", manifest["kind"], body=manifest)

    def read(self, kind: str, name: str) -> Json | None:
        """Read an object; None if there is none of that name.

        Raises:
            SchedulerRefusedError: there is no answer.
        """
        try:
            return self._object("read", kind, name=name)
        except SchedulerRefusedError as error:
            if error.args[1].startswith("404"):
                return None
            raise

    def evict(self, name: str, uid: str, grace_s: int) -> bool:
        """Ask for the eviction of a pod; False if there is no such pod any more.

        Raises:
            TooManyRequestsError: a budget does not allow it now.
            SchedulerRefusedError: it was refused.
        """
        eviction = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": name, "namespace": self._namespace},
            "deleteOptions": {"gracePeriodSeconds": grace_s, "preconditions": {"uid": uid}},
        }
        return self._is_done("create", "PodEviction", name, eviction)

    def delete(self, kind: str, name: str, uid: str) -> bool:
        """Delete an object, in a second; False if there is no such object any more.

        Raises:
            SchedulerRefusedError: it was refused.
        """
        options: Json = {"gracePeriodSeconds": 1, "preconditions": {"uid": uid}}
        if kind == "Job":
            options = {"propagationPolicy": "Background", "preconditions": {"uid": uid}}
        return self._is_done("delete", kind, name, options)

    def list_all(self, kind: str, selector: str) -> Listing:
        """List the objects that a selector names.

        Raises:
            SchedulerRefusedError: there is no answer.
        """
        found = self._object("list", kind, label_selector=selector)
        # As the API does it: the items of a list do not say their kind.
        values = tuple({"kind": kind} | each for each in found.get("items") or ())
        return Listing(values, (found.get("metadata") or {}).get("resourceVersion") or "")

    def watch_pods(self, selector: str, version: str) -> Iterator[Json]:
        """Open a watch from a version, and give its events until the server ends it.

        Raises:
            SchedulerRefusedError: there is no answer, or it broke off.
        """
        answer = self._ask(
            "list",
            "Pod",
            read_s=WATCH_S + 15,
            label_selector=selector,
            resource_version=version,
            watch=True,
            timeout_seconds=WATCH_S,
        )
        http_error: Any = import_module("urllib3.exceptions").HTTPError
        rest = b""
        try:
            for chunk in answer.stream(amt=None, decode_content=True):
                *lines, rest = (rest + chunk).split(b"\n")
                yield from (_event(line) for line in lines if line.strip())
        except (http_error, OSError) as error:
            raise SchedulerRefusedError("watch pods", type(error).__name__) from error
        finally:
            # What is left on the connection belongs to this answer, so it is not used again.
            answer.close()

    def _is_done(self, verb: str, kind: str, name: str, body: Json) -> bool:
        try:
            self._object(verb, kind, name=name, body=body)
        except SchedulerRefusedError as error:
            # 409: the API has another object of that name; ours is gone.
            if error.args[1].startswith(("404", "409")):
                return False
            raise
        return True

    def _object(self, verb: str, kind: str, **arguments: Any) -> Json:
        answer = self._ask(verb, kind, **arguments)
        http_error: Any = import_module("urllib3.exceptions").HTTPError
        try:
            value = json.loads(b"".join(answer.stream(amt=None, decode_content=True)))
        except (ValueError, http_error, OSError) as error:
            raise SchedulerRefusedError(f"{verb} {kind}", "an answer that is cut") from error
        finally:
            answer.close()
        return value if isinstance(value, dict) else {}

    def _ask(self, verb: str, kind: str, *, read_s: int = ANSWER_S, **arguments: Any) -> Any:
        exceptions: Any = import_module("kubernetes.client.exceptions")
        http_error: Any = import_module("urllib3.exceptions").HTTPError
        try:
            return self._method(verb, kind)(
                **(arguments if kind == "Node" else {"namespace": self._namespace, **arguments}),
                _preload_content=False,
                _request_timeout=(CONNECT_S, read_s),
            )
        except exceptions.ApiException as error:
            if error.status == 429 and kind == "PodEviction":
                raise TooManyRequestsError(_said(error)) from error
            reason = f"{error.status} {_said(error)}"
            raise SchedulerRefusedError(f"{verb} {kind}", reason) from error
        except (http_error, OSError) as error:
            raise SchedulerRefusedError(f"{verb} {kind}", type(error).__name__) from error

    def _method(self, verb: str, kind: str) -> Any:
        client: Any = import_module("kubernetes.client")
        group = client.BatchV1Api if kind == "Job" else client.CoreV1Api
        name = {"Node": "node", "PodEviction": "namespaced_pod_eviction"}.get(
            kind, f"namespaced_{kind.lower()}"
        )
        return getattr(group(self._client), f"{verb}_{name}")


def _said(error: Any) -> str:
    """Give the message of a refusal, which explains more than its status."""
    try:
        return str(json.loads(error.body)["message"])
    except (ValueError, TypeError, KeyError):
        return str(error.reason)


def _event(line: bytes) -> Json:
    try:
        event = json.loads(line)
        value = event["object"]
        word = event["type"]
    except (ValueError, KeyError, TypeError) as error:
        raise SchedulerRefusedError("watch pods", "an event that is none") from error
    if word == "ERROR":
        raise SchedulerRefusedError("watch pods", f"{value.get('code')} {value.get('message')}")
    return {"type": word, "object": {"kind": "Pod"} | value}


def connect(place: KubernetesPlace) -> Api:
    """Make a client from the kubeconfig that the plan names, or the user's own.

    Raises:
        RouteUnavailableError: the client is not installed, or there are no usable settings.
    """
    try:
        client: Any = import_module("kubernetes.client")
        config: Any = import_module("kubernetes.config")
    except ImportError as error:
        reason = "expected the extra: pip install 'tallystick[kubernetes]'"
        raise RouteUnavailableError("kubernetes", reason) from error
    settings = client.Configuration()
    try:
        # A token that was refreshed is not written back: nothing of the user's is changed.
        config.load_kube_config(
            place.kubeconfig,
            context=place.context,
            client_configuration=settings,
            persist_config=False,
        )
    except Exception as error:  # The client raises what its YAML, TLS and plug-ins raise.
        reason = str(error).partition("\n")[0] or type(error).__name__
        raise RouteUnavailableError("kubernetes", reason) from error
    settings.retries = False  # What is created twice would run twice.
    return Api(client.ApiClient(settings), place.namespace)
