"""Watching a live cluster: the real client against a stand-in that breaks as an API does."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tallystick.app.kubernetes_watch import WatchSettings, watch_kubernetes
from tallystick.app.store import OpenStore
from tallystick.collectors.kubernetes import KubernetesOptions
from tallystick.collectors.kubernetes.api import (
    KINDS,
    ClusterApi,
    NoConnectionSettingsError,
    NotAllowedError,
    connect,
)
from tallystick.evidence.leaf import leaf_record
from tests.app.stores import new_store
from tests.collectors.kubernetes.cluster_objects import (
    KEY,
    condition,
    event,
    made,
    node,
    pod,
    running,
    terminated,
)
from tests.stand_ins.kube_api import CUT, END, GONE, Answer, KubeApi, kube_api

Json = dict[str, Any]

FEW = tuple(kind for kind in KINDS if kind.name in {"Node", "Job", "Workload", "Event", "Pod"})
ENOUGH_S = 10.0
OPTIONS = KubernetesOptions(cluster="c1", observed_us=0, live=True)


@pytest.fixture
def api() -> Iterator[KubeApi]:
    """Serve a cluster of one node."""
    with kube_api() as served:
        served.of("nodes").lists = [[node()]]
        served.of("pods")
        yield served


@pytest.fixture
def store(tmp_path: Path) -> Iterator[OpenStore]:
    """Make a store."""
    with new_store(tmp_path) as opened:
        yield opened


def records(store: OpenStore) -> list[Json]:
    """Give all records of collectors that are in the log."""
    with store.log.reading() as log:
        return [json.loads(leaf_record(leaf)) for leaf in log.leaves(0, log.size)]


def of_kind(store: OpenStore, kind: str) -> list[Json]:
    """Give the records of one kind."""
    return [record for record in records(store) if record["kind"] == kind]


def watch(
    api: KubeApi, store: OpenStore, folder: Path, done: Callable[[], bool], **more: Any
) -> list[str]:
    """Watch until something is true, then give what was told."""
    client = connect(api.kubeconfig(folder), in_cluster=False)
    stop, said = threading.Event(), list[str]()
    deadline = time.monotonic() + ENOUGH_S

    def look(_: Any) -> None:
        if done():
            stop.set()

    def wait() -> None:
        while not stop.is_set() and time.monotonic() < deadline:
            look(None)
            time.sleep(0.02)
        stop.set()

    waiter = threading.Thread(target=wait)
    waiter.start()
    settings = WatchSettings(
        **{"options": OPTIONS, "kinds": FEW, "first_s": 0.02, "gather_s": 0.05, **more}
    )
    try:
        watch_kubernetes(
            store.log,
            ClusterApi(client, namespace=settings.namespace, watch_s=5),
            settings,
            lambda _: None,
            stop=stop,
            say=said.append,
        )
    finally:
        stop.set()
        waiter.join()
        client.close()
    return said


def test_what_happens_to_a_pod_is_recorded_as_it_happens(
    api: KubeApi, store: OpenStore, tmp_path: Path
) -> None:
    """A pod that is listed, changes and succeeds is an attempt with start and end."""
    api.of("pods").lists = [[pod("Running", running("00:01"))]]
    api.of("pods").watches = [
        [event("MODIFIED", pod("Succeeded", terminated("01:00"), version=11))]
    ]

    watch(api, store, tmp_path, lambda: bool(of_kind(store, "allocation.ended")))

    (started,) = of_kind(store, "allocation.started")
    (ended,) = of_kind(store, "allocation.ended")
    assert (started["body"]["gpu_count"], started["body"]["gpu_type"]) == (
        8,
        "NVIDIA-H100-80GB-HBM3",
    )
    assert (ended["body"]["attempt"], ended["body"]["ended_by"]) == (KEY, "completed")
    assert ended["at"] == "2026-03-01T01:00:00.000000Z"


def test_every_version_of_a_pod_is_a_row(api: KubeApi, store: OpenStore, tmp_path: Path) -> None:
    """Conditions overwrite each other, so each version is kept."""
    announced = [condition("DisruptionTarget", "00:59", "PreemptionByScheduler")]
    api.of("pods").lists = [[pod()]]
    api.of("pods").watches = [
        [
            event("MODIFIED", pod(conditions=announced, version=11)),
            event(
                "MODIFIED",
                pod("Failed", terminated("01:00", 137), deleted=("01:00", 30), version=12),
            ),
        ]
    ]

    watch(api, store, tmp_path, lambda: bool(of_kind(store, "allocation.ended")))

    rows = [row["body"]["raw"] for row in of_kind(store, "allocation.row")]
    assert len([row for row in rows if row["kind"] == "Pod"]) == 3
    assert of_kind(store, "allocation.ended")[0]["body"]["ended_by"] == "scheduler"


def test_a_watch_that_starts_again_adds_nothing_twice(
    api: KubeApi, store: OpenStore, tmp_path: Path
) -> None:
    """Only that it began is new, though the node is gone by then."""
    api.of("pods").lists = [[pod("Failed", terminated("01:00", 1), owner=("Job", "j1"))]]
    api.of("jobs").lists = [[made("Job", "j1")]]
    watch(api, store, tmp_path, lambda: bool(of_kind(store, "allocation.ended")))
    before = records(store)
    api.of("nodes").lists = [[]]
    asked = len(api.watched("pods"))

    watch(api, store, tmp_path, lambda: len(api.watched("pods")) > asked)

    new = records(store)[len(before) :]
    assert [each["kind"] for each in new if each["kind"] != "collect.finding"] == [
        "scheduler.watch"
    ]
    assert [link["body"]["run"] for link in of_kind(store, "attempt.linked")] == ["k8s:c1:job:j1"]


def test_a_connection_that_breaks_mid_event_goes_on_from_the_last_version(
    api: KubeApi, store: OpenStore, tmp_path: Path
) -> None:
    """The event that was cut comes whole on the next watch, and nothing was missed."""
    done = pod("Succeeded", terminated("01:00"), version=13)
    api.of("pods").lists = [[pod()]]
    api.of("pods").watches = [
        [event("MODIFIED", pod(version=12)), CUT],
        [event("MODIFIED", done)],
    ]

    watch(api, store, tmp_path, lambda: bool(of_kind(store, "allocation.ended")))

    assert [each["resourceVersion"] for each in api.watched("pods")][:2] == ["10", "12"]
    assert of_kind(store, "scheduler.watch_gap") == []


def test_a_bookmark_moves_the_version_to_go_on_from(
    api: KubeApi, store: OpenStore, tmp_path: Path
) -> None:
    """It says nothing else."""
    bookmark = event("BOOKMARK", {"kind": "Pod", "metadata": {"resourceVersion": "77"}})
    api.of("pods").watches = [[bookmark, END]]

    watch(api, store, tmp_path, lambda: len(api.watched("pods")) > 1)

    assert api.watched("pods")[1]["resourceVersion"] == "77"
    assert of_kind(store, "allocation.row") == []


@pytest.mark.parametrize("how", [[GONE], Answer(410)])
def test_an_expired_version_is_a_gap_and_a_new_list(
    api: KubeApi, store: OpenStore, tmp_path: Path, how: Any
) -> None:
    """What came and went in between is lost; a pod that vanished has no end."""
    api.of("pods").lists = [[pod(), pod(uid="u2", name="other")], [pod(version=20)]]
    api.of("pods").watches = [how]

    watch(api, store, tmp_path, lambda: bool(of_kind(store, "collect.finding")))

    (gap,) = of_kind(store, "scheduler.watch_gap")
    assert (gap["body"]["kind"], gap["body"]["reason"], gap["body"]["replayed"]) == (
        "Pod",
        "expired",
        False,
    )
    (finding,) = of_kind(store, "collect.finding")
    assert finding["body"]["code"] == "end_missing"
    assert "k8s:c1:u2" in finding["body"]["message"]


def test_an_api_that_is_away_for_a_while_is_a_gap_that_was_replayed(
    api: KubeApi, store: OpenStore, tmp_path: Path
) -> None:
    """It is tried again, and what happened meanwhile comes then."""
    api.of("pods").lists = [[pod()]]
    done = pod("Succeeded", terminated("01:00"), version=13)
    api.of("pods").watches = [[END], Answer(500), Answer(503), [event("MODIFIED", done)]]

    watch(api, store, tmp_path, lambda: bool(of_kind(store, "allocation.ended")))

    (gap,) = of_kind(store, "scheduler.watch_gap")
    assert (gap["body"]["reason"], gap["body"]["replayed"]) == ("unreachable", True)
    assert gap["body"]["from"] < gap["body"]["to"]


def test_a_list_that_fails_is_tried_again(api: KubeApi, store: OpenStore, tmp_path: Path) -> None:
    """Before the first list nothing was promised, so there is no gap."""
    api.of("pods").lists = [Answer(500), [pod()]]

    watch(api, store, tmp_path, lambda: bool(of_kind(store, "allocation.started")))

    assert of_kind(store, "scheduler.watch_gap") == []


def test_a_start_waits_for_its_node(api: KubeApi, store: OpenStore, tmp_path: Path) -> None:
    """The node of a new pod comes on another watch, and the start has its type."""
    api.of("nodes").lists = [[]]
    api.of("nodes").watches = [[END], [END], [END], [event("ADDED", node(version=12))]]
    api.of("pods").lists = [[pod()]]

    watch(api, store, tmp_path, lambda: bool(of_kind(store, "allocation.started")))

    assert of_kind(store, "allocation.started")[0]["body"]["gpu_type"]


def test_a_pending_preemption_is_a_notice_when_it_is_seen(
    api: KubeApi, store: OpenStore, tmp_path: Path
) -> None:
    """The label has no time of its own; heartbeats of the node are no news."""
    label = {"qos.coreweave.cloud/pending-preemption": "true"}
    api.of("pods").lists = [[pod("Running", running("00:01"))]]
    api.of("nodes").watches = [
        [event("MODIFIED", node(version=11)), event("MODIFIED", node(labels=label, version=12))]
    ]

    watch(api, store, tmp_path, lambda: bool(of_kind(store, "allocation.notice")))

    (notice,) = of_kind(store, "allocation.notice")
    assert (notice["body"]["by"], notice["body"]["deadline"]) == ("provider", None)
    kinds = [row["body"]["raw"]["kind"] for row in of_kind(store, "allocation.row")]
    assert kinds.count("Node") == 2


def test_a_kind_that_is_not_served_is_done_without(
    api: KubeApi, store: OpenStore, tmp_path: Path
) -> None:
    """People are told, and a start does not wait for what never comes."""
    api.of("pods").lists = [[pod(owner=("Job", "j1"))]]

    said = watch(api, store, tmp_path, lambda: bool(of_kind(store, "allocation.started")))

    assert any(each.startswith("jobs are not watched: 404") for each in said)
    assert of_kind(store, "collect.finding") == []


def test_a_kind_that_may_not_be_read_is_a_finding(
    api: KubeApi, store: OpenStore, tmp_path: Path
) -> None:
    """What depends on it stays unknown, and the log says why."""
    api.of("nodes").lists = [Answer(403)]
    api.of("pods").lists = [[pod()]]

    watch(api, store, tmp_path, lambda: bool(of_kind(store, "allocation.started")))

    codes = {each["body"]["code"] for each in of_kind(store, "collect.finding")}
    assert codes == {"kind_not_readable", "gpu_type_unknown"}


def test_without_pods_there_is_nothing_to_watch(
    api: KubeApi, store: OpenStore, tmp_path: Path
) -> None:
    """A missing permission ends the command at once."""
    api.of("pods").lists = [Answer(403)]

    with pytest.raises(NotAllowedError, match="may not list and watch pods: 403"):
        watch(api, store, tmp_path, lambda: False)


def test_a_namespace_is_asked_for_where_a_kind_has_one(
    api: KubeApi, store: OpenStore, tmp_path: Path
) -> None:
    """Nodes have none."""
    watch(api, store, tmp_path, lambda: bool(api.watched("pods")), namespace="team")

    assert api.watched("pods")[0]["path"] == "/api/v1/namespaces/team/pods"
    assert api.of("nodes").asked[0]["path"] == "/api/v1/nodes"


def test_the_time_to_watch_may_be_given(api: KubeApi, store: OpenStore, tmp_path: Path) -> None:
    """The watch ends by itself, and says that it began."""
    watch(api, store, tmp_path, lambda: False, for_s=0.2)

    assert [record["kind"] for record in records(store)] == ["scheduler.watch"]


def test_settings_that_cannot_be_used_are_one_line(tmp_path: Path) -> None:
    """A file that is not there, and no cluster around."""
    with pytest.raises(NoConnectionSettingsError, match="cannot tell how to reach"):
        connect(str(tmp_path / "missing"), in_cluster=False)
    with pytest.raises(NoConnectionSettingsError):
        connect(None, in_cluster=True)
