"""Listing and watching a live API, through the official client.

Objects are read from the answers as they came, not through the client's models, which know only
the fields of their own version. What goes wrong is one of four things, told apart by what has to
be done next: go on from the last version, list again, do without this kind, or give up.
"""

from collections.abc import Iterator
from importlib import import_module
from typing import Any, NamedTuple, Protocol

from tallystick.collectors.json_text import NotJsonError, read_json
from tallystick.collectors.kubernetes.objects import Json, items_at, text_at
from tallystick.core.errors import TallystickError

PAGE_MAX = 500
LINE_BYTES_MAX = 64 << 20
CONNECT_S = 10
READ_S = 60
_LISTS_CLUSTER, _LISTS_NAMESPACE = "list_cluster_custom_object", "list_namespaced_custom_object"


class Kind(NamedTuple):
    """A kind of object, and where the API has it; the first version that is served is used."""

    name: str
    plural: str
    group: str = ""
    versions: tuple[str, ...] = ("v1",)
    namespaced: bool = True
    is_needed: bool = False
    selector: str | None = None


KINDS = (
    Kind("Node", "nodes", namespaced=False),
    Kind("NodePool", "nodepools", "compute.coreweave.com", ("v1alpha1",), namespaced=False),
    Kind("Job", "jobs", "batch"),
    Kind("JobSet", "jobsets", "jobset.x-k8s.io", ("v1alpha2",)),
    Kind("RayJob", "rayjobs", "ray.io"),
    Kind("RayCluster", "rayclusters", "ray.io"),
    Kind("Workload", "workloads", "kueue.x-k8s.io", ("v1beta2", "v1beta1")),
    Kind(
        "ResourceSlice",
        "resourceslices",
        "resource.k8s.io",
        ("v1", "v1beta2", "v1beta1"),
        namespaced=False,
    ),
    Kind("ResourceClaim", "resourceclaims", "resource.k8s.io", ("v1", "v1beta2", "v1beta1")),
    Kind("Event", "events", selector="involvedObject.kind=Pod"),
    Kind("Pod", "pods", is_needed=True),
)


class MissingClientError(TallystickError):
    """The client of the API is not installed."""

    code = "kubernetes_client_missing"

    def __str__(self) -> str:
        return "a live cluster needs the extra: pip install 'tallystick[kubernetes]'"


class NoConnectionSettingsError(TallystickError):
    """Nothing usable says where the API is and who asks."""

    code = "kubernetes_settings_unusable"

    def __init__(self, reason: str) -> None:
        super().__init__(reason)

    def __str__(self) -> str:
        return f"cannot tell how to reach the Kubernetes API: {self.args[0]}"


class NotAllowedError(TallystickError):
    """The API refuses to list the pods."""

    code = "kubernetes_not_allowed"

    def __init__(self, plural: str, reason: str) -> None:
        super().__init__(plural, reason)

    def __str__(self) -> str:
        plural, reason = self.args
        return f"may not list and watch {plural}: {reason}"


class VersionGoneError(Exception):
    """The API no longer has the version to go on from; what changed since is lost."""


class KindRefusedError(Exception):
    """The API does not have a kind, or does not show it to us."""


class ApiDownError(Exception):
    """The API cannot be reached, answers with an error, or broke off."""


class Listing(NamedTuple):
    """All objects of a kind at one version."""

    values: tuple[Json, ...]
    version: str


class Api(Protocol):
    """What following a kind needs."""

    def list_all(self, kind: Kind) -> Listing:
        """List a kind.

        Raises:
            KindRefusedError: it is not served, or not to us.
            ApiDownError: there is no answer.
        """
        ...

    def watch(self, kind: Kind, version: str) -> Iterator[Json]:
        """Open a watch; events come as they are iterated over, until the server ends it.

        Raises:
            VersionGoneError: it cannot go on from there.
            KindRefusedError: it is not served, or not to us.
            ApiDownError: there is no answer, or it broke off.
        """
        ...


class ClusterApi:
    """A live API, asked through the official client."""

    def __init__(self, client: Any, *, namespace: str | None = None, watch_s: int = 60) -> None:
        self._client = client
        self._namespace = namespace
        self._watch_s = watch_s
        self._versions: dict[str, str] = {}

    def list_all(self, kind: Kind) -> Listing:
        """List a kind, page by page."""
        values: list[Json] = []
        token: str | None = None
        while True:
            answer = self._ask(kind, limit=PAGE_MAX, **({"_continue": token} if token else {}))
            page = self._page(answer)
            version = text_at(page, "metadata", "resourceVersion") or ""
            typed = {"kind": kind.name, "apiVersion": page.get("apiVersion")}
            values += [typed | item for item in items_at(page, "items")]
            token = text_at(page, "metadata", "continue")
            if token is None:
                return Listing(tuple(values), version)

    def watch(self, kind: Kind, version: str) -> Iterator[Json]:
        """Open a watch, and give the events that come on it."""
        answer = self._ask(
            kind,
            watch=True,
            resource_version=version,
            allow_watch_bookmarks=True,
            timeout_seconds=self._watch_s,
        )
        return self._events(answer)

    def _ask(self, kind: Kind, **options: Any) -> Any:
        known = self._versions.get(kind.name)
        for version in (known,) if known else kind.versions:
            try:
                answer = self._call(kind, version, options)
            except KindRefusedError as error:
                refused = error
            else:
                self._versions[kind.name] = version
                return answer
        raise refused

    def _call(self, kind: Kind, version: str, options: dict[str, Any]) -> Any:
        urllib3_error = import_module("urllib3.exceptions").HTTPError
        exceptions: Any = import_module("kubernetes.client.exceptions")
        method, arguments = self._method(kind, version)
        if kind.selector is not None:
            options = options | {"field_selector": kind.selector}
        read_s = self._watch_s + CONNECT_S if options.get("watch") else READ_S
        try:
            return method(
                *arguments, _preload_content=False, _request_timeout=(CONNECT_S, read_s), **options
            )
        except exceptions.ApiException as error:
            raise _told(error.status, str(error.reason)) from error
        except (urllib3_error, OSError) as error:
            raise ApiDownError(type(error).__name__) from error

    def _method(self, kind: Kind, version: str) -> tuple[Any, tuple[str, ...]]:
        client: Any = import_module("kubernetes.client")
        namespaced = self._namespace is not None and kind.namespaced
        where = (self._namespace,) if namespaced and self._namespace else ()
        if not kind.group:
            core = client.CoreV1Api(self._client)
            scope = "namespaced_{}" if namespaced else "{}_for_all_namespaces"
            scope = scope if kind.namespaced else "{}"
            return getattr(core, f"list_{scope.format(kind.name.lower())}"), where
        custom = client.CustomObjectsApi(self._client)
        method = getattr(custom, _LISTS_NAMESPACE if namespaced else _LISTS_CLUSTER)
        return method, (kind.group, version, *where, kind.plural)

    @staticmethod
    def _page(answer: Any) -> Json:
        try:
            page, _ = read_json(_read_all(answer).decode(errors="replace"))
        except NotJsonError as error:
            raise ApiDownError(f"an answer that is not JSON: {error}") from error
        if not isinstance(page, dict):
            raise ApiDownError("an answer that is no list")
        return page

    @staticmethod
    def _events(answer: Any) -> Iterator[Json]:
        for line in _lines(answer):
            try:
                event, _ = read_json(line.decode(errors="replace"))
            except NotJsonError as error:
                raise ApiDownError(f"an event that is not JSON: {error}") from error
            value = event.get("object") if isinstance(event, dict) else None
            if not isinstance(value, dict):
                raise ApiDownError("an event without an object")
            if event.get("type") == "ERROR":
                status = value.get("code")
                message = text_at(value, "message") or "an error"
                raise _told(status if type(status) is int else 500, message)
            yield event


def _told(status: int | None, reason: str) -> Exception:
    """Say what has to be done about a status."""
    if status == 410:
        return VersionGoneError(reason)
    if status in {401, 403, 404, 405}:
        return KindRefusedError(f"{status} {reason}")
    return ApiDownError(f"{status} {reason}")


def _read_all(answer: Any) -> bytes:
    return b"".join(_chunks(answer))


def _lines(answer: Any) -> Iterator[bytes]:
    """Give whole lines; one that was cut is not given, its event comes again."""
    rest = b""
    for chunk in _chunks(answer):
        *lines, rest = (rest + chunk).split(b"\n")
        if len(rest) > LINE_BYTES_MAX:
            raise ApiDownError("an event beyond 64 MiB")
        yield from (line for line in lines if line.strip())


def _chunks(answer: Any) -> Iterator[bytes]:
    urllib3_error = import_module("urllib3.exceptions").HTTPError
    try:
        yield from answer.stream(amt=None, decode_content=True)
    except (urllib3_error, OSError) as error:
        raise ApiDownError(type(error).__name__) from error
    finally:
        # What is left on the connection belongs to this answer, so it is not used again.
        answer.close()


def connect(kubeconfig: str | None, *, in_cluster: bool) -> Any:
    """Make a client from a kubeconfig file, or from what a pod is given.

    Raises:
        MissingClientError: the client is not installed.
        NoConnectionSettingsError: there are no usable settings.
    """
    try:
        client: Any = import_module("kubernetes.client")
        config: Any = import_module("kubernetes.config")
    except ImportError as error:
        raise MissingClientError from error
    settings = client.Configuration()
    try:
        if in_cluster:
            config.load_incluster_config(client_configuration=settings)
        else:
            # A token that was refreshed is not written back: nothing of the user's is changed.
            config.load_kube_config(kubeconfig, client_configuration=settings, persist_config=False)
    except Exception as error:  # The client raises what its YAML, TLS and plug-ins raise.
        reason = str(error).partition("\n")[0] or type(error).__name__
        raise NoConnectionSettingsError(reason) from error
    settings.retries = False  # Whoever follows a kind tries again, and records that it had to.
    return client.ApiClient(settings)
