"""A watched cluster without a network: what waits, what is told once, what is forgotten."""

from typing import Any

import pytest

from tallystick.collectors.kubernetes import KubernetesOptions
from tallystick.collectors.kubernetes.api import (
    KINDS,
    Api,
    ApiDownError,
    ClusterApi,
    Kind,
    Listing,
)
from tallystick.collectors.kubernetes.follow import (
    Gap,
    Happened,
    Listed,
    News,
    Pace,
    Trouble,
    Unserved,
    follow,
)
from tallystick.collectors.kubernetes.live import PATIENCE_US, LiveCluster
from tests.collectors.kubernetes.cluster_objects import (
    UID,
    at_us,
    condition,
    made,
    node,
    pod,
    terminated,
)

Json = dict[str, Any]

KIND = {kind.name: kind for kind in KINDS}
NOW = at_us("02:00")
JOB = ("Job", "j1")


@pytest.fixture
def live() -> LiveCluster:
    """Watch every kind of cluster c1."""
    options = KubernetesOptions(cluster="c1", observed_us=0, live=True)
    return LiveCluster(options, {kind.name for kind in KINDS})


def happened(value: Json, event: str = "ADDED") -> Happened:
    """Let an object come or change."""
    return Happened(KIND[value["kind"]], event, value, NOW)


def kinds(live: LiveCluster, *news: News, now_us: int = NOW, is_last: bool = False) -> list[str]:
    """Give the kinds of the records that news brings, rows left out."""
    for each in news:
        live.take(each)
    records = live.drain(now_us, is_last=is_last).records
    return [record["kind"] for record in records if record["kind"] != "allocation.row"]


def test_a_start_waits_for_the_node(live: LiveCluster) -> None:
    """And comes with it."""
    assert kinds(live, happened(pod())) == []
    assert kinds(live, happened(node())) == ["allocation.started"]


def test_a_link_waits_for_the_job(live: LiveCluster) -> None:
    """The Job may have an owner that is the run."""
    assert kinds(live, happened(node()), happened(pod(owner=JOB))) == []
    assert kinds(live, happened(made("Job", "j1"))) == ["allocation.started", "attempt.linked"]


def test_nobody_waits_for_ever(live: LiveCluster) -> None:
    """After half a minute what is known is told."""
    kinds(live, happened(pod()))

    assert kinds(live, now_us=NOW + PATIENCE_US) == ["allocation.started"]


def test_at_the_end_everything_is_told(live: LiveCluster) -> None:
    """Nothing is left unsaid."""
    assert kinds(live, happened(pod()), is_last=True) == ["allocation.started"]


def test_a_kind_that_is_not_served_is_not_waited_for(live: LiveCluster) -> None:
    """What it would say stays unknown."""
    unserved = Unserved(KIND["Node"], "404 no")

    assert kinds(live, unserved, happened(pod())) == ["allocation.started"]


def test_a_fact_is_told_once(live: LiveCluster) -> None:
    """Another version of the pod repeats nothing."""
    kinds(live, happened(node()), happened(pod()))

    assert kinds(live, happened(pod(version=2), "MODIFIED")) == []


def test_an_eviction_of_the_queue_reaches_its_pods(live: LiveCluster) -> None:
    """As a notice."""
    kinds(live, happened(node()), happened(made("Job", "j1")), happened(pod(owner=JOB)))
    evicted = made("Workload", "w1", condition("Evicted", "01:00", "Preempted"), owner=JOB)

    assert kinds(live, happened(evicted)) == ["allocation.notice"]


def test_a_claim_is_waited_for(live: LiveCluster) -> None:
    """Without it nothing says how many GPUs there are."""
    claims: Json = {
        "containers": [],
        "resourceClaims": [{"name": "g", "resourceClaimName": "g"}],
    }
    result = {"driver": "gpu.nvidia.com", "pool": "n1", "device": "gpu-0"}
    claim = {
        "kind": "ResourceClaim",
        "metadata": {"namespace": "team", "name": "g", "uid": "c"},
        "status": {"allocation": {"devices": {"results": [result]}}},
    }
    assert kinds(live, happened(node()), happened(pod(spec=claims))) == []

    assert kinds(live, happened(claim)) == ["allocation.started"]


def test_events_of_known_pods_are_rows(live: LiveCluster) -> None:
    """Those of others are left out."""
    kinds(live, happened(node()), happened(pod()))
    for name, uid in (("e1", UID), ("e2", "other")):
        said: Json = {
            "kind": "Event",
            "metadata": {"name": name, "uid": name},
            "involvedObject": {"uid": uid},
        }
        live.take(happened(said))

    rows = [record["body"]["raw"]["name"] for record in live.drain(NOW).records]
    assert rows == ["e1"]


def test_pods_without_gpus_and_pods_that_are_gone_are_forgotten(live: LiveCluster) -> None:
    """A watch goes on for months."""
    live.take(happened(node()))
    live.take(happened(pod(gpus="0", uid="u2")))
    live.take(happened(pod("Succeeded", terminated("01:00"))))
    live.take(happened(pod("Succeeded", terminated("01:00"), version=2), "DELETED"))

    live.drain(NOW)

    assert live.cluster.pods == {}


def test_a_node_that_vanished_in_a_gap_is_gone(live: LiveCluster) -> None:
    """The list after it says so."""
    live.take(Listed(KIND["Node"], (node(),), NOW, is_again=False))
    live.take(Listed(KIND["Node"], (), NOW, is_again=True))

    assert live.cluster.nodes["n1"].is_deleted


class BrokenApi(Api):
    """Fails to list some times, then lists nothing and breaks off each watch."""

    def __init__(self, failures: int) -> None:
        self.failures = failures

    def list_all(self, kind: Kind) -> Listing:
        """Fail, or list nothing."""
        if self.failures:
            self.failures -= 1
            raise ApiDownError(f"500 for {kind.plural}")
        return Listing((), "1")

    def watch(self, kind: Kind, version: str) -> Any:
        """Break off."""
        del kind, version
        self.failures -= 1
        if self.failures < -4:
            raise ApiDownError("gone for good")
        return iter(())


def test_waits_grow_and_are_told_once_each_outage() -> None:
    """1, 2, 4 seconds, and again from 1 after a success, or after one that ended at once."""
    waits: list[float] = []

    def pause(seconds: float) -> bool:
        waits.append(seconds)
        return len(waits) > 11

    pace = Pace(lambda: NOW, pause, first_s=1, most_s=4)

    news = list(follow(BrokenApi(3), KIND["Pod"], pace))

    assert waits == [1, 2, 4, 1, 1, 1, 1, 1, 2, 4, 4, 4]
    assert [type(each) for each in news if not isinstance(each, Gap)] == [
        Trouble,
        Listed,
        Trouble,
    ]


class Answer:
    """An answer with chunks of its own."""

    def __init__(self, *chunks: bytes) -> None:
        self.chunks = chunks

    def stream(self, **_: Any) -> Any:
        """Give the chunks."""
        yield from self.chunks

    def close(self) -> None:
        """Do nothing."""


@pytest.mark.parametrize("line", [b"{cut\n", b"[]\n", b'{"type": "ADDED"}\n'])
def test_an_event_that_cannot_be_read_breaks_off_the_watch(line: bytes) -> None:
    """It comes again on the next."""
    with pytest.raises(ApiDownError, match="an event"):
        list(ClusterApi._events(Answer(line)))  # noqa: SLF001


@pytest.mark.parametrize("page", [b"{cut", b"[]"])
def test_a_list_that_cannot_be_read_is_asked_for_again(page: bytes) -> None:
    """A proxy may answer anything."""
    with pytest.raises(ApiDownError, match="an answer"):
        ClusterApi._page(Answer(page))  # noqa: SLF001


def test_an_event_without_end_breaks_off_the_watch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory is not filled."""
    monkeypatch.setattr("tallystick.collectors.kubernetes.api.LINE_BYTES_MAX", 10)

    with pytest.raises(ApiDownError, match="beyond 64 MiB"):
        list(ClusterApi._events(Answer(b"{" * 11)))  # noqa: SLF001
